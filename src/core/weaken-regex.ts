/*
 * JavaScript regular expressions in words that Rust has, too. What is found is at least what the expression finds, with what Rust has
 * not (looking around and back, borders of words) left out. `\d`, `\w` and `\s` mean what they mean in JavaScript: the digits 0 to 9, the
 * letters of ASCII with digits and underscore, and white space of all of Unicode.
 */

/**
 * `plain`: for lines of printable ASCII, maybe with frames that overwrite each other and with white space at the end. `printed`: for any
 * line, with escape sequences and control characters between what is shown, and with bytes that are no text.
 */
export type WeakenedFor = 'plain' | 'printed'

/** The expression, weakened; undefined where it has something that is not known here. */
export function weakenRegex(regex: RegExp, lines: WeakenedFor): string | undefined {
  if (regex.flags !== 'u' && regex.flags !== '') return undefined
  const reading: Reading = { chars: [...regex.source], isUnicode: regex.flags === 'u', isPrinted: lines === 'printed' }
  let out = ''
  for (let at = 0; at < reading.chars.length; ) {
    const read = readPart(reading, at)
    if (!read) return undefined
    out += read.text
    at = read.next
  }
  return out
}

interface Reading {
  readonly chars: readonly string[]
  /** In the other mode characters are half pairs, and what means nothing stands for itself. */
  readonly isUnicode: boolean
  readonly isPrinted: boolean
}

interface Read {
  readonly text: string
  readonly next: number
}

// As `stripControls` takes it out, or more.
const control = '[\\x01-\\x08\\x0b\\x0c\\x0e-\\x1a\\x1c-\\x1f\\x7f-\\u{9f}]'
const words = '(?:[^\\x07\\x1b\\n]|(?-u:[\\x80-\\xff]))*'
const sequence = `(?:\\x1b\\[|\\u{9b})[0-?]*[ -/]*[@-~]?|(?:\\x1b[\\]PX^_]|[\\u{9d}\\u{90}\\u{98}\\u{9e}\\u{9f}])${words}|\\x1b[ -/]*[0-~]?`
const unseen = `(?:${control}|${sequence})*`
/** What begins a frame. */
const frame = '(?:^|\\r|(?:\\x1b\\[|\\u{9b})(?:[01]?G|2K))'
/** Bytes that are shown as one character, since they are no text, and NUL, which is shown as the same. */
const noText = '\\x00|(?-u:[\\x80-\\xff]){1,3}'
/** Stands in no line as it is shown. */
const nowhere = '\\x01'

/** What has one character of a line. */
function shown(text: string, { isUnicode, isPrinted }: Reading, mayBeAny = false): string {
  if (!isPrinted) return text
  // Without Unicode a character may be half of a pair.
  const one = !mayBeAny ? text : isUnicode ? `(?:${text}|${noText})` : `(?:.|${noText})?`
  return `(?:${one}${unseen})`
}

function readPart(reading: Reading, at: number): Read | undefined {
  const { chars, isPrinted } = reading
  const char = chars[at] as string
  if (char === '\\') return readEscape(reading, at)
  if (char === '[') return readClass(reading, at)
  if (char === '(') return readGroup(reading, at)
  if (char === '^') return { text: isPrinted ? `(?:${frame}${unseen})` : '(?:^|\\r)', next: at + 1 }
  if (char === '$') return { text: isPrinted ? `(?:${unseen}(?:[\\s\\u{feff}]${unseen})*(?:${frame}|$))` : '[\\t ]*(?:\\r|$)', next: at + 1 }
  if (char === '.') return { text: shown('.', reading, true), next: at + 1 }
  if (char === '{') return readRepetition(reading, at)
  if ('*+?|)'.includes(char)) return { text: char, next: at + 1 }
  return char === '\ufffd' ? undefined : { text: shown(written(char), reading), next: at + 1 }
}

/** More often than this is not counted: what is counted high makes a pattern large. */
const maxCount = 16

function readRepetition(reading: Reading, at: number): Read | undefined {
  const [all, least, comma, most] = /^\{(\d{1,9})(,?)(\d{0,9})\}/.exec(ahead(reading, at)) ?? []
  if (all === undefined) return reading.isUnicode ? undefined : { text: shown(written('{'), reading), next: at + 1 }
  const from = Math.min(Number(least), maxCount)
  const to = comma === '' ? least : most
  const end = to === '' || Number(to) > maxCount ? '' : to
  return { text: end === String(from) ? `{${from}}` : `{${from},${end}}`, next: at + all.length }
}

