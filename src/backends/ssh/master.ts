import { randomBytes } from 'node:crypto'
import { lstatSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { failure, messageOf } from '../../core/errors.ts'
import { askProgram } from '../../process/ask-program.ts'
import { launch } from '../../process/launch.ts'
import { connectFault, unreachable } from './faults.ts'
import { endGroup } from './group.ts'
import type { SshCall } from './settings.ts'

/*
 * A connection is held by an ssh that goes on by itself (ControlMaster, ControlPersist), so that one is shared by all Holdfast processes of
 * the person: a command line that is called once per command would connect anew each time otherwise. It ends by itself when nothing used it
 * for a while. Nobody locks anything: each master is started at a socket of its own, and a link with the shared name is turned to it once it
 * serves. Of two that are started at once the later gets the name, and the earlier ends when it is idle; a master that ends removes its own
 * socket, never that of the one that came after it.
 */

/** What keys, agents and the server may take, besides the time to connect. */
const loginMs = 25_000
const maxSaidBytes = 256 * 1024
/** What somebody in the background still holds is not waited for. */
const lastWordsMs = 200

/** The socket of the master that has the name now. */
export function findMaster(name: string): string | undefined {
  try {
    return join(dirname(name), basename(readlinkSync(name)))
  } catch {
    return undefined
  }
}

/** Starts a connection and gives it the name; resolves to its socket. Rejects with what to do about it. */
export async function startMaster(call: SshCall, name: string, idleMs: number, signal: AbortSignal | undefined): Promise<string> {
  const own = `${name}.${randomBytes(3).toString('hex')}`
  const persist = ['ControlMaster=yes', `ControlPath=${own}`, `ControlPersist=${Math.max(1, Math.round(idleMs / 1000))}`]
  // Its log is on a standard error that it lets go of once it is connected.
  const argv = [...call.argv, ...[...persist, 'LogLevel=DEBUG1'].flatMap((option) => ['-o', option]), '-N', '--', call.host] as [string, ...string[]]
  const launched = await launch({ argv, cwd: '/', env: call.env, stdin: 'none', pipes: false }).catch((error: unknown) => {
    throw unreachable(call.place, `ssh cannot be started on this machine (${messageOf(error)})`, 'see whether it has memory and processes left')
  })
  launched.stdout.on('error', () => {}).resume()
  const said = textOf(launched.stderr)
  let cut: 'time' | 'canceled' | undefined
  const end = (why: 'time' | 'canceled'): void => {
    cut ??= why
    endGroup(launched)
  }
  const timer = setTimeout(() => end('time'), call.connectTimeoutMs + loginMs)
  const cancel = (): void => end('canceled')
  signal?.addEventListener('abort', cancel, { once: true })
  if (signal?.aborted) cancel()
  const { code } = await launched.exit
  clearTimeout(timer)
  signal?.removeEventListener('abort', cancel)
  if (code === 0 && (await isServing(own, call.connectTimeoutMs))) {
    launched.stderr.destroy()
    turnTo(name, own)
    return own
  }
  const text = await said(lastWordsMs)
  launched.stderr.destroy()
  rmSync(own, { force: true })
  if (cut === 'canceled') throw failure('canceled_before_start', {})
  if (cut === 'time') {
    const seconds = Math.round((call.connectTimeoutMs + loginMs) / 1000)
    throw unreachable(
      call.place,
      `the server did not let anybody in within ${seconds} seconds`,
      'raise connectTimeoutMs of the target, or see what the server waits for',
    )
  }
  if (code === 0) throw unreachable(call.place, 'ssh connected, but does not share the connection', 'see that this ssh knows ControlMaster')
  throw connectFault(`${isFromTheWay(text) ? await askTheWay(call, signal) : ''}${text}`, call.place)
}

/** A jump host or a ProxyCommand failed: what that said went nowhere, since the standard error of a master is not theirs. */
const isFromTheWay = (said: string): boolean => /kex_exchange_identification|Connection closed by UNKNOWN|banner exchange: Connection to UNKNOWN/.test(said)

/** Connects once more, by itself, for its words alone. */
async function askTheWay(call: SshCall, signal: AbortSignal | undefined): Promise<string> {
  const alone = ['ControlMaster=no', 'ControlPath=none', 'LogLevel=DEBUG1'].flatMap((option) => ['-o', option])
  const argv = [...call.argv, ...alone, ...call.forSessions, '--', call.host, 'exit 0'] as [string, ...string[]]
  const question = { argv, cwd: '/', env: call.env, timeoutMs: call.connectTimeoutMs, maxBytes: maxSaidBytes, signal }
  return (await askProgram(question).catch(() => undefined))?.stderr ?? ''
}

function turnTo(name: string, socket: string): void {
  const link = `${socket}.link`
  symlinkSync(basename(socket), link)
  renameSync(link, name)
}

/** Whether the master at the socket still does its work: it greets whoever comes. That says nothing of the way to the server. */
export function isServing(path: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const settle = (serves: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(serves)
    }
    const timer = setTimeout(() => settle(false), timeoutMs)
    socket.on('data', () => settle(true))
    socket.on('error', () => settle(false))
    socket.on('close', () => settle(false))
  })
}

const staleMs = 24 * 60 * 60_000
const sweepMs = 1_000

/** Takes away what masters left that did not end by themselves. */
export async function sweepSockets(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (!stat || Date.now() - stat.mtimeMs < staleMs || (await isServing(path, sweepMs))) continue
    if (stat.isSocket() || stat.isSymbolicLink()) rmSync(path, { force: true })
  }
}

/** What is said on a stream; the function that it gives waits for its end, but not for longer than it is told. */
function textOf(stream: Readable): (waitMs: number) => Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    if (bytes < maxSaidBytes) parts.push(chunk)
    bytes += chunk.length
  })
  stream.on('error', () => {})
  const closed = new Promise<void>((resolve) => stream.once('close', resolve))
  return async (waitMs) => {
    let timer: NodeJS.Timeout | undefined
    await Promise.race([closed, new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)))])
    clearTimeout(timer)
    return Buffer.concat(parts).toString('utf8')
  }
}
