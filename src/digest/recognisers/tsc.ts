import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'

const diagnosis = /^(?:(\S.{0,400}?(?:\(\d{1,7},\d{1,7}\)|:\d{1,7}:\d{1,7}))(?::| -) )?(error|warning) (TS\d{1,6}): (.+)$/
const total = /(?:^|\s)Found (\d{1,7}) errors?(?: in (?:\d{1,7} files?\.|the same file|\S{1,400}:\d)|\. Watching )/
const restart = /(?:^|\s)File change detected\. Starting incremental compilation/

/** The TypeScript compiler, and what prints like it: one line an error, or with the source below it (`--pretty`); builds and watching. */
export const tsc: Recogniser = {
  name: 'tsc',
  signs:
    /^(?:\S.{0,400}(?:\(\d{1,7},\d{1,7}\):|:\d{1,7}:\d{1,7} -) )?(?:error|warning) TS\d{1,6}: |(?:^|\s)Found \d{1,7} errors?(?: in \d{1,7} files?\.| in the same file|\. Watching )/,
  open() {
    let found = gathering('tsc', 'error')
    let stated = 0
    let totals = 0
    let current: OpenFailure | undefined
    // With the source below it, what a message goes on with stands before the first blank line.
    let blanks = 0
    return {
      line(line) {
        const { text } = line
        if (restart.test(text)) {
          found = gathering('tsc', 'error')
          stated = 0
          totals = 0
          current = undefined
          return
        }
        const match = diagnosis.exec(text)
        if (match) {
          const [, where, kind, code, message] = match
          blanks = 0
          current = undefined
          if (kind === 'warning') found.warning(line)
          else current = found.failure(line, `${code}: ${message}`, where === undefined ? undefined : placeIn(where))
          return
        }
        const counted = total.exec(text)
        if (counted) {
          stated += Number(counted[1])
          totals += 1
          found.total(line)
          current = undefined
        } else if (text === '') blanks += 1
        else if (current && blanks === 0 && text.startsWith('  ')) current.detail(line, ranks.message)
        else if (current && blanks === 1 && /^\d{1,7} /.test(text)) current.detail(line, ranks.source)
        else if (current && blanks > 0 && text.startsWith('  ')) {
          if (!/^\s*~+$/.test(text)) current.detail(line, ranks.other)
        } else if (!/^(?:\d{1,7})?\s+~+$/.test(text)) current = undefined
      },
      end: () =>
        found.result({
          errors: totals === 0 && found.failures === 0 ? undefined : Math.max(stated, found.failures),
          warnings: found.warnings || undefined,
        }),
    }
  },
}
