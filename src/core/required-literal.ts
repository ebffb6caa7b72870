/**
 * The longest text that stands in every match of a regular expression, as far as that is plain to see; '' where it is not.
 * For an expression that compiles.
 */
export function requiredLiteral(pattern: string): string {
  const chars = [...pattern]
  let best = ''
  let run: string[] = []
  const flush = (): void => {
    if (run.length > [...best].length) best = run.join('')
    run = []
  }
  for (let i = 0; i < chars.length; i += 1) {
    const char = chars[i] as string
    if (char === '|') return ''
    if (char === '(' || char === '[') {
      flush()
      i = char === '[' ? classEnd(chars, i) : groupEnd(chars, i)
      // What is repeated here is no part of the text.
      if (isQuantifier(chars, i + 1)) i = quantifierEnd(chars, i + 1)
    } else if (char === '\\') {
      const next = chars[i + 1] ?? ''
      // Escapes with a tail of their own.
      if (/[0-9uxpPck]/.test(next)) return ''
      if (/\w/.test(next)) flush()
      else run.push(next)
      i += 1
    } else if (isQuantifier(chars, i)) {
      // A character may be missing, except before a plus; what follows need not follow it at once.
      if (char !== '+') run.pop()
      flush()
      i = quantifierEnd(chars, i)
    } else if ('.^${})]'.includes(char)) flush()
    else run.push(char)
  }
  flush()
  return best
}

function isQuantifier(chars: readonly string[], at: number): boolean {
  return '*+?'.includes(chars[at] ?? '-') || repetition.test(chars.slice(at, at + 24).join(''))
}
const repetition = /^\{\d+(?:,\d*)?\}/

/** The last character of a quantifier, that which makes it lazy included. */
function quantifierEnd(chars: readonly string[], at: number): number {
  const end = chars[at] === '{' ? at + (repetition.exec(chars.slice(at, at + 24).join(''))?.[0].length ?? 1) - 1 : at
  return chars[end + 1] === '?' ? end + 1 : end
}

function classEnd(chars: readonly string[], from: number): number {
  for (let i = from + 1; i < chars.length; i += 1) {
    if (chars[i] === '\\') i += 1
    else if (chars[i] === ']') return i
  }
  return chars.length
}

function groupEnd(chars: readonly string[], from: number): number {
  let depth = 0
  for (let i = from; i < chars.length; i += 1) {
    if (chars[i] === '\\') i += 1
    else if (chars[i] === '[') i = classEnd(chars, i)
    else if (chars[i] === '(') depth += 1
    else if (chars[i] === ')') {
      depth -= 1
      if (depth === 0) return i
    }
  }
  return chars.length
}

/** Tokens that the index has of every text that holds the literal: of its words that end inside of it. */
export function literalTokens(literal: string): string[] {
  const whole = [...literal.matchAll(/(?<=[ -/:-@[-^`{-~])[A-Za-z0-9_]{1,64}(?=[ -/:-@[-^`{-~]|$)/g)]
  return [...new Set(whole.map(({ 0: word, index }) => word.toLowerCase() + (index + word.length === literal.length ? '*' : '')))]
}
