import { existsSync } from 'node:fs'
import { isAbsolute, resolve, sep } from 'node:path'
import { failure } from '../core/errors.ts'
import { isInside } from '../core/paths.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findRepository } from '../git/repository.ts'
import type { WorkspaceContext } from './context.ts'
import { keyOf, repositoryFiles } from './layout.ts'
import { canonical } from './placement.ts'
import { listRecords, readRecord } from './records.ts'
import { repositoriesBelow, requireCommonDir } from './repositories.ts'

export interface FoundWorkspace {
  /** Of the repository as it is now. */
  readonly commonDir: string
  /** What its record is found by there. */
  readonly key: string
  readonly record: WorkspaceRecord
}

type Places = Pick<WorkspaceContext, 'root' | 'base'>

/** So much of an id is enough, where no other begins alike. */
const minIdPrefix = 4

/**
 * The workspace that a reference means. A path (absolute, or with `.` or `..` in front) is a folder in its tree, links followed. Anything
 * else is, in this order: a whole id, `operator:NAME`, a branch (with or without `refs/heads/`), the beginning of an id, a folder as
 * seen from where Holdfast works. Without `repo` the repository where Holdfast works comes first, then every one with a tree below the root.
 * Throws `workspace_not_found`, and `workspace_ambiguous` where one rule fits several; `not_a_repository` for a `repo` that is none.
 */
export async function findWorkspace(context: Places, reference: string, repo?: string | undefined): Promise<FoundWorkspace> {
  const here = repo === undefined ? findRepository(context.base)?.commonDir : requireCommonDir(context, repo)
  const direct = here === undefined ? undefined : byKey(here, reference)
  if (direct !== undefined) return direct
  const near = here === undefined ? [] : recordsOf(here)
  let everywhere: FoundWorkspace[] | undefined
  const far = (): FoundWorkspace[] => {
    everywhere ??=
      repo === undefined
        ? repositoriesBelow(context.root)
            .commonDirs.filter((dir) => dir !== here)
            .flatMap(recordsOf)
        : []
    return everywhere
  }
  const found = isPath(reference)
    ? byFolder(context, reference, near, far)
    : (byName(reference, near) ?? byName(reference, far()) ?? byFolder(context, reference, near, far))
  if (found === undefined) throw failure('workspace_not_found', { workspace: reference })
  return found
}

/** The workspace whose tree holds a folder, or undefined. For asking where a command would run; never throws. */
export function findWorkspaceOf(context: Places, folder: string): FoundWorkspace | undefined {
  const real = canonical(resolve(context.base, folder))
  const commonDir = findRepository(real)?.commonDir
  const own = commonDir === undefined ? undefined : innermost(real, recordsOf(commonDir))
  // A repository of its own inside of a tree hides the one that the tree belongs to; and what lies elsewhere belongs to none.
  if (own !== undefined || !isInside(canonical(context.root), real)) return own
  return innermost(real, repositoriesBelow(context.root).commonDirs.flatMap(recordsOf))
}

const recordsOf = (commonDir: string): FoundWorkspace[] => listRecords(commonDir).map((found) => ({ commonDir, ...found }))

const isPath = (reference: string): boolean => isAbsolute(reference) || /^\.{1,2}(?:\/|$)/.test(reference)

/** A name leads to its file, so that the others need not be read; what may be a part of an id might mean another one. */
function byKey(commonDir: string, reference: string): FoundWorkspace | undefined {
  if (isPath(reference)) return undefined
  const operator = /^operator:(.+)$/s.exec(reference)?.[1]
  const key = keyOf(operator === undefined ? { branch: reference.replace(/^refs\/heads\//, '') } : { operator })
  const record = readRecord(commonDir, key)
  if (record !== undefined) return /^[0-9a-f]{0,10}$/.test(reference) ? undefined : { commonDir, key, record }
  const file = repositoryFiles(commonDir).record(key)
  // It is the one that is meant; one of that name elsewhere is another.
  if (existsSync(file)) throw failure('workspace_unusable', { workspace: reference, why: `its record ${file} cannot be understood` })
  return undefined
}

function byName(reference: string, among: readonly FoundWorkspace[]): FoundWorkspace | undefined {
  const branch = reference.replace(/^refs\/heads\//, '')
  const operator = /^operator:(.*)$/s.exec(reference)?.[1]
  const rules: ((record: WorkspaceRecord) => boolean)[] = [
    ({ id }) => id === reference,
    (record) => operator !== undefined && record.operator === operator,
    (record) => record.branch !== null && (record.branch === branch || record.branch === reference),
    ({ id }) => reference.length >= minIdPrefix && id.startsWith(reference),
  ]
  for (const rule of rules) {
    const found = only(
      reference,
      among.filter(({ record }) => rule(record)),
    )
    if (found !== undefined) return found
  }
  return undefined
}

function byFolder(context: Places, reference: string, near: readonly FoundWorkspace[], far: () => readonly FoundWorkspace[]): FoundWorkspace | undefined {
  if (reference === '' || reference.includes('\0')) return undefined
  const folder = canonical(resolve(context.base, reference))
  // A name that is no path means a folder only where there is one.
  if (!isPath(reference) && !existsSync(folder)) return undefined
  return innermost(folder, near) ?? innermost(folder, far()) ?? findWorkspaceOf(context, folder)
}

/** A tree may lie inside of another one. */
function innermost(folder: string, among: readonly FoundWorkspace[]): FoundWorkspace | undefined {
  const around = among.filter(({ record }) => isInside(record.path, folder)).sort((a, b) => depth(b.record.path) - depth(a.record.path))
  return only(
    folder,
    around.filter(({ record }) => record.path === around[0]?.record.path),
  )
}

const depth = (path: string): number => path.split(sep).length

function only(reference: string, matches: readonly FoundWorkspace[]): FoundWorkspace | undefined {
  if (matches.length > 1) {
    const names = matches.map(({ record, commonDir }) => `${record.id} (${record.branch ?? `operator:${record.operator}`} of ${commonDir})`)
    throw failure('workspace_ambiguous', { workspace: reference, matches: names })
  }
  return matches[0]
}
