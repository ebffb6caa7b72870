import { looksSecret } from '../core/secret-names.ts'
import type { LogSection, LogStream, Mask } from './log.ts'
import { lineFrom, lineToJudge } from './log.ts'
import { cellSpans, delimiterOf } from './outlines/cells.ts'

/** What stands in a digest where a secret was. */
const label = '[masked]'

// Names that are those of secrets in an environment, and of quite other things in data: an entry of a table, a test that passed, a repository.
const everyday = /^(?:keys?|pass|private|tokens|auth)$/i
const plain = /^(?:true|false|yes|no|null|none|nil|n\/a|[01*•-]{0,32})$/i

/** Whether what a column or a key of this name holds is taken for a secret. */
export const isSecretField = (name: string): boolean => !everyday.test(name) && looksSecret(name)

/** The value of a field as it may be shown: numbers and texts of one that is secret are not. */
export function shownValue(name: string, value: unknown): unknown {
  if (!isSecretField(name)) return value
  if (Array.isArray(value)) return value.map((item) => shownValue(name, item))
  return (typeof value === 'string' || typeof value === 'number') && !plain.test(String(value)) ? label : value
}

/** A stream of data as it may be shown: what stands in columns and under keys that are named like secrets is masked in its lines, too. */
export function withSecretFields(stream: LogStream): LogStream {
  const [first] = stream.sections
  const line = first?.firstLine === 1 ? lineFrom(first, 0, 1) : undefined
  const hide = line && hiderFor(lineToJudge(line))
  return hide ? { ...stream, sections: stream.sections.map((section) => hidden(section, hide)) } : stream
}

type Hide = (line: string) => string

function hiderFor(firstLine: string): Hide | undefined {
  if (/^\s*(?:\{\s*(?:$|")|\[\s*(?:$|[[{"]))/.test(firstLine)) return hidePairs
  const delimiter = delimiterOf(firstLine)
  if (delimiter === undefined) return undefined
  const names = cellSpans(firstLine, delimiter).map(({ text }) => text)
  const secret = names.flatMap((name, i) => (isSecretField(name) ? [i] : []))
  return secret.length === 0 ? undefined : (line) => (line.trim() === firstLine.trim() ? line : hideCells(line, delimiter, secret))
}

function hideCells(line: string, delimiter: string, secret: readonly number[]): string {
  let out = line
  const spans = cellSpans(line, delimiter)
  for (const i of [...secret].reverse()) {
    const span = spans[i]
    if (span && !plain.test(span.text)) out = `${out.slice(0, span.start)}${label}${out.slice(span.end)}`
  }
  return out
}

const pair = /"((?:[^"\\\n]|\\.){1,80})"(\s{0,4}:\s{0,4})"((?:[^"\\\n]|\\.){1,8192})"?/g

const hidePairs: Hide = (line) =>
  line.replace(pair, (whole, name: string, sign: string, value: string) => (isSecretField(name) && !plain.test(value) ? `"${name}"${sign}"${label}"` : whole))

function hidden(section: LogSection, hide: Hide): LogSection {
  const { mask } = section
  const own: Mask = { reach: mask?.reach ?? 0, mask: (text) => (mask ? mask.mask(text) : text).split('\n').map(hide).join('\n') }
  return { ...section, mask: own }
}
