import { addTraceLine } from './java-trace.ts'
import type { Gathering, OpenFailure } from './parts.ts'
import type { Counts, LogLine } from './recogniser.ts'

// `total(shop.OldTest)  Time elapsed: 0.03 s  <<< FAILURE!`; newer ones print `shop.OldTest.total -- Time elapsed: 0.03 s <<< FAILURE!`.
const outcome = /^(?!Tests run:)(\S.{0,500}?)(?: --)? {1,2}Time elapsed: [\d.,]{1,20} s(?:ec)? {1,2}<<< (?:FAILURE|ERROR)!$/
const tally = /^Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9})(?:, Skipped: (\d{1,9}))?(.*)$/
const heading = /^(Failed tests|Failures|Tests in error|Errors|Flakes|Results ?): ?(.*)$/
const listed = /^ {2}([\w$.]{1,300}(?:\(.{1,300}\)|[.#][\w$]{1,200}|:)(?:.{0,1000}))$/

/** What the test plugins of Maven print: outcomes with their traces, sums, and a list at the end. */
export interface Surefire {
  readonly failures: number
  /** True for a line that is about tests; `message` is the line without its level. */
  read(line: LogLine, message: string): boolean
  /** Takes a line without a level for the test before it, if it goes on with one. */
  explain(line: LogLine): void
  close(): void
  /** Undefined where no sum is at hand. */
  counts(): Counts | undefined
}

export function surefire(said: Gathering): Surefire {
  const ofClasses = emptySum()
  const ofModules = emptySum()
  let failures = 0
  let isList = false
  let hasGap = false
  let open: OpenFailure | undefined

  const fail = (line: LogLine, name: string): boolean => {
    const before = said.failures
    open = said.failure(line, name, undefined, keyOf(name))
    hasGap = false
    failures += said.failures - before
    return said.failures > before
  }
  // The list repeats outcomes in other words; a test that is known already keeps what explains it.
  const failAgain = (line: LogLine, text: string): void => {
    if (!fail(line, text.trim())) open = undefined
  }

  return {
    get failures() {
      return failures
    },
    read(line, message) {
      const failed = outcome.exec(message)
      const counts = tally.exec(message)
      const head = heading.exec(message)
      if (failed || counts || head) {
        open = undefined
        isList = head !== null && /^(?:Fail|Tests in|Errors)/.test(message)
      }
      if (failed) fail(line, failed[1] as string)
      else if (counts) {
        const isClass = /Time elapsed/.test(counts[5] as string)
        addTo(isClass ? ofClasses : ofModules, counts)
        if (!isClass) said.total(line)
      } else if (isList && head?.[2]) failAgain(line, head[2])
      else if (!head && isList && listed.test(message)) failAgain(line, message)
      else return head !== null
      return true
    },
    explain(line) {
      if (line.text !== '') {
        if (open) addTraceLine(open, line)
        return
      }
      // The message of an exception may have one blank line, before what is compared.
      if (open?.place !== undefined || hasGap) open = undefined
      hasGap = true
    },
    close() {
      open = undefined
    },
    counts() {
      const { total, failed, skipped } = ofModules.total > 0 ? ofModules : ofClasses
      return total === 0 ? undefined : { failed, passed: Math.max(0, total - failed - skipped), skipped: skipped || undefined, total }
    },
  }
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
