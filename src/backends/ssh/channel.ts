import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable } from 'node:stream'
import type { Channel } from '../../core/channel.ts'
import { failure, messageOf } from '../../core/errors.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import { type Launched, launch } from '../../process/launch.ts'
import { FarStderr } from './far-stderr.ts'
import { unreachable } from './faults.ts'
import { endGroup } from './group.ts'
import { isServing } from './master.ts'
import type { SshCall } from './settings.ts'
import { loginLine, marksOf, programLine } from './shell-line.ts'

/** `lose`: lets go of it, and tells why there is no status. */
export type SshChannel = Channel & { lose(why: string): void }

/** What came of an attempt to open a channel over a connection. Of what failed, nothing was run. */
export type Attempt =
  | { readonly kind: 'open'; readonly channel: SshChannel }
  /** The server takes no more sessions over this connection. */
  | { readonly kind: 'full' }
  /** The connection is no more, or its master does not answer. */
  | { readonly kind: 'dead' }
  /** One of both: ssh ended without a word, and the master serves. */
  | { readonly kind: 'unsure' }

export interface ChannelSettings {
  readonly argv: readonly string[]
  readonly signal?: AbortSignal | undefined
  readonly loginMs: number
  readonly greetMs: number
}

/** How often it is looked whether the master of a channel that does not come about still answers. */
const lookMs = 5_000
const stdoutBuffer = 256 * 1024
/** What login files started in the background holds the streams for as long as it lives: nothing of the program comes after so much silence. */
const silenceMs = 1_000
const silenceLookMs = 100

export async function attemptChannel(call: SshCall, path: string, request: ChannelSettings): Promise<Attempt> {
  const marks = marksOf(randomBytes(9).toString('hex'))
  const argv = [
    ...call.argv,
    // Without the connection that is shared there is none: ssh would connect by itself otherwise, once for each channel.
    ...['ControlMaster=no', `ControlPath=${path}`, 'ProxyCommand=false', 'LogLevel=ERROR'].flatMap((option) => ['-o', option]),
    ...call.forSessions,
    '--',
    call.host,
    loginLine(marks),
  ] as [string, ...string[]]
  const launched = await launch({ argv, cwd: '/', env: call.env, stdin: 'open', pipes: false }).catch((error: unknown) => {
    throw unreachable(call.place, `ssh cannot be started on this machine (${messageOf(error)})`, 'see whether it has memory and processes left')
  })
  const stderr = new FarStderr(marks)
  const output = takeOutput(launched, stderr)
  const begun = await beginning(launched, output.stdout, Buffer.from(marks.begin), path, request)
  if (begun.kind === 'begun') {
    launched.stdin?.write(programLine(request.argv, marks))
    return { kind: 'open', channel: toChannel(launched, output, stderr, call) }
  }
  endGroup(launched)
  await launched.exit
  output.stdout.destroy()
  launched.stderr.destroy()
  launched.stdin?.destroy()
  if (begun.kind === 'canceled') throw failure('canceled_before_start', {})
  if (begun.kind === 'dead') return { kind: 'dead' }
  if (begun.kind !== 'ended') {
    throw unreachable(
      call.place,
      `the account gave no shell within ${Math.round(request.loginMs / 1000)} seconds`,
      'see what in the login files of the account takes so long or waits for input (~/.bashrc, ~/.profile, ~/.zshenv, config.fish)',
    )
  }
  return judge(begun, stderr.said, await isServing(path, request.greetMs), call)
}

type Beginning = { readonly kind: 'begun' | 'canceled' | 'dead' | 'slow' } | Refused
interface Refused {
  readonly kind: 'ended'
  readonly code: number | null
  readonly printed: string
}

/** Waits until the far shell says that it is there, or something shows that it will not. */
async function beginning(launched: Launched, stdout: Readable, mark: Buffer, path: string, { signal, loginMs, greetMs }: ChannelSettings): Promise<Beginning> {
  const stop = new AbortController()
  const waiting = [
    skipTo(stdout, mark).then(
      async (printed): Promise<Beginning> => (printed === undefined ? { kind: 'begun' } : { kind: 'ended', code: (await launched.exit).code, printed }),
    ),
    new Promise<Beginning>((resolve) => {
      const timer = setTimeout(() => resolve({ kind: 'slow' }), loginMs)
      stop.signal.addEventListener('abort', () => clearTimeout(timer))
    }),
    new Promise<Beginning>((resolve) => {
      const timer = setInterval(async () => (await isServing(path, greetMs)) || resolve({ kind: 'dead' }), lookMs)
      stop.signal.addEventListener('abort', () => clearInterval(timer))
    }),
    new Promise<Beginning>((resolve) => {
      const cancel = (): void => resolve({ kind: 'canceled' })
      if (signal?.aborted) cancel()
      signal?.addEventListener('abort', cancel, { once: true })
      stop.signal.addEventListener('abort', () => signal?.removeEventListener('abort', cancel))
    }),
  ]
  const first = await Promise.race(waiting)
  stop.abort()
  return first
}

