import { createHash, randomBytes } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync, readFileSync, readlinkSync, unlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { errnoOf } from '../core/errors.ts'
import type { Machine } from '../core/machine.ts'
import { monotonicMs } from '../core/monotonic.ts'
import type { Directory } from './directory.ts'

/**
 * Content is written whole under a name of its own beside its target, for this user alone, and takes its place by a rename. The name
 * says which process writes it, so that what a killed one left is known and removed by the next write in that directory.
 */
export type Staging = Pick<Machine, 'self' | 'isAlive'>

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants
const prefix = '.holdfast-staged-'
/** `.holdfast-staged-PID-START-SPACE-NONCE`; the start in hexadecimal, since it may hold any letter. */
const pattern = new RegExp(`^\\${prefix}(\\d{1,10})-([0-9a-f]{0,80})-([0-9a-f]{12})-[0-9a-f]{16}$`)

// Of another machine or container that shares the directory, or of this one before it was started anew, nothing is known but the age.
// Nothing is written for as long as that.
const foreignMs = 24 * 60 * 60 * 1000

export interface Stage {
  readonly fd: number
  readonly name: string
  /** Takes the name away where it is still there, and closes it. */
  drop(): void
}

/** A new file with a name of its own; undefined where the directory takes no new name. `mode` is what the mask of this process leaves of it. */
export function openStage(directory: Directory, { self }: Staging, mode: number): Stage | undefined {
  const start = Buffer.from(self.startTime).toString('hex').slice(0, 80)
  const name = `${prefix}${self.pid}-${start}-${processSpace()}-${randomBytes(8).toString('hex')}`
  let fd: number
  try {
    fd = openSync(directory.at(name), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  } catch (error) {
    if (errnoOf(error) === 'EACCES' || errnoOf(error) === 'EPERM') return undefined
    throw error
  }
  return {
    fd,
    name,
    drop() {
      try {
        unlinkSync(directory.at(name))
      } catch {
        // It took the place of its target, or the next write removes it.
      }
      closeSync(fd)
    },
  }
}

let space: string | undefined

/** Where pids mean what they mean here: on this machine since its start, in this container. */
function processSpace(): string {
  space ??= createHash('sha256')
    .update([hostname(), tried(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')), tried(() => readlinkSync('/proc/self/ns/pid'))].join())
    .digest('hex')
    .slice(0, 12)
  return space
}

function tried(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/** When each large directory was swept last, and how long that took. */
const swept = new Map<string, { readonly at: number; readonly tookMs: number }>()
const maxKnown = 1_000
// Many files that are written into one large directory spend at most a twentieth of their time on looking through it.
const pauseFactor = 20
/** From so many names on a directory is large. A smaller one is swept before every write: how long that took says more about other work here. */
const largeNames = 1_000

/** Removes what killed writers left in a directory. Never throws. */
export function sweep(directory: Directory, staging: Staging, now: () => number): void {
  const key = `${directory.dev}:${directory.ino}`
  const last = swept.get(key)
  const startedAt = monotonicMs()
  if (last && startedAt - last.at < last.tookMs * pauseFactor) return
  let count = 0
  try {
    const names = directory.names()
    count = names.length
    for (const raw of names) {
      const name = raw.toString('latin1')
      if (name.startsWith(prefix) && isLeft(directory, name, staging, now)) unlinkSync(directory.at(name))
    }
  } catch {
    // What cannot be looked at or removed is in nobody's way.
  }
  if (count < largeNames) return
  if (swept.size >= maxKnown) swept.clear()
  const endedAt = monotonicMs()
  swept.set(key, { at: endedAt, tookMs: endedAt - startedAt })
}

function isLeft(directory: Directory, name: string, { isAlive }: Staging, now: () => number): boolean {
  const [, pid, start, space] = pattern.exec(name) ?? []
  if (pid === undefined || start === undefined) return false
  const stats = lstatSync(directory.at(name), { throwIfNoEntry: false })
  // Root gives what it stages the owner of the target.
  const user = process.geteuid?.() ?? 0
  if (!stats?.isFile() || (user !== 0 && stats.uid !== user)) return false
  if (space !== processSpace()) return now() - stats.mtimeMs > foreignMs
  return !isAlive({ pid: Number(pid), startTime: Buffer.from(start, 'hex').toString() })
}
