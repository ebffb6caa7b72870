import { notPlain, type ScanPatterns, scanPatterns } from './scan-pattern.ts'

/*
 * What a scan looks for on behalf of a regular expression. It may find more lines than that matches, never fewer; so what it cannot
 * say becomes something weaker, and what nothing is known of is not scanned for.
 */

/**
 * Patterns of which at least one is found in each line, as it was printed, in which the expression matches as the line is shown;
 * undefined where none can be named. `required` stands in every match. A match that takes in a part of `label`, which stands where
 * secrets were, is found only where the expression is plainly about that.
 */
export function regexScan(regex: RegExp, required: string, label: string): ScanPatterns | undefined {
  const literal = required === '' ? undefined : scanPatterns({ text: required, folded: false }, label)
  // What may lie in a label by itself may do so in a match.
  if (!literal && required.length > 1) return undefined
  const source = regex.source === required || regex.test(label) ? undefined : weakened(regex)
  if (source === undefined) return literal
  return { pattern: { source, ignoreCase: false }, disguises: literal ? [literal.pattern, ...literal.disguises] : [notPlain] }
}

/**
 * The expression for lines of printable ASCII as they were printed, maybe with frames that overwrite each other and with white space at
 * the end, in words that Rust has, too. Without what looks around and back. Undefined where it has something that is not known here.
 */
function weakened(regex: RegExp): string | undefined {
  // In the other modes the same words mean other things.
  if (regex.flags !== 'u') return undefined
  const chars = [...regex.source]
  let out = ''
  for (let at = 0; at < chars.length; ) {
    const read = readPart(chars, at)
    if (!read) return undefined
    out += read.text
    at = read.next
  }
  return out
}

interface Read {
  readonly text: string
  readonly next: number
}

function readPart(chars: readonly string[], at: number): Read | undefined {
  const char = chars[at] as string
  if (char === '\\') return readEscape(chars, at)
  if (char === '[') return readClass(chars, at)
  if (char === '(') return readGroup(chars, at)
  if (char === '^') return { text: '(?:^|\\r)', next: at + 1 }
  if (char === '$') return { text: '[\\t ]*(?:\\r|$)', next: at + 1 }
  return { text: '.*+?{},|)'.includes(char) ? char : written(char), next: at + 1 }
}

/** A group begins, or something that looks around is passed over. */
function readGroup(chars: readonly string[], at: number): Read | undefined {
  const begun = /^\((?:\?(?:<?[=!]|:|<[A-Za-z_]\w{0,60}>))?/.exec(ahead(chars, at))?.[0] as string
  if (begun === '(' && chars[at + 1] === '?') return undefined
  if (!/[=!]$/.test(begun)) return { text: '(?:', next: at + begun.length }
  const next = groupEnd(chars, at)
  return next === undefined ? undefined : { text: '(?:)', next }
}

function readEscape(chars: readonly string[], at: number): Read | undefined {
  const char = chars[at + 1] ?? ''
  if (/[dDwWsSt]/.test(char)) return { text: `\\${char}`, next: at + 2 }
  // What stands beside a secret is not what is shown beside it.
  if (char === 'b' || char === 'B') return { text: '(?:)', next: at + 2 }
  const back = /^\\(?:[1-9]\d?|k<\w{1,60}>)/.exec(ahead(chars, at))?.[0]
  if (back !== undefined) return { text: '(?:.*)', next: at + back.length }
  const [all, two, four] = /^\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))/.exec(ahead(chars, at)) ?? []
  if (all !== undefined) {
    const shown = String.fromCharCode(Number.parseInt(two ?? (four as string), 16))
    return /^[ -~]$/.test(shown) ? { text: written(shown), next: at + all.length } : undefined
  }
  return /^[!-/:-@[-`{-~]$/.test(char) ? { text: written(char), next: at + 2 } : undefined
}

const ahead = (chars: readonly string[], at: number): string => chars.slice(at, at + 70).join('')

function readClass(chars: readonly string[], from: number): Read | undefined {
  const isNegated = chars[from + 1] === '^'
  const first = from + (isNegated ? 2 : 1)
  // Nothing, or anything: there is no such class in Rust.
  if (chars[first] === ']') return undefined
  let text = isNegated ? '[^' : '['
  for (let at = first; at < chars.length; ) {
    const char = chars[at] as string
    if (char === ']') return { text: `${text}]`, next: at + 1 }
    if (char === '\\') {
      if (/[bB1-9k]/.test(chars[at + 1] ?? 'b')) return undefined
      const read = readEscape(chars, at)
      if (!read) return undefined
      text += read.text
      at = read.next
    } else {
      const isRange = char === '-' && at > first && chars[at + 1] !== ']'
      text += isRange ? '-' : written(char)
      at += 1
    }
  }
  return undefined
}

function groupEnd(chars: readonly string[], from: number): number | undefined {
  let depth = 0
  for (let at = from; at < chars.length; at += 1) {
    const char = chars[at]
    if (char === '\\') at += 1
    else if (char === '[') {
      const found = readClass(chars, at)
      if (!found) return undefined
      at = found.next - 1
    } else if (char === '(') depth += 1
    else if (char === ')') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

const written = (char: string): string => (/^[A-Za-z0-9]$/.test(char) ? char : `\\u{${(char.codePointAt(0) as number).toString(16)}}`)
