/**
 * Frames of docs/supervisor-protocol.md: building them and reading them from a stream of bytes. native/frame.c is the other
 * side; both are run against native/vectors/frames.json.
 */

export const frameHeaderBytes = 12
export const maxPayloadBytes = 4 * 1024 * 1024
const fieldHeaderBytes = 5
const numberBytes = 8

export const requests = {
  hello: 1,
  start: 2,
  watch: 3,
  unwatch: 4,
  input: 5,
  endInput: 6,
  signal: 7,
  stop: 8,
  status: 9,
  tree: 10,
  runs: 11,
  resize: 12,
  ack: 13,
  ping: 14,
  quit: 15,
  forget: 16,
  fileLook: 32,
  fileList: 33,
  fileOpen: 34,
  fileRead: 35,
  fileClose: 36,
  fileStage: 37,
  fileFill: 38,
  fileCommit: 39,
  fileMkdir: 40,
  fileRemove: 41,
  fileMove: 42,
  fileHash: 43,
} as const

export const answers = {
  welcome: 128,
  started: 129,
  failed: 130,
  status: 131,
  output: 132,
  ended: 133,
  taken: 134,
  done: 135,
  processes: 136,
  runs: 137,
  ok: 138,
  error: 139,
  file: 144,
  entries: 145,
  bytes: 146,
  written: 147,
  removed: 148,
  hash: 149,
  fileRefused: 150,
} as const

const slabBytes = 64 * 1024
/** Of those for larger frames so many are used again, and none that is larger than this. */
const maxSpareSlabs = 24
const maxSpareBytes = 512 * 1024
/** The greatest text whose characters are copied one by one: up to there a call into the engine costs more than the loop. */
const shortText = 64

/**
 * Builds frames one behind the other, in place. What was taken is not written to again before it is given back, since a socket may still
 * hold it. `begin`, any number of fields, `end`; then `take` gives all that was built since it was called last.
 */
