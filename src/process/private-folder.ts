import { lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'

/** Where this user keeps what only lives as long as the machine, below a folder for temporary files. */
export function temporaryFolder(parent: string = tmpdir()): string {
  return join(parent, `holdfast-${process.getuid?.() ?? 0}`)
}

/** Makes a folder that is for this user alone, where it is not there. Undefined when it can be used; else why not. */
export function refusePrivateFolder(path: string): string | undefined {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch {
    // It is there already, or cannot be made; the look decides.
  }
  return refuseFolder(path)
}

/** Undefined where nobody else could have prepared what is in the folder, to read output or give commands by it; else what is wrong. */
export function refuseFolder(path: string): string | undefined {
  try {
    const stat = lstatSync(path)
    if (!stat.isDirectory()) return `${path} is not a folder of its own`
    if (stat.uid !== (process.getuid?.() ?? 0)) return `${path} belongs to somebody else`
    return (stat.mode & 0o077) === 0 ? undefined : `${path} is open to others`
  } catch (error) {
    return messageOf(error)
  }
}
