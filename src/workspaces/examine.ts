import { constants, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { errnoOf, failure, messageOf } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import { openRepository } from '../git/open.ts'
import { findRepository } from '../git/repository.ts'
import type { WorkspaceContext } from './context.ts'
import { tell } from './events.ts'
import { examineConfig } from './examine-config.ts'
import { examineRoot } from './examine-root.ts'
import { examineTrees } from './examine-trees.ts'
import { type Finding, fine, problem, type Repairable } from './finding.ts'
import { probeOverlay } from './overlay.ts'

export interface ExamineRequest {
  readonly repo?: string | undefined
}

/**
 * Looks at everything that workspaces stand on: git, the repository with its trees, refs and settings, the root of all workspaces. Repairs
 * nothing. Outside of a repository only what belongs to none is looked at. Never rejects: what cannot be looked at is a finding.
 */
export async function examineWorkspaces(context: WorkspaceContext, { repo }: ExamineRequest = {}): Promise<readonly Finding[]> {
  const machine = [await gitVersion(context), await copyOnWrite(context), reflink(context)]
  return [...machine, ...(await findProblems(context, repo))].map(({ name, status, detail, fix }) => ({ name, status, detail, fix }))
}

/**
 * Repairs one thing by the name that `examineWorkspaces` gives it; resolves to what was done. It is looked at again first, and the
 * history of the workspace tells of it. Rejects with `invalid` where there is nothing of that name that can be repaired.
 */
export async function repair(context: WorkspaceContext, { repo, item }: ExamineRequest & { readonly item: string }): Promise<string> {
  const found = await findProblems(context, repo)
  const chosen = found.find(({ name }) => name === item)
  if (chosen?.repair === undefined) {
    const names = found.filter(({ repair: can }) => can !== undefined).map(({ name }) => name)
    const accepted = names.length === 0 ? 'none, since nothing is found that can be repaired' : `one of ${names.join(', ')}`
    throw failure('invalid', { field: 'fix', value: item, accepted })
  }
  const since = monotonicMs()
  const done = await chosen.repair()
  const commonDir = findRepository(resolve(context.base, repo ?? '.'))?.commonDir
  if (commonDir !== undefined) {
    const { id = '', key = repositoryHistory } = chosen.workspace ?? {}
    const facts = { item, done }
    tell(commonDir, key, { at: context.now().toISOString(), workspace: id, name: 'repaired', durationMs: Math.round(monotonicMs() - since), facts })
  }
  return done
}

/** Where it is told what was repaired that belongs to no workspace. */
export const repositoryHistory = 'repository'

async function findProblems(context: WorkspaceContext, repo: string | undefined): Promise<readonly Repairable[]> {
  const path = resolve(context.base, repo ?? '.')
  const found: Repairable[] = []
  const look = async (name: string, examine: () => Promise<readonly Repairable[]>): Promise<void> => {
    try {
      found.push(...(await examine()))
    } catch (error) {
      found.push(problem(name, `it could not be looked at: ${messageOf(error)}`, { status: 'failed' }))
    }
  }
  if (findRepository(path) === undefined) found.push(fine('repository', `${path} is in no repository`))
  else {
    await look('repository', async () => {
      const repository = await openRepository(context, path)
      await look('config', () => examineConfig(context, repository))
      await look('worktrees', () => examineTrees(context, repository))
      return []
    })
  }
  await look('root', async () => examineRoot(context))
  return found
}

async function gitVersion({ git, base }: WorkspaceContext): Promise<Repairable> {
  try {
    const { stdout } = await git.require('asking for the version of git', { args: ['--version'], cwd: base, reads: true })
    return fine('git', stdout.trim())
  } catch (error) {
    return problem('git', messageOf(error), { status: 'failed' })
  }
}

async function copyOnWrite(context: WorkspaceContext): Promise<Repairable> {
  const probe = await probeOverlay(context)
  // Nobody is worse off without it: it is asked for, and then falls back with a word.
  return fine('copy-on-write', probe.ok ? 'available' : `not available: ${probe.why}`)
}

/** Whether files that are carried over share their blocks with the source. It is tried with a file of its own. */
function reflink({ root }: WorkspaceContext): Repairable {
  let folder: string
  try {
    folder = mkdtempSync(join(root, '.probe-'))
  } catch {
    return fine('reflink', `not known before there is a workspace in ${root}`)
  }
  try {
    writeFileSync(join(folder, 'a'), 'a')
    copyFileSync(join(folder, 'a'), join(folder, 'b'), constants.COPYFILE_FICLONE_FORCE)
    return fine('reflink', 'files that are carried over share their blocks with the source')
  } catch (error) {
    return fine('reflink', `the file system of ${root} has none (${errnoOf(error) ?? 'unknown'}): files that are carried over are copied`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
