import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildFrameDriver, type FrameDriver } from '../../test/support/frame-driver.ts'
import { type Random, random } from '../../test/support/random.ts'
import { type Frame, FrameReader, FrameWriter, frameHeaderBytes, maxPayloadBytes } from './frames.ts'

interface Field {
  readonly key: number
  readonly number?: string
  readonly text?: string
  readonly hex?: string
}
type Hex = string | readonly (string | { readonly repeat: string; readonly times: number })[]
interface Vectors {
  readonly frames: readonly { name: string; type: number; tag: number; fields: readonly Field[]; hex: string }[]
  readonly streams: readonly { name: string; hex: Hex; decoded: string }[]
}

const vectors = JSON.parse(readFileSync(new URL('../../native/vectors/frames.json', import.meta.url), 'utf8')) as Vectors
const hexOf = (hex: Hex): string =>
  typeof hex === 'string' ? hex : hex.map((part) => (typeof part === 'string' ? part : part.repeat.repeat(part.times))).join('')
const bytesOf = (hex: Hex): Buffer => Buffer.from(hexOf(hex), 'hex')

function fnv(bytes: Uint8Array): string {
  let hash = 2_166_136_261
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16_777_619)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** The words of native/tests/frame-driver.c for the frame. */
function describeFrame(frame: Frame): string {
  let words = `frame:${frame.type}:${frame.tag}`
  while (frame.next()) {
    const bytes = frame.bytes()
    words += ` ${frame.key}=${bytes.length > 64 ? `#${bytes.length}:${fnv(bytes)}` : bytes.toString('hex')}`
    if (bytes.length === 8) {
      const number = bytes.readBigUInt64LE()
      words += `(${number})`
      expect(frame.number()).toBe(number > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(number))
    } else expect(frame.number()).toBeUndefined()
    expect(frame.text()).toBe(bytes.toString('utf8'))
  }
  return frame.malformed ? `${words} malformed` : words
}

/** The words for a stream that comes in these pieces. The memory of each piece is used again for the next, as a socket does. */
function describeStream(pieces: readonly Buffer[]): string {
  const words: string[] = []
  const reader = new FrameReader((frame) => words.push(describeFrame(frame)))
  const room = Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length)))
  let state = 'good'
  for (const piece of pieces) {
    piece.copy(room)
    state = reader.push(room.subarray(0, piece.length))
    if (state !== 'good') break
  }
  // Of the header that is none, the tag.
  if (state === 'good') words.push(reader.incomplete > 0 ? `incomplete:${reader.incomplete}` : 'good')
  else words.push(`${state}:${reader.badTag}`)
  room.fill(0)
  return words.join(' ')
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  const most = random.pick(bytes.length > 100_000 ? [5_000, 70_000] : [1, 3, 20, 400])
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + random.int(1, most))
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

function build(writer: FrameWriter, { type, tag, fields }: { type: number; tag: number; fields: readonly Field[] }): boolean {
  writer.begin(type, tag)
  for (const { key, number, text, hex } of fields) {
    if (number !== undefined) writer.number(key, Number(number))
    else if (text !== undefined) writer.text(key, text)
    else writer.raw(key, Buffer.from(hex as string, 'hex'))
  }
  return writer.end()
}

const toLine = ({ type, tag, fields }: { type: number; tag: number; fields: readonly Field[] }): string =>
  `e ${type} ${tag} ${fields.map(({ key, number, text, hex }) => (number !== undefined ? `${key}:n:${number}` : text !== undefined ? `${key}:t:${Buffer.from(text).toString('hex')}` : `${key}:b:${hex}`)).join(' ')}`

