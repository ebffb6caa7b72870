// Finds the lines of a log that may matter. AssemblyScript, compiled by scripts/build-sieve.mjs into src/digest/sieve-program.ts;
// src/digest/sieve.ts is its one caller.
//
// Every fourth byte is where a window of four bytes may begin. Each needle has one for each way in which it can lie to those places, so
// that one of them is met wherever it stands. Windows are in sixteen groups: two tables say which groups have one that begins with these
// two bytes, and which one that ends with those two. The few that are in both are looked up by their bytes, and their needles compared.

const heads: usize = 1024 // first windows by the hash of their two bytes in the middle; 1024 addresses of two bytes
const firsts: usize = 3072 // those of which only the first two bytes are known, by the first
const lasts: usize = 3584 // those of which only the last two are, or the last one, by that
const needles: usize = 4096 // length, whether a word begins there, text
const textAt: usize = 4
// A window: its bytes (letters in lower case), their mask, address of the next one, of its needle, and where in its needle it begins.
const clean: usize = 28672 // a line without its escape sequences
const maxClean: usize = 8192
const recordsAt: usize = 40960
const recordBytes: usize = 24 // where it starts and ends, line feeds before it, hash of its kind, hash of its shape (64 bits)
const maxRecords: i32 = 4096
const seenAt: usize = 524288 // hashes of lines that were handed over, 8 bytes each; behind the input
const seenSlots: u64 = 65536
const beginnings: usize = 1048576 // of each two bytes, the groups with a window that begins with them
const ends: usize = 1179648 // the same for the end of a window
const firstsGroup: u32 = 0x4000
const lastsGroups: u32 = 0xa000
const middleGroups: u32 = 0x1fff

/** Line feeds passed, and records made, by the last call. */
export let feeds: i32 = 0
export let records: i32 = 0

/** Where the cleaned line ends; 0 where that is not known. */
let cleanEnd: usize = 0

/** Where the last needle was found. */
let needleAt: usize = 0

/** The groups that may have the window that begins at `p`. */
@inline
function groupsAt(p: usize): u32 {
  const bytes = load<u32>(p)
  return <u32>load<u16>(beginnings + (<usize>(bytes & 0xffff) << 1)) & <u32>load<u16>(ends + (<usize>(bytes >> 16) << 1))
}

/** The same for four windows, one behind the other. */
@inline
function groupsOfFour(p: usize): u64 {
  return <u64>groupsAt(p) | (<u64>groupsAt(p + 4) << 16) | (<u64>groupsAt(p + 8) << 32) | (<u64>groupsAt(p + 12) << 48)
}

@inline
function isWord(c: u32): bool {
  return (c | 32) - 97 < 26 || c - 48 < 10 || c == 95
}

/** Whether a needle of one of these groups has its window at `p`; no byte before `floor` counts. */
@inline
function isNeedle(p: usize, groups: u32, floor: usize): bool {
  const folded = load<u32>(p) | 0x20202020
  if (groups & middleGroups) {
    const window = load<u16>(heads + <usize>(((((folded >> 8) & 0xffff) * 0x9e3779b1) >> 22) << 1))
    if (window && isInChain(window, p, folded, floor)) return true
  }
  if (groups & firstsGroup && isInChain(load<u16>(firsts + <usize>((folded & 0xff) << 1)), p, folded, floor)) return true
  return (groups & lastsGroups) != 0 && isInChain(load<u16>(lasts + <usize>((folded >> 24) << 1)), p, folded, floor)
}

function isInChain(window: usize, p: usize, folded: u32, floor: usize): bool {
  for (; window; window = <usize>load<u16>(window, 8)) {
    if ((folded & load<u32>(window, 4)) != load<u32>(window)) continue
    const start = p - <isize>load<i8>(window, 12)
    if (start < floor) continue
    const needle = <usize>load<u16>(window, 10)
    const length = <usize>load<u8>(needle)
    let i: usize = 0
    for (; i < length; i++) {
      const c = <u32>load<u8>(start + i)
      const wanted = <u32>load<u8>(needle + i, textAt)
      if (c != wanted && !(wanted - 97 < 26 && (c | 32) == wanted)) break
    }
    if (i == length && !(load<u8>(needle, 1) && start > floor && isWord(load<u8>(start - 1)))) {
      needleAt = start
      return true
    }
  }
  return false
}

