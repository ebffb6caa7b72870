import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { isInside } from '../core/paths.ts'

/** What /proc tells of the processes of this user (proc(5)); of those of others it tells no more than that they are there. */

/** The pids of all processes; undefined where the system does not tell. */
export function listPids(): readonly number[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return undefined
  }
}

/** A file of a process, such as `comm` or `environ`; empty where it is over or somebody else's. */
export function readOfProcess(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

/** Where a link of a process leads, such as `cwd` or `fd/3`; undefined where it is over or somebody else's. */
export function linkOfProcess(pid: number, name: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    return undefined
  }
}

/** Whether the working directory of a process is a folder or below it. */
export function isWorkingIn(pid: number, folder: string): boolean {
  const cwd = linkOfProcess(pid, 'cwd')
  return cwd !== undefined && isInside(folder, cwd)
}

/** Whether a process has a file open. */
export function hasOpen(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((descriptor) => linkOfProcess(pid, `fd/${descriptor}`) === path)
  } catch {
    return false
  }
}