describe('frames', () => {
  it.each(vectors.frames)('are built as the vectors say: $name', (vector) => {
    const writer = new FrameWriter()
    expect(build(writer, vector)).toBe(true)
    expect(writer.take()?.toString('hex')).toBe(vector.hex)
    expect(writer.take()).toBeUndefined()
  })

  it.each(vectors.frames)('are read as the vectors say, whole and byte by byte: $name', (vector) => {
    const bytes = Buffer.from(vector.hex, 'hex')
    const fields = vector.fields.map(({ key, number, text, hex }) => {
      const value = number !== undefined ? bigBytes(number) : text !== undefined ? Buffer.from(text) : Buffer.from(hex as string, 'hex')
      const shown = value.length > 64 ? `#${value.length}:${fnv(value)}` : value.toString('hex')
      return ` ${key}=${shown}${value.length === 8 ? `(${value.readBigUInt64LE()})` : ''}`
    })
    const words = `frame:${vector.type}:${vector.tag}${fields.join('')} good`
    expect(describeStream([bytes])).toBe(words)
    expect(describeStream([...bytes].map((byte) => Buffer.from([byte])))).toBe(words)
  })

  it.each(vectors.streams)('that come as a stream are read as the vectors say, however it is cut: $name', ({ hex, decoded }) => {
    const bytes = bytesOf(hex)
    expect(describeStream([bytes])).toBe(decoded)
    for (let seed = 1; seed <= 5; seed += 1) expect(describeStream(cut(bytes, random(seed)))).toBe(decoded)
  })

  it('are built one behind the other, and what was taken is not written to again', () => {
    const writer = new FrameWriter()
    const taken: Buffer[] = []
    const copies: string[] = []
    const all: string[] = []
    const numbers = random(7)
    for (let i = 0; i < 2_000; i += 1) {
      const vector = numbers.pick(vectors.frames)
      build(writer, vector)
      all.push(vector.hex)
      if (numbers.int(0, 9) > 0) continue
      const part = writer.take() as Buffer
      taken.push(part)
      copies.push(part.toString('hex'))
    }
    taken.push(writer.take() ?? Buffer.alloc(0))
    expect(Buffer.concat(taken).toString('hex')).toBe(all.join(''))
    expect(taken.slice(0, copies.length).map((part) => part.toString('hex'))).toEqual(copies)
  })

  it('of more than a slab are built in memory that was given back, and leave alone what was not', () => {
    const writer = new FrameWriter()
    const large = (fill: string): Buffer => {
      writer.begin(14, 1).end()
      writer.begin(38, 2).raw(9, Buffer.alloc(200_000, fill)).end()
      return writer.take() as Buffer
    }
    const held = large('h')
    const copy = Buffer.from(held)
    const first = large('1')
    writer.giveBack(first)
    writer.begin(14, 3).end()
    const small = writer.take() as Buffer
    const second = large('2')
    expect(second.buffer).toBe(first.buffer)
    expect(describeStream([second])).toBe(
      describeStream([Buffer.concat([copy.subarray(0, frameHeaderBytes + frameHeaderBytes + 5), Buffer.alloc(200_000, '2')])]),
    )
    expect(held.equals(copy)).toBe(true)
    writer.giveBack(small)
    expect(describeStream([small])).toBe('frame:14:3 good')
    expect(large('3').buffer).not.toBe(second.buffer)
  })

  it('that are larger than a frame may be are not built, and leave those beside them alone', () => {
    const writer = new FrameWriter()
    writer.begin(14, 1).end()
    const most = maxPayloadBytes - 5
    expect(
      writer
        .begin(5, 2)
        .raw(2, Buffer.alloc(most + 1))
        .end(),
    ).toBe(false)
    expect(writer.begin(5, 3).raw(2, Buffer.alloc(most)).end()).toBe(true)
    expect(
      writer
        .begin(5, 4)
        .text(2, 'é'.repeat(maxPayloadBytes / 2))
        .end(),
    ).toBe(false)
    writer.begin(14, 5).end()
    const bytes = writer.take() as Buffer
    expect(bytes.length).toBe(3 * frameHeaderBytes + maxPayloadBytes)
    expect(describeStream([bytes])).toMatch(/^frame:14:1 frame:5:3 2=#4194299:\w+ frame:14:5 good$/)
  })

  it('hold a variable as it would be written in an environment', () => {
    const writer = new FrameWriter()
    const pairs = [
      ['NAME', 'value'],
      ['EMPTY', ''],
      ['É', 'ü'.repeat(200)],
      ['LONG', 'x'.repeat(100_000)],
    ] as const
    for (const [name, value] of pairs) writer.begin(2, 1).pair(3, name, value).end()
    const once = writer.take()
    for (const [name, value] of pairs) writer.begin(2, 1).text(3, `${name}=${value}`).end()
    expect(writer.take()).toEqual(once)
  })

  it('of any length of text are the same whichever way the text is copied', () => {
    for (const unit of ['a', 'é', '€', '🔥', '\ud800']) {
      for (let length = 0; length < 140; length += 1) {
        const text = `${'a'.repeat(length % 7)}${unit.repeat(length)}`
        const writer = new FrameWriter()
        writer.begin(1, 1).text(1, text).end()
        expect(writer.take()?.subarray(frameHeaderBytes + 5)).toEqual(Buffer.from(text))
      }
    }
  })

  it('stop when the one who reads them says so, also in the middle of a piece', () => {
    const writer = new FrameWriter()
    for (let tag = 1; tag <= 5; tag += 1) writer.begin(14, tag).end()
    const seen: number[] = []
    const reader: FrameReader = new FrameReader(({ tag }) => {
      seen.push(tag)
      if (tag === 3) reader.stop()
    })
    expect(reader.push(writer.take() as Buffer)).toBe('stopped')
    expect(seen).toEqual([1, 2, 3])
  })
})

function bigBytes(number: string): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(number))
  return bytes
}