/** ssh ended before the far shell said a word. */
function judge({ code, printed }: Refused, said: string, serves: boolean, call: SshCall): Attempt {
  if (/session request failed|Session open refused|open failed/i.test(said)) return { kind: 'full' }
  if (/Control socket connect|read from master failed|mux_client|kex_exchange_identification/.test(said)) return { kind: 'dead' }
  if (!serves) return { kind: 'dead' }
  const words = `${printed}\n${said}`.trim().split('\n').slice(-3).join('; ')
  // So ends an ssh whose connection goes just then, while its master is still there for a moment; and one whose session was refused while
  // others were being opened.
  if (code === 255 && words === '') return { kind: 'unsure' }
  throw failure('backend_refused', {
    target: call.place.title,
    what: 'commands',
    why: `the login shell of the account ended ${code === null ? 'by a signal' : `with status ${code}`} before it started one${words ? `, and said: ${words}` : ''}`,
    help: 'see whether the account may run commands (a forced command, nologin), and whether its login files end the shell (exit, set -e)',
  })
}

interface Output {
  readonly stdout: PassThrough
  readonly stderr: PassThrough
  /** Once the other side can add nothing to either of them. */
  readonly arrived: Promise<void>
}

/** Our own streams, since those of a child are emptied by Node itself when it ends. */
function takeOutput(launched: Launched, far: FarStderr): Output {
  const stdout = new PassThrough({ highWaterMark: stdoutBuffer })
  const stderr = new PassThrough()
  for (const stream of [stdout, stderr, launched.stdin]) stream?.on('error', () => {})
  const closed = (stream: Readable, finish: () => void): Promise<void> =>
    new Promise((resolve) => {
      stream.on('error', () => {})
      stream.once('close', () => {
        finish()
        resolve()
      })
    })
  let movedAt = 0
  let isWaiting = false
  launched.stdout.on('data', () => {
    movedAt = performance.now()
  })
  launched.stdout.pipe(stdout)
  stdout.once('close', () => launched.stdout.destroy())
  /** The program is over: lets go of what others hold, once all of it was taken and nothing comes any more. */
  const waitForSilence = (): void => {
    isWaiting = true
    const timer = setInterval(() => {
      if (stdout.readableLength > 0 || stderr.readableLength > 0) movedAt = performance.now()
      if (performance.now() - movedAt < silenceMs) return
      clearInterval(timer)
      endGroup(launched)
      launched.stdout.destroy()
      launched.stderr.destroy()
    }, silenceLookMs)
    void arrived.then(() => clearInterval(timer))
  }
  launched.stderr.on('data', (chunk: Buffer) => {
    movedAt = performance.now()
    const bytes = far.push(chunk)
    if (far.status !== undefined && !isWaiting) waitForSilence()
    if (bytes.length === 0 || stderr.destroyed || stderr.write(bytes)) return
    launched.stderr.pause()
  })
  for (const event of ['drain', 'close']) stderr.on(event, () => launched.stderr.resume())
  const arrived = Promise.all([
    closed(launched.stdout, () => stdout.end()),
    closed(launched.stderr, () => {
      const rest = far.finish()
      if (!stderr.destroyed) stderr.end(rest)
    }),
  ]).then(() => {})
  return { stdout, stderr, arrived }
}

const maxPrintedBytes = 4_096

/** Drops what comes before the mark. Resolves to undefined once it was seen, else, when nothing comes any more, to the newest of what came. */
function skipTo(stream: Readable, mark: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    let tail: Buffer = Buffer.alloc(0)
    const settle = (printed: string | undefined): void => {
      for (const event of ['readable', 'end', 'close']) stream.removeListener(event, look)
      resolve(printed)
    }
    const look = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        const bytes = Buffer.concat([tail, chunk])
        const at = bytes.indexOf(mark)
        if (at !== -1) {
          const rest = bytes.subarray(at + mark.length)
          if (rest.length > 0) stream.unshift(rest)
          settle(undefined)
          return
        }
        tail = Buffer.from(bytes.subarray(Math.max(0, bytes.length - maxPrintedBytes)))
      }
      if (stream.readableEnded || stream.destroyed) settle(tail.toString('utf8'))
    }
    for (const event of ['readable', 'end', 'close']) stream.on(event, look)
    look()
  })
}

function toChannel(launched: Launched, { stdout, stderr, arrived }: Output, far: FarStderr, call: SshCall): SshChannel {
  let why: string | undefined
  let giveUp: () => void = () => {}
  const givenUp = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  const close = (): void => {
    endGroup(launched)
    launched.stdin?.destroy()
    stdout.destroy()
    stderr.destroy()
    launched.stderr.destroy()
    giveUp()
  }
  const ended = (async (): Promise<ExitStatus> => {
    await Promise.race([Promise.all([arrived, launched.exit]).then(() => Promise.all([taken(stdout), taken(stderr)])), givenUp])
    if (far.status !== undefined) return { exitCode: far.status }
    const elsewhere = 'its login files lead the standard error elsewhere, where the end of a program is told'
    const silent = 'the connection ended without a word of how the program ended'
    throw failure('contact_lost', { target: call.place.title, why: why ?? (far.begun ? silent : elsewhere) })
  })()
  ended.catch(() => {})
  return {
    stdin: launched.stdin as NonNullable<Launched['stdin']>,
    stdout,
    stderr,
    canEndInput: true,
    ended,
    hold: (isNeeded) => launched.hold(isNeeded),
    close: () => {
      why ??= 'the channel was closed here'
      close()
    },
    lose(reason) {
      why ??= reason
      close()
    },
  }
}

/** Nothing of the stream waits for whoever reads it. */
function taken(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (stream.readableEnded || stream.destroyed || stream.readableLength === 0) resolve()
    }
    for (const event of ['end', 'close']) stream.once(event, look)
    look()
  })
}
