import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isInside } from '../core/paths.ts'
import { listTrees } from '../git/admin.ts'
import type { GitRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'
import { problem, type Repairable } from './finding.ts'
import { canonical } from './placement.ts'

/** git 2.31 to 2.50 know these (git-config(1), repository-version); with one that it does not know git refuses the repository. */
const knownExtensions = new Set([
  'noop',
  'partialclone',
  'preciousobjects',
  'objectformat',
  'compatobjectformat',
  'worktreeconfig',
  'refstorage',
  'relativeworktrees',
])

/**
 * What somebody in a worktree set for all of them: `git config` there changes the repository. Only what can be nothing but
 * that is repaired.
 */
export async function examineConfig(context: WorkspaceContext, repository: GitRepository): Promise<readonly Repairable[]> {
  const found: Repairable[] = []
  for (const file of ['config', 'config.worktree']) {
    const path = join(repository.commonDir, file)
    if (existsSync(path)) found.push(...(await examineFile(context, repository, path)))
  }
  return found
}

async function examineFile(context: WorkspaceContext, repository: GitRepository, path: string): Promise<Repairable[]> {
  const { commonDir } = repository
  const settings = await readSettings(context, commonDir, path)
  if (settings === undefined) return [problem(`config:${basename(path)}`, `git cannot read ${path}`, { status: 'failed' })]
  const found: Repairable[] = []
  const name = (setting: string): string => `${basename(path)}:${setting}`
  const change = (what: string, ...args: string[]) => ({
    fix: what,
    repair: async (): Promise<string> => {
      await context.git.require(`changing ${path}`, { args: ['config', '--file', path, ...args], cwd: commonDir })
      return `${what} in ${path}`
    },
  })
  const isBare = ['true', 'yes', 'on', '1', ''].includes(settings.get('core.bare')?.toLowerCase() ?? 'false')
  if (isBare && existsSync(join(commonDir, 'index'))) {
    const detail = `core.bare is set in ${path}, and the repository has a checkout in ${repository.mainRoot}, in which git does nothing now`
    found.push(problem(name('core.bare'), detail, { status: 'failed', ...change('set core.bare to false', 'core.bare', 'false') }))
  }
  const worktree = settings.get('core.worktree')
  if (worktree !== undefined && basename(commonDir) === '.git' && resolve(commonDir, worktree) !== dirname(commonDir)) {
    const detail = `core.worktree in ${path} leads to ${worktree}, and not to ${dirname(commonDir)}`
    const isDrift = isOfTrees(context, commonDir, resolve(commonDir, worktree))
    found.push(problem(name('core.worktree'), detail, { status: 'failed', ...(isDrift ? change('unset core.worktree', '--unset-all', 'core.worktree') : {}) }))
  }
  const hooks = settings.get('core.hookspath')
  if (hooks !== undefined && isAbsolute(hooks) && isOfTrees(context, commonDir, hooks)) {
    const detail = `core.hooksPath in ${path} leads into a workspace (${hooks}), whose programs every git of a person would run`
    found.push(problem(name('core.hooksPath'), detail, change('unset core.hooksPath', '--unset-all', 'core.hooksPath')))
  }
  for (const setting of settings.keys()) {
    const extension = /^extensions\.(.+)$/.exec(setting)?.[1]
    if (extension !== undefined && !knownExtensions.has(extension)) {
      found.push(problem(name(setting), `${setting} in ${path} is known to no git up to 2.50, which refuses the repository then`, { status: 'failed' }))
    }
  }
  return found
}

/** Below the root, or a linked tree of this repository: no place for what all trees share. */
function isOfTrees({ root }: WorkspaceContext, commonDir: string, path: string): boolean {
  return isInside(canonical(root), path) || listTrees(commonDir).some((tree) => !tree.isMain && isInside(tree.path, path))
}

/** The last value of each setting, by its name in small letters; undefined where the file is no configuration. */
async function readSettings({ git }: WorkspaceContext, commonDir: string, path: string): Promise<Map<string, string> | undefined> {
  const { exitCode, stdout } = await git.run({ args: ['config', '--file', path, '--list', '-z'], cwd: commonDir, reads: true })
  if (exitCode !== 0) return undefined
  const entries = stdout.split('\0').filter(Boolean)
  // A setting without a value has no line feed, and means true.
  return new Map(
    entries.map((entry): [string, string] =>
      entry.includes('\n') ? [entry.slice(0, entry.indexOf('\n')), entry.slice(entry.indexOf('\n') + 1)] : [entry, ''],
    ),
  )
}
