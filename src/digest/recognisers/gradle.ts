import { addTraceLine } from './java-trace.ts'
import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const test = /^(?!> )(\S.{0,1000} > .{1,1000}) FAILED$/
const testEnd = /^(?:\S.{0,1000} > .{1,1000} (?:PASSED|SKIPPED|STARTED)|> Task :\S+.*|:[\w:-]+(?: .*)?|\d{1,9} tests? completed, .*)$/
const completed = /^\d{1,9} tests? completed, \d{1,9} failed(?:, \d{1,9} skipped)?$/
const outcome = /^BUILD (?:SUCCESSFUL|FAILED)(?: in \d|$)/
const heading = /^\* (Where|What went wrong|Try|Exception is|Get more help)\b/
const script = /^.{1,60} '(.{1,400})' line: (\d{1,7})$/
const kotlin = /^([ew]): (?:file:\/\/)?([^\s:]{1,300}\.kts?):(?: ?\()?(\d{1,7})(?::|, )(\d{1,7})\)?:? (.+)$/
// Of the other stream, in between.
const progress = /^> Task :|^\d{1,9} actionable tasks?: /
// What other lines of the log tell in full.
const echo = /^> (?:There were failing tests\.|Compilation (?:failed; see|error\.)|A failure occurred while executing org\.jetbrains\.kotlin)/
const deprecated = /^Deprecated Gradle features were used/

export const gradle: Recogniser = {
  name: 'gradle',
  signs:
    /^> Task :\S|^BUILD (?:SUCCESSFUL|FAILED) in \d|^FAILURE: Build (?:failed with an exception|completed with \d{1,5} failures)|^\* What went wrong:|^\d{1,9} tests? completed, \d{1,9} failed/,
  open() {
    const said = gathering('gradle', 'task')
    let tests: { total: number; failed: number; skipped: number } | undefined
    let failedTests = 0
    let tasks = 0
    let errors = 0
    let open: OpenFailure | undefined
    let section = ''
    let place: string | undefined
    let named: LogLine | undefined

    const explainBuild = (line: LogLine): void => {
      const at = script.exec(line.text)
      if (section === 'Where') place = at ? `${at[1]}:${at[2]}` : place
      if (section !== 'What went wrong' || line.text === '' || progress.test(line.text)) return
      if (!named) {
        named = line
        open = undefined
        tasks += 1
      } else if (echo.test(line.text) && failedTests + errors > 0) {
        said.total(named)
        section = ''
      } else {
        open ??= said.failure(named, named.text, place)
        open.detail(line, ranks.message)
      }
    }
    const closeBuild = (): void => {
      if (section === 'What went wrong' && named && !open) said.failure(named, named.text, place)
      open = undefined
      named = undefined
      section = ''
    }

    return {
      line(line) {
        const { text } = line
        const header = heading.exec(text)
        if (header) {
          closeBuild()
          section = header[1] as string
          if (section === 'Try') place = undefined
          return
        }
        if (completed.test(text)) {
          const counts = countsIn(text)
          tests ??= { total: 0, failed: 0, skipped: 0 }
          tests.total += counts.get('tests') ?? counts.get('test') ?? 0
          tests.failed += counts.get('failed') ?? 0
          tests.skipped += counts.get('skipped') ?? 0
        }
        if (completed.test(text) || outcome.test(text)) {
          closeBuild()
          return said.total(line)
        }
        if (section !== '') return explainBuild(line)
        const source = kotlin.exec(text)
        const name = test.exec(text)?.[1]
        if (name !== undefined) {
          failedTests += 1
          open = said.failure(line, name)
        } else if (source?.[1] === 'e') {
          errors += 1
          open = undefined
          said.failure(line, source[5] as string, `${source[2]}:${source[3]}:${source[4]}`)
        } else if (source || deprecated.test(text)) said.warning(line)
        else if (testEnd.test(text)) open = undefined
        else if (open && /^\s/.test(text)) addTraceLine(open, line)
      },
      end() {
        closeBuild()
        const warnings = said.warnings || undefined
        if (tests) {
          const { total, failed, skipped } = tests
          const result = said.result({
            failed,
            passed: Math.max(0, total - failed - skipped),
            skipped: skipped || undefined,
            total,
            errors: errors || undefined,
            warnings,
          })
          return result && { ...result, noun: 'test' }
        }
        return said.result({ failed: failedTests || tasks || undefined, errors: errors || undefined, warnings })
      },
    }
  },
}
