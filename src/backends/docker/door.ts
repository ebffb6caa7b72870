import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import type { Door } from '../../core/channel.ts'

// Linux, on x86 and arm (open(2)); Node does not name it.
const O_PATH = 0o10000000
const { O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * The way to a Unix socket in a container that goes past the engine: through the root of its first process, as proc(5) shows it to those
 * who may look. That an engine is on this machine is no proof that its processes are: there may be another process with that number.
 * No link of the container is followed, since it would lead to a place of this machine.
 */
export function doorOf(pid: number, socket: string): Door | undefined {
  if (process.platform !== 'linux' || !Number.isInteger(pid) || pid <= 0) return undefined
  let held: number | undefined
  const enter = (path: string, flags: number): void => {
    const next = openSync(path, O_PATH | O_NOFOLLOW | flags)
    if (held !== undefined) closeSync(held)
    held = next
  }
  const names = socket.split('/').filter(Boolean)
  try {
    // The last name of this path is a link of the kernel's, and is to be followed.
    held = openSync(`/proc/${pid}/root`, O_PATH | O_DIRECTORY)
    for (const [at, name] of names.entries()) {
      if (name === '..') throw new Error(`${socket} leads upwards`)
      enter(`/proc/self/fd/${held}/${name}`, at < names.length - 1 ? O_DIRECTORY : 0)
    }
    if (!fstatSync(held).isSocket()) throw new Error(`${socket} is no socket`)
  } catch {
    if (held !== undefined) closeSync(held)
    return undefined
  }
  const door = held
  let isOpen = true
  return {
    path: `/proc/self/fd/${door}`,
    close() {
      if (isOpen) closeSync(door)
      isOpen = false
    },
  }
}