/** Whether a needle stands in these bytes. */
function hasNeedle(from: usize, end: usize): bool {
  for (let p = from; p < end; p += 4) {
    const groups = groupsAt(p)
    if (groups && isNeedle(p, groups, from)) return true
  }
  return false
}

@inline
function isControl(c: u32): bool {
  return (c < 32 && c != 9 && c != 10 && c != 13) || c == 127
}

/** Where in the next sixteen bytes something stands that may not stay: controls, and the first byte of those of eight bits. */
@inline
function specialAt(p: usize): u32 {
  const bytes = v128.load(p)
  const blanks = v128.or(i8x16.eq(bytes, i8x16.splat(9)), v128.or(i8x16.eq(bytes, i8x16.splat(10)), i8x16.eq(bytes, i8x16.splat(13))))
  const others = v128.or(i8x16.eq(bytes, i8x16.splat(127)), i8x16.eq(bytes, i8x16.splat(<i8>0xc2)))
  return i8x16.bitmask(v128.or(v128.andnot(i8x16.lt_u(bytes, i8x16.splat(32)), blanks), others))
}

/** The line as `stripControls` leaves it, in `clean`; cleanEnd is 0 where that is not known. */
function stripLine(from: usize, end: usize): void {
  cleanEnd = 0
  if (end - from > maxClean) return
  let to = clean
  let p = from
  while (p < end) {
    // Most of a line is as it stays.
    const plain = min(<usize>ctz(specialAt(p) | 0x10000), end - p)
    v128.store(to, v128.load(p))
    to += plain
    p += plain
    if (plain == 16 || p == end) continue
    let c = <u32>load<u8>(p)
    let next = <u32>load<u8>(p + 1)
    let at = p + 1
    if (c == 0xc2 && next >= 0x80 && next < 0xa0 && at < end) {
      // The introducers of eight bits.
      at++
      c = 27
      next = next == 0x9b ? 91 : next == 0x90 ? 80 : next >= 0x9d ? 93 : next == 0x98 ? 88 : 0
      if (!next) {
        p = at
        continue
      }
    } else if (c == 27 && at < end && (next == 91 || next == 93 || next == 80 || next == 88 || next == 94 || next == 95)) at++
    else if (c == 27) {
      for (let i = 0; i < 4 && at < end && <u32>load<u8>(at) - 32 < 16; i++) at++
      if (at < end && <u32>load<u8>(at) - 48 < 79) at++
      p = at
      continue
    } else {
      if (!isControl(c)) store<u8>(to++, c)
      else if (c == 0) store<u8>(to++, 63)
      p++
      continue
    }
    if (next == 91) {
      const first = at
      while (at < end && at - first < 64 && <u32>load<u8>(at) - 48 < 16) at++
      const last = <u32>load<u8>(at)
      const length = at - first
      // Going to the first column, or erasing the line, begins a frame.
      const isFrame =
        at < end &&
        ((last == 71 && (length == 0 || (length == 1 && (load<u8>(first) == 48 || load<u8>(first) == 49)))) ||
          (last == 75 && length == 1 && load<u8>(first) == 50))
      for (let i = 0; i < 8 && at < end && <u32>load<u8>(at) - 32 < 16; i++) at++
      if (at < end && <u32>load<u8>(at) - 64 < 63) at++
      if (isFrame) store<u8>(to++, 13)
    } else {
      const first = at
      for (; at < end; at++) {
        const d = <u32>load<u8>(at)
        if (d == 7 || d == 27 || (d == 0xc2 && load<u8>(at + 1) == 0x9c)) break
      }
      if (at - first > 4000) return
      if (at < end) {
        const d = <u32>load<u8>(at)
        if (d == 7) at++
        else if (d == 0xc2) at += 2
        else if (at + 1 < end && load<u8>(at + 1) == 92) at += 2
      }
    }
    p = at
  }
  // What follows is read in blocks.
  v128.store(to, i8x16.splat(0))
  v128.store(to + 16, i8x16.splat(0))
  cleanEnd = to
}

