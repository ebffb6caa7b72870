import { type Field, isCode, isCodeName, isStatusName, plainText, readText, toStatus } from './read-text.ts'

/** Everything that an error tells, whatever form it came in. */
export interface Evidence {
  /** Outermost first. */
  readonly statuses: readonly number[]
  readonly codes: readonly string[]
  /** The sentences, on one line. */
  readonly text: string
  readonly fields: readonly Field[]
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>
}

const maxDepth = 10
// A wrapped error of an SDK has a few dozen values; what has more is no error, or holds the request.
const maxValues = 400

// What was asked, not what was answered: a conversation about rate limits is no rate limit.
const aboutTheRequest = /^(?:stack|request|requestBody|requestBodyValues|requestOptions|config|options|prompt|messages|input|url|tools|socket|agent|signal)$/
const textNames =
  /^(?:message|msg|error|errors|err|error_msg|detail|details|description|body|raw|response|responseBody|responseText|data|text|statusText|content|reason|error_description|title|cause|hint|errorMessage)$/i

/** Collects what an error, a response, an object of status, headers and body, or a text tells. Never throws. */
export function collectEvidence(error: unknown): Evidence {
  const statuses: number[] = []
  const codes: string[] = []
  const texts: string[] = []
  const fields: Field[] = []
  const headers = new Map<string, string>()
  const seen = new Set<object>()
  let left = maxValues

  const addText = (raw: string): void => {
    const text = plainText(raw)
    if (text === '' || texts.includes(text)) return
    texts.push(text)
    const facts = readText(text)
    statuses.push(...facts.statuses)
    codes.push(...facts.codes)
    fields.push(...facts.fields)
  }
  const addValue = (name: string, value: unknown, depth: number): void => {
    if (typeof value === 'string' || typeof value === 'number') {
      const status = isStatusName(name) ? toStatus(value) : undefined
      if (status !== undefined) statuses.push(status)
      const text = String(value)
      if (isCodeName(name) && isCode(text)) codes.push(text)
      if (typeof value === 'number' || text.length <= 120) fields.push({ name, value: text })
      if (typeof value === 'string' && textNames.test(name)) addText(value)
    } else if (typeof value === 'object' && value !== null && !aboutTheRequest.test(name)) {
      if (/^(?:response)?headers$/i.test(name)) addHeaders(value)
      else visit(value, depth + 1)
    }
  }
  const addHeaders = (given: object): void => {
    for (const [name, value] of headerEntries(given)) if (!headers.has(name)) headers.set(name, value)
  }
  const visit = (value: object, depth: number): void => {
    if (seen.has(value) || depth > maxDepth) return
    seen.add(value)
    for (const name of namesOf(value)) {
      if (left <= 0) return
      left -= 1
      addValue(name, read(value, name), depth)
    }
  }

  if (typeof error === 'string') addText(error)
  else if (typeof error === 'object' && error !== null) visit(error, 0)
  const errorType = headers.get('x-amzn-errortype')
  if (errorType !== undefined) codes.push(errorType.slice(0, 80).split(':')[0] as string)
  return { statuses, codes, text: texts.join(' | ').slice(0, 4 * 24 * 1024), fields, headers }
}

// Own names, and those that errors and responses inherit or hide. The answer comes before what caused it.
const hidden = ['status', 'statusText', 'headers', 'name', 'message', 'errors', 'cause']

function namesOf(value: object): string[] {
  try {
    const own = Array.isArray(value) ? value.slice(0, 50).map((_, index) => String(index)) : Object.keys(value).slice(0, 100)
    const more = Array.isArray(value) ? [] : hidden.filter((name) => !own.includes(name) && name in value)
    const isCause = (name: string): boolean => name === 'cause' || name === 'errors'
    const all = [...more, ...own]
    return [...all.filter((name) => !isCause(name)), ...all.filter(isCause)].filter((name) => !aboutTheRequest.test(name))
  } catch {
    return []
  }
}

/** A getter, or a proxy, may throw. */
function read(value: object, name: string): unknown {
  try {
    return (value as Record<string, unknown>)[name]
  } catch {
    return undefined
  }
}

function headerEntries(given: object): (readonly [string, string])[] {
  try {
    const pairs: Iterable<unknown> =
      typeof (given as { entries?: unknown }).entries === 'function'
        ? (given as Map<unknown, unknown>).entries()
        : Array.isArray(given)
          ? given
          : Object.entries(given)
    const entries: (readonly [string, string])[] = []
    for (const pair of pairs) {
      if (entries.length >= 100 || !Array.isArray(pair)) break
      const [name, value] = pair as unknown[]
      const first = Array.isArray(value) ? value[0] : value
      if (typeof name === 'string' && (typeof first === 'string' || typeof first === 'number')) entries.push([name.toLowerCase(), String(first).slice(0, 200)])
    }
    return entries
  } catch {
    return []
  }
}
