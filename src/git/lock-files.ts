import { statSync } from 'node:fs'
import { commandAt } from './settings.ts'

/** The lock file that git found in its way; undefined where it failed for another reason. */
export function lockInTheWay(stderr: string): string | undefined {
  return /Unable to create '([^'\n]+\.lock)': File exists/.exec(stderr)?.[1] ?? lockedConfig(stderr)
}

function lockedConfig(stderr: string): string | undefined {
  const file = /could not lock config file ([^\n]+): File exists/.exec(stderr)?.[1]
  return file && `${file}.lock`
}

/** Commands that change nothing where they cannot have the lock, so that they may simply be tried again. */
const repeatable = new Set([
  ...['update-ref', 'symbolic-ref', 'pack-refs', 'config', 'fetch', 'reflog'],
  ...['add', 'update-index', 'read-tree', 'write-tree', 'reset', 'checkout-index', 'sparse-checkout'],
])

export const isRepeatable = (args: readonly string[]): boolean => repeatable.has(args[commandAt(args)] ?? '')

/** How old a file is; 0 where it is gone. */
export function ageOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found ? Math.max(0, Date.now() - found.mtimeMs) : 0
}
