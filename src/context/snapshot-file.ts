import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'

/** No snapshot of ours is longer; what is, is not read. */
const maxReadBytes = 1024 * 1024

/**
 * Replaces the snapshot at `path` in one step: a reader finds the old text or the new one, whole. The folder must exist;
 * throws `unavailable` where it cannot be written to, and leaves no temporary file there.
 */
export function writeSnapshot(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const descriptor = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw failure('home_unusable', { path: dirname(path), why: errnoOf(error) ?? String(error) }, error)
  }
}

/** The stored snapshot; undefined where there is none or it cannot be read. */
export function readSnapshot(path: string): string | undefined {
  try {
    const facts = statSync(path)
    return facts.isFile() && facts.size <= maxReadBytes ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}
