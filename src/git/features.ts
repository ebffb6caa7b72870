import { configFiles, hasIncludes, readConfig, stampOf } from './drivers.ts'
import { gitFailure } from './git.ts'
import type { GitRepository } from './open.ts'
import { readText } from './repository.ts'

/** What a repository uses of git that a plain checkout does not do by itself. */

const maxKnown = 50

/** What is configured, by name: section and last part in small letters, as git writes it. Of several values the last. */
export type Settings = ReadonlyMap<string, string>

/** Of a repository with no other files than its own these are asked for again only when one of them changed. */
export async function readSettings(repository: GitRepository): Promise<Settings> {
  const { commonDir } = repository
  const files = configFiles({ commonDir, gitDir: commonDir })
  const stamp = stampOf(files)
  const last = knownSettings.get(commonDir)
  if (last?.stamp === stamp) return last.settings
  const settings = await askSettings(repository)
  if (knownSettings.size >= maxKnown) knownSettings.clear()
  if (hasIncludes(readConfig(files))) knownSettings.delete(commonDir)
  else knownSettings.set(commonDir, { stamp, settings })
  return settings
}

const knownSettings = new Map<string, { readonly stamp: string; readonly settings: Settings }>()

async function askSettings(repository: GitRepository): Promise<Settings> {
  const { stdout } = await repository.require('reading the configuration', ['config', '--list', '-z'], { reads: true })
  return new Map(
    stdout
      .split('\0')
      .filter(Boolean)
      .map((entry) => {
        const [name = '', ...value] = entry.split('\n')
        // A name alone means yes.
        return [name, value.length === 0 ? 'true' : value.join('\n')]
      }),
  )
}

export const isOn = (settings: Settings, name: string): boolean => /^(?:true|yes|on|[1-9]\d*)$/i.test(settings.get(name) ?? '')

/** The remote that has what a partial clone lacks; undefined where the repository is whole. */
export function promisorOf(settings: Settings): string | undefined {
  for (const name of settings.keys()) {
    const remote = /^remote\.(.+)\.promisor$/s.exec(name)?.[1]
    if (remote !== undefined && isOn(settings, name)) return remote
  }
  return settings.get('extensions.partialclone')
}

/** Its history ends before the first commit. */
export const isShallow = (repository: Pick<GitRepository, 'commonDir'>): boolean => readText(`${repository.commonDir}/shallow`, 1) !== undefined

const maxAttributesBytes = 256 * 1024

/** Lines that name filters, by their commit, which never changes: all of its folders are looked through for them. */
const attributesOf = new Map<string, string>()

/** The names of the filters that the files of a commit may have: its attributes and those of the repository name them. */
export async function listFilters(repository: GitRepository, sha: string): Promise<ReadonlySet<string>> {
  // Written out, so that no setting of the repository changes how it is printed.
  const how = ['-h', '--fixed-strings', '--no-color', '--no-line-number', '--no-column', '--no-textconv', '--text']
  let committed = attributesOf.get(sha)
  if (committed === undefined) {
    const found = await repository.run(['grep', ...how, '-e', 'filter=', sha, '--', ':(top,glob)**/.gitattributes'], { reads: true })
    if (found.exitCode > 1) throw gitFailure('looking for the filters of files', found)
    committed = found.stdout
    if (attributesOf.size >= maxKnown) attributesOf.clear()
    attributesOf.set(sha, committed)
  }
  const own = readText(`${repository.commonDir}/info/attributes`, maxAttributesBytes) ?? ''
  const lines = `${committed}\n${own}`.split('\n').filter((line) => !/^\s*#/.test(line))
  return new Set(lines.flatMap((line) => Array.from(line.matchAll(/\sfilter=(\S+)/g), ([, name]) => name as string)))
}