export class FrameWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(slabBytes)
  /** Where what was not taken begins, and where it ends. */
  #from = 0
  #to = 0
  /** Where the next field of the frame under construction goes. */
  #at = 0
  /** Memory that was never used costs as much as what is written to it. */
  readonly #spare: Buffer[] = []
  /** While a larger one is in use: the slab before it, and from where on nobody holds anything of it. */
  #usual = { bytes: this.#bytes, at: 0 }

  begin(type: number, tag: number): this {
    this.#at = this.#to
    this.#reserve(frameHeaderBytes)
    const bytes = this.#bytes
    this.#at = writeUint32(bytes, this.#at, 0)
    this.#at = writeUint32(bytes, this.#at, type)
    this.#at = writeUint32(bytes, this.#at, tag)
    return this
  }

  /** A whole number from 0 to 2^53 - 1. */
  number(key: number, value: number): this {
    this.#reserve(fieldHeaderBytes + numberBytes)
    const bytes = this.#bytes
    bytes[this.#at] = key
    this.#at = writeUint32(bytes, this.#at + 1, numberBytes)
    this.#at = writeUint32(bytes, this.#at, value)
    this.#at = writeUint32(bytes, this.#at, value / 2 ** 32)
    return this
  }

  text(key: number, value: string): this {
    const length = this.#openField(key, value.length * 3)
    this.#copyText(value)
    return this.#closeField(length)
  }

  /** `NAME=VALUE`, without making that text first. */
  pair(key: number, name: string, value: string): this {
    const length = this.#openField(key, (name.length + value.length) * 3 + 1)
    this.#copyText(name)
    this.#bytes[this.#at++] = 0x3d
    this.#copyText(value)
    return this.#closeField(length)
  }

  raw(key: number, value: Uint8Array): this {
    const length = this.#openField(key, value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
    return this.#closeField(length)
  }

  /** False, and nothing was built, where the frame is larger than a frame may be. */
  end(): boolean {
    const length = this.#at - this.#to - frameHeaderBytes
    if (length > maxPayloadBytes) return false
    writeUint32(this.#bytes, this.#to, length)
    this.#to = this.#at
    return true
  }

  /** Whether what was built is so much that nothing is won by adding to it. */
  get isLarge(): boolean {
    return this.#bytes.length > slabBytes
  }

  /** Undefined where nothing was built. Not between `begin` and `end`. */
  take(): Buffer | undefined {
    if (this.#from === this.#to) return undefined
    const taken = this.#bytes.subarray(this.#from, this.#to)
    this.#from = this.#to
    // A slab that grew for one large frame is its own.
    if (this.#bytes.length > slabBytes) {
      this.#bytes = this.#usual.bytes
      this.#from = this.#to = this.#usual.at
    }
    return taken
  }

  /** Nobody holds any more what was taken. */
  giveBack(taken: Buffer): void {
    const { byteLength } = taken.buffer
    const isSpare = byteLength > slabBytes && byteLength <= maxSpareBytes
    if (isSpare && this.#spare.length < maxSpareSlabs) this.#spare.push(Buffer.from(taken.buffer as ArrayBuffer))
  }

  #openField(key: number, most: number): number {
    this.#reserve(fieldHeaderBytes + most)
    this.#bytes[this.#at] = key
    this.#at += fieldHeaderBytes
    return this.#at
  }

  #closeField(begin: number): this {
    writeUint32(this.#bytes, begin - 4, this.#at - begin)
    return this
  }

  #copyText(text: string): void {
    const bytes = this.#bytes
    const from = this.#at
    if (text.length <= shortText) {
      let i = 0
      for (; i < text.length; i += 1) {
        const code = text.charCodeAt(i)
        if (code > 0x7f) break
        bytes[from + i] = code
      }
      if (i === text.length) {
        this.#at = from + i
        return
      }
    }
    this.#at = from + bytes.write(text, from, 'utf8')
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const used = this.#at - this.#from
    const bytes = this.#slab(used + more)
    if (this.#bytes.length === slabBytes) this.#usual = { bytes: this.#bytes, at: this.#from }
    this.#bytes.copy(bytes, 0, this.#from, this.#at)
    this.#bytes = bytes
    this.#to -= this.#from
    this.#at = used
    this.#from = 0
  }

  #slab(needed: number): Buffer {
    if (needed <= slabBytes) return Buffer.allocUnsafeSlow(slabBytes)
    const at = this.#spare.findIndex(({ length }) => length >= needed)
    const spare = at >= 0 ? this.#spare.splice(at, 1)[0] : undefined
    if (spare) return spare
    // What grows further grows in few steps.
    return Buffer.allocUnsafeSlow(needed <= maxSpareBytes / 2 ? maxSpareBytes / 2 : needed * 2)
  }
}

function writeUint32(bytes: Buffer, at: number, value: number): number {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 24
  return at + 4
}

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)) + (bytes[at + 3] as number) * 2 ** 24
}

/** A frame in place, with its fields one after the other. It is the reader's, and means nothing once the next one is read. */
export class Frame {
  type = 0
  tag = 0
  /** Of the field that `next` went to. */
  key = 0
  /** True once the fields did not add up. */
  malformed = false
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0
  #at = 0
  #end = 0

  /** Points it at a payload. */
  set(type: number, tag: number, bytes: Buffer, from: number, to: number): this {
    this.type = type
    this.tag = tag
    this.malformed = false
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    return this
  }

