import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, stampOf } from './drivers.ts'
import { type OwnEnvironment, personFolders } from './environment.ts'
import { parseScoped } from './network.ts'
import type { Setting } from './settings.ts'

/** What the person told git about all repositories and what makes their files look changed, ignored or trusted. Nothing in it is run. */
export interface PersonSettings {
  /** Folders of repositories that are trusted whoever owns them. */
  readonly trusted: readonly string[]
  /** `core.excludesFile`, `core.autocrlf`, `core.eol`: with values that need no home. */
  readonly files: readonly Setting[]
}

const nothing: PersonSettings = { trusted: [], files: [] }
const systemConfig = '/etc/gitconfig'

/** Reads them, through `list` (`git config --list --show-scope -z` outside of a repository), and again only when a file of theirs changed. */
export function createPersonSettings(ownEnv: OwnEnvironment, list: () => Promise<string>): () => Promise<PersonSettings> {
  const folders = personFolders(ownEnv)
  const files = [systemConfig, ...(folders ? [join(folders.config, 'config'), join(folders.home, '.gitconfig')] : [])]
  let known: { readonly stamp: string; readonly settings: Promise<PersonSettings> } | undefined
  return () => {
    const stamp = stampOf(files)
    if (known?.stamp !== stamp) {
      // Mostly none of it is there, and then no process is started to be told so.
      const isEmpty = !/excludesfile|autocrlf|eol|\[safe|\[include/i.test(readConfig(files))
      const settings = isEmpty ? Promise.resolve(withIgnore(nothing, folders)) : list().then((text) => withIgnore(pick(text, folders?.home), folders))
      known = { stamp, settings }
      settings.catch(() => {
        known = undefined
      })
    }
    return known.settings
  }
}

function pick(text: string, home: string | undefined): PersonSettings {
  const all = parseScoped(text).filter(({ scope }) => scope === 'system' || scope === 'global')
  const files = new Map<string, string>()
  for (const { name, value } of all) {
    if (name === 'core.autocrlf' || name === 'core.eol') files.set(name, value)
    if (name === 'core.excludesfile') files.set(name, value.startsWith('~/') && home ? join(home, value.slice(2)) : value)
  }
  // An empty one forgets those before it.
  const directories = all.filter(({ name }) => name === 'safe.directory').map(({ value }) => value)
  return { trusted: directories.slice(directories.lastIndexOf('') + 1), files: [...files] }
}

/** Where nothing is said, git ignores what a file beside its settings lists. */
function withIgnore(settings: PersonSettings, folders: ReturnType<typeof personFolders>): PersonSettings {
  const usual = folders && join(folders.config, 'ignore')
  if (!usual || !existsSync(usual) || settings.files.some(([name]) => name === 'core.excludesfile')) return settings
  return { ...settings, files: [...settings.files, ['core.excludesfile', usual]] }
}
