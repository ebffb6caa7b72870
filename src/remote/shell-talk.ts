import { randomBytes } from 'node:crypto'
import type { Channel, Site } from '../core/channel.ts'
import { failure, messageOf, toHoldfastError } from '../core/errors.ts'
import { takeMarkedLines } from './marked-lines.ts'
import { markOf } from './shell-text.ts'

/** What a script says: a word, and texts. */
export interface Message {
  readonly word: string
  readonly bytes: Buffer
  readonly texts: readonly string[]
}

/** A script at a site, and what is said to it and by it. Whoever opens it closes it. */
export interface Talk {
  readonly canEndInput: boolean
  /** The next message, whole. Rejects where the script ends without one. Asked for once at a time. */
  next(): Promise<Message>
  /** The bytes of the next message, which has this word, as they come; to be taken to its end. */
  stream(word: string): AsyncGenerator<Buffer>
  /** Resolves when there is room for more, or nobody takes it any more. */
  send(bytes: Uint8Array | string): Promise<void>
  endInput(): void
  /** The same promise; the script is let go of, and the promise rejects, where it takes too long. */
  within<T>(ms: number, promise: Promise<T>): Promise<T>
  /** Harmless when called twice. */
  close(): void
}

/** Login files may be slow. */
const openMs = 60_000
const endMs = 5_000
const maxComplaintChars = 2_000

type Part = { readonly line: string } | { readonly bytes: Buffer }

export async function openTalk(site: Site, script: string, args: readonly string[]): Promise<Talk> {
  const nonce = randomBytes(12).toString('hex')
  const channel = await site.open({ argv: ['sh', '-c', script, 'sh', markOf(nonce), ...args], signal: AbortSignal.timeout(openMs) })
  channel.ended.catch(() => {})
  channel.stdin.on('error', () => {})
  let complaint = ''
  channel.stderr
    .on('error', () => {})
    .on('data', (bytes: Buffer) => {
      complaint = `${complaint}${bytes.toString('utf8')}`.slice(-maxComplaintChars)
    })
  const parts = partsOf(channel, nonce)
  let late: Error | undefined

  async function nextPart(): Promise<Part> {
    const { value, done } = await parts.next()
    if (!done) return value
    if (late) throw late
    throw await endOf(site, channel, complaint)
  }

  async function nextLine(): Promise<string> {
    for (;;) {
      const part = await nextPart()
      if ('line' in part) return part.line
    }
  }

  async function* bytesOf(): AsyncGenerator<Buffer> {
    for (let part = await nextPart(); 'bytes' in part; part = await nextPart()) yield part.bytes
  }

  return {
    canEndInput: channel.canEndInput,
    async next() {
      const word = await nextLine()
      const all: Buffer[] = []
      for await (const bytes of bytesOf()) all.push(bytes)
      const bytes = Buffer.concat(all)
      return { word, bytes, texts: textsOf(bytes) }
    },
    async *stream(word) {
      const found = await nextLine()
      if (found !== word) throw failure('internal', { what: `a script said ${found}, not ${word}` })
      yield* bytesOf()
    },
    async send(bytes) {
      const { stdin } = channel
      if (stdin.destroyed || stdin.write(bytes)) return
      await new Promise<void>((resolve) => {
        const done = (): void => {
          stdin.off('drain', done).off('close', done)
          resolve()
        }
        stdin.on('drain', done).on('close', done)
        channel.ended.then(done, done)
      })
    },
    endInput: () => void channel.stdin.end(),
    async within(ms, promise) {
      let timer: NodeJS.Timeout | undefined
      const over = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          late = failure('contact_lost', { target: site.title, why: `no answer within ${ms / 1_000} s` })
          reject(late)
          channel.close()
        }, ms)
      })
      try {
        return await Promise.race([promise, over])
      } finally {
        clearTimeout(timer)
        promise.catch(() => {})
      }
    },
    close: () => channel.close(),
  }
}

/** What is printed before the first line of ours is nobody's. Ends where the channel does. */
async function* partsOf({ stdout }: Channel, nonce: string): AsyncGenerator<Part, undefined> {
  const parts: Part[] = []
  let hasBegun = false
  const marked = takeMarkedLines(nonce, {
    line(line) {
      hasBegun = true
      parts.push({ line })
      return undefined
    },
    bytes(bytes) {
      if (hasBegun) parts.push({ bytes })
    },
  })
  try {
    for await (const chunk of stdout) {
      marked.push(chunk)
      yield* parts.splice(0)
    }
    marked.end()
  } catch {
    // Why it ended is told by the channel.
  }
  yield* parts.splice(0)
  return undefined
}

/** Why a script said nothing more. */
async function endOf(site: Site, channel: Channel, complaint: string): Promise<Error> {
  let timer: NodeJS.Timeout | undefined
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failure('contact_lost', { target: site.title, why: 'its output ended' })), endMs)
  })
  try {
    const status = await Promise.race([channel.ended, never])
    const said = complaint.trim().split('\n').slice(-3).join('; ')
    const why = `its shell ended with ${'exitCode' in status ? `status ${status.exitCode}` : status.signal}${said && `: ${said}`}`
    return failure('backend_unavailable', { target: site.title, why })
  } catch (error) {
    return error instanceof Error ? toHoldfastError(error) : failure('contact_lost', { target: site.title, why: messageOf(error) })
  } finally {
    clearTimeout(timer)
    channel.close()
  }
}

/** Each ends with NUL. */
function textsOf(bytes: Buffer): readonly string[] {
  const texts = bytes.toString('utf8').split('\0')
  texts.pop()
  return texts
}
