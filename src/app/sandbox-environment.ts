import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { shellQuoted } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { makePlainFolder, readPlainText, replacePlain } from '../git/plain-file.ts'

/**
 * The environment of commands in a sandbox, and of every setup: the PATH, the names that the workspace was declared with, and folders of
 * its own in the place of the person's home. What is left out is not out of reach: the command runs as the same user, who may read what
 * that user may. It is kept from what looks for credentials where they usually are.
 */

/** The folders that stand in for the person's home, below the folder of all workspaces and outside of the tree. */
export interface PrivateFolders {
  readonly home: string
  readonly config: string
  readonly cache: string
  readonly data: string
  readonly state: string
  readonly runtime: string
  readonly temporary: string
  readonly programs: string
}

const folderOf = (root: string, id: string): string => join(root, '.homes', id)

function describe(root: string, id: string): PrivateFolders {
  const top = folderOf(root, id)
  const home = join(top, 'home')
  return {
    home,
    config: join(home, '.config'),
    cache: join(home, '.cache'),
    data: join(home, '.local', 'share'),
    state: join(home, '.local', 'state'),
    runtime: join(top, 'run'),
    temporary: join(top, 'tmp'),
    programs: join(top, 'bin'),
  }
}

/** Makes them where they are not there yet, of this user alone. */
export function makePrivateFolders(root: string, id: string, path: string | undefined): PrivateFolders {
  const folders = describe(root, id)
  for (const folder of [root, join(root, '.homes'), folderOf(root, id), ...Object.values(folders)]) {
    // A command of the sandbox may have put a link there, to have something written elsewhere.
    if (folder === root) mkdirSync(root, { recursive: true, mode: 0o700 })
    else makePlainFolder(root, folder)
    const { uid } = lstatSync(folder)
    if (uid !== process.getuid?.()) throw failure('not_owned', { path: folder, why: 'it belongs to another user' })
  }
  writeSshPrograms(folders.programs, outside(root, path))
  return folders
}

/** The folder that holds all of them, with what commands left in there; undefined where there is none. Nothing of the repository is in it. */
export function findPrivateFolder(root: string, id: string): string | undefined {
  const folder = folderOf(root, id)
  return /^[0-9a-f]{10}$/.test(id) && existsSync(folder) ? folder : undefined
}

const sshOptions = ['-F', '/dev/null', '-oIdentitiesOnly=yes', '-oIdentityFile=/dev/null', '-oIdentityAgent=none', '-oBatchMode=yes'] as const

/** The home that ssh reads keys and settings from is that of the user's account, whatever HOME says; so what is found as ssh has these options. */
function writeSshPrograms(folder: string, path: readonly string[]): void {
  for (const name of ['ssh', 'scp', 'sftp']) {
    const found = path.map((each) => join(each, name)).find((file) => existsSync(file))
    if (!found) continue
    const file = join(folder, name)
    const text = `#!/bin/sh\nexec ${shellQuoted(found)} ${sshOptions.join(' ')} "$@"\n`
    // Another command may be about to run it.
    if (isSame(file, text)) continue
    replacePlain(file, text, { temporary: `${file}.${process.pid}`, mode: 0o700 })
  }
}

function isSame(file: string, text: string): boolean {
  try {
    return lstatSync(file).isFile() && readPlainText(file) === text
  } catch {
    return false
  }
}

/** A Holdfast that runs in a sandbox itself finds the programs of that first. */
function outside(root: string, path: string | undefined): string[] {
  return (path ?? fallbackPath).split(delimiter).filter((folder) => !folder.startsWith(`${join(root, '.homes')}/`))
}

export interface SandboxRequest {
  /** The environment of Holdfast itself. */
  readonly own: Readonly<Record<string, string | undefined>>
  /** Names that the workspace was declared with. */
  readonly declared: readonly string[]
  /** Names that the caller asks for besides. */
  readonly asked: readonly string[]
  readonly folders: PrivateFolders
}

/**
 * What is set besides what the caller and the workspace set. Throws `environment_missing` where a declared name is not set here, and
 * refuses names that were not declared.
 */
export function sandboxEnvironment({ own, declared, asked, folders }: SandboxRequest): Record<string, string> {
  const undeclared = asked.find((name) => !declared.includes(name))
  if (undeclared !== undefined)
    throw failure('invalid', {
      field: 'passEnv',
      value: undeclared,
      accepted: declared.length === 0 ? 'no name: this workspace was declared without any' : `what the workspace was declared with: ${declared.join(', ')}`,
    })
  const missing = declared.filter((name) => own[name] === undefined)
  if (missing.length > 0) throw failure('environment_missing', { names: missing })
  return {
    PATH: [folders.programs, ...(own.PATH ?? fallbackPath).split(delimiter).filter((folder) => folder !== folders.programs)].join(delimiter),
    LANG: 'C.UTF-8',
    HOME: folders.home,
    XDG_CONFIG_HOME: folders.config,
    XDG_CACHE_HOME: folders.cache,
    XDG_DATA_HOME: folders.data,
    XDG_STATE_HOME: folders.state,
    XDG_RUNTIME_DIR: folders.runtime,
    TMPDIR: folders.temporary,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: ['ssh', ...sshOptions].join(' '),
    ...Object.fromEntries(declared.map((name) => [name, own[name] as string])),
  }
}

const fallbackPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
