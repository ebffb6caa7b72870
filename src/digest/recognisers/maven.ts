import { addTraceLine } from './java-trace.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const leveled = /^\[(INFO|ERROR|FATAL|WARNING|WARN|DEBUG)\] ?(.*)$/
// `total(shop.OldTest)  Time elapsed: 0.03 s  <<< FAILURE!`; newer ones print `shop.OldTest.total -- Time elapsed: 0.03 s <<< FAILURE!`.
const outcome = /^(?!Tests run:)(\S.{0,500}?)(?: --)? {1,2}Time elapsed: [\d.,]{1,20} s(?:ec)? {1,2}<<< (?:FAILURE|ERROR)!$/
const tally = /^Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9})(?:, Skipped: (\d{1,9}))?(.*)$/
const heading = /^(Failed tests|Failures|Tests in error|Errors|Flakes|Results ?): ?(.*)$/
const listed = /^ {2}([\w$.]{1,300}(?:\(.{1,300}\)|[.#][\w$]{1,200}|:)(?:.{0,1000}))$/
const source = /^(.{0,10}?[^\s:[\]]{1,300}\.\w{1,8}):\[?(\d{1,7})[,:](\d{1,7})\]?:? (.+)$/
const comparison = /^ {2,}(?:symbol|location|required|found|reason)\b/
const goal = /^Failed to execute goal (.+)$/
const echo = /: (?:Compilation failure|There (?:are|were) (?:test failures|errors|\d+ )|COMPILATION ERROR)/
const pomFile = /^ {2}The project .{0,300} \(([^()\s]{1,300})\) has \d/
const pomPlace = / @ (?:.{0,300}, )?line (\d{1,7}), column (\d{1,7})$/
const boilerplate =
  /^(?:\s*|-> \[Help \d+\]|\[Help \d+\].*|To see the full stack trace.*|Re-run Maven.*|For more information about.*|After correcting the problems.*|\s*mvn <.*|Please refer to .*|See .*surefire-reports.*|COMPILATION ERROR ?:?\s*)$/

/** Maven with its compiler plugin, surefire and failsafe. */
export const maven: Recogniser = {
  name: 'maven',
  signs:
    /^\[(?:INFO|ERROR)\] (?:BUILD (?:SUCCESS|FAILURE)$|Scanning for projects|-{3} .{1,200} @ \S+ -{3}$|COMPILATION ERROR|Failed to execute goal |Tests run: \d|Reactor Summary)|^Tests run: \d{1,9}, Failures: \d{1,9}, Errors: \d{1,9}, Skipped: \d{1,9}, Time elapsed: /,
  open() {
    const said = gathering('maven', 'error')
    const sums = { ofClasses: emptySum(), ofModules: emptySum() }
    let errors = 0
    let failedTests = 0
    let isOver = false
    /** What follows repeats what the log said before. */
    let isEcho = false
    let list = ''
    let pom: string | undefined
    let hasGap = false
    let open: OpenFailure | undefined

    const failTest = (line: LogLine, name: string): OpenFailure => {
      const before = said.failures
      const failure = said.failure(line, name, undefined, keyOf(name))
      failedTests += said.failures - before
      return failure
    }
    const failBuild = (line: LogLine, message: string): void => {
      errors += 1
      open = said.failure(line, message)
    }
    const addSource = (line: LogLine, found: RegExpExecArray): void => {
      const place = `${found[1]}:${found[2]}:${found[3]}`
      const before = said.failures
      const failure = said.failure(line, found[4] as string, place, `${place} ${found[4]}`)
      // The end of the log repeats what the compiler said.
      open = said.failures > before ? failure : undefined
      errors += said.failures - before
    }
    const addListed = (line: LogLine, text: string): void => {
      const before = said.failures
      const name = text.trim()
      const failure = failTest(line, name)
      open = said.failures > before ? failure : undefined
    }
    const readMarked = (line: LogLine, message: string): void => {
      const source_ = source.exec(message)
      const failedGoal = goal.exec(message)
      if (failedGoal) isEcho = echo.test(message) && errors + failedTests > 0
      if (failedGoal && isEcho) {
        open = undefined
        said.total(line)
      } else if (failedGoal) failBuild(line, message)
      else if (source_) addSource(line, source_)
      else if (boilerplate.test(message)) return
      else if (open) {
        open.detail(line, comparison.test(message) ? ranks.comparison : ranks.message)
        pom = pomFile.exec(message)?.[1] ?? pom
        const at = pomPlace.exec(message)
        if (at && pom !== undefined) open.place ??= `${pom}:${at[1]}:${at[2]}`
      } else if ((isOver && !isEcho) || /^The build could not read \d/.test(message)) failBuild(line, message)
    }
    const readWarning = (line: LogLine, message: string): void => {
      open = undefined
      if (message.trim() !== '' && !tally.test(message)) said.warning(line)
    }

    // The message of an exception may have one blank line, before what is compared.
    const endParagraph = (): void => {
      if (open?.place !== undefined || hasGap) open = undefined
      hasGap = true
    }

    return {
      line(line) {
        const marked = leveled.exec(line.text)
        const level = marked?.[1]
        const message = marked?.[2] ?? line.text
        const failed = outcome.exec(message)
        const counts = tally.exec(message)
        const head = heading.exec(message)
        if (failed) {
          list = ''
          open = failTest(line, failed[1] as string)
          hasGap = false
        } else if (counts) {
          open = undefined
          list = ''
          const isClass = /Time elapsed/.test(counts[5] as string)
          addTo(isClass ? sums.ofClasses : sums.ofModules, counts)
          if (!isClass) said.total(line)
        } else if (head) {
          open = undefined
          list = /^(?:Fail|Tests in|Errors)/.test(head[1] as string) ? 'failed' : 'other'
          if (head[2] && list === 'failed') addListed(line, head[2])
        } else if (list === 'failed' && listed.test(message)) addListed(line, message)
        else if (/^BUILD (?:SUCCESS|FAILURE)$/.test(message) || / FAILURE \[/.test(message)) {
          open = undefined
          isOver = message === 'BUILD FAILURE'
          said.total(line)
        } else if (level === 'ERROR' || level === 'FATAL') readMarked(line, message)
        else if (level?.startsWith('WARN')) readWarning(line, message)
        else if (level !== undefined || /^Running \S/.test(message)) open = undefined
        else if (line.text === '') endParagraph()
        else if (open && comparison.test(line.text)) open.detail(line, ranks.comparison)
        else if (open) addTraceLine(open, line)
      },
      end() {
        const sum = sums.ofModules.total > 0 ? sums.ofModules : sums.ofClasses
        const warnings = said.warnings || undefined
        if (sum.total === 0) return said.result({ failed: failedTests || undefined, errors: errors || undefined, warnings })
        const { total, failed, skipped } = sum
        const passed = Math.max(0, total - failed - skipped)
        const result = said.result({ failed, passed, skipped: skipped || undefined, total, errors: errors || undefined, warnings })
        return result && { ...result, noun: 'test' }
      },
    }
  },
}

interface Sum {
  total: number
  failed: number
  skipped: number
}

const emptySum = (): Sum => ({ total: 0, failed: 0, skipped: 0 })

function addTo(sum: Sum, [, run, failures, errors, skipped]: RegExpExecArray): void {
  sum.total += Number(run)
  sum.failed += Number(failures) + Number(errors)
  sum.skipped += Number(skipped ?? 0)
}

/** A test by its class without the package and its method, which the report and the list at the end spell in two ways. */
function keyOf(name: string): string {
  const spelled = /^([\w$]{1,200})\(([\w$.]{1,300})\)/.exec(name)
  const [type, method] = spelled
    ? [spelled[2] as string, spelled[1]]
    : [name.slice(0, Math.max(0, methodAt(name))), /^[\w$]*/.exec(name.slice(methodAt(name) + 1))?.[0]]
  return `${type.slice(type.lastIndexOf('.') + 1)} ${method}`
}

/** Where the dot before the method stands in `shop.OldTest.total:8 message`. */
const methodAt = (name: string): number => (/^[\w$.]{1,300}/.exec(name)?.[0] ?? '').replace(/\.$/, '').lastIndexOf('.')
