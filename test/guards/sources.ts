import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const repository = new URL('../../', import.meta.url)

export interface Source {
  /** Relative to the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** The TypeScript files below src/, tests included. */
export function listSources(): Source[] {
  return readdirSync(new URL('src', repository), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .sort()
    .map((path) => ({ path, text: readFileSync(new URL(path, repository), 'utf8') }))
}

/** Every file that git knows or would add, as text; binary files are left out. */
export function listTrackedFiles(): Source[] {
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: repository, encoding: 'utf8' })
    .split('\0')
    .filter((path) => path !== '')
    .flatMap((path) => {
      const bytes = readOrNothing(path)
      return bytes === undefined || bytes.includes(0) ? [] : [{ path, text: bytes.toString('utf8') }]
    })
}

/** A file may be listed and be gone: deleted, but not yet committed. */
function readOrNothing(path: string): Buffer | undefined {
  try {
    return readFileSync(new URL(path, repository))
  } catch {
    return undefined
  }
}

export const isTest = (path: string): boolean => path.endsWith('.test.ts')
