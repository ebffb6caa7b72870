import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable } from 'node:stream'
import type { Confirmed, Running, Session } from '../core/backend.ts'
import type { Channel, Site } from '../core/channel.ts'
import type { ResolvedCommand } from '../core/command.ts'
import { checkTexts } from '../core/command-texts.ts'
import { failure, type HoldfastError, hasReason, messageOf, toHoldfastError } from '../core/errors.ts'
import { mergeChunks } from '../core/merge-chunks.ts'
import type { ExitStatus } from '../core/outcome.ts'
import type { Leftover } from '../core/run.ts'
import { takeMarkedLines } from './marked-lines.ts'
import { type PlainInput, plainArgv, plainScript, refusedVariable, signalArgv, treeArgv } from './plain-script.ts'
import { beforeLine } from './shell-text.ts'

export interface PlainSessionOptions {
  readonly site: Site
  /** Absolute, at the site: the folder for the files of a run. */
  readonly runFolder: (run: string) => string
}

/** How long the shell of a command, and one that asks about it, may take to say its word: login files may be slow. */
const beginMs = 60_000
const askMs = 15_000

/**
 * Commands at a site without a supervisor: each has a channel, and ends with it sooner or later. A kill reaches the session of the
 * command; a status of 128 and more may have been a signal.
 */
export function openPlainSession({ site, runFolder }: PlainSessionOptions): Session {
  const open = new Set<Channel>()
  let isClosed = false

  /** Runs a little program of ours; resolves to the lines that it says. */
  async function ask(argv: (nonce: string) => readonly [string, ...string[]]): Promise<readonly string[]> {
    const nonce = newNonce()
    const lines: string[] = []
    const channel = await site.open({ argv: argv(nonce), signal: AbortSignal.timeout(askMs) })
    const timer = setTimeout(() => channel.close(), askMs)
    try {
      const marked = takeMarkedLines(nonce, {
        bytes: () => {},
        line(line) {
          lines.push(line)
          return undefined
        },
      })
      channel.stdin.on('error', () => {})
      channel.stderr.on('error', () => {}).resume()
      channel.stdout.on('error', () => {}).on('data', (bytes: Buffer) => void marked.push(bytes))
      if (channel.canEndInput) channel.stdin.end()
      await channel.ended
      return lines
    } finally {
      clearTimeout(timer)
      channel.close()
    }
  }

  return {
    logs: 'streamed',
    handle: JSON.stringify(site.handle),
    async start(command) {
      if (isClosed) throw failure('closed', {})
      if (command.pty) throw failure('supervisor_needed', { what: 'a pseudo-terminal', why: `there is none at ${site.title}` })
      checkTexts(command, 'linux')
      const refused = refusedVariable(command)
      if (refused !== undefined) throw failure('supervisor_needed', { what: `the variable ${refused}`, why: `a shell does not hand it on at ${site.title}` })
      const nonce = newNonce()
      const channel = await site.open({ argv: plainArgv(nonce), signal: AbortSignal.timeout(beginMs) })
      open.add(channel)
      void channel.ended.catch(() => {}).finally(() => open.delete(channel))
      return begin({ site, channel, nonce, command, folder: runFolder(command.mark), ask })
    },
    async close() {
      isClosed = true
      for (const channel of open) channel.close()
    },
  }
}

interface Beginning {
  readonly site: Site
  readonly channel: Channel
  readonly nonce: string
  readonly command: ResolvedCommand
  readonly folder: string
  readonly ask: (argv: (nonce: string) => readonly [string, ...string[]]) => Promise<readonly string[]>
}