const maxHashed: usize = 1024
const prime: u64 = 0x9e3779b97f4a7c15
const basis: u64 = 0x243f6a8885a308d3

@inline
function mix(hash: u64, c: u32): u64 {
  return (hash ^ c) * prime
}

/** Adds up to sixteen bytes to a hash. */
@inline
function mixBytes(hash: u64, p: usize, count: usize): u64 {
  if (count >= 8) {
    hash = (hash ^ load<u64>(p)) * prime
    hash ^= hash >> 29
    p += 8
    count -= 8
  }
  if (count == 0) return hash
  hash = (hash ^ (count == 8 ? load<u64>(p) : load<u64>(p) & ((<u64>1 << (<u64>count << 3)) - 1))) * prime
  return hash ^ (hash >> 29)
}

@inline
function isDigit(c: u32): bool {
  return c - 48 < 10
}

/**
 * A number for what a clean line says apart from blanks, numbers and hexadecimal words; 0 for a blank one. Only its last frame with something
 * in it counts. Where `exact`, a lone zero, short and long numbers are told apart: a judgement may depend on them.
 */
function hashLine(from: usize, end: usize, exact: bool): u64 {
  if (hasByte(from, end, 13)) {
    while (end > from && <u32>load<u8>(end - 1) <= 32) end--
    let start = end
    while (start > from && load<u8>(start - 1) != 13) start--
    from = start
  }
  if (end - from > maxHashed) end = from + maxHashed
  let hash: u64 = basis
  for (let p = from; p < end; ) {
    // Up to a blank or a digit.
    const bytes = v128.load(p)
    const digits = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(48)), i8x16.splat(10))
    const run = min(<usize>ctz(i8x16.bitmask(v128.or(i8x16.lt_u(bytes, i8x16.splat(33)), digits)) | 0x10000), end - p)
    const next = p + run
    // What may be a hexadecimal word begins before its first digit.
    let word = next
    while (word > p && (<u32>load<u8>(word - 1) | 32) - 97 < 6) word--
    if (run == 16 || next == end) {
      const stop = next == end || word == p ? next : word
      hash = mixBytes(hash, p, stop - p)
      p = stop
      continue
    }
    const c = <u32>load<u8>(next)
    if (c <= 32) {
      hash = mixBytes(hash, p, run)
      p = next + 1
      while (p < end && <u32>load<u8>(p) <= 32) p++
      if (p < end && hash != basis) hash = mix(hash, 32)
      continue
    }
    hash = mixBytes(hash, p, word - p)
    const stop = word == from || !isWord(load<u8>(word - 1)) ? hexEnd(word, end) : 0
    if (stop) {
      hash = mix(hash, !exact ? 2 : stop - word > 4 ? 3 : 2)
      p = stop
      continue
    }
    hash = mixBytes(hash, word, next - word)
    p = next
    while (p < end && isDigit(load<u8>(p))) p++
    hash = mix(hash, !exact ? 2 : p - next > 4 ? 3 : p - next == 1 && c == 48 ? 1 : 2)
  }
  if (hash == basis) return 0
  hash ^= hash >> 32
  hash *= prime
  hash ^= hash >> 29
  return hash ? hash : 1
}

/** Where the hexadecimal word that begins here ends; 0 where it is another one. */
@inline
function hexEnd(p: usize, end: usize): usize {
  let q = p
  while (q < end && (isDigit(load<u8>(q)) || (<u32>load<u8>(q) | 32) - 97 < 6)) q++
  return q - p >= 7 && q - p <= 64 && !(q < end && isWord(load<u8>(q))) ? q : 0
}

/**
 * Two numbers of 16 bits, apart from digits: the upper one for the needle that was found last and the few bytes before it, the
 * lower one for the needle and what follows it.
 */
function hashKind(from: usize, end: usize): u32 {
  const first = <usize>max(<isize>from, <isize>needleAt - 10)
  return (hashLetters(first, min(end, needleAt + 4)) & 0xffff0000) | (hashLetters(needleAt, min(end, needleAt + 32)) >> 16)
}

