/** Where a text stops being JSON; both count from 1, the column in characters. */
export interface JsonFault {
  readonly line: number
  readonly column: number
  readonly why: string
}

type Expected = 'value' | 'valueOrEnd' | 'key' | 'keyOrEnd' | 'colon' | 'commaOrEnd' | 'nothing'

const words: Record<Expected, string> = {
  value: 'a value',
  valueOrEnd: 'a value or ]',
  key: 'a key in double quotes',
  keyOrEnd: 'a key in double quotes or }',
  colon: 'a colon',
  commaOrEnd: 'a comma or the closing bracket',
  nothing: 'the end of the file',
}

const spaces = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows no control characters in text
const textBody = /"(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/**
 * The first place at which `text` is not JSON; undefined where it is. JSON.parse names a place for some faults only, and
 * differently in each version of Node.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let at = 0
  const fault = (why: string, offset = at): JsonFault => ({ ...placeOf(text, offset), why })
  const take = (pattern: RegExp): number => {
    pattern.lastIndex = at
    return pattern.test(text) ? pattern.lastIndex : at
  }
  const afterValue = (): Expected => (open.length === 0 ? 'nothing' : 'commaOrEnd')
  for (;;) {
    at = take(spaces)
    if (at >= text.length) return expected === 'nothing' ? undefined : fault(`the file ends where ${words[expected]} is expected`)
    const char = text[at] as string
    const forValue = expected === 'value' || expected === 'valueOrEnd'
    const forKey: boolean = expected === 'key' || expected === 'keyOrEnd'
    if (char === '"' && (forValue || forKey)) {
      const end = take(textBody)
      if (text[end] !== '"') return textFault(text, end, (why, offset = at) => fault(why, offset))
      at = end + 1
      expected = forKey ? 'colon' : afterValue()
    } else if ((char === '{' || char === '[') && forValue) {
      open.push(char)
      at += 1
      expected = char === '{' ? 'keyOrEnd' : 'valueOrEnd'
    } else if ((char === '}' && open.at(-1) === '{' && !forValue && expected !== 'key' && expected !== 'colon') || (char === ']' && endsList(open, expected))) {
      open.pop()
      at += 1
      expected = afterValue()
    } else if (char === ':' && expected === 'colon') {
      at += 1
      expected = 'value'
    } else if (char === ',' && expected === 'commaOrEnd') {
      at += 1
      expected = open.at(-1) === '{' ? 'key' : 'value'
    } else {
      const end = forValue ? take(scalar) : at
      if (end === at) return fault(misplaced(text, at, expected))
      at = end
      expected = afterValue()
    }
  }
}

function endsList(open: readonly string[], expected: Expected): boolean {
  return open.at(-1) === '[' && (expected === 'valueOrEnd' || expected === 'commaOrEnd')
}

function textFault(text: string, end: number, fault: (why: string, offset?: number) => JsonFault): JsonFault {
  if (end >= text.length) return fault('the text that begins here has no end')
  if (text[end] === '\\') return fault('this escape is not part of JSON', end)
  return fault('a text cannot hold a line break or another control character', end)
}

function misplaced(text: string, at: number, expected: Expected): string {
  const char = String.fromCodePoint(text.codePointAt(at) as number)
  if (/^(?:\/[/*]|#)/.test(text.slice(at, at + 2))) return 'comments are not part of JSON'
  if ((char === '}' || char === ']') && (expected === 'key' || expected === 'value')) return `a comma cannot stand before ${char}`
  if (char === "'") return 'text stands in double quotes'
  return `${JSON.stringify(char)} stands where ${words[expected]} is expected`
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 }
}
