// Finds the lines of a log that may matter, sixteen bytes at once. AssemblyScript, compiled by scripts/build-sieve.mjs into
// src/digest/sieve-program.ts; src/digest/sieve.ts is its one caller.
//
// Every needle has a window of four of its bytes. For each place of a window two tables of sixteen say which groups of needles have a
// byte with this low half there, and with this high half; few places survive all eight. Those are looked up in a filter of hashes,
// and what survives that, too, is compared byte by byte.

const tables: usize = 1024
const groups: usize = 1152 // of each of the 8 groups: address of its first needle, how many there are
const needleBytes: usize = 48 // window (letters in lower case), its mask, where it begins in the text, length, whether a word begins there
const textAt: usize = 16
const filter: usize = 12288 // 4096 bytes
const clean: usize = 16384 // a line without its escape sequences
const maxClean: usize = 8192
const recordsAt: usize = 32768
const recordBytes: usize = 24 // where it starts and ends, line feeds before it, hash of its kind, hash of its shape (64 bits)
const maxRecords: i32 = 4096
const seenAt: usize = 524288 // hashes of lines that were handed over, 8 bytes each; behind the input
const seenSlots: u64 = 65536

/** Line feeds passed, and records made, by the last call. */
export let feeds: i32 = 0
export let records: i32 = 0

/** Where the cleaned line ends; 0 where that is not known. */
let cleanEnd: usize = 0

/** Where the last needle was found, about. */
let needleAt: usize = 0

@inline
function groupsWith(place: usize, low: v128, high: v128): v128 {
  return v128.and(i8x16.swizzle(v128.load(tables + 32 * place), low), i8x16.swizzle(v128.load(tables + 32 * place + 16), high))
}

@inline
function lowHalf(bytes: v128): v128 {
  return v128.and(bytes, i8x16.splat(15))
}

@inline
function highHalf(bytes: v128): v128 {
  return i8x16.shr_u(bytes, 4)
}

/** For each of sixteen places, the groups that may have a needle whose window begins there. */
@inline
function windowsFrom(p: usize): v128 {
  let found = i8x16.splat(-1)
  for (let i: usize = 0; i < 4; i++) {
    const bytes = v128.load(p + i)
    found = v128.and(found, groupsWith(i, lowHalf(bytes), highHalf(bytes)))
  }
  return found
}

@inline
function foldedAt(p: usize): u32 {
  return load<u32>(p) | 0x20202020
}

@inline
function passesFilter(p: usize): bool {
  return load<u8>(filter + ((((foldedAt(p) & 0xffffff) * 0x9e3779b1) >> 20) as usize)) != 0
}

@inline
function isWord(c: u32): bool {
  return (c | 32) - 97 < 26 || c - 48 < 10 || c == 95
}

/** Whether a needle of one of these groups has its window at `p`; no byte before `floor` counts. */
function isNeedle(p: usize, groupBits: u32, floor: usize): bool {
  const folded = foldedAt(p)
  while (groupBits) {
    const group = ctz(groupBits)
    groupBits &= groupBits - 1
    let needle = <usize>load<u32>(groups + 8 * group)
    for (let left = load<u32>(groups + 8 * group, 4); left; left--, needle += needleBytes) {
      if ((folded & load<u32>(needle, 4)) != load<u32>(needle)) continue
      const start = p - <usize>load<u8>(needle, 8)
      if (<isize>start < <isize>floor) continue
      const length = <usize>load<u8>(needle, 9)
      let i: usize = 0
      for (; i < length; i++) {
        const c = <u32>load<u8>(start + i)
        const wanted = <u32>load<u8>(needle + i, textAt)
        if (c != wanted && !(wanted - 97 < 26 && (c | 32) == wanted)) break
      }
      if (i == length && !(load<u8>(needle, 10) && start > floor && isWord(load<u8>(start - 1)))) {
        needleAt = p
        return true
      }
    }
  }
  return false
}

/** Whether a needle stands in these bytes. */
function hasNeedle(from: usize, end: usize): bool {
  for (let p = from; p < end; p += 16) {
    const found = windowsFrom(p)
    v128.store(0, found)
    for (let bits = i8x16.bitmask(i8x16.ne(found, i8x16.splat(0))); bits; bits &= bits - 1) {
      const lane = ctz(bits)
      if (p + lane < end && passesFilter(p + lane) && isNeedle(p + lane, load<u8>(lane), from)) return true
    }
  }
  return false
}

@inline
function isControl(c: u32): bool {
  return (c < 32 && c != 9 && c != 10 && c != 13) || c == 127
}