/** A group begins, or something that looks around is passed over. */
function readGroup(reading: Reading, at: number): Read | undefined {
  const begun = /^\((?:\?(?:<?[=!]|:|<[A-Za-z_]\w{0,60}>))?/.exec(ahead(reading, at))?.[0] as string
  if (begun === '(' && reading.chars[at + 1] === '?') return undefined
  if (!/[=!]$/.test(begun)) return { text: '(?:', next: at + begun.length }
  const next = groupEnd(reading, at)
  return next === undefined ? undefined : { text: '(?:)', next }
}

/** As they stand in a class; white space that is no character of a line as it is shown makes no difference. */
const sets: Readonly<Record<string, string>> = {
  d: '0-9',
  D: '[^0-9]',
  w: '0-9A-Za-z_',
  W: '[^0-9A-Za-z_]',
  s: '\\s\\u{feff}',
  S: '[^\\s\\u{feff}]',
  t: '\\t',
}

function readEscape(reading: Reading, at: number): Read | undefined {
  const char = reading.chars[at + 1] ?? ''
  // What stands beside a secret is not what is shown beside it.
  if (char === 'b' || char === 'B') return { text: '(?:)', next: at + 2 }
  const set = sets[char]
  if (set !== undefined) return { text: shown(`[${set}]`, reading, 'DWS'.includes(char)), next: at + 2 }
  // Which characters have a property changes from one version of Unicode to the next.
  const property = reading.isUnicode ? /^\\[pP]\{[^}]{1,60}\}/.exec(ahead(reading, at))?.[0] : undefined
  if (property !== undefined) return { text: shown('.', reading, true), next: at + property.length }
  const back = /^\\(?:[1-9]\d?|k<\w{1,60}>)/.exec(ahead(reading, at))?.[0]
  if (back !== undefined) return reading.isUnicode ? { text: '(?:.*)', next: at + back.length } : undefined
  const one = readCharacter(reading, at)
  return one && { text: shown(one.text, reading), next: one.next }
}

/** An escape that stands for a single character. */
function readCharacter(reading: Reading, at: number): Read | undefined {
  const [all, two, four, code] = /^\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})/.exec(ahead(reading, at)) ?? []
  if (all !== undefined) {
    if (code !== undefined && !reading.isUnicode) return undefined
    const text = String.fromCodePoint(Number.parseInt(two ?? four ?? (code as string), 16))
    return isOfItsOwn(text, reading) ? { text: written(text), next: at + all.length } : undefined
  }
  const char = reading.chars[at + 1] ?? ''
  if (/[nrvf]/.test(char)) return { text: nowhere, next: at + 2 }
  return /^[ -/:-@[-`{-~]$/.test(char) ? { text: written(char), next: at + 2 } : undefined
}

/** Whether a character is not half of one, nor what stands for others. */
const isOfItsOwn = (char: string, { isUnicode }: Reading): boolean => !/^[\p{Cs}\ufffd]$/u.test(char) && (isUnicode || char.length === 1)

const ahead = ({ chars }: Reading, at: number): string => chars.slice(at, at + 70).join('')

function readClass(reading: Reading, from: number): Read | undefined {
  const { chars } = reading
  const isNegated = chars[from + 1] === '^'
  const first = from + (isNegated ? 2 : 1)
  // Nothing, or anything: there is no such class in Rust.
  if (chars[first] === ']') return undefined
  let text = isNegated ? '[^' : '['
  let mayBeAny = isNegated
  // A sign between two characters makes a range; beside a set it is itself.
  let isAfterCharacter = false
  for (let at = first; at < chars.length; ) {
    const char = chars[at] as string
    if (char === ']') return { text: shown(`${text}]`, reading, mayBeAny), next: at + 1 }
    const set = char === '\\' ? sets[chars[at + 1] ?? ''] : undefined
    if (set !== undefined) {
      text += set
      if (/[DWS]/.test(chars[at + 1] as string)) mayBeAny = true
      isAfterCharacter = false
      at += 2
      continue
    }
    const startsSet = chars[at + 1] === '\\' && sets[chars[at + 2] ?? ''] !== undefined && chars[at + 2] !== 't'
    if (char === '-' && isAfterCharacter && chars[at + 1] !== ']' && !startsSet) {
      text += '-'
      isAfterCharacter = false
      at += 1
      continue
    }
    const read = char === '\\' ? readCharacter(reading, at) : isOfItsOwn(char, reading) ? { text: written(char), next: at + 1 } : undefined
    if (!read) return undefined
    // Maybe the border of a range that has what stands for others.
    if (/^\\u\{[0-9a-f]{3,}\}$/.test(read.text)) mayBeAny = true
    text += read.text
    isAfterCharacter = true
    at = read.next
  }
  return undefined
}

function groupEnd(reading: Reading, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < reading.chars.length; at += 1) {
    const char = reading.chars[at]
    if (char === '\\') at += 1
    else if (char === '[') {
      const found = readClass(reading, at)
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
