import { createHash } from 'node:crypto'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
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

/** What the base must have, whatever the repository says: every file, in an index that is one file and that any git can read. */
const wholeCheckout = ['core.sparseCheckout=false', 'index.sparse=false', 'core.splitIndex=false', 'core.untrackedCache=false', 'submodule.recurse=false']

/** The frozen checkout of a commit, made where it is not there. Refs and trees of the repository are left alone. With the lock of the store. */
export async function requireBase(
  context: FrozenBaseContext,
  repo: Pick<GitRepository, 'commonDir' | 'require'>,
  store: FrozenStore,
  { sha, config, signal }: FrozenBaseRequest,
): Promise<FrozenBase> {
  const folder = await requireFrozen(
    context,
    store,
    baseKey(repo.commonDir, sha, config),
    async (making) => {
      const { tree, index } = inside(making)
      await repo.require(`checking out ${sha}`, ['read-tree', '-m', '-u', sha], {
        workTree: tree,
        indexFile: index,
        config: [...config, ...wholeCheckout],
        timeoutMs: freezeTimeoutMs,
        signal,
      })
      await settle(index)
    },
    signal,
  )
  return inside(folder)
}

const inside = (folder: string): FrozenBase => ({ tree: join(folder, 'tree'), index: join(folder, 'index') })

/**
 * Waits until the second in which the last files were written is over. git tells a changed file by the second of its times, and looks
 * into each that is as young as its index: in every tree, each time, if the two were of one second.
 */
async function settle(index: string): Promise<void> {
  const over = (Math.floor(statSync(index).mtimeMs / 1000) + 1) * 1000 + clockStepMs
  for (let now = Date.now(); now < over; now = Date.now()) await new Promise((resolve) => setTimeout(resolve, over - now))
  const now = new Date()
  utimesSync(index, now, now)
}

/** File systems stamp with a clock that is behind by as much as this. */
const clockStepMs = 20

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
    return isMeant
  })
  return lines.map((line) => line.trim()).join('\n')
}