async function begin({ site, channel, nonce, command, folder, ask }: Beginning): Promise<Running> {
  const input = command.stdin === 'none' ? 'none' : channel.canEndInput ? 'raw' : 'framed'
  const words = listenFor(site, channel, nonce)
  channel.stdin.on('error', () => {})
  channel.stdin.write(plainScript({ nonce, command, folder, input }))
  let pid: number
  try {
    pid = await began(site, words, command)
  } catch (error) {
    channel.close()
    throw error
  }
  const { output, release } = mergeChunks(words)
  let isOver = false
  void words.ended
    .catch(() => {})
    .finally(() => {
      isOver = true
      // The script reads what is still sent.
      if (input === 'raw') channel.stdin.end()
    })
  const alive = async (): Promise<readonly (Leftover & { state: string })[]> =>
    (await ask((own) => treeArgv(own, pid))).flatMap((line) => {
      const [, at = '', state = '', name = ''] = /^process (\d+) (\S) (.*)$/s.exec(line) ?? []
      return at === '' ? [] : [{ pid: Number(at), state, name }]
    })
  const others = async () => (await alive()).filter((each) => each.pid !== pid)
  return {
    id: String(pid),
    process: null,
    output,
    ended: words.ended,
    ...openInput(channel, input),
    async signal(name): Promise<Confirmed> {
      // A group is there for as long as nobody has asked how those in it ended.
      if (isOver && (await alive().catch(() => [])).length === 0) return { delivered: false }
      // Where nobody can be asked it is not known to have worked.
      const lines = await ask((own) => signalArgv(own, name.replace(/^SIG/, ''), pid)).catch((): readonly string[] => [])
      return { delivered: lines.includes('sent') }
    },
    tree: async () => (await others().catch(() => undefined))?.map(({ pid: at, name }) => ({ pid: at, name })),
    busy: async () => (await others().catch(() => [])).some(({ state }) => state === 'R' || state === 'D'),
    release() {
      release()
      channel.close()
    },
  }
}

async function began(site: Site, words: Words, command: ResolvedCommand): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failure('backend_unavailable', { target: site.title, why: `no shell answered within ${beginMs / 1_000} s` })), beginMs)
  })
  try {
    const word = await Promise.race([words.first, late])
    const [, what = '', errno = ''] = /^failed (\S+) (\S+)$/.exec(word) ?? []
    if (what !== '') throw refusal(site, command, what, errno)
    return Number(/^begun (\d+)$/.exec(word)?.[1])
  } finally {
    clearTimeout(timer)
  }
}

function refusal(site: Site, { argv, cwd }: ResolvedCommand, what: string, errno: string): HoldfastError {
  const program = argv[0]
  if (what === 'cwd')
    return errno === 'ENOENT'
      ? failure('cwd_missing', { cwd })
      : errno === 'ENOTDIR'
        ? failure('cwd_not_directory', { cwd })
        : failure('cwd_forbidden', { cwd })
  if (what === 'program') return errno === 'ENOENT' ? failure('program_missing', { program }) : failure('program_not_executable', { program })
  return failure('backend_refused', { target: site.title, what: 'the files of the command', why: `its folder cannot be written to (${errno})` })
}

interface Words {
  readonly stdout: Readable
  readonly stderr: Readable
  /** The first word on standard error; rejects where the channel ends without one. */
  readonly first: Promise<string>
  readonly ended: Promise<ExitStatus>
}

