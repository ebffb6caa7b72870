import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { markVariable } from '../core/command.ts'
import { launch } from './launch.ts'
import { signalTree, type TreeKey } from './tree.ts'

export interface ProgramQuestion {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Then its whole tree is ended. */
  readonly timeoutMs: number
  /** What it may say at most on each stream; more ends it. */
  readonly maxBytes: number
  readonly signal?: AbortSignal | undefined
}

export interface ProgramAnswer {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Why it was ended; undefined where it ended by itself. */
  readonly cut: 'time' | 'size' | 'canceled' | undefined
}

/**
 * Asks a small program for text: without input, for a bounded time, with bounded output. Rejects with the system's error where it could not
 * be started. Nothing of it is left when the answer is there.
 */
export async function askProgram(question: ProgramQuestion): Promise<ProgramAnswer> {
  const mark = `ask-${randomBytes(6).toString('hex')}`
  const outer = question.env[markVariable]
  const env = { ...question.env, [markVariable]: outer ? `${outer}/${mark}` : mark }
  const launched = await launch({ argv: question.argv, cwd: question.cwd, env, stdin: 'none', pipes: false })
  const tree: TreeKey = { leader: launched.identity, mark, seen: new Map() }
  let cut: ProgramAnswer['cut']
  const end = (why?: ProgramAnswer['cut']): void => {
    cut ??= why
    void signalTree(tree, 'SIGKILL', launched.unreaped()).catch(() => {})
    // Whoever left the tree may hold the streams.
    setTimeout(() => {
      launched.stdout.destroy()
      launched.stderr.destroy()
    }, 200).unref()
  }
  const timer = setTimeout(() => end('time'), question.timeoutMs)
  const cancel = (): void => end('canceled')
  question.signal?.addEventListener('abort', cancel, { once: true })
  if (question.signal?.aborted) cancel()
  try {
    const texts = Promise.all([launched.stdout, launched.stderr].map((stream) => textOf(stream, question.maxBytes, () => end('size'))))
    const { code } = await launched.exit
    // What it left behind gives no answer any more.
    end()
    const [stdout = '', stderr = ''] = await texts
    return { code, stdout, stderr, cut }
  } finally {
    clearTimeout(timer)
    question.signal?.removeEventListener('abort', cancel)
  }
}

function textOf(stream: Readable, maxBytes: number, tooMuch: () => void): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let bytes = 0
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) parts.push(chunk)
      else tooMuch()
    })
    stream.on('error', () => {})
    stream.on('close', () => resolve(Buffer.concat(parts).toString('utf8')))
  })
}
