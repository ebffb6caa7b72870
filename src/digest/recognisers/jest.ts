import { explanationOf } from './js-details.ts'
import type { OpenFailure } from './parts.ts'
import { countsIn, gathering } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { eachRun } from './runs.ts'

const fileLine = /^ ?(?:PASS|FAIL) {1,3}(?:\S{1,60} {1,2})?(\S{1,400}\.\w{1,5})(?: \(\d.{0,20}\))?$/
const bullet = /^ {2}● {1,2}(\S.*)$/
const validation = /^● (Validation Error|Multiple configurations found|Deprecation Warning):?/
const total = /^(Tests|Test Suites|Snapshots): +(\d.*)$/
const listedFailure = /^\s+✕ (\S.*?)(?: \(\d[\d.]{0,9} m?s\))?$/
const refused = /^No tests found, exiting with code \d|^Jest: .{1,200} coverage threshold for .{1,300} not met|^Jest: .{1,200} threshold for/
const syntaxPlace = /^\s*\w{0,40}Error: (\S{1,400}): .{1,600} \((\d{1,7}):(\d{1,7})\)$/

/** Jest: the default and the verbose reporter. */
export const jest: Recogniser = eachRun(
  { last: /^(?:Time: {2,}\d|Ran all test suites)/ },
  {
    name: 'jest',
    signs:
      /^ ?(?:PASS|FAIL) {1,3}(?:\S{1,60} {1,2})?\S{1,400}\.[cm]?[jt]sx?(?: \(\d.{0,20}\))?$|^Test Suites: +\d.* total$|^Ran all test suites|^ {2}● .{1,600} › |^ {2}● (?:Test suite failed to run$| process\.exit called with ")|^● Validation Error:$|^Run with `--passWithNoTests` to exit with code 0$|^Jest: .{1,200} threshold for/,
    open() {
      const found = gathering('jest', 'test')
      const listed = gathering('jest', 'test')
      const stated = new Map<string, ReadonlyMap<string, number>>()
      let file = ''
      let suites = 0
      let tests = 0
      let repeated = false
      let current: OpenFailure | undefined
      let read: ((line: LogLine) => void) | undefined
      const begin = (line: LogLine, title: string): void => {
        current = found.failure(line, title)
        read = explanationOf(current)
      }
      return {
        line(line) {
          const { text } = line
          const named = bullet.exec(text)
          const totals = total.exec(text)
          if (totals) {
            read = undefined
            for (const gathered of [found, listed]) gathered.total(line)
            stated.set(totals[1] as string, countsIn(totals[2] as string))
          } else if (text === 'Summary of all failing tests') {
            // All of them are printed once more. Where the log is cut and these are the first ones, they are read.
            repeated = found.failures > 0
            read = undefined
          } else if (fileLine.test(text)) {
            file = fileLine.exec(text)?.[1] ?? ''
            read = undefined
          } else if (named && /^(?:Console|Cannot log after tests are done)/.test(named[1] as string)) read = undefined
          else if (named && !repeated) {
            const suite = named[1] === 'Test suite failed to run'
            if (suite) suites += 1
            else tests += 1
            begin(line, suite && file !== '' ? `${file}: ${named[1]}` : (named[1] as string))
          } else if (validation.test(text) || refused.test(text)) begin(line, text)
          else if (read && (text === '' || text.startsWith('  '))) {
            const place = current?.place === undefined ? syntaxPlace.exec(text) : null
            read(line)
            if (current && place) current.place = `${place[1]}:${place[2]}:${place[3]}`
          } else {
            read = undefined
            const title = listedFailure.exec(text)?.[1]
            if (title !== undefined) listed.failure(line, file === '' ? title : `${file} › ${title}`)
          }
        },
        end() {
          const counts = stated.get('Tests')
          const counted = found.failures > 0 ? tests : listed.failures
          return (found.failures > 0 ? found : listed).result({
            failed: counts ? counts.get('failed') : counted || undefined,
            passed: counts?.get('passed'),
            skipped: (counts?.get('skipped') ?? 0) + (counts?.get('todo') ?? 0) || undefined,
            total: counts?.get('total'),
            errors: suites || undefined,
          })
        },
      }
    },
  },
)
