import { failure } from './errors.ts'

// What HFS+ leaves out when it compares names: a name with these in it is the same one there (git, utf8.c, next_hfs_char).
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** The names in a path of a caller, `..` included, `.` left out. Throws `file_outside` for what is no relative path below the root. */
export function parsePath(path: string): readonly string[] {
  const outside = (why: string) => failure('file_outside', { path, why })
  if (typeof path !== 'string' || path === '') throw outside('is empty')
  if (path.includes('\0')) throw outside('has a NUL in it')
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)) throw outside('is absolute')
  if (path.includes('\\')) throw outside('has a backslash in it')
  // It would stand for another name on disk.
  if (/\p{Surrogate}/u.test(path)) throw outside('is not Unicode')
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  let depth = 0
  for (const name of names) {
    depth += name === '..' ? -1 : 1
    if (depth < 0) throw outside('leads outside')
  }
  return names
}

/** Whether the text of a path can only mean a directory: `a/`, `a/.`, `a/..`. */
export function meansDirectory(path: string): boolean {
  return /(?:^|\/)\.{0,2}$/.test(path)
}

/** Whether git keeps its state under this name, on any file system. */
export function isGitName(name: string): boolean {
  return /^\.git$/i.test(name.replace(ignoredByHfs, ''))
}

/** Throws `file_outside` where what the names lead to is state of git. `path` is as the caller wrote it. */
export function refuseGit(path: string, names: readonly string[]): void {
  if (names.some(isGitName)) throw failure('file_outside', { path, why: 'belongs to git' })
}

/** Names from the root as one path. */
export function joinNames(names: readonly string[]): string {
  return names.length === 0 ? '.' : names.join('/')
}
