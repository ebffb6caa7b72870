import { explanationOf } from './js-details.ts'
import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { eachRun } from './runs.ts'

// ` FAIL  file > suite > test` and ` FAIL  file [ file ]`, with the name of a project before the file where there are several.
const failed = /^ {1,2}FAIL {2,3}(\S.*(?: > | \[ ).*)$/
const closing = /^⎯{10,}(?:\[\d{1,7}\/\d{1,7}\]⎯*)?$/
const heading = /^⎯{3,} (.{1,60}) ⎯{3,}$/
const outsideTests = /^(?:Uncaught Exception|Unhandled (?:Rejection|Error|Source Errors?)|Startup Error|Typecheck Error)$/
const total = /^ {1,}(Test Files|Tests|Errors|Type Errors|Snapshots) {2}(\d.*|no tests)$/
// In the list of files, while the tests run: ` ❯ file (7 tests | 4 failed)`, below it `   × title 8ms`.
const listedFile = /^ ❯ {1,2}(?:\|[^|]{1,60}\| |\S[^(]{0,60}? {2})?(\S.{0,300}?) \(\d{1,7} tests?\b/
const listedFailure = /^\s+× (\S.*?)(?: \d{1,9}ms)?$/
/** Tests that are named one below the other because they fail for one reason; of more than these the last get its details. */
const maxTogether = 50
const refused = /^No test files found, exiting with code \d|^ERROR: Coverage for \w+ \(.{1,20}\) does not meet|^failed to load config from /

/** Vitest: its default, verbose and dot reporters. */
export const vitest: Recogniser = eachRun(
  { first: /^ (?:RUN|DEV) {1,2}v\d{1,3}\./ },
  {
    name: 'vitest',
    signs:
      /^ (?:RUN|DEV|BENCH) {1,2}v\d{1,3}\.\d|^ {1,2}FAIL {2,3}\S.{0,400}(?: > \S| \[ .{1,400} \]$)|^ Test Files {2}(?:\d|no tests$)|^⎯{3,} Failed (?:Tests|Suites) \d{1,7} ⎯{3,}$|^⎯{3,} (?:Startup Error|Unhandled Errors?) ⎯{3,}$|^No test files found, exiting with code \d|^ERROR: Coverage for \w+ \(.{1,20}\) does not meet/,
    open() {
      const found = gathering('vitest', 'test')
      const listed = gathering('vitest', 'test')
      const stated = new Map<string, ReadonlyMap<string, number>>()
      let tests = 0
      let file = ''
      let readers: ((line: LogLine) => void)[] = []
      let state: 'headers' | 'reading' | 'outside' = 'reading'
      let row: OpenFailure | undefined
      const begin = (line: LogLine, title: string): void => {
        readers = [...(state === 'headers' ? readers : []), explanationOf(found.failure(line, title))].slice(-maxTogether)
      }
      return {
        line(line) {
          const { text } = line
          const named = failed.exec(text)
          const ruled = heading.exec(text)
          const totals = total.exec(text)
          if (named) {
            begin(line, (named[1] as string).replace(/ \[ [^\]]*\]$/, ''))
            state = 'headers'
            tests += 1
          } else if (ruled || closing.test(text)) {
            const [, what = ''] = ruled ?? []
            const counted = /^Failed (Tests|Suites) (\d{1,7})$/.exec(what)
            if (counted) stated.set(`Failed ${counted[1]}`, new Map([['failed', Number(counted[2])]]))
            state = outsideTests.test(what) ? 'outside' : 'reading'
            readers = []
          } else if (totals) {
            readers = []
            for (const gathered of [found, listed]) gathered.total(line)
            stated.set(totals[1] as string, countsIn(text.replace(/\((\d{1,9})\)$/, '$1 total')))
          } else if (refused.test(text) || (state === 'outside' && text !== '')) {
            state = 'reading'
            begin(line, text.trim())
          } else if (readers.length > 0) {
            if (text !== '') state = 'reading'
            for (const read of readers) read(line)
          } else {
            file = listedFile.exec(text)?.[1] ?? file
            const title = listedFailure.exec(text)?.[1]
            if (title !== undefined) row = listed.failure(line, title.startsWith(file) ? title : `${file} > ${title}`)
            else if (row && /^\s+→ /.test(text)) row.detail(line, ranks.message)
          }
        },
        end() {
          const count = (line: string, ...words: string[]): number | undefined => words.map((word) => stated.get(line)?.get(word)).find((n) => n !== undefined)
          const suites = count('Failed Suites', 'failed') ?? 0
          const byLine = Math.max(tests - suites, listed.failures)
          const errors = suites + (count('Errors', 'errors', 'error') ?? 0) + (count('Type Errors', 'errors', 'error') ?? 0)
          return (found.failures > 0 ? found : listed).result({
            failed: stated.has('Tests') ? count('Tests', 'failed') : (count('Failed Tests', 'failed') ?? (byLine || undefined)),
            passed: count('Tests', 'passed'),
            skipped: (count('Tests', 'skipped') ?? 0) + (count('Tests', 'todo') ?? 0) || undefined,
            total: count('Tests', 'total'),
            errors: errors || undefined,
          })
        },
      }
    },
  },
)
