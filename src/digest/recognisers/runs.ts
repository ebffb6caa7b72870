import { joined } from '../merged.ts'
import type { Reader, Recognised, Recogniser } from './recogniser.ts'

/** Where one run of a tool is over and another may follow in the same log. */
export interface Borders {
  /** The first line of a run. */
  readonly first?: RegExp
  /** The last line of a run. */
  readonly last?: RegExp
}

/** Reads each run of a tool by itself, since each states its own totals, and tells of all of them. */
export function eachRun({ first, last }: Borders, recogniser: Recogniser): Recogniser {
  return {
    ...recogniser,
    open() {
      const found: Recognised[] = []
      let reader: Reader | undefined
      const close = (): void => {
        const recognised = reader?.end()
        if (recognised) found.push(recognised)
        reader = undefined
      }
      return {
        line(line) {
          if (first?.test(line.text)) close()
          reader ??= recogniser.open()
          reader.line(line)
          if (last?.test(line.text)) close()
        },
        end() {
          close()
          return found.length === 0 ? undefined : joined(found)
        },
      }
    },
  }
}
