import type { ByteSource } from '../core/byte-source.ts'
import { sieveProgram, sieveWords } from './sieve-program.ts'

/** A line as wasm/sieve.ts found it. It is what it is only while it is handed over. */
export interface Sifted {
  /** Offsets in the source, without the line feed. */
  readonly start: number
  readonly end: number
  /** Line feeds in what was read before it. */
  readonly feeds: number
  /** The same for lines that say the same apart from numbers; 0 for one that has to be looked at by itself. */
  readonly shape: number
  /** The same for lines with the same few characters before the same word of trouble; 0 where that is not known. */
  readonly kind: number
}

interface Program {
  readonly sieve: (from: number, end: number) => number
  readonly shapes: (from: number, end: number) => number
  readonly distinct: (from: number, end: number) => number
  readonly forget: (withNumbers: number) => void
  readonly feeds: { readonly value: number }
  readonly records: { readonly value: number }
}

/** What is used of WebAssembly, which every Node has and the types of the language do not. */
interface Assembly {
  readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: { env: { memory: object } }) => { readonly exports: unknown }
}

// Where things are in the program's memory.
const headsAt = 1024
const firstsAt = 3072
const lastsAt = 3584
const needlesAt = 4096
const needleBytes = 36
const windowsAt = 12_288
const windowBytes = 16
const recordsAt = 40_960
const recordBytes = 24
const inputAt = 147_456
/** Small enough to stay in the cache of a processor between being read and being looked through. */
const inputBytes = 256 * 1024
/** It reads a little past the end. */
const spareBytes = 64
/** Behind the input, hashes of lines that were handed over; pages that are not used take no memory. */
const seenAt = 524_288
const seenBytes = 65_536 * 8
/** Behind those, which groups have windows that begin, and end, with two bytes. */
const beginningsAt = seenAt + seenBytes
const pairs = 65_536
const afterNoWordGroup = 13
const firstsGroup = 14
const lastsGroup = 15

interface Loaded {
  readonly program: Program
  readonly memory: Uint8Array
  readonly view: DataView
  readonly words: Uint32Array
}

let loaded: Loaded | undefined

function load(): Loaded {
  if (loaded) return loaded
  const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: Assembly }).WebAssembly
  const memory = new Memory({ initial: Math.ceil((beginningsAt + 4 * pairs) / 65_536) })
  const { exports } = new Instance(new Module(Buffer.from(sieveProgram, 'base64')), { env: { memory } })
  loaded = { program: exports as Program, memory: new Uint8Array(memory.buffer), view: new DataView(memory.buffer), words: new Uint32Array(memory.buffer) }
  layOutWords(loaded)
  return loaded
}

function layOutWords({ memory, view }: Loaded): void {
  const begins = new Uint16Array(memory.buffer, beginningsAt, pairs).fill(1 << lastsGroup)
  const ends = new Uint16Array(memory.buffer, beginningsAt + 2 * pairs, pairs).fill(1 << firstsGroup)
  let at = windowsAt
  for (const [index, [word, startsWord, froms, groups]] of sieveWords.entries()) {
    const needle = needlesAt + needleBytes * index
    const text = Buffer.from(word)
    memory.set([text.length, startsWord ? 1 : 0], needle)
    memory.set(text, needle + 4)
    for (const [i, from] of froms.entries()) {
      const group = groups[i] as number
      const bytes = [0, 1, 2, 3].map((i) => text[from + i])
      for (const [i, byte] of bytes.entries()) {
        if (byte === undefined) continue
        memory[at + i] = byte | 0x20
        memory[at + 4 + i] = 0xff
      }
      const [a, b, c, d] = [0, 1, 2, 3].map((i) => (from + i === -1 && startsWord ? noWord : formsOf(bytes[i]))) as [Forms, Forms, Forms, Forms]
      if (group !== lastsGroup) mark(begins, a, b, 1 << group)
      if (group !== firstsGroup) mark(ends, c, d, 1 << group)
      const head = headOf(group, view.getUint32(at, true))
      view.setUint16(at + 8, view.getUint16(head, true), true)
      view.setUint16(at + 10, needle, true)
      view.setInt8(at + 12, from)
      view.setUint16(head, at, true)
      at += windowBytes
    }
  }
}

type Forms = readonly number[]
const anyByte: Forms = Array.from({ length: 256 }, (_, byte) => byte)
const noWord: Forms = anyByte.filter((byte) => !/\w/.test(String.fromCharCode(byte)))

