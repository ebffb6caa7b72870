import type { ByteSource } from '../core/byte-source.ts'
import { sieveGroups, sieveProgram } from './sieve-program.ts'

/** A line as wasm/sieve.ts found it. */
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
const tablesAt = 1024
const groupsAt = 1152
const needlesAt = 2048
const needleBytes = 48
const filterAt = 12_288
const recordsAt = 32_768
const recordBytes = 24
const inputAt = 131_072
/** Small enough to stay in the cache of a processor between being read and being looked through. */
const inputBytes = 256 * 1024
/** It reads a little past the end. */
const spareBytes = 64
/** Behind the input, hashes of lines that were handed over; pages that are not used take no memory. */
const seenAt = 524_288
const seenBytes = 65_536 * 8

interface Loaded {
  readonly program: Program
  readonly memory: Uint8Array
  readonly view: DataView
}

let loaded: Loaded | undefined

function load(): Loaded {
  if (loaded) return loaded
  const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: Assembly }).WebAssembly
  const memory = new Memory({ initial: Math.ceil((seenAt + seenBytes) / 65_536) })
  const { exports } = new Instance(new Module(Buffer.from(sieveProgram, 'base64')), { env: { memory } })
  loaded = { program: exports as Program, memory: new Uint8Array(memory.buffer), view: new DataView(memory.buffer) }
  layOutWords(loaded)
  return loaded
}

function layOutWords({ memory, view }: Loaded): void {
  let at = needlesAt
  for (const [group, words] of sieveGroups.entries()) {
    view.setUint32(groupsAt + 8 * group, at, true)
    view.setUint32(groupsAt + 8 * group + 4, words.length, true)
    for (const [word, from, startsWord] of words) {
      const text = Buffer.from(word)
      for (let place = 0; place < 4; place += 1) {
        const byte = text[from + place]
        layOutByte(memory, tablesAt + 32 * place, 1 << group, byte)
        if (byte === undefined) continue
        memory[at + place] = byte | 0x20
        memory[at + 4 + place] = 0xff
      }
      memory.set([from, text.length, startsWord ? 1 : 0], at + 8)
      memory.set(text, at + 16)
      memory[filterAt + (Math.imul(view.getUint32(at, true) & 0xffffff, 0x9e3779b1) >>> 20)] = 1
      at += needleBytes
    }
  }
}

/** Marks which halves a byte of a needle may have: a letter those of its capital, too, what is behind the end of a word any. */
function layOutByte(memory: Uint8Array, table: number, mark: number, byte: number | undefined): void {
  const isLetter = byte !== undefined && byte >= 97 && byte <= 122
  for (let half = 0; half < 16; half += 1) {
    if (byte === undefined || (byte & 15) === half) (memory[table + half] as number) |= mark
    if (byte === undefined || byte >> 4 === half || (isLetter && (byte - 32) >> 4 === half)) (memory[table + 16 + half] as number) |= mark
  }
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
  const { program, view } = load()
  const records = program.records.value
  for (let i = 0; i < records; i += 1) {
    const record = recordsAt + recordBytes * i
    const word = (at: number): number => view.getUint32(record + at, true)
    found({
      start: word(0) + shift,
      end: word(4) + shift,
      feeds: word(8) + feeds,
      kind: word(12),
      // All that a number holds of 64 bits.
      shape: word(16) + (word(20) & 0x1fffff) * 0x1_0000_0000,
    })
  }
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
