import type { Channel } from '../core/channel.ts'
import { failure, HoldfastError, messageOf } from '../core/errors.ts'
import { markOf } from './shell-text.ts'

/** What the script of probe.ts says, line by line, until the channel becomes something else. */
export interface Conversation {
  readonly channel: Channel
  /** The next line of ours, without its mark; undefined once the channel has ended. Rejects where nothing comes for too long. */
  next(): Promise<string | undefined>
  /** Rejects where it is not taken for too long. */
  send(bytes: Uint8Array): Promise<void>
  /** No line comes any more: what was read beyond the last one, and all that follows, goes to `read`. */
  handOver(read: (bytes: Buffer) => void, ended: (error?: Error) => void): void
  /** The end of what was printed on standard error. */
  complaint(): string
  close(): void
}

/** How long nothing may come, or go, before the site is given up: login files may be slow. */
export const silenceMs = 60_000
/** What may stand before the first line of ours, and between lines. */
const maxNoiseBytes = 4 * 1024 * 1024
const maxComplaintBytes = 2_048
const partBytes = 64 * 1024

export function converse(channel: Channel, nonce: string, title: string): Conversation {
  const mark = Buffer.from(`\n${markOf(nonce)}`)
  let pending: Buffer = Buffer.alloc(0)
  let complaint = Buffer.alloc(0)
  let isOver = false
  let problem: Error | undefined
  let wake: (() => void) | undefined
  let read: ((bytes: Buffer) => void) | undefined
  let tellEnd: ((error?: Error) => void) | undefined
  let stopSending = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    stopSending = resolve
  })

  const over = (error?: unknown): void => {
    if (isOver) return
    isOver = true
    if (error !== undefined) problem = error instanceof Error ? error : new Error(messageOf(error))
    tellEnd?.(problem)
    wake?.()
    stopSending()
  }
  channel.stdout.on('data', (bytes: Buffer) => {
    if (read) return read(bytes)
    pending = pending.length > 0 ? Buffer.concat([pending, bytes]) : bytes
    wake?.()
  })
  channel.stdout.on('end', () => over())
  channel.stdout.on('close', () => over())
  channel.stdout.on('error', over)
  channel.stdin.on('error', () => {})
  channel.stderr.on('error', () => {})
  channel.stderr.on('data', (bytes: Buffer) => {
    complaint = Buffer.concat([complaint, bytes]).subarray(-maxComplaintBytes)
  })
  channel.ended.catch(over)

  /** A whole line of ours, taken out of what is there. */
  function takeLine(): string | undefined {
    const at = pending.indexOf(mark)
    const end = at < 0 ? -1 : pending.indexOf(10, at + 1)
    if (end < 0) return undefined
    const line = pending.toString('utf8', at + mark.length, end)
    // The end of this line is the beginning of the next one.
    pending = pending.subarray(end)
    return line
  }

  function inTime<T>(promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(unavailable(`it said nothing for ${silenceMs / 1_000} s`)), silenceMs)
    })
    return Promise.race([promise, late]).finally(() => clearTimeout(timer))
  }

  const unavailable = (why: string, cause?: unknown): HoldfastError => failure('backend_unavailable', { target: title, why }, cause)

  return {
    channel,
    async next() {
      for (;;) {
        const line = takeLine()
        if (line !== undefined) return line
        if (isOver) {
          if (problem instanceof HoldfastError) throw problem
          return undefined
        }
        if (pending.length > maxNoiseBytes) throw unavailable('it prints without end before a command of ours begins')
        await inTime(
          new Promise<void>((resolve) => {
            wake = resolve
          }),
        )
      }
    },
    async send(bytes) {
      for (let at = 0; at < bytes.length && !isOver; at += partBytes) {
        const part = bytes.subarray(at, at + partBytes)
        await inTime(Promise.race([stopped, new Promise<void>((resolve) => void channel.stdin.write(part, () => resolve()))]))
      }
    },
    handOver(next, ended) {
      // Behind the last line is its line feed alone.
      const rest = pending.subarray(1)
      pending = Buffer.alloc(0)
      read = next
      tellEnd = ended
      if (rest.length > 0) next(Buffer.from(rest))
      if (isOver) ended(problem)
    },
    complaint: () => complaint.toString('utf8').trim().split('\n').slice(-3).join('; '),
    close() {
      channel.close()
      setImmediate(over)
    },
  }
}