const built = buildFrameDriver()

describe.skipIf(!built)('the two sides of the protocol', () => {
  let driver: FrameDriver
  beforeAll(() => {
    driver = built!.open()
  })
  afterAll(async () => {
    await driver[Symbol.asyncDispose]()
    built?.remove()
  })

  it('build what the vectors say', async () => {
    const lines = vectors.frames.flatMap((vector) => [toLine(vector), `t ${vector.hex.length}`])
    expect(await driver.ask(lines)).toEqual(vectors.frames.flatMap(({ hex }) => ['ok', hex]))
  })

  it('read what the vectors say', async () => {
    const answers = await driver.ask([...vectors.frames, ...vectors.streams].map(({ hex }) => `d ${hexOf(hex)}`))
    const expected = [...vectors.frames.map(({ hex }) => describeStream([Buffer.from(hex, 'hex')])), ...vectors.streams.map(({ decoded }) => decoded)]
    expect(answers).toEqual(expected)
  })

  it('build the same, whatever is built and taken in whatever order', async () => {
    const numbers = random(20)
    const writer = new FrameWriter()
    const lines: string[] = []
    let waiting = Buffer.alloc(0)
    const expected: string[] = []
    for (let i = 0; i < 3_000; i += 1) {
      if (numbers.int(0, 3) > 0) {
        const frame = randomFrame(numbers)
        lines.push(toLine(frame))
        expected.push(build(writer, frame) ? 'ok' : 'no')
        waiting = Buffer.concat([waiting, writer.take() ?? Buffer.alloc(0)])
      } else {
        const length = numbers.pick([1, 30, 5_000, 1_000_000])
        lines.push(`t ${length}`)
        expected.push(waiting.subarray(0, length).toString('hex'))
        waiting = waiting.subarray(length)
      }
    }
    expect(await driver.ask([...lines, 't 100000000'])).toEqual([...expected, waiting.toString('hex')])
  })

  it('build nothing at all where the supervisor has no memory left, and go on when it has', async () => {
    const large = { type: 5, tag: 9, fields: [{ key: 1, hex: '00'.repeat(maxPayloadBytes - 4) }] }
    const small = { type: 5, tag: 8, fields: [1, 2, 3, 4].map((key) => ({ key, hex: 'ab'.repeat(700) })) }
    const writer = new FrameWriter()
    build(writer, small)
    const hex = writer.take()?.toString('hex') as string
    const failing = [1, 2, 3, 4].flatMap((n) => [`m ${n}`, toLine(small), 'm 0', 't 10000000'])
    const answers = await driver.ask([toLine(small), toLine(large), toLine(small), 't 10000000', ...failing, toLine(small), 't 10000000'])
    expect(answers.slice(0, 4)).toEqual(['ok', 'no', 'ok', hex + hex])
    expect(answers.slice(-2)).toEqual(['ok', hex])
    for (let i = 0; i < 4; i += 1) {
      const [, done, , taken] = answers.slice(4 + i * 4)
      expect(taken).toBe(done === 'ok' ? hex : '')
    }
    expect(answers.slice(4, 7)).toEqual(['', 'no', ''])
  })

  it.each([1, 2, 3, 4, 5, 6])('say the same of streams that are mutated, cut off, spliced and made up (seed %i)', async (seed) => {
    const numbers = random(seed)
    const streams = Array.from({ length: 1_500 }, () => randomStream(numbers))
    const theirs = await driver.ask(streams.map((bytes) => `d ${bytes.toString('hex')}`))
    streams.forEach((bytes, i) => {
      const whole = describeStream([bytes])
      if (whole !== theirs[i] || whole !== describeStream(cut(bytes, numbers))) {
        expect({ bytes: bytes.toString('hex'), whole }).toEqual({ bytes: bytes.toString('hex'), whole: theirs[i], cut: whole })
      }
    })
    // Mutations that reach nothing would find nothing.
    const verdicts = new Set(theirs.map((words) => /(\w+)(?::\d+)?$/.exec(words)?.[1]))
    expect(verdicts).toEqual(new Set(['good', 'incomplete', 'too_large', 'bad_header']))
    expect(theirs.filter((words) => words.includes('malformed')).length).toBeGreaterThan(100)
  })
})

