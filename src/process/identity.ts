import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync } from 'node:fs'
import type { ProcessIdentity } from '../core/run.ts'

/** One process as the kernel tells of it. */
export interface ProcessStat {
  readonly pid: number
  readonly name: string
  readonly zombie: boolean
  /** It runs, or waits for a processor or a disk: it goes on without anything from outside. */
  readonly busy: boolean
  readonly group: number
  readonly session: number
  readonly parent: number
  /** See ProcessIdentity. */
  readonly startTime: string
}

let bootId: string | undefined

// Start times count from boot, so the boot is part of the identity: records outlive reboots.
function boot(): string {
  bootId ??= readText('/proc/sys/kernel/random/boot_id')?.slice(0, 8) ?? ''
  return bootId
}

const room = Buffer.alloc(4096)

// Files of /proc this short come whole with the first read; readFile would ask for their size and once more for their end.
function readText(path: string): string | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    return room.toString('latin1', 0, readSync(descriptor, room))
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Reads /proc/PID/stat (proc(5)); undefined when there is no such process. Linux only. */
export function readStat(pid: number): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The name may hold spaces and parentheses, so the fields are counted from the last closing one.
  const open = text.indexOf('(')
  const close = text.lastIndexOf(')')
  const fields = text.slice(close + 2).split(' ')
  return {
    pid,
    name: Buffer.from(text.slice(open + 1, close), 'latin1').toString('utf8'),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    busy: fields[0] === 'R' || fields[0] === 'D',
    group: Number(fields[2]),
    session: Number(fields[3]),
    parent: Number(fields[1]),
    startTime: `${boot()}:${fields[19]}`,
  }
}

/** The identity of a living process, or undefined. */
export function identify(pid: number): ProcessIdentity | undefined {
  if (process.platform === 'linux') {
    const stat = readStat(pid)
    return stat && !stat.zombie ? { pid, startTime: stat.startTime } : undefined
  }
  try {
    const startTime = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000, stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    return startTime ? { pid, startTime } : undefined
  } catch {
    return undefined
  }
}

/** The identity of a child that has not been waited for yet: it may be over, but its entry is still there. */
export function identifyChild(pid: number): ProcessIdentity {
  const startTime = process.platform === 'linux' ? readStat(pid)?.startTime : identify(pid)?.startTime
  return { pid, startTime: startTime ?? ':0' }
}

let self: ProcessIdentity | undefined

/** This process. */
export function identifySelf(): ProcessIdentity {
  self ??= identify(process.pid) ?? { pid: process.pid, startTime: '' }
  return self
}

/** Whether the very process still lives; a reused pid does not count. */
export function isAlive(identity: ProcessIdentity): boolean {
  try {
    process.kill(identity.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return identify(identity.pid)?.startTime === identity.startTime
}

/** Sends a signal to the very process; false when it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch {
    return false
  }
}