  /** Goes to the next field; false at the end, and where the fields do not add up. */
  next(): boolean {
    const left = this.#end - this.#at
    if (left === 0) return false
    const length = left < fieldHeaderBytes ? left : readUint32(this.#bytes, this.#at + 1)
    if (length > left - fieldHeaderBytes) {
      this.malformed = true
      this.#at = this.#end
      return false
    }
    this.key = this.#bytes[this.#at] as number
    this.#from = this.#at + fieldHeaderBytes
    this.#to = this.#at = this.#from + length
    return true
  }

  /** Undefined where the field is no number, or one that JavaScript cannot hold. */
  number(): number | undefined {
    if (this.#to - this.#from !== numberBytes) return undefined
    const value = readUint32(this.#bytes, this.#from) + readUint32(this.#bytes, this.#from + 4) * 2 ** 32
    return Number.isSafeInteger(value) ? value : undefined
  }

  text(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to)
  }

  /** A copy, the caller's to keep; in `room`, where it has that much. */
  bytes(room?: Buffer): Buffer {
    const bytes = this.#bytes.subarray(this.#from, this.#to)
    if (!room || room.length < bytes.length) return Buffer.from(bytes)
    bytes.copy(room)
    return room.subarray(0, bytes.length)
  }
}

export type StreamState = 'good' | 'too_large' | 'bad_header' | 'stopped'

/** What a partial frame is given at first: a header alone does not make anybody hold megabytes. */
const firstPartBytes = 64 * 1024
/** What it was given at most to be used for the next one as well. */
const keptPartBytes = 256 * 1024

/**
 * Finds frames in a stream of bytes that comes in pieces. A frame that is whole in a piece is read there; only one that goes
 * across pieces is copied. After a state other than `good` the stream cannot be read on.
 */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  readonly #frame = new Frame()
  #part: Buffer | undefined
  #partBytes = 0
  #state: StreamState = 'good'
  /** The tag of the header that cannot be used, for whoever wants to say which it was. */
  badTag = 0

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  /** Bytes of a frame of which the rest has not come. */
  get incomplete(): number {
    return this.#partBytes
  }

  /** Reads no further, also of the piece at hand. */
  stop(): void {
    this.#state = 'stopped'
  }

  /** Nothing of the piece is held when this returns. */
  push(piece: Buffer): StreamState {
    let at = 0
    while (at < piece.length && this.#state === 'good') {
      if (this.#partBytes > 0) at = this.#complete(piece, at)
      else {
        const length = this.#take(piece, at, piece.length)
        if (length === 0 && this.#state === 'good') at = this.#keep(piece, at, piece.length)
        at += length
      }
    }
    return this.#state
  }

  /** Hands on the frame that begins at `at`; gives its length, or 0 where it is not whole or is none. */
  #take(bytes: Buffer, at: number, end: number): number {
    if (end - at < frameHeaderBytes) return 0
    const payload = readUint32(bytes, at)
    if ((bytes[at + 5] as number) | (bytes[at + 6] as number) | (bytes[at + 7] as number)) this.#state = 'bad_header'
    else if (payload > maxPayloadBytes) this.#state = 'too_large'
    const length = frameHeaderBytes + payload
    if (this.#state !== 'good') this.badTag = readUint32(bytes, at + 8)
    if (this.#state !== 'good' || end - at < length) return 0
    this.#onFrame(this.#frame.set(bytes[at + 4] as number, readUint32(bytes, at + 8), bytes, at + frameHeaderBytes, at + length))
    return length
  }

  /** Takes what the partial frame lacks from the piece, first of its header, then of its payload; gives where the rest begins. */
  #complete(piece: Buffer, at: number): number {
    const part = this.#part as Buffer
    const whole = this.#partBytes < frameHeaderBytes ? frameHeaderBytes : frameHeaderBytes + readUint32(part, 0)
    const end = this.#keep(piece, at, Math.min(piece.length, at + whole - this.#partBytes))
    if (this.#partBytes === whole && this.#take(this.#part as Buffer, 0, whole) > 0) {
      this.#partBytes = 0
      if ((this.#part as Buffer).length > keptPartBytes) this.#part = undefined
    }
    return end
  }

  #keep(piece: Buffer, from: number, to: number): number {
    const needed = this.#partBytes + to - from
    let part = this.#part
    if (!part || part.length < needed) {
      part = Buffer.allocUnsafeSlow(Math.max(firstPartBytes, needed, Math.min((part?.length ?? 0) * 2, frameHeaderBytes + maxPayloadBytes)))
      if (this.#part) this.#part.copy(part, 0, 0, this.#partBytes)
      this.#part = part
    }
    piece.copy(part, this.#partBytes, from, to)
    this.#partBytes = needed
    return to
  }
}
