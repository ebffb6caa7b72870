import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import type { GitRepository } from '../git/open.ts'
import { readText } from '../git/repository.ts'
import type { WorkspaceContext } from './context.ts'
import { type FrozenStore, freezeTimeoutMs, requireFrozen } from './frozen.ts'

/** A frozen checkout of a commit: its files, and an index that knows them by size, times and numbers. */
export interface FrozenBase {
  readonly tree: string
  readonly index: string
}

export interface FrozenBaseRequest {
  readonly sha: string
  /** Settings of the checkout, as `name=value`. */
  readonly config: readonly string[]
  readonly signal?: AbortSignal | undefined
}

type FrozenBaseContext = Pick<WorkspaceContext, 'runProgram' | 'ownEnv' | 'root' | 'lock' | 'newName'>

/**
 * What the base must have, whatever the repository says: every file, in an index that is one file. Each tree has a copy of the index, so
 * it is of the version that shortens paths, by a quarter of the whole; git reads it since 1.8.
 */
const wholeCheckout = [
  'core.sparseCheckout=false',
  'index.sparse=false',
  'index.version=4',
  'core.splitIndex=false',
  'core.untrackedCache=false',
  'submodule.recurse=false',
]

/** The frozen checkout of a commit, made where it is not there. Refs and trees of the repository are left alone. With the lock of the store. */
export async function requireBase(
  context: FrozenBaseContext,
  repo: Pick<GitRepository, 'commonDir' | 'run'>,
  store: FrozenStore,
  { sha, config, signal }: FrozenBaseRequest,
): Promise<FrozenBase> {
  const folder = await requireFrozen(
    context,
    store,
    baseKey(repo.commonDir, sha, config),
    async (making) => {
      const { tree, index } = inside(making)
      const { exitCode, stderr } = await repo.run(['read-tree', '-m', '-u', sha], {
        workTree: tree,
        indexFile: index,
        config: [...config, ...wholeCheckout],
        timeoutMs: freezeTimeoutMs,
        signal,
      })
      if (exitCode !== 0) throw failure('copy_on_write_unavailable', { why: `its files cannot be checked out (${stderr.trim().split('\n').at(-1)})` })
    },
    signal,
  )
  return inside(folder)
}

const inside = (folder: string): FrozenBase => ({ tree: join(folder, 'tree'), index: join(folder, 'index') })

/** What a checkout depends on besides the commit: settings and attributes that are not in it. */
function baseKey(commonDir: string, sha: string, config: readonly string[]): string {
  const facts = [
    config.join('\n'),
    checkoutSections(readText(join(commonDir, 'config'), maxFileBytes) ?? ''),
    readText(join(commonDir, 'info', 'attributes'), maxFileBytes),
  ]
  return `${sha}-${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 8)}`
}

const maxFileBytes = 256 * 1024

/** The lines of a configuration that may bear on a checkout. Two that differ in vain only make one checkout more. */
function checkoutSections(config: string): string {
  let isMeant = false
  const lines = config.split('\n').filter((line) => {
    const heading = /^\s*\[\s*([a-z]+)/i.exec(line)?.[1]
    if (heading !== undefined) isMeant = /^(?:core|filter|include|includeif)$/i.test(heading)
    return isMeant && line.trim() !== ''
  })
  return lines.map((line) => line.trim()).join('\n')
}
