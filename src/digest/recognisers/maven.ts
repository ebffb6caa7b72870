import { addTraceLine, isFrame } from './java-trace.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { Counts, LogLine, Recognised, Recogniser } from './recogniser.ts'
import { maxFailures } from './recogniser.ts'
import { surefire } from './surefire.ts'

const leveled = /^\[(INFO|ERROR|FATAL|WARNING|WARN|DEBUG)\] ?(.*)$/
// `Cart.java:[6,15] message`; other compilers and checkers write `Cart.kt: (6, 15) message`, `Cart.java:6:15: message` or `Cart.scala:6: message`.
const source = /^((?:[A-Z]:)?[^\s:[\]]{1,300}\.\w{1,8}):(?: ?[[(])?(\d{1,7})(?:[,:] ?(\d{1,7}))?[\])]?:? (.+)$/
const comparison = /^ {2,}(?:symbol|location|required|found|reason)\b/
const exception = /^(?:Caused by: )?[\w$.]{1,300}(?:Exception|Error)(?:: |$)/
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
    const tests = surefire(said)
    let compiled = gathering('maven', 'error')
    let goals = 0
    let isOver = false
    /** What follows repeats what the log said before. */
    let isEcho = false
    let pom: string | undefined
    let open: OpenFailure | undefined

    const close = (): void => {
      open = undefined
      tests.close()
    }
    const failBuild = (line: LogLine, message: string): void => {
      goals += 1
      open = said.failure(line, message)
    }
    const addSource = (line: LogLine, [, file, row, column, message]: RegExpExecArray): void => {
      const place = column === undefined ? `${file}:${row}` : `${file}:${row}:${column}`
      const before = compiled.failures
      const failure = compiled.failure(line, message as string, place, `${place} ${message}`)
      // The end of the log repeats what the compiler said.
      open = compiled.failures > before ? failure : undefined
    }
    const explain = (line: LogLine, message: string): void => {
      open?.detail(line, comparison.test(message) ? ranks.comparison : ranks.message)
      pom = pomFile.exec(message)?.[1] ?? pom
      const at = pomPlace.exec(message)
      if (open && at && pom !== undefined) open.place ??= `${pom}:${at[1]}:${at[2]}`
    }
    const readError = (line: LogLine, message: string): void => {
      tests.close()
      const inSource = source.exec(message)
      if (goal.test(message)) {
        open = undefined
        isEcho = echo.test(message) && compiled.failures + goals + tests.failures > 0
        if (isEcho) said.total(line)
        else failBuild(line, message)
      } else if (inSource) addSource(line, inSource)
      else if (boilerplate.test(message)) return
      else if (open) explain(line, message)
      else if ((isOver && !isEcho) || /^The build could not read \d/.test(message)) failBuild(line, message)
    }
    const readOutcome = (line: LogLine, message: string): void => {
      close()
      isOver = message === 'BUILD FAILURE'
      // What a compiler marks as an error and a build comes through is none.
      if (message === 'BUILD SUCCESS') compiled = gathering('maven', 'error')
      said.total(line)
    }
    const readUnmarked = (line: LogLine): void => {
      if (open && comparison.test(line.text)) open.detail(line, ranks.comparison)
      else if (open && (isFrame(line.text) || exception.test(line.text))) addTraceLine(open, line)
      else tests.explain(line)
    }

    return {
      line(line) {
        const marked = leveled.exec(line.text)
        const level = marked?.[1]
        const message = marked?.[2] ?? line.text
        if (tests.read(line, message)) open = undefined
        else if (/^BUILD (?:SUCCESS|FAILURE)$/.test(message)) readOutcome(line, message)
        else if (/ FAILURE \[/.test(message)) said.total(line)
        else if (level === 'ERROR' || level === 'FATAL') readError(line, message)
        else if (level === undefined && !/^Running \S/.test(message)) readUnmarked(line)
        else {
          close()
          if (level?.startsWith('WARN') && message.trim() !== '') said.warning(line)
        }
      },
      end() {
        const counts = tests.counts()
        const others: Counts = { errors: goals + compiled.failures || undefined, warnings: said.warnings || undefined }
        const result = both(said.result({ failed: tests.failures || undefined, ...counts, ...others }), compiled.result(others))
        return result && counts ? { ...result, noun: 'test' } : result
      },
    }
  },
}

function both(said: Recognised | undefined, compiled: Recognised | undefined): Recognised | undefined {
  if (!said || !compiled) return said ?? compiled
  const failures = [...said.failures, ...compiled.failures].sort((a, b) => a.line.number - b.line.number)
  return { ...said, failures: failures.slice(0, maxFailures) }
}
