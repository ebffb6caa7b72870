import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Replaces the stored snapshot in one step: a reader sees the old one or the new one, never a part. */
export function writeSnapshot(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}`)
  try {
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** The stored snapshot; undefined where there is none that can be read. */
export function readSnapshot(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
