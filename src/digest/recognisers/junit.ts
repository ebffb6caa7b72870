import { addTraceLine } from './java-trace.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { maxFailures } from './recogniser.ts'

const figure = /^\[ {1,20}(\d{1,9}) (containers|tests) (found|skipped|started|aborted|successful|failed) *\]$/
const heading = /^Failures \(\d{1,9}\):$/
const entry = /^ {2}(\S.*:.+)$/
const cause = /^ {4}=> (.+)$/
// The tree of tests of the console launcher, by its two themes.
const leaf = /^[\s│├└─|+'-]{2,200}(\S.{0,1000}) (?:✘|\[X\]) (.+)$/
const numbered = /^(\d{1,9})\) (\S.*\(\S+\))$/
const oldFailed = /^Tests run: (\d{1,9}), {1,2}Failures: (\d{1,9})$/
const oldPassed = /^OK \((\d{1,9}) tests?\)$/

/** The console launcher of JUnit 5 and the text runner of JUnit 4. */
export const junit: Recogniser = {
  name: 'junit',
  signs:
    /^\[ {1,20}\d{1,9} tests (?:found|failed|successful) *\]$|^JUnit version \d|^FAILURES!!!$|^Tests run: \d{1,9}, {2}Failures: \d{1,9}$|^Thanks for using JUnit!/,
  open() {
    const said = gathering('junit', 'test')
    const leaves: LogLine[] = []
    const figures = new Map<string, number>()
    let open: OpenFailure | undefined
    let isList = false

    const count = (name: string, value: string | undefined): void => {
      figures.set(name, (figures.get(name) ?? 0) + Number(value))
    }
    const total = (line: LogLine): void => {
      open = undefined
      said.total(line)
    }
    const summed = (line: LogLine): boolean => {
      const found = figure.exec(line.text)
      if (found) {
        open = undefined
        if (found[2] !== 'tests') return true
        count(found[3] as string, found[1])
        if (/successful|failed/.test(line.text)) total(line)
        return true
      }
      const failed = oldFailed.exec(line.text)
      const passed = oldPassed.exec(line.text)
      if (!failed && !passed) return false
      count('found', failed?.[1] ?? passed?.[1])
      count('failed', failed?.[2] ?? '0')
      total(line)
      return true
    }

    return {
      line(line) {
        const { text } = line
        if (summed(line)) return
        if (heading.test(text) || /^There (?:was|were) \d{1,9} failures?:$/.test(text)) isList = true
        else if (isList && (entry.test(text) || numbered.test(text))) open = said.failure(line, (entry.exec(text)?.[1] ?? numbered.exec(text)?.[2]) as string)
        else if (text === 'FAILURES!!!' || /^Test run finished/.test(text)) {
          open = undefined
          isList = false
        } else if (open && cause.test(text)) open.detail(line, ranks.message)
        else if (open && !/^ {4}\w+Source \[/.test(text)) addTraceLine(open, line)
        else if (!isList && leaves.length < maxFailures && leaf.test(text)) leaves.push(line)
      },
      end() {
        // The list at the end says more of each failure than the tree does.
        if (said.failures === 0) for (const line of leaves) said.failure(line, leaf.exec(line.text)?.[1] as string)
        const found = figures.get('found')
        const failed = figures.get('failed')
        if (found === undefined || failed === undefined) return said.result({ failed: failed ?? (said.failures || undefined) })
        return said.result({
          failed,
          passed: figures.get('successful') ?? Math.max(0, found - failed),
          skipped: figures.get('skipped') || undefined,
          total: found,
        })
      },
    }
  },
}