@inline
function hashLetters(from: usize, end: usize): u32 {
  let hash: u64 = 1
  for (let p = from; p < end; p++) {
    const c = <u32>load<u8>(p)
    hash = mix(hash, c - 48 < 10 ? 48 : c)
  }
  return <u32>(hash >> 32)
}

@inline
function emit(start: usize, end: usize, kind: u32, hash: u64): void {
  const record = recordsAt + recordBytes * records
  store<u32>(record, <u32>start)
  store<u32>(record, <u32>end, 4)
  store<u32>(record, feeds, 8)
  store<u32>(record, kind, 12)
  store<u64>(record, hash, 16)
  records++
}

function lineStart(p: usize, floor: usize): usize {
  for (; p >= floor + 16; p -= 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(p - 16), i8x16.splat(10)))
    if (bits) return p - <usize>(clz(bits) - 16)
  }
  while (p > floor && load<u8>(p - 1) != 10) p--
  return p
}

function lineEnd(p: usize, end: usize): usize {
  for (; p < end; p += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(10)))
    if (bits) return min(p + ctz(bits), end)
  }
  return end
}

/**
 * The first place at or behind `p` that stands in a line to be looked at: of a needle, or of an escape sequence, which may hide one. 0 where
 * there is none. `found` are the groups of the four windows from there on.
 */
function suspectFrom(p: usize, found: u64, escapes: u32, floor: usize): usize {
  const escape: usize = escapes ? <usize>ctz(escapes) : 16
  while (found) {
    const shift = ctz(found) & 48
    const at = <usize>(shift >> 2)
    if (at >= escape) break
    if (isNeedle(p + at, <u32>(found >> shift) & 0xffff, floor)) return max(p + at, needleAt)
    found &= ~(<u64>0xffff << shift)
  }
  return escapes ? p + escape : 0
}

/**
 * Looks through whole lines and makes a record of each that holds a needle; its hash is 0 where it has to be judged by itself. Stops early
 * where there is no room for another record; gives how far it came.
 */
export function sieve(from: usize, end: usize): usize {
  feeds = 0
  records = 0
  let p = from
  while (p < end) {
    const early = groupsOfFour(p)
    const late = groupsOfFour(p + 16)
    const bytes = v128.load(p)
    const more = v128.load(p + 16)
    const lineFeeds: u32 = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(10))) | (i8x16.bitmask(i8x16.eq(more, i8x16.splat(10))) << 16)
    const escapes: u32 = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(27))) | (i8x16.bitmask(i8x16.eq(more, i8x16.splat(27))) << 16)
    if (early | late | escapes) {
      let at: usize = 0
      if (early | (escapes & 0xffff)) at = suspectFrom(p, early, escapes & 0xffff, from)
      if (!at && late | (escapes >> 16)) at = suspectFrom(p + 16, late, escapes >> 16, from)
      if (at) {
        const start = lineStart(at, from)
        feeds += popcnt(lineFeeds & ((1 << <u32>(at - p)) - 1))
        if (records == maxRecords) return start
        p = lineEnd(at, end)
        take(start, p)
        continue
      }
    }
    feeds += popcnt(lineFeeds)
    p += 32
  }
  return end
}

/** Makes a record of a line in which something was found, unless it was part of an escape sequence. */
function take(start: usize, end: usize): void {
  if (end - start > maxClean) emit(start, end, 0, 0)
  else if (!hasByte(start, end, 27)) emit(start, end, hashKind(start, end), hashLine(start, end, true))
  else {
    stripLine(start, end)
    if (!cleanEnd) emit(start, end, 0, 0)
    else if (hasNeedle(clean, cleanEnd)) emit(start, end, hashKind(clean, cleanEnd), hashLine(clean, cleanEnd, true))
  }
}

function hasByte(p: usize, end: usize, byte: i8): bool {
  for (; p < end; p += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(byte)))
    if (bits) return p + ctz(bits) < end
  }
  return false
}

