import { explanationOf } from './js-details.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { retoldFailures } from './retold.ts'

const row = /^(\s*)✖ (\S.*) \(\d{1,9}(?:\.\d{1,9})?ms\)(?: # (.*))?$/
// A suite opens before its tests and closes with a row of its own, of which the failure is that of its tests.
const suite = /^(\s*)▶ (\S.*?)(?: \(\d{1,9}(?:\.\d{1,9})?ms\))?$/
const total = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo) (\d{1,9})$/
const location = /^test at (\S.{0,400}:\d{1,7}:\d{1,7})$/
const spokenError = /^(?:Uncaught )?\w{0,60}Error(?: \[\w{1,60}\])?: \S/
const maxSuites = 64

/** The test runner of Node.js with its spec reporter. With the one for TAP, see tap. */
export const nodeTest: Recogniser = {
  name: 'node-test',
  signs:
    /^ℹ (?:tests|suites|pass|fail|cancelled|duration_ms) \d|^✖ failing tests:$|^\s*[✔✖﹣] \S.{0,600} \(\d{1,9}\.\d{3,9}ms\)(?: # .{0,200})?$|^test at \S.{0,400}\.[cm]?[jt]s:\d{1,7}:\d{1,7}$/,
  open() {
    const found = gathering('node-test', 'test')
    // Told while the tests run, suites among them, and in the list at the end, without suites and with places.
    const failures = retoldFailures(found)
    const explained = new WeakSet<OpenFailure>()
    const counts = new Map<string, number>()
    const suites = new Map<number, string>()
    let stage: 0 | 1 = 0
    let error: LogLine | undefined
    let at: LogLine | undefined
    let current:
      | { readonly open: OpenFailure; readonly indent: number; readonly start: LogLine | undefined; readonly read: (line: LogLine) => void }
      | undefined
    const begin = (line: LogLine, indent: number, title: string): void => {
      const open = failures.meet('test', title, stage, line, title)
      // What was printed before the row of a file that did not get to its tests.
      if (error && /[\\/]|\.[cm]?[jt]s$/.test(title)) open.detail(error, ranks.message)
      current = { open, indent, start: at, read: explained.has(open) ? () => {} : explanationOf(open) }
      error = undefined
    }
    const close = (): void => {
      // The frame that failed says more than where the test begins.
      if (current?.start) {
        current.open.detail(current.start, ranks.place)
        current.open.place ??= location.exec(current.start.text)?.[1]
      }
      current = undefined
    }
    return {
      line(line) {
        const { text } = line
        if (current && (text === '' || text.search(/\S/) > current.indent) && !row.test(text)) {
          current.read(line)
          if (text !== '') explained.add(current.open)
          return
        }
        close()
        const counted = total.exec(text)
        const failed = row.exec(text)
        if (counted) {
          const [, word = '', count] = counted
          counts.set(word, (counts.get(word) ?? 0) + Number(count))
          if (word !== 'suites') found.total(line)
          stage = 0
        } else if (text === '✖ failing tests:') stage = 1
        else if (location.test(text)) at = line
        else if (failed) {
          const [, margin = '', title = '', directive = ''] = failed
          if (suites.get(margin.length) !== title && !/^(?:TODO|SKIP)\b/.test(directive)) begin(line, margin.length, title)
          at = undefined
        } else {
          const opened = suite.exec(text)
          if (opened && suites.size < maxSuites) suites.set((opened[1] as string).length, opened[2] as string)
          if (spokenError.test(text)) error = line
        }
      },
      end() {
        close()
        const known = counts.size > 0
        return found.result({
          failed: known ? (counts.get('fail') ?? 0) + (counts.get('cancelled') ?? 0) || undefined : failures.count('test') || undefined,
          passed: counts.get('pass'),
          skipped: (counts.get('skipped') ?? 0) + (counts.get('todo') ?? 0) || undefined,
          total: counts.get('tests'),
        })
      },
    }
  },
}