/** Takes what the script says out of what the command prints. What was printed before it began is nobody's. */
function listenFor(site: Site, channel: Channel, nonce: string): Words {
  const first = promised<string>()
  const ended = promised<ExitStatus>()
  /** All that the command itself has printed is here. */
  const printed = promised<void>()
  let status: ExitStatus | undefined
  let complaint = ''
  const stdout = takeCommand(channel.stdout, nonce, {
    line: (line) => line === 'ended' && printed.resolve(),
    before: () => {},
    isLast: (line) => line === 'ended',
  })
  stdout.once('close', printed.resolve)
  const tell = (): void => void (status && ended.resolve(status))
  channel.stdout.once('end', printed.resolve).once('close', printed.resolve)
  const stderr = takeCommand(channel.stderr, nonce, {
    line(line) {
      first.resolve(line)
      const [, code] = /^ended (\d+)$/.exec(line) ?? []
      if (code === undefined) return
      status = { exitCode: Number(code) }
      void printed.promise.then(tell)
    },
    before(bytes) {
      complaint = `${complaint}${bytes.toString('utf8')}`.slice(-maxComplaintChars)
    },
    isLast: (line) => !line.startsWith('begun '),
  })
  const over = (why: string, cause?: unknown): void => {
    const said = complaint.trim().split('\n').slice(-3).join('; ')
    const error = cause === undefined ? undefined : toHoldfastError(cause)
    first.reject(error ?? failure('backend_unavailable', { target: site.title, why: `${why}${said && `: ${said}`}` }))
    tell()
    ended.reject(error && hasReason(error, 'contact_lost') ? error : failure('contact_lost', { target: site.title, why: messageOf(cause ?? why) }, cause))
  }
  // Both streams are read to their end before: the status may stand in the last bytes.
  channel.ended.then(
    (status) => over(`its shell ended with ${'exitCode' in status ? `status ${status.exitCode}` : status.signal}`),
    (error: unknown) => over('', error),
  )
  return { stdout, stderr, first: first.promise, ended: ended.promise }
}

const maxComplaintChars = 2_000
const bufferBytes = 256 * 1024

interface CommandWords {
  line(text: string): unknown
  /** What comes before the first line of ours. */
  before(bytes: Buffer): void
  /** Behind which line of ours there is none any more: then nothing has to wait to be told from one. */
  isLast(text: string): boolean
}

/** What a command prints into a stream, with back-pressure: all behind the first line of ours. */
function takeCommand(source: Readable, nonce: string, { line, before, isLast }: CommandWords): Readable {
  const taken = new PassThrough({ highWaterMark: bufferBytes })
  let hasBegun = false
  const take = (bytes: Buffer): void => {
    if (!taken.write(bytes)) source.pause()
  }
  const marked = takeMarkedLines(
    nonce,
    {
      line(text) {
        hasBegun = true
        line(text)
        return isLast(text)
      },
      bytes: (bytes) => (hasBegun ? take(bytes) : before(bytes)),
    },
    beforeLine,
  )
  const end = (): void => {
    marked.end()
    taken.end()
  }
  taken.on('drain', () => source.resume())
  // Nobody reads any more.
  taken.on('close', () => source.resume())
  source.on('data', (bytes: Buffer) => {
    if (taken.destroyed) return
    marked.push(bytes)
  })
  source.once('end', end)
  source.once('close', end)
  source.on('error', end)
  return taken
}

interface Promised<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

/** Settled from outside, once; nobody has to look. */
function promised<T>(): Promised<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}

/** Of what is framed, so that a line is read in one go. */
const frameBytes = 3 * 1024

/** Writes with back-pressure. The command may end without reading: that is its business, not an error of the run. */
function openInput({ stdin, canEndInput }: Channel, input: PlainInput): Pick<Running, 'write' | 'endInput'> {
  const gone = new Promise<void>((resolve) => void stdin.once('close', () => resolve()))
  const put = (bytes: Uint8Array | string): Promise<void> => Promise.race([gone, new Promise<void>((resolve) => void stdin.write(bytes, () => resolve()))])
  if (input === 'raw') return { write: put, endInput: async () => void stdin.end() }
  if (input === 'none') {
    if (canEndInput) stdin.end()
    return { write: async () => {}, endInput: async () => {} }
  }
  return {
    async write(bytes) {
      let lines = ''
      for (let at = 0; at < bytes.length; at += frameBytes) lines += `${Buffer.from(bytes.subarray(at, at + frameBytes)).toString('base64')}\n`
      await put(lines)
    },
    endInput: () => put('.\n'),
  }
}

const newNonce = (): string => randomBytes(12).toString('hex')