function randomFrame(numbers: Random): { type: number; tag: number; fields: Field[] } {
  const field = (): Field => {
    const key = numbers.pick([0, 1, 2, 3, 21, 255])
    const kind = numbers.int(0, 2)
    if (kind === 0) return { key, number: String(numbers.pick([0, 1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, numbers.int(0, 2 ** 31)])) }
    if (kind === 1) return { key, text: numbers.pick(['', 'a', 'é€🔥', 'x'.repeat(63), 'y'.repeat(64), 'z'.repeat(65), 'w'.repeat(9_000)]) }
    return { key, hex: Buffer.from(numbers.bytes(numbers.pick([0, 1, 7, 8, 9, 100]))).toString('hex') }
  }
  return {
    type: numbers.int(0, 255),
    tag: numbers.pick([0, 1, 2 ** 32 - 1, numbers.int(0, 2 ** 32 - 1)]),
    fields: Array.from({ length: numbers.int(0, 6) }, field),
  }
}

/** One to four frames of the vectors, in which something may be changed, missing, doubled or foreign. */
function randomStream(numbers: Random): Buffer {
  const frame = (): Buffer => Buffer.from(numbers.pick(vectors.frames).hex, 'hex')
  let bytes = Buffer.concat(Array.from({ length: numbers.int(1, 4) }, frame))
  for (let changes = numbers.pick([0, 1, 1, 2, 5]); changes > 0; changes -= 1) {
    const at = numbers.int(0, Math.max(0, bytes.length - 1))
    const kind = numbers.int(0, 7)
    if (kind === 0) bytes = bytes.subarray(0, at)
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), numbers.bytes(numbers.int(1, 20)), bytes.subarray(at)])
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + numbers.int(1, 20))])
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at), frame().subarray(numbers.int(0, 12))])
    else if (kind === 4) bytes = Buffer.from(numbers.bytes(numbers.int(0, 60)))
    else if (bytes.length > 0) {
      bytes = Buffer.from(bytes)
      // Mostly a length, of the payload or of the first field.
      const place = Math.min(bytes.length - 1, kind === 5 ? at : kind === 6 ? numbers.int(0, 3) : numbers.int(13, 16))
      bytes[place] = numbers.pick([0, 1, 0x7f, 0x80, 0xff, numbers.int(0, 255)])
    }
  }
  return bytes
}