/** Makes a record of every line that is not blank, with the hash of its shape. Stops and gives what `sieve` does. */
export function shapes(from: usize, end: usize): usize {
  feeds = 0
  records = 0
  for (let p = from; p < end; ) {
    if (records == maxRecords) return p
    const stop = lineEnd(p, end)
    const head = min(stop, p + maxClean)
    cleanEnd = 0
    if (hasByte(p, head, 27)) stripLine(p, head)
    const hash = cleanEnd ? hashLine(clean, cleanEnd, false) : hashLine(p, stop, false)
    if (hash) emit(p, stop, 0, hash)
    if (stop < end) feeds++
    p = stop + 1
  }
  return end
}

/** Differs from one pass to the next, so that no hash of an earlier pass is taken for one of this. */
let mark: u64 = 0
let numbersCount: bool = false

/** Begins a pass of `distinct`. Where numbers count, only lines of the same bytes are alike. */
export function forget(withNumbers: bool): void {
  mark += prime
  numbersCount = withNumbers
}

/** Whether bytes stand here because of which the line is not to be read byte by byte: controls, and what may begin a micro sign. */
function isUnusual(from: usize, end: usize): bool {
  for (let p = from; p < end; p += 16) {
    const bytes = v128.load(p)
    const controls = v128.andnot(i8x16.lt_u(bytes, i8x16.splat(32)), v128.or(i8x16.eq(bytes, i8x16.splat(9)), i8x16.eq(bytes, i8x16.splat(13))))
    const others = v128.or(i8x16.eq(bytes, i8x16.splat(<i8>0xc2)), v128.or(i8x16.eq(bytes, i8x16.splat(<i8>0xce)), i8x16.eq(bytes, i8x16.splat(127))))
    const bits = i8x16.bitmask(v128.or(controls, others))
    if (bits) return p + ctz(bits) < end
  }
  return false
}

/** The longest line of which only the beginning would be compared otherwise, at least. */
const maxCompared: usize = 1000

/**
 * The same for lines that mean the same to `lineShape` (src/digest/noise.ts): of the same bytes, apart from which numbers stand in them, other
 * than a lone zero, and which numbers with `ms`, `s`, `m`, `h`, `d`, `T` or `Z`.
 */
function hashDistinct(from: usize, end: usize): u64 {
  let hash: u64 = basis
  let p = from
  const asItIs = numbersCount || end - from > maxCompared || isUnusual(from, end)
  if (asItIs)
    for (; p + 8 <= end; p += 8) {
      hash = (hash ^ load<u64>(p)) * prime
      hash ^= hash >> 29
    }
  let before: u32 = 32
  while (p < end) {
    const c = <u32>load<u8>(p)
    if (!asItIs && c - 48 < 10 && !isWord(before)) {
      const stop = measureEnd(p, end)
      if (stop) {
        hash = mix(hash, stop - p == 1 && c == 48 ? 1 : 2)
        before = 48
        p = stop
        continue
      }
    }
    hash = mix(hash, c)
    before = c
    p++
  }
  hash ^= hash >> 32
  hash *= prime
  return hash ^ (hash >> 29)
}

/** Where the number that begins here ends, with its unit; 0 where the word is another one. */
function measureEnd(p: usize, end: usize): usize {
  while (p < end) {
    const c = <u32>load<u8>(p)
    if (!isWord(c)) return p
    p++
    if (c - 48 < 10) continue
    if (c == 109 && p < end && load<u8>(p) == 115) p++
    else if (c != 84 && c != 90 && c != 100 && c != 104 && c != 109 && c != 115) return 0
    if (p < end && !(<u32>load<u8>(p) - 48 < 10) && isWord(load<u8>(p))) return 0
  }
  return p
}

/** Makes a record of every line that is like none before in this pass, as far as is remembered. Stops and gives what `sieve` does. */
export function distinct(from: usize, end: usize): usize {
  feeds = 0
  records = 0
  for (let p = from; p < end; ) {
    if (records == maxRecords) return p
    const stop = lineEnd(p, end)
    const hash = hashDistinct(p, stop)
    const slot = seenAt + 8 * <usize>(hash % seenSlots)
    if (load<u64>(slot) != (hash ^ mark)) {
      store<u64>(slot, hash ^ mark)
      emit(p, stop, 0, hash)
    }
    if (stop < end) feeds++
    p = stop + 1
  }
  return end
}
