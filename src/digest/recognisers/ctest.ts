import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import { recentLines, tellsTrouble } from './recent-lines.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const outcome = /^\s*\d{1,7}\/\d{1,7} Test +#(\d{1,7}): (\S.{0,1000}?) \.{2,}/
const verdict = /\*\*\*(Failed|Timeout|Exception|Not Run|Skipped)|(\bPassed\b)/
const listed = /^\s+(\d{1,7}) - (\S.{0,1000}?) \((?!Skipped|Disabled)[A-Z][\w ]{0,60}\)/
const unrun = /^\s+\d{1,7} - \S.{0,1000}? \((?:Skipped|Disabled)\)/
const sum = /^\d{1,3}% tests passed, (\d{1,7}) tests? failed out of (\d{1,7})/
const empty = /^No tests were found!!!|^No test configuration file found!/
const start = /^\s+Start +\d{1,7}: |^test \d{1,7}$|^The following tests /
const absent = /^(?:Could not|Unable to) find executable/
const setup = /^\d{1,7}: (?:Test command|Working Directory|Test timeout computed to be|Environment variables):/

export const ctest: Recogniser = {
  name: 'ctest',
  signs:
    /^\s*\d{1,7}\/\d{1,7} Test +#\d{1,7}: \S|^\d{1,3}% tests passed, \d{1,7} tests? failed out of \d|^No tests were found!!!|^No test configuration file found!|^Errors while running CTest/,
  open() {
    const said = gathering('ctest', 'test')
    // With -V the output of a test comes before its outcome, each line behind its number.
    const recent = recentLines(8)
    const counted = { passed: 0, skipped: 0 }
    let total: number | undefined
    let failed = 0
    let open: OpenFailure | undefined

    const explain = (line: LogLine): void => {
      if (!open || !/[\p{L}\p{N}]/u.test(line.text)) return
      open.place ??= placeIn(line.text)
      open.detail(line, tellsTrouble(line.text) ? ranks.message : ranks.other)
    }
    const judge = (line: LogLine, number: string, name: string): void => {
      open = undefined
      const found = verdict.exec(line.text)
      if (found?.[2]) counted.passed += 1
      else if (found?.[1] === 'Skipped' || /\*\*\*Not Run \(Disabled\)/.test(line.text)) counted.skipped += 1
      else if (found) {
        open = said.failure(line, name, undefined, `${number} ${name}`)
        const before = recent.before(line).filter(({ text }) => absent.test(text) || (text.startsWith(`${number}: `) && !setup.test(text)))
        for (const detail of before) explain(detail)
      }
      recent.clear()
    }

    return {
      line(line) {
        const { text } = line
        const found = outcome.exec(text)
        if (found) return judge(line, found[1] as string, found[2] as string)
        const totals = sum.exec(text)
        if (totals) {
          failed += Number(totals[1])
          total = (total ?? 0) + Number(totals[2])
        }
        if (totals || empty.test(text)) {
          open = undefined
          return said.total(line)
        }
        const again = listed.exec(text)
        if (again && total !== undefined) said.failure(line, again[2] as string, undefined, `${again[1]} ${again[2]}`)
        else if (start.test(text) || unrun.test(text)) open = undefined
        else if (open) explain(line)
        else recent.add(line)
      },
      end() {
        const { passed, skipped } = counted
        if (total === undefined) return said.result({ failed: said.failures || undefined, passed: passed || undefined, skipped: skipped || undefined })
        // What passed is not stated; it is known where every outcome is at hand.
        const isWhole = passed + skipped + failed === total
        return said.result({ failed, total, ...(isWhole ? { passed, skipped: skipped || undefined } : {}) })
      },
    }
  },
}
