/**
 * What a line says apart from what differs between two runs of the same thing: times, durations, dates, hashes, addresses,
 * ports, process ids, sizes, rates, percentages, versions, temporary paths, bars of progress, punctuation. As a number, so that
 * the lines of a long log are compared without keeping them. 0 where nothing is left.
 *
 * Read character by character, because it sees every line: a word is a run of letters, digits and underscores. A word that
 * is noise becomes a mark, and marks in a row are one. A count of 0 stays apart from other counts: `0 failed` is not `3 failed`.
 */
export function lineShape(line: string): number {
  const scan = newScan(line)
  for (let at = 0; at < scan.end; ) at = step(scan, at)
  settleZero(scan)
  return scan.words === 0 ? 0 : mixed(scan.hash, scan.words) || 1
}

/** Of a longer line the rest is passed over. */
const maxChars = 1_000

interface Scan {
  readonly line: string
  readonly end: number
  hash: number
  /** Words and signs that count. */
  words: number
  /** Where the last word ended, and whether it was noise. */
  lastEnd: number
  lastIsNoise: boolean
  /** A lone 0 was read, and what follows says whether it is a count. */
  zero: boolean
}

const newScan = (line: string): Scan => ({
  line,
  end: Math.min(line.length, maxChars),
  hash: 0x811c9dc5 | 0,
  words: 0,
  lastEnd: -1,
  lastIsNoise: false,
  zero: false,
})

const mixed = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193) ^ (hash >>> 15)

function say(scan: Scan, value: number): void {
  scan.hash = mixed(scan.hash, value)
  scan.words += 1
}

/** Marks are no words: a line of nothing but noise says nothing. */
function sayNoise(scan: Scan): void {
  if (!scan.lastIsNoise) scan.hash = mixed(scan.hash, noiseMark)
  scan.lastIsNoise = true
}

const noiseMark = 0x23
const zeroMark = 0x30

function settleZero(scan: Scan): void {
  if (!scan.zero) return
  scan.zero = false
  scan.lastIsNoise = false
  say(scan, zeroMark)
}

// Classes of ASCII characters.
const [other, letter, digit] = [0, 1, 2]
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  return /\d/.test(char) ? digit : /\w/.test(char) ? letter : other
})
const micro = (code: number): boolean => code === 0xb5 || code === 0x3bc
const classOf = (code: number): number => (code < 128 ? (classes[code] as number) : micro(code) ? letter : other)

/** Frames of tables, blocks and dots of bars, wheels that turn. */
const isDrawing = (code: number): boolean => (code >= 0x2500 && code <= 0x259f) || (code >= 0x2800 && code <= 0x28ff) || code === 0x2026

/** Reads one word or sign; returns where the next one begins. */
function step(scan: Scan, at: number): number {
  const code = scan.line.charCodeAt(at)
  if (classOf(code) !== other) return readWord(scan, at)
  if (code > 0x7f && !isDrawing(code)) {
    settleZero(scan)
    scan.lastIsNoise = false
    // Spaces of other scripts are none either.
    if (code !== 0xa0 && code !== 0x3000) say(scan, code)
  } else if (code === 0x25) {
    if (scan.zero) turnToNoise(scan)
  } else if (scan.lastEnd < 0 && scan.words === 0 && isSign(code)) {
    // What a comparison put before a line that is one of its sides.
    const next = scan.line.charCodeAt(at + 1)
    if (next !== code) say(scan, code)
  }
  return at + 1
}

const isSign = (code: number): boolean => code === 0x2b || code === 0x2d || code === 0x3c || code === 0x3e

function turnToNoise(scan: Scan): void {
  scan.zero = false
  sayNoise(scan)
}

function readWord(scan: Scan, start: number): number {
  const { line, end } = scan
  const joined = start === scan.lastEnd + 1 && start > 1 ? line.charCodeAt(start - 1) : 0
  // Most words are letters alone, or digits alone.
  let at = start
  let hash = 17
  while (at < end && classOf(line.charCodeAt(at)) === letter) {
    hash = mixed(hash, line.charCodeAt(at))
    at += 1
  }
  if (at > start && (at === end || classOf(line.charCodeAt(at)) === other)) return readLetters(scan, start, at, hash, joined)
  if (at === start) while (at < end && classOf(line.charCodeAt(at)) === digit) at += 1
  if (at === end || classOf(line.charCodeAt(at)) === other) return readNumber(scan, start, at, joined)
  return readMixed(scan, start, joined)
}

