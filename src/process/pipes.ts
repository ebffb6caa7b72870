import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errnoOf } from '../core/errors.ts'
import { refusePrivateFolder, temporaryFolder } from './private-folder.ts'

/**
 * Real pipes for commands. Node gives its children sockets, and a socket cannot be opened again by its name, so
 * `echo text > /dev/stderr` fails in a child of Node. A named pipe can, and it is made by a program that every POSIX
 * system has. Making one costs a process, so they are made in batches that all Holdfast processes of a user share:
 * one is taken by renaming it, which only one taker can do, and is unlinked as soon as both ends are open.
 */

const batch = 32
const run = promisify(execFile)

/** An open pipe: `ours` belongs to this process, `theirs` is for the child and is closed here after the start. */
export interface OpenPipe {
  readonly ours: Socket
  readonly theirs: number
}

let folder: string | undefined | false

/** The private folder of the batches, or undefined where there can be none. */
function pipeFolder(): string | undefined {
  if (folder !== undefined) return folder || undefined
  const path = temporaryFolder()
  // Where it cannot be used, sockets serve instead.
  folder = refusePrivateFolder(path) === undefined ? path : false
  return folder || undefined
}

const prefix = 'pipe-'

/** Names seen in the folder, so that it is not read for every pipe; some may be gone. */
let seen: string[] = []

function take(path: string): string | undefined {
  const known = takeSeen(path)
  if (known) return known
  seen = readdirSync(path).filter((name) => name.startsWith(prefix))
  return takeSeen(path)
}

function takeSeen(path: string): string | undefined {
  for (let name = seen.pop(); name !== undefined; name = seen.pop()) {
    const taken = join(path, `taken-${process.pid}-${name.slice(prefix.length)}`)
    try {
      renameSync(join(path, name), taken)
      return taken
    } catch {
      // Another process was quicker.
    }
  }
  return undefined
}

let refilling: Promise<void> | undefined

async function refill(path: string): Promise<void> {
  refilling ??= (async () => {
    sweep(path)
    const tag = randomBytes(6).toString('hex')
    const making = Array.from({ length: Math.min(batch + waiting, maxBatch) }, (_, i) => join(path, `new-${process.pid}-${tag}-${i}`))
    await run('mkfifo', ['-m', '600', ...making], { timeout: 5_000, env: { PATH: '/usr/bin:/bin' } })
    making.forEach((name, i) => {
      renameSync(name, join(path, `${prefix}${tag}-${i}`))
    })
  })().finally(() => {
    refilling = undefined
  })
  await refilling
}

const staleMs = 60 * 60_000

// Between making or taking a pipe and unlinking it a process may be killed. Its name says whose it is; the age counts as
// well, since a process of another container that shares this folder looks dead from here, and its life counts, since the
// wall clock may jump.
function sweep(path: string): void {
  for (const name of readdirSync(path)) {
    const owner = /^(?:new|taken)-(\d+)-/.exec(name)?.[1]
    if (owner === undefined || isRunning(Number(owner))) continue
    const file = join(path, name)
    const stat = lstatSync(file, { throwIfNoEntry: false })
    // The change time counts: taking an old pipe renames it, and it must not be swept before it is opened.
    if (stat?.isFIFO() && Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs) > staleMs) rmSync(file, { force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}

/** Those who found no pipe and wait for more; a batch has one for each of them. */
let waiting = 0
const maxBatch = 1024
/** Other processes may take what was made here before this one does. */
const maxAttempts = 16

async function takeNamedPipe(): Promise<string | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const path = pipeFolder()
    if (!path) return undefined
    waiting += 1
    try {
      const taken = take(path)
      if (taken) return taken
      await refill(path)
    } catch (error) {
      const errno = errnoOf(error)
      // A full table of descriptors or processes passes.
      if (errno && passing.has(errno)) return undefined
      // The folder was cleaned away: it is made again. Else there is no mkfifo, or a file system without named pipes:
      // sockets serve instead, and the capabilities say so.
      folder = attempt === 0 && !existsSync(path) ? undefined : false
    } finally {
      waiting -= 1
    }
  }
  return undefined
}

const passing = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])

/** A pipe from the child to us, or undefined where none can be made. */
export async function openOutputPipe(): Promise<OpenPipe | undefined> {
  const path = await takeNamedPipe()
  if (!path) return undefined
  try {
    // Without O_NONBLOCK the first open of a named pipe waits for the other end; the child's end must block later on.
    const [ours, theirs] = openEnds(path, [constants.O_RDONLY | constants.O_NONBLOCK, constants.O_WRONLY])
    return { ours: new Socket({ fd: ours, readable: true, writable: false }), theirs }
  } finally {
    remove(path)
  }
}

/** A pipe from us to the child, or undefined where none can be made. */
export async function openInputPipe(): Promise<OpenPipe | undefined> {
  const path = await takeNamedPipe()
  if (!path) return undefined
  try {
    // Opened for both first, so that neither of the two real ends has to wait for the other.
    const [both, theirs, ours] = openEnds(path, [constants.O_RDWR | constants.O_NONBLOCK, constants.O_RDONLY, constants.O_WRONLY | constants.O_NONBLOCK])
    closeSync(both)
    return { ours: new Socket({ fd: ours, readable: false, writable: true }), theirs }
  } finally {
    remove(path)
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It is gone already.
  }
}

// All or none: where descriptors run out, the ones that were opened must not be lost on top.
function openEnds<Flags extends readonly number[]>(path: string, flags: readonly [...Flags]): { [K in keyof Flags]: number } {
  const opened: number[] = []
  try {
    for (const flag of flags) opened.push(openSync(path, flag))
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  }
  return opened as { [K in keyof Flags]: number }
}

/** Whether commands get real pipes here. */
export async function canMakePipes(): Promise<boolean> {
  const path = await takeNamedPipe()
  if (!path) return false
  remove(path)
  return true
}
