/** What the level of a line says of it. */
export type Mark = 'fatal' | 'error' | 'warning' | 'info' | 'none'

export const markOf = (word: string): Mark =>
  /^warn/i.test(word)
    ? 'warning'
    : /^(?:info|notice|debug|trace|verbose|default)/i.test(word)
      ? 'info'
      : /^(?:fatal|emerg|alert|crit|panic)/i.test(word)
        ? 'fatal'
        : 'error'

/** Levels of one letter. */
export const codes: Readonly<Record<string, Mark>> = { V: 'info', I: 'info', D: 'info', W: 'warning', E: 'error', F: 'fatal' }
const numbers: Readonly<Record<string, Mark>> = { 10: 'info', 20: 'info', 30: 'info', 40: 'warning', 50: 'error', 60: 'fatal' }
const words =
  /^(?:fatal|error|err|severe|crit|critical|emerg|emergency|alert|panic|warn|warning|info|information|informational|notice|debug|trace|verbose|default)$/i

const field = /"(?:level|@level|@l|lvl|log\.level|log_level|logLevel|loglevel|level_name|levelname|severity|severity_text|severityText|s)"\s?:\s?"?(\w{1,13})\b/

/** The level that a line of JSON says it has. */
export function levelInFields(text: string): Mark | undefined {
  const word = field.exec(text)?.[1]
  return word === undefined ? undefined : (codes[word] ?? numbers[word] ?? (words.test(word) ? markOf(word) : undefined))
}