function readLetters(scan: Scan, start: number, at: number, hash: number, joined: number): number {
  const { line, lastIsNoise } = scan
  const length = at - start
  const isNoise =
    ((lastIsNoise || scan.zero) && length <= longestUnit && units.has(line.slice(start, at))) ||
    (length <= 4 && line.charCodeAt(start) <= 0x5a && calendar.has(line.slice(start, at))) ||
    (isGroup(scan, length, joined) && isHex(line, start, at))
  sayWord(scan, at, isNoise, hash)
  return isSlash(line.charCodeAt(start - 1)) && isSlash(line.charCodeAt(at)) ? passTemporary(scan, at, line.slice(start, at)) : at
}

/** A word of letters and digits. */
function readMixed(scan: Scan, start: number, joined: number): number {
  const { line } = scan
  let at = start
  let hash = 17
  let run = 0
  let hashBeforeRun = hash
  let switches = 0
  let underscore = false
  let last = other
  for (; at < scan.end; at += 1) {
    const code = line.charCodeAt(at)
    const kind = classOf(code)
    if (kind === other) break
    if (last !== kind) {
      switches += 1
      run = 0
      hashBeforeRun = hash
    }
    run += 1
    underscore ||= code === 0x5f
    // Of a long number in a name nobody means the number.
    hash = kind === digit && run >= longNumber ? mixed(hashBeforeRun, noiseMark) : mixed(hash, code)
    last = kind
  }
  const length = at - start
  const word = line.slice(start, at)
  const isNoise =
    ((length >= 7 || joined === 0x40 || isGroup(scan, length, joined)) && isHex(line, start, at)) ||
    (!underscore && switches > 4 && length >= 8) ||
    (classOf(line.charCodeAt(start)) === digit && isMeasure(word))
  sayWord(scan, at, isNoise, counters.test(word) ? mixed(hashBeforeRun, noiseMark) : hash)
  return at
}

function sayWord(scan: Scan, at: number, isNoise: boolean, hash: number): void {
  scan.lastEnd = at
  if (isNoise) {
    turnToNoise(scan)
    return
  }
  settleZero(scan)
  scan.lastIsNoise = false
  say(scan, hash)
}

function isHex(line: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = line.charCodeAt(at)
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46))) return false
  }
  return true
}

const longNumber = 5
const longestUnit = 7

// One of several numbers that make up a time, a version or an address is no count.
function readNumber(scan: Scan, start: number, at: number, joined: number): number {
  scan.lastEnd = at
  const isPart = isJoint(joined)
  if (scan.zero && !isPart) settleZero(scan)
  const isZero = at === start + 1 && scan.line.charCodeAt(start) === 0x30 && !(isPart && (scan.lastIsNoise || scan.zero))
  if (isZero) scan.zero = true
  else turnToNoise(scan)
  return at
}

const isJoint = (code: number): boolean => code === 0x2e || code === 0x2c || code === 0x3a || code === 0x2d || code === 0x2f

/** Behind noise and a hyphen: the next group of a UUID. */
const isGroup = (scan: Scan, length: number, joined: number): boolean => joined === 0x2d && scan.lastIsNoise && (length === 4 || length === 12)

const units = new Set(
  'ns us µs μs ms s sec secs second seconds m min mins minute minutes h hr hrs hour hours b B byte bytes k K kB KB KiB M MB MiB G GB GiB T TB TiB kb mb gb Kb Mb Gb Z x e am pm'.split(
    ' ',
  ),
)
const calendar = new Set(
  'Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec AM PM UTC GMT CET CEST EST EDT PST PDT CST CDT'.split(' '),
)
/** Names whose number says which of many did it, or where. */
const counters = /^(?:gw|w|v|r|t|p|worker|thread|pid|pool|job|shard|proc|process|runner|executor|fork|attempt)_?\d+$/i

const measureParts = /\d+|[^\d]+/g

/** A number with its unit, or several: 12ms, 1m30s, 30T12, 0x7f3a, 4k. */
function isMeasure(word: string): boolean {
  if (/^0[xX][\da-fA-F]+$/.test(word)) return true
  return (word.match(measureParts) ?? []).every((part) => units.has(part) || part === 'T' || part === 'd' || classOf(part.charCodeAt(0)) === digit)
}

/** Behind `/tmp/` and its like a name is made up; returns where what it holds begins. */
function passTemporary(scan: Scan, at: number, folder: string): number {
  const names = folder === 'tmp' || folder === 'Temp' || folder === 'TEMP' ? 1 : folder === 'folders' ? 4 : 0
  if (names === 0) return at
  let end = at
  for (let i = 0; i < names && isSlash(scan.line.charCodeAt(end)); i += 1) {
    end += 1
    while (end < scan.end && !endsName(scan.line.charCodeAt(end))) end += 1
  }
  scan.lastEnd = end
  return end
}

const isSlash = (code: number): boolean => code === 0x2f || code === 0x5c
const endsName = (code: number): boolean =>
  isSlash(code) || code <= 0x20 || code === 0x22 || code === 0x27 || code === 0x60 || code === 0x3a || code === 0x2c || code === 0x29 || code === 0x5d
