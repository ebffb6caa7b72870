import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Target, targetKey } from '../core/target.ts'

/**
 * Which sites this person has opened, whichever project it was: an empty file for each, beside the person's other state. A record of a run is a
 * file in the project, which may come with a repository; where it names a site that was never opened from here, that is not opened either, since
 * a target may name programs of this machine.
 */

const keepMs = 180 * 24 * 60 * 60_000

const folderOf = (state: string): string => join(state, 'holdfast', 'sites')
const fileOf = (state: string, target: Target): string => join(folderOf(state), createHash('sha256').update(targetKey(target)).digest('hex'))

/** Without it another process cannot take up what runs there; nothing else fails. */
export function rememberSite(state: string, target: Target): void {
  const path = fileOf(state, target)
  try {
    if (existsSync(path)) return void utimesSync(path, new Date(), new Date())
    mkdirSync(folderOf(state), { recursive: true, mode: 0o700 })
    writeFileSync(path, '', { mode: 0o600 })
    forgetOld(state)
  } catch {
    // The state of the person cannot be written.
  }
}

export function isKnownSite(state: string, target: Target): boolean {
  return existsSync(fileOf(state, target))
}

function forgetOld(state: string): void {
  const folder = folderOf(state)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > keepMs) rmSync(path, { force: true })
  }
}
