/** Values that came from outside as JSON, of which nothing is known. */

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** The first of these fields that is a text with something in it. */
export function textIn(fields: Fields, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (typeof value === 'string' && value.trim() !== '') return value
  }
  return null
}

export function listIn(fields: Fields, ...names: readonly string[]): readonly unknown[] {
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (Array.isArray(value)) return value
  }
  return []
}

export function numberIn(fields: Fields, ...names: readonly string[]): number | null {
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (typeof value === 'number' && Number.isFinite(value)) return value
  }
  return null
}

export const isTrue = (fields: Fields, ...names: readonly string[]): boolean => names.some((name) => Object.hasOwn(fields, name) && fields[name] === true)

/** JSON that stands in a text; the text itself where it is none. */
export function parsedText(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s{0,8}[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const maxTextLength = 200_000
const maxDepth = 4

/** The text in a value of which it is not known how it is wrapped: a text, parts of a message, or an object with one of the usual fields. */
export function textOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.length > maxTextLength ? `${value.slice(0, maxTextLength / 2)}\n${value.slice(-maxTextLength / 2)}` : value
  if (depth > maxDepth) return ''
  if (Array.isArray(value)) {
    return value
      .map((part) => textOf(part, depth + 1))
      .filter((text) => text !== '')
      .join('\n')
  }
  const fields = fieldsOf(value)
  return ['stdout', 'stderr', 'text', 'content', 'output', 'llmContent', 'result', 'error', 'message', 'textResultForLlm', 'functionResponse', 'response']
    .filter((name) => Object.hasOwn(fields, name))
    .map((name) => textOf(fields[name], depth + 1))
    .filter((text) => text !== '')
    .join('\n')
}
