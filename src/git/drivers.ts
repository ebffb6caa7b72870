import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { findRepository, type Repository } from './repository.ts'
import type { Setting } from './settings.ts'

/**
 * Programs that a repository names under a name of its own choice, so that each name has to be known to be turned off: filters, drivers for
 * merges, and ways of updating a submodule. Read anew for each call, since whoever works in a worktree can write the configuration of all; who
 * writes a new name between this look and that of git, a few milliseconds later, is not seen. Work that must not depend on it goes without
 * filters altogether (`hash-object --no-filters`).
 */
export interface Drivers {
  readonly filters: readonly string[]
  readonly merges: readonly string[]
  readonly submodules: readonly string[]
}

/** None of them runs: files are taken and written as they are, a merge of such files is left to people, a submodule is checked out. */
export function turnedOff({ filters, merges, submodules }: Drivers): Setting[] {
  return [
    ...filters.flatMap((name): Setting[] => [
      ...['clean', 'smudge', 'process'].map((setting): Setting => [`filter.${name}.${setting}`, '']),
      [`filter.${name}.required`, 'false'],
    ]),
    ...merges.map((name): Setting => [`merge.${name}.driver`, 'false']),
    ...submodules.map((name): Setting => [`submodule.${name}.update`, 'checkout']),
  ]
}

// Nobody writes so much by hand, and what is not read whole is not known.
const maxConfigBytes = 8 * 1024 ** 2

/** The configuration files of a repository and of one of its worktrees. */
export const configFiles = ({ commonDir, gitDir }: Pick<Repository, 'commonDir' | 'gitDir'>): string[] => [
  ...new Set([join(commonDir, 'config'), join(commonDir, 'config.worktree'), join(gitDir, 'config.worktree')]),
]

/** The text of configuration files, one after the other; what is not there is empty. Rejects where one cannot be read whole. */
export function readConfig(files: readonly string[]): string {
  return files.map(readText).join('\n')
}

/** Another one whenever one of the files is another. */
export function stampOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      // Unlike when it was written, when it was changed cannot be set by anybody.
      return found ? `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}` : ''
    })
    .join()
}

/** Whether other files belong to it, which git alone finds. */
export const hasIncludes = (config: string): boolean => /\[include/i.test(config)

/**
 * The names that stand in the headings of a configuration. Rather one too many: also what stands in a comment is found, so that there is no
 * way to write one that git sees and this does not.
 */
export function driversIn(config: string): Drivers {
  return { filters: namesOf(config, 'filter'), merges: namesOf(config, 'merge'), submodules: namesOf(config, 'submodule') }
}

function namesOf(config: string, section: string): string[] {
  const names = new Set<string>()
  const start = new RegExp(`\\[${section}`, 'gi')
  // `[filter "Name"]`, and as it was written once, `[filter.name]`, which is in small letters.
  const heading = /(?:\.([^\]\s"]*))?(?:\s+"((?:\\.|[^"\\\n])*)")?\]/y
  for (const { index } of config.matchAll(start)) {
    heading.lastIndex = index + section.length + 1
    const [, dotted, quoted] = heading.exec(config) ?? []
    const name = [dotted?.toLowerCase(), quoted?.replace(/\\(.)/g, '$1')].filter((part) => part !== undefined).join('.')
    if (name !== '') names.add(name)
  }
  return [...names]
}

/** The same of settings as git lists them. */
export function driversAmong(names: Iterable<string>): Drivers {
  const found: Record<string, Set<string>> = { filter: new Set(), merge: new Set(), submodule: new Set() }
  for (const name of names) {
    const [, section, middle] = /^(filter|merge|submodule)\.(.+)\.[^.]+$/s.exec(name) ?? []
    if (section && middle) found[section]?.add(middle)
  }
  return { filters: [...(found.filter ?? [])], merges: [...(found.merge ?? [])], submodules: [...(found.submodule ?? [])] }
}

export const joined = (all: readonly Drivers[]): Drivers => ({
  filters: [...new Set(all.flatMap(({ filters }) => filters))],
  merges: [...new Set(all.flatMap(({ merges }) => merges))],
  submodules: [...new Set(all.flatMap(({ submodules }) => submodules))],
})

// As deep as anybody nests submodules, and as many as are found in a moment.
const maxDepth = 12
const maxFolders = 5_000

/** The configuration files of the submodules whose git folders a repository and its worktree keep. */
export function moduleConfigs({ commonDir, gitDir }: Pick<Repository, 'commonDir' | 'gitDir'>): string[] {
  const found: string[] = []
  let left = maxFolders
  const walk = (folder: string, depth: number): void => {
    if (depth > maxDepth || left-- <= 0) return
    let entries: { name: string; isFile(): boolean; isDirectory(): boolean }[]
    try {
      entries = readdirSync(folder, { withFileTypes: true })
    } catch {
      return
    }
    for (const entry of entries) {
      if (entry.isFile() && /^config(\.worktree)?$/.test(entry.name)) found.push(join(folder, entry.name))
      else if (entry.isDirectory() && !['objects', 'refs', 'logs', 'hooks', 'info', 'lfs'].includes(entry.name)) walk(join(folder, entry.name), depth + 1)
    }
  }
  for (const folder of new Set([commonDir, gitDir])) walk(join(folder, 'modules'), 0)
  return found
}

/** The configuration files of a repository whose top is a folder; none where there is no repository. */
export function nestedConfigs(folder: string): string[] {
  const repository = findRepository(folder)
  return repository?.root === folder ? configFiles(repository) : []
}

function readText(path: string): string {
  let descriptor: number
  try {
    // A pipe in its place is not waited for.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return ''
  }
  try {
    const about = fstatSync(descriptor)
    if (!about.isFile()) return ''
    if (about.size > maxConfigBytes) throw failure('unsafe_config', { path, names: [`more than ${maxConfigBytes} bytes`] })
    const buffer = Buffer.alloc(about.size)
    return decode(path, buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0)))
  } finally {
    closeSync(descriptor)
  }
}

/** A name that is not text cannot be handed on, and so not be turned off. */
export function decode(path: string, bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('utf8')
  const odd = /\[(?:filter|merge|submodule)[^\n]*\ufffd/i.exec(text)
  if (odd) throw failure('unsafe_config', { path, names: [odd[0].slice(1)] })
  return text
}
