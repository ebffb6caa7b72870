import { endByte, type Marks } from './shell-line.ts'

/** What was said before the program began, for people: the newest of it. */
const maxSaidBytes = 4_096
/** Of the number behind the end mark. */
const maxDigits = 3
const none = Buffer.alloc(0)

/** Parts the standard error of a channel into what came before the program, what the program said, and the record of its end. */
export class FarStderr {
  /** Set by the record. */
  status: number | undefined
  private readonly begin: Buffer
  private readonly end: Buffer
  /** The program's own words follow. */
  begun = false
  private held: Buffer = none
  private before: Buffer = none

  constructor(marks: Marks) {
    this.begin = Buffer.from(marks.begin)
    this.end = Buffer.concat([Buffer.from([endByte]), Buffer.from(`${marks.end} `)])
  }

  /** What came before the program began. */
  get said(): string {
    return this.before.toString('utf8')
  }

  /** Gives what is the program's; may hold a few bytes back that could be the beginning of a mark. */
  push(chunk: Buffer): Buffer {
    let bytes = this.held.length > 0 ? Buffer.concat([this.held, chunk]) : chunk
    this.held = none
    if (!this.begun) {
      const at = bytes.indexOf(this.begin)
      if (at === -1) {
        const keep = Math.max(0, bytes.length - this.begin.length + 1)
        this.keepSaid(bytes.subarray(0, keep))
        this.held = Buffer.from(bytes.subarray(keep))
        return none
      }
      this.keepSaid(bytes.subarray(0, at))
      this.begun = true
      bytes = bytes.subarray(at + this.begin.length)
    }
    return this.withoutEnd(bytes)
  }

  /** What was held back when nothing comes any more. */
  finish(): Buffer {
    const rest = this.held
    this.held = none
    if (this.begun) return rest
    this.keepSaid(rest)
    return none
  }

  private keepSaid(bytes: Buffer): void {
    const all = Buffer.concat([this.before, bytes])
    this.before = all.subarray(Math.max(0, all.length - maxSaidBytes))
  }

  private withoutEnd(bytes: Buffer): Buffer {
    if (this.status !== undefined) return bytes
    for (let from = 0; ; ) {
      const at = bytes.indexOf(endByte, from)
      if (at === -1) return bytes
      const record = this.recordAt(bytes, at)
      if (record === 'open') {
        this.held = Buffer.from(bytes.subarray(at))
        return bytes.subarray(0, at)
      }
      if (record !== undefined) {
        this.status = record.status
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(record.next)])
      }
      from = at + 1
    }
  }

  /** `open`: more bytes decide. */
  private recordAt(bytes: Buffer, at: number): { status: number; next: number } | 'open' | undefined {
    const head = bytes.subarray(at, at + this.end.length)
    if (!this.end.subarray(0, head.length).equals(head)) return undefined
    const digits = bytes.subarray(at + this.end.length, at + this.end.length + maxDigits + 1)
    const close = digits.indexOf(endByte)
    if (close === -1) return digits.length > maxDigits ? undefined : 'open'
    const number = digits.subarray(0, close).toString('latin1')
    return /^\d+$/.test(number) ? { status: Number(number), next: at + this.end.length + close + 1 } : undefined
  }
}