/** A letter stands for its capital, too; what is behind the end of a word, or before it, for anything. */
const formsOf = (byte: number | undefined): Forms => (byte === undefined ? anyByte : byte >= 97 && byte <= 122 ? [byte, byte - 32] : [byte])

function mark(groups: Uint16Array, first: Forms, second: Forms, group: number): void {
  for (const a of first) for (const b of second) (groups[a | (b << 8)] as number) |= group
}

/** Where the list of windows begins that those with these bytes are in. */
function headOf(group: number, bytes: number): number {
  if (group === firstsGroup) return firstsAt + 2 * (bytes & 255)
  if (group === lastsGroup || group === afterNoWordGroup) return lastsAt + 2 * (bytes >>> 24)
  return headsAt + 2 * (Math.imul((bytes >>> 8) & 0xffff, 0x9e3779b1) >>> 22)
}

/** Hands over each line that holds a word of trouble; gives how many line feeds there are. One pass, many bytes at once. */
export const sift = (source: ByteSource, found: (line: Sifted) => void): number => pass(source, 'sieve', 0, source.length, found)

/** Hands over each line of a part of a source that is not blank, with its shape; gives how many line feeds there are. */
export const siftShapes = (source: ByteSource, from: number, to: number, found: (line: Sifted) => void): number => pass(source, 'shapes', from, to, found)

/**
 * Hands over the lines of a source without most of those that are like one before: of the same words, with other numbers. Lines of one shape here,
 * other than 0, are of one `lineShape`; where `withNumbers`, they are the same. Gives how many line feeds there are.
 */
export function siftDistinct(source: ByteSource, withNumbers: boolean, found: (line: Sifted) => void): number {
  load().program.forget(withNumbers ? 1 : 0)
  return pass(source, 'distinct', 0, source.length, found)
}

function pass(source: ByteSource, kind: 'sieve' | 'shapes' | 'distinct', first: number, last: number, found: (line: Sifted) => void): number {
  const { program, memory } = load()
  let feeds = 0
  let at = first
  while (at < last) {
    const room = memory.subarray(inputAt, inputAt + Math.min(inputBytes, last - at))
    const size = source.read(room, at)
    if (size === 0) break
    const isLast = at + size >= last || size < room.length
    const whole = isLast ? size : room.lastIndexOf(10) + 1
    if (whole === 0) {
      // A line longer than all there is room for.
      const line = longLine(source, at, last)
      found({ start: at, end: line.end, feeds, shape: 0, kind: 0 })
      feeds += line.feeds
      at = line.end + line.feeds
      continue
    }
    memory.fill(0, inputAt + whole, inputAt + whole + spareBytes)
    for (let from = inputAt; from < inputAt + whole; ) {
      from = program[kind](from, inputAt + whole)
      tell(at - inputAt, feeds, found)
      feeds += program.feeds.value
    }
    at += whole
    if (isLast) break
  }
  return feeds
}

function tell(shift: number, feeds: number, found: (line: Sifted) => void): void {
  const { program, words } = load()
  const records = program.records.value
  for (let i = 0, at = recordsAt / 4; i < records; i += 1, at += recordBytes / 4) {
    const start = words[at] as number
    const end = words[at + 1] as number
    line.start = start + shift
    line.end = end + shift
    line.feeds = (words[at + 2] as number) + feeds
    line.kind = words[at + 3] as number
    // All that a number holds of 64 bits.
    line.shape = (words[at + 4] as number) + ((words[at + 5] as number) & 0x1fffff) * 0x1_0000_0000
    told.start = start
    told.end = end
    found(line)
  }
}

/** What is handed over, and where in the input it is. */
const line = { start: 0, end: 0, feeds: 0, shape: 0, kind: 0 }
const told = { start: 0, end: 0 }

/** Of the bytes of the line that was handed over last, which has a shape. */
export function lastHash(): number {
  const { memory } = load()
  let hash = 0x811c9dc5
  for (let at = told.start; at < told.end; at += 1) hash = Math.imul(hash ^ (memory[at] as number), 0x01000193)
  return (hash >>> 0) + (told.end - told.start) * 0x1_0000_0000
}

function longLine(source: ByteSource, start: number, last: number): { readonly end: number; readonly feeds: number } {
  const part = Buffer.allocUnsafe(inputBytes)
  for (let at = start; at < last; at += part.length) {
    const size = source.read(part, at)
    const found = part.subarray(0, size).indexOf(10)
    if (found >= 0 && at + found < last) return { end: at + found, feeds: 1 }
    if (size < part.length) break
  }
  return { end: last, feeds: 0 }
}
