import { join } from 'node:path'
import {
  configFiles,
  type Drivers,
  decode,
  driversAmong,
  driversIn,
  hasIncludes,
  joined,
  moduleConfigs,
  nestedConfigs,
  readConfig,
  turnedOff,
} from './drivers.ts'
import type { GitCall } from './git.ts'
import { parseScoped } from './network.ts'
import { findRepository, type Repository } from './repository.ts'
import { commandAt, type Setting } from './settings.ts'

/** How the configuration of a repository is looked at; what it runs runs nothing else. */
export interface Look {
  /** `git config --list --show-scope -z` where a call is made, or in another repository. */
  list(place?: Pick<GitCall, 'cwd' | 'gitDir'>): Promise<Uint8Array>
  /** The output of `git ls-files` with these arguments. */
  listFiles(args: readonly string[], place: Pick<GitCall, 'cwd' | 'gitDir' | 'workTree' | 'indexFile'>): Promise<string>
}

/**
 * What has to be set for a call that looks at files of a tree: every program that the repository names turned off, and `personFiles`, what
 * the person set for all repositories, where the repository sets nothing else. Of a repository without other files than its own this starts
 * no process.
 */
export async function offFor(call: GitCall, look: Look, personFiles: readonly Setting[]): Promise<Setting[]> {
  const repository = findRepository(call.gitDir ?? call.cwd)
  if (repository === undefined) return []
  const config = readConfig(configFiles(repository))
  const drivers = [await driversOf(config, () => look.list(), repository.commonDir)]
  const command = call.args[commandAt(call.args)] ?? ''
  if (entersNested.has(command)) {
    for (const { files, place } of await nestedOf(call, repository, look)) {
      drivers.push(await driversOf(readConfig(files), () => look.list(place), place.cwd))
    }
  }
  const own = config.toLowerCase()
  const files = personFiles.filter(([name]) => !own.includes(name.slice(name.lastIndexOf('.') + 1)))
  return [...files, ...turnedOff(joined(drivers))]
}

async function driversOf(config: string, list: () => Promise<Uint8Array>, path: string): Promise<Drivers> {
  const here = driversIn(config)
  if (!hasIncludes(config)) return here
  const names = parseScoped(decode(path, await list())).map(({ name }) => name)
  return joined([here, driversAmong(names)])
}

/** Commands that start git inside of submodules and of nested repositories that are in the index. */
const entersNested = new Set(['add', 'commit', 'stash', 'submodule'])
const maxDepth = 6

interface Nested {
  readonly files: readonly string[]
  readonly place: Pick<GitCall, 'cwd' | 'gitDir'> & { readonly cwd: string }
}

async function nestedOf(call: GitCall, repository: Repository, look: Look): Promise<Nested[]> {
  const found: Nested[] = moduleConfigs(repository).map((file) => ({ files: [file], place: { cwd: call.cwd, gitDir: file.slice(0, file.lastIndexOf('/')) } }))
  const walk = async (top: string, place: Pick<GitCall, 'cwd' | 'gitDir' | 'workTree' | 'indexFile'>, depth: number): Promise<void> => {
    for (const path of await gitlinks(look, place)) {
      const folder = join(top, path)
      const files = nestedConfigs(folder)
      if (files.length === 0) continue
      found.push({ files, place: { cwd: folder } })
      if (depth < maxDepth) await walk(folder, { cwd: folder }, depth + 1)
    }
  }
  const { cwd, gitDir, workTree, indexFile } = call
  await walk(workTree ?? repository.root, { cwd, gitDir, workTree, indexFile }, 0)
  return found
}

/** Paths, from the top of a tree, at which its index has a commit in the place of a file. */
async function gitlinks(look: Look, place: Pick<GitCall, 'cwd' | 'gitDir' | 'workTree' | 'indexFile'>): Promise<string[]> {
  const listed = await look.listFiles(['--stage', '-z', '--full-name', '--', ':/'], place)
  return listed.split('\0').flatMap((entry) => (entry.startsWith('160000 ') ? [entry.slice(entry.indexOf('\t') + 1)] : []))
}
