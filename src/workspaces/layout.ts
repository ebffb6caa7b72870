import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'

/** Where everything of workspaces is. What belongs to a repository is in its common folder, so that it moves with it. */

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What a record is found by: what was asked for, in its repository. */
export type WorkspaceName = { readonly branch: string } | { readonly operator: string }

/** The same in a text that no other name has. */
const identityOf = (name: WorkspaceName): string => ('branch' in name ? `refs/heads/${name.branch}` : `operator:${name.operator}`)

/** The name of the files that belong to one workspace of a repository. */
export const keyOf = (name: WorkspaceName): string => hashOf(identityOf(name)).slice(0, 16)

/** The id of a workspace when it is made; it stays when the repository moves. */
export const idOf = (commonDir: string, name: WorkspaceName): string => hashOf(`${commonDir}\0${identityOf(name)}`).slice(0, 10)

/** Letters, digits, `.`, `_` and `-` of a name, for people to recognize it by; never empty, never hidden, in small letters. */
export function slugOf(name: string, maxLength = 40): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, maxLength)
    .replace(/[.-]+$/, '')
  return slug === '' ? 'workspace' : slug
}

/** The folder of all workspaces of a repository. The hash keeps two repositories of one name apart. */
export function repositoryFolder(root: string, commonDir: string, mainRoot: string): string {
  return join(root, `${slugOf(basename(mainRoot).replace(/\.git$/, ''))}-${hashOf(commonDir).slice(0, 6)}`)
}

/** The tree of a workspace. The id keeps apart what has the same slug, also where upper and lower case are one. */
export function treePath(root: string, repository: { commonDir: string; mainRoot: string }, name: WorkspaceName): string {
  const spoken = 'branch' in name ? name.branch : name.operator
  return join(repositoryFolder(root, repository.commonDir, repository.mainRoot), `${slugOf(spoken)}-${idOf(repository.commonDir, name)}`)
}

/** Trees that are being deleted. On the same device as the trees, so that they get there by a rename. */
export const trashFolder = (root: string): string => join(root, '.trash')

export interface RepositoryFiles {
  readonly folder: string
  /** What is locked while worktrees and branches of the repository are changed. */
  readonly lock: string
  readonly records: string
  record(key: string): string
  events(key: string): string
  /** What is said of commands that run in a workspace, a file for each. */
  leases(key: string): string
  /** What is locked while the setup of a workspace runs. */
  setup(key: string): string
}

/** What we keep beside the refs of a repository. Every private ref is below `refs/holdfast/`. */
export function repositoryFiles(commonDir: string): RepositoryFiles {
  const folder = join(commonDir, 'holdfast')
  const records = join(folder, 'workspaces')
  return {
    folder,
    lock: join(folder, 'lock'),
    records,
    record: (key) => join(records, `${key}.json`),
    events: (key) => join(folder, 'events', `${key}.jsonl`),
    leases: (key) => join(folder, 'leases', key),
    setup: (key) => join(folder, `${key}.setup`),
  }
}

export const privateRefs = 'refs/holdfast'
