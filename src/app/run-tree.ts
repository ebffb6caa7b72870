import { resolve } from 'node:path'
import { failure, HoldfastError } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { Repository } from '../git/repository.ts'
import type { ExecInput } from './api.ts'
import { resolveCwd } from './command.ts'
import type { ActiveRun, AppContext } from './context.ts'
import type { Within } from './execution.ts'
import type { RunWorkspace } from './run-workspace.ts'

/**
 * In which tree a command runs, and what follows from that. What knows of workspaces is loaded for a command in one alone: most run
 * in an ordinary checkout.
 */
export interface RunTree {
  readonly cwd: string
  readonly workspace: RunWorkspace | undefined
  /** All that the command gets from the environment of Holdfast, where it is kept from the credentials of the person. */
  readonly sandbox: Readonly<Record<string, string>> | undefined
  /** The names among these that the workspace was declared with. */
  readonly declared: readonly string[]
  readonly variables: Readonly<Record<string, string>>
  readonly notes: readonly string[]
}

export type EnsureMounted = (workspace: RunWorkspace) => Promise<void>

/** Throws where the command may not run there, before anything is started. */
export async function findTree(context: AppContext, input: ExecInput, within: Within | undefined, ensureMounted: EnsureMounted): Promise<RunTree> {
  const { root, base } = context
  const named = within?.workspace ?? (input.workspace === undefined ? undefined : await requireNamed(context, input.workspace, ensureMounted))
  if (named) {
    const { path } = named.record
    const cwd = await resolveCwd(path, path, input.cwd)
    return inWorkspace(context, input, named, cwd, within !== undefined, within ? [] : await wrongTree(context, named))
  }
  const cwd = await resolveCwd(root, base, input.cwd).catch(async (error: unknown) => {
    throw await withWorkspace(context, error)
  })
  const workspace = await workspaceAt(context, cwd)
  if (!workspace) return { cwd, workspace, sandbox: undefined, declared: [], variables: {}, notes: [] }
  return inWorkspace(context, input, workspace, cwd, false, [])
}

/** A workspace by what its caller calls it, whole and mounted. Throws `workspace_not_found` or `workspace_unusable`. */
export async function requireNamed(context: AppContext, reference: string, ensureMounted: EnsureMounted): Promise<RunWorkspace> {
  const [{ findWorkspace }, { checkUsable }] = await Promise.all([import('../workspaces/find.ts'), import('./run-workspace.ts')])
  const found = await findWorkspace({ root: context.workspaces.root(), base: context.base }, reference)
  if (found.record.overlay !== null) await ensureMounted(found)
  checkUsable(found, context.repositoryOf)
  return found
}

/** The workspace that a folder belongs to. Costs next to nothing outside of one. */
export async function workspaceAt(context: Pick<AppContext, 'repositoryOf'>, folder: string): Promise<RunWorkspace | undefined> {
  const repository = context.repositoryOf(folder)
  return repository && isLinked(repository) ? (await import('./run-workspace.ts')).workspaceOf(repository) : undefined
}

const isLinked = ({ gitDir, commonDir }: Repository): boolean => gitDir !== commonDir || gitDir.includes('/worktrees/')

async function inWorkspace(
  context: AppContext,
  input: ExecInput,
  workspace: RunWorkspace,
  cwd: string,
  isOurs: boolean,
  notes: readonly string[],
): Promise<RunTree> {
  const { record } = workspace
  const { workspaceVariables } = await import('./run-workspace.ts')
  const variables = workspaceVariables(workspace)
  const unready = isOurs || !record.setup || record.setup.state === 'done' ? [] : [`the setup of workspace ${record.id} is ${inWords[record.setup.state]}`]
  const all = [...notes, ...unready]
  if (record.kind !== 'sandbox' && !isOurs) return { cwd, workspace, sandbox: undefined, declared: [], variables, notes: all }
  const { makePrivateFolders, sandboxEnvironment } = await import('./sandbox-environment.ts')
  const declared = record.options.passEnv
  await checkDeclared(context, workspace)
  const folders = makePrivateFolders(context.workspaces.root(), record.id, context.ownEnv.PATH)
  const sandbox = sandboxEnvironment({ own: context.ownEnv, declared, asked: input.passEnv ?? [], folders })
  return { cwd, workspace, sandbox, declared, variables, notes: all }
}

/** What the record alone names, nobody who may give it has named. */
async function checkDeclared({ workspaces }: AppContext, { record }: RunWorkspace): Promise<void> {
  if (record.options.passEnv.length === 0) return
  const { declaredVariables } = await import('../workspaces/declared.ts')
  const known = declaredVariables(workspaces.root(), record.id)
  const strange = record.options.passEnv.filter((name) => !known.includes(name))
  if (strange.length === 0) return
  const why = `its record names the variables ${strange.join(', ')}, which it was not opened with; open it again with them (--pass-env) if that is meant`
  throw failure('workspace_unusable', { workspace: record.id, why })
}

const inWords = { pending: 'still to be run', running: 'going on', failed: 'not done: it failed' } as const

/** Whoever stands in a workspace and names another one may have meant the one that they stand in. */
async function wrongTree(context: AppContext, named: RunWorkspace): Promise<string[]> {
  const here = await workspaceAt(context, context.base)
  if (!here || here.record.id === named.record.id) return []
  const { namedInWords } = await import('./run-workspace.ts')
  return [`this ran in ${namedInWords(named.record)}; the folder that you are in belongs to ${namedInWords(here.record)}`]
}

/** A folder outside of the root may be that of a workspace, which is reached by its name. */
async function withWorkspace(context: AppContext, error: unknown): Promise<unknown> {
  if (!(error instanceof HoldfastError) || error.details.reason !== 'cwd_outside') return error
  const cwd = String(error.details.cwd)
  const workspace = await workspaceAt(context, resolve(cwd))
  return workspace ? failure('cwd_outside', { cwd, root: context.root, workspace: workspace.record.id }, error) : error
}

export interface HeldLease {
  readonly warnings: readonly string[]
  drop(): void
  /** Drops it once the run is over and has left nothing behind. */
  dropAfter(run: ActiveRun): void
}

/** Says in the workspace of a run that it begins; undefined where it is in none. Throws `workspace_unusable`. */
export async function takeLeaseFor(context: AppContext, first: RunRecord, workspace: RunWorkspace | undefined): Promise<HeldLease | undefined> {
  if (!workspace) return undefined
  const [{ takeLease, dropLease }, { tell }] = await Promise.all([import('./leases.ts'), import('../workspaces/events.ts')])
  const lease = { run: first.id, home: context.home.path, command: first.command, holder: context.machine.self }
  const warnings = takeLease(workspace, lease)
  const { commonDir, key, record } = workspace
  tell(commonDir, key, { at: context.now().toISOString(), workspace: record.id, name: 'leased', durationMs: null, facts: { run: first.id } })
  const drop = (): void => dropLease(workspace, first.id)
  return {
    warnings,
    drop,
    dropAfter(run) {
      void run.finished.then(({ record }) => {
        if (record.state !== 'running' && record.leftovers.length === 0) drop()
      })
    },
  }
}
