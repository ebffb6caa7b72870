import { fieldsOf, isTrue, numberIn } from './values.ts'

export type Mask = (text: string) => string

/** What the output of a tool says of how it went. Only its beginning and its end are looked at: both are short. */

const lookedAt = 4_000
const statedCode =
  /(?:^|\n) {0,8}(?:Process )?(?:Command )?(?:<?exit[ _-]?code>?:?|exited with(?: exit)? code:?|exited with(?: status)?|failed with exit code) {0,4}(-?\d{1,10})/i

export interface Failed {
  readonly failed: boolean
  /** The line that says why: made when it is wanted, because masking an output takes its time, and few are told. */
  message(): string | null
}

/**
 * Whether a call failed, and the line that says why. The word of the host counts first, then an exit code that its answer has as
 * a field, then one that a shell states in its text.
 */
export function failureOf(output: unknown, text: string, told: boolean | undefined, isShell: boolean, mask: Mask): Failed {
  const fields = fieldsOf(output)
  const metadata = fieldsOf(fields.metadata)
  const code =
    numberIn(fields, 'exit_code', 'exitCode', 'exit', 'returncode') ?? numberIn(metadata, 'exit_code', 'exitCode', 'exit') ?? (isShell ? statedIn(text) : null)
  const flagged = isTrue(fields, 'is_error', 'isError') || fields.success === false || fields.resultType === 'failure' || hasError(fields.error)
  const failed = told === true || flagged || (code !== null && code !== 0)
  if (!failed) return { failed, message: () => null }
  const message = (): string | null => {
    const why = reasonIn(text, mask)
    return code === null || code === 0 ? why : `exit ${code}${why === null ? '' : `: ${why}`}`
  }
  return { failed, message }
}

const hasError = (error: unknown): boolean => (typeof error === 'string' && error !== '') || (typeof error === 'object' && error !== null)

function statedIn(text: string): number | null {
  const stated = statedCode.exec(text.slice(0, lookedAt)) ?? statedCode.exec(text.slice(-lookedAt))
  return stated ? Number(stated[1]) : null
}

/** The first that fits is the reason: `TypeError: …` says more than that something failed. */
const saysWhy = [/(?:error|exception|panic|fatal)s?\b/i, /\b(?:failed|failure|cannot|not found|denied|no such|undefined|refused|unexpected|no rule)\b/i]
/** A line of a host about the call and not of what ran. */
const aboutTheCall =
  /^\W{0,4}(?:exit[ _-]?code|exited with|process exited|process group|command exited|chunk id|wall time|original token count|directory:|command:|[a-z ]{1,20}: \((?:none|empty)\)$)/i
/** What hosts put before an output. */
const label = /^(?:output|stdout|stderr):(?: |$)/i

function reasonIn(text: string, mask: Mask): string | null {
  const ends = text.length > 2 * lookedAt ? `${text.slice(0, lookedAt)}\n${text.slice(-lookedAt)}` : text
  // Masked before a line is taken out of it: some secrets are known by the lines around them.
  const lines = mask(ends)
    .split(/[\r\n]+/)
    .filter((line) => !aboutTheCall.test(line))
    .map((line) => line.trim().replace(label, '').trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line))
  const telling = lines.filter((line) => !isCount(line))
  for (const pattern of saysWhy) {
    const found = telling.find((line) => pattern.test(line.slice(0, 400)))
    if (found !== undefined) return found
  }
  return telling.at(-1) ?? lines.at(-1) ?? null
}

const counts = /\b\d{1,7} (?:tests? )?(?:passed|failed|failing|passing|failures?|errors?|skipped|pending|ok)\b/i
const counter = /\b(?:tests?|specs?|suites?|examples?|assertions?|\d{1,7} (?:passed|passing|failed|failing))\b/i
const goResult = /^(?:ok|FAIL)\s{1,8}\S{1,200}\s{1,8}(?:[\d.]{1,12}s|\(cached\)|\[)/

const isCount = (line: string): boolean => line.length <= 400 && ((counts.test(line) && counter.test(line)) || goResult.test(line))

/** The last line that counts tests; null where there is none. */
export function testCounts(text: string): string | null {
  const lines = text.slice(-lookedAt).split(/[\r\n]+/)
  for (let i = lines.length - 1; i >= 0; i -= 1) {
    const line = (lines[i] as string).trim()
    if (isCount(line)) return line.replace(/^[=\-\s]{1,80}|[=\-\s]{1,80}$/g, '')
  }
  return null
}
