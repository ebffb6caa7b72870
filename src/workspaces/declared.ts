import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { makePlainFolder, readPlainText, replacePlain } from '../git/plain-file.ts'

/**
 * The names of variables that the person let commands of a workspace have. They stand below the root of all workspaces, which is the
 * person's, and not in the record alone: that lies in the repository, where whoever works in a tree could write more of them into it.
 */

const fileOf = (root: string, id: string): string => join(root, '.declared', `${id}.json`)

const maxBytes = 64 * 1024

/** Adds names to those of a workspace. */
export function declareVariables(root: string, id: string, names: readonly string[]): void {
  const known = declaredVariables(root, id)
  if (names.every((name) => known.includes(name))) return
  const file = fileOf(root, id)
  makePlainFolder(root, join(root, '.declared'))
  replacePlain(file, `${JSON.stringify([...new Set([...known, ...names])])}\n`, { temporary: `${file}.${process.pid}.new` })
}

export function declaredVariables(root: string, id: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(readPlainText(fileOf(root, id), maxBytes))
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}

/** With the workspace it ends what it may have. */
export function forgetVariables(root: string, id: string): void {
  if (/^[0-9a-f]{10}$/.test(id)) rmSync(fileOf(root, id), { force: true })
}