/** The line as `stripControls` leaves it, in `clean`; cleanEnd is 0 where that is not known. */
function stripLine(from: usize, end: usize): void {
  cleanEnd = 0
  if (end - from > maxClean) return
  let to = clean
  let p = from
  while (p < end) {
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

/**
 * A number for what a clean line says apart from blanks, numbers and hexadecimal words; 0 for a blank one. Only its last frame with something
 * in it counts. Where `exact`, a lone zero, short and long numbers are told apart: a judgement may depend on them.
 */
function hashLine(from: usize, end: usize, exact: bool): u64 {
  // The last frame.
  let start = from
  let visible = false
  for (let p = end; p > from; ) {
    const c = <u32>load<u8>(--p)
    if (c == 13) {
      if (visible) {
        start = p + 1
        break
      }
      end = p
    } else if (c > 32) visible = true
  }
  if (!visible) return 0
  if (end - start > maxHashed) end = start + maxHashed
  let hash: u64 = basis
  let before: u32 = 32
  let blank = true
  for (let p = start; p < end; ) {
    const c = <u32>load<u8>(p)
    if (c <= 32) {
      before = 32
      blank = true
      p++
      continue
    }
    if (blank) {
      hash = mix(hash, 32)
      blank = false
    }
    if (c - 48 < 10 || ((c | 32) - 97 < 6 && !isWord(before))) {
      let q = p
      let digits = 0
      let hex = false
      if (!isWord(before)) {
        for (; q < end; q++) {
          const d = <u32>load<u8>(q)
          if (d - 48 < 10) digits++
          else if ((d | 32) - 97 >= 6) break
        }
        hex = digits > 0 && q - p >= 7 && q - p <= 64 && !(q < end && isWord(load<u8>(q)))
      }
      if (!hex) for (q = p; q < end && <u32>load<u8>(q) - 48 < 10; ) q++
      if (q > p) {
        hash = mix(hash, !exact ? 2 : q - p > 4 ? 3 : q - p == 1 && c == 48 ? 1 : 2)
        before = 48
        p = q
        continue
      }
    }
    hash = mix(hash, c)
    before = c
    p++
  }
  hash ^= hash >> 32
  hash *= prime
  hash ^= hash >> 29
  return hash ? hash : 1
}

/** A number for the needle that was found last and the few bytes before it, apart from digits. */
function hashKind(from: usize, end: usize): u32 {
  let hash: u64 = 1
  const first = <usize>max(<isize>from, <isize>needleAt - 10)
  const last = min(end, needleAt + 4)
  for (let p = first; p < last; p++) {
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

@inline
function lineStart(p: usize, floor: usize): usize {
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
 * Looks through whole lines and makes a record of each that holds a needle; its hash is 0 where it has to be judged by itself. Stops early
 * where there is no room for another record; gives how far it came.
 */
export function sieve(from: usize, end: usize): usize {
  feeds = 0
  records = 0
  let floor = from
  let p = from
  let last0 = i8x16.splat(0)
  let last1 = last0
  let last2 = last0
  // A window is found where it ends, three bytes behind its beginning.
  while (p < end + 3) {
    const bytes = v128.load(p)
    const low = lowHalf(bytes)
    const high = highHalf(bytes)
    const this0 = groupsWith(0, low, high)
    const this1 = groupsWith(1, low, high)
    const this2 = groupsWith(2, low, high)
    const found = v128.and(
      v128.and(
        i8x16.shuffle(last0, this0, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28),
        i8x16.shuffle(last1, this1, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29),
      ),
      v128.and(i8x16.shuffle(last2, this2, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30), groupsWith(3, low, high)),
    )
    const escapes = i8x16.eq(bytes, i8x16.splat(27))
    let lineFeeds = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(10)))
    if (p + 16 > end) lineFeeds &= p < end ? (1 << <i32>(end - p)) - 1 : 0
    last0 = this0
    last1 = this1
    last2 = this2
    if (v128.any_true(v128.or(found, escapes))) {
      v128.store(0, found)
      const escapeBits = i8x16.bitmask(escapes)
      let next: usize = 0
      for (let bits = escapeBits | i8x16.bitmask(i8x16.ne(found, i8x16.splat(0))); bits; bits &= bits - 1) {
        const lane = ctz(bits)
        const isEscape = (escapeBits >> lane) & 1
        const at = isEscape ? p + lane : p + lane - 3
        if (at >= end) break
        if (!isEscape && (!passesFilter(at) || <isize>at < <isize>floor || !isNeedle(at, load<u8>(lane), floor))) continue
        const start = lineStart(at, floor)
        const stop = lineEnd(at, end)
        feeds += popcnt(lineFeeds & ((1 << lane) - 1))
        if (records == maxRecords) return start
        take(start, stop)
        next = stop
        break
      }
      if (next) {
        p = next
        floor = next
        last0 = i8x16.splat(0)
        continue
      }
    }
    feeds += popcnt(lineFeeds)
    p += 16
  }
  return end
}

/** Makes a record of a line in which something was found, unless it was part of an escape sequence. */
function take(start: usize, end: usize): void {
  if (end - start > maxClean) emit(start, end, 0, 0)
  else if (!hasEscape(start, end)) emit(start, end, hashKind(start, end), hashLine(start, end, true))
  else {
    stripLine(start, end)
    if (!cleanEnd) emit(start, end, 0, 0)
    else if (hasNeedle(clean, cleanEnd)) emit(start, end, hashKind(clean, cleanEnd), hashLine(clean, cleanEnd, true))
  }
}

function hasEscape(p: usize, end: usize): bool {
  for (; p < end; p += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(27)))
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
    if (hasEscape(p, head)) stripLine(p, head)
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
