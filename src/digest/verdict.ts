import { unwrap } from './wrapper.ts'

/** What a line says about the part of the work that ends, or begins, with it. */
export type Verdict = 'passed' | 'failed' | 'begun'

const passed: readonly RegExp[] = [
  /^\s*(?:[✓✔√]|ok \d|ok\s+\S+\s|PASS(?:ED)?\b|--- (?:PASS|SKIP)|\[ {7}OK \]|\[ {2}PASSED {2}\])|(?:\.\.\. ?ok|\bPASSED|\.\. OK)\s*$|^\s*Test (?:Case|Suite) .{1,300} passed\b|^(?:\d\d:\d\d )?\+\d{1,6}: (?!.*\[E\]$)/,
  /\bTests run: \d+, Failures: 0, Errors: 0\b|\bBUILD SUCCESS|\b(?:all|\d+) (?:tests? )?passed\b(?!.*[1-9]\d* failed)/i,
]
const failed: readonly RegExp[] = [
  /<<< (?:FAILURE|ERROR)!|\*\*\* FAILED \*\*\*|\s\[E\]$|^Test Case .{1,300} failed \(|\.\.\. (?:failed|error) in \d|^\s*--- FAIL|^not ok\b|^\[?FAIL(?:ED)?\b|\bFAILED\s*$|^\s*(?:[✗✘✖×⨯]|●(?! Console$))\s|^\[ {2}FAILED {2}\]|\bBUILD FAIL|Process completed with exit code [1-9]/,
  /\bTests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9])|^\S*make(?:\[\d+\])?: \*\*\*|^Finished: FAILURE/,
]
const begun = /^(?:Running |Test Case .{1,300} started|=== RUN|\[ RUN {6}\]|RUNS? |##\[group\])/

export function verdictOf(line: string): Verdict | undefined {
  const text = unwrap(line).replace(level, '').slice(0, 400)
  if (failed.some((pattern) => pattern.test(text))) return 'failed'
  if (passed.some((pattern) => pattern.test(text))) return 'passed'
  return begun.test(text) ? 'begun' : undefined
}

const level = /^\s*\[?(?:INFO|ERROR|WARN(?:ING)?)\]?:?\s{1,4}/

/** True for a line that says that what went wrong was borne with: tried again, gone around, or left aside. */
export const isResolution = (line: string): boolean => resolution.test(line) && !/^\+{1,4} /.test(unwrap(line))

const resolution =
  /\b(?:retry(?:ing)?|retries left|will (?:retry|try again)|trying again|attempt \d+|reconnect(?:ing|ed)?|recovered|falling back|fallback|ignor(?:ed|ing)|skipping|continuing|as expected|expected (?:error|exception|failure))\b/i

/** True for a line that says that trying again came to its end. */
export const isGivenUp = (line: string): boolean => givenUp.test(line)

const givenUp =
  /\b(?:giving up|gave up|gives up|retries exhausted|exhausted (?:all )?(?:retries|attempts)|no (?:more )?retries(?: left)?|after \d+ (?:attempts|retries|tries)|max(?:imum)? (?:number of )?(?:retries|attempts))\b/i
