import { relative, resolve, sep } from 'node:path'
import { failure, HoldfastError, hasReason } from '../core/errors.ts'
import { fromRoot, isInside } from '../core/paths.ts'
import type { RunRecord } from '../core/run.ts'
import type { Repository } from '../git/repository.ts'
import type { ExecInput } from './api.ts'
import { realOr, resolveCwd } from './command.ts'
import type { ActiveRun, AppContext } from './context.ts'
import type { Within } from './execution.ts'
import type { FarPlace } from './far.ts'
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
  /** The place that it runs at, if that is not this machine. `cwd` then is there. */
  readonly far: FarPlace | undefined
  /** Whether it is kept from the credentials of the person, wherever it runs. */
  readonly isSandbox: boolean
}

/** Opens a target with a folder of this machine as its workspace. */
export type OpenFar = (tree: string, mounts: readonly string[]) => Promise<FarPlace>

export type EnsureMounted = (workspace: RunWorkspace) => Promise<void>

/** Throws where the command may not run there, before anything is started. */
export async function findTree(
  context: AppContext,
  input: ExecInput,
  within: Within | undefined,
  ensureMounted: EnsureMounted,
  openFar?: OpenFar,
): Promise<RunTree> {
  const { root, base } = context
  const named = within?.workspace ?? (input.workspace === undefined ? undefined : await requireNamed(context, input.workspace, ensureMounted))
  if (openFar) return farTree(context, input, named, openFar)
  if (named) {
    const { path } = named.record
    const cwd = await resolveCwd(path, path, input.cwd)
    return inWorkspace(context, input, named, cwd, within !== undefined, within ? [] : await wrongTree(context, named))
  }
  const cwd = await resolveCwd(root, base, input.cwd).catch(async (error: unknown) => {
    throw await withWorkspace(context, error)
  })
  const workspace = await workspaceAt(context, cwd)
  if (!workspace) return { cwd, workspace, sandbox: undefined, declared: [], variables: {}, notes: [], far: undefined, isSandbox: false }
  return inWorkspace(context, input, workspace, cwd, false, [])
}

/** The same for a command that runs somewhere else: what is asked for is mapped from the tree here to the workspace there, and confined there. */
async function farTree(context: AppContext, input: ExecInput, named: RunWorkspace | undefined, openFar: OpenFar): Promise<RunTree> {
  const tree = named ? named.record.path : context.root
  const asked = fromRoot(named ? tree : context.base, input.cwd ?? '.')
  const far = await openFar(tree, mountsOf(context, tree))
  const hasOwnFiles = far.site.workspace === 'own'
  // Its files are not there, and a run there says nothing of it.
  if (named && hasOwnFiles) throw failure('invalid', { field: 'workspace', value: input.workspace, accepted: `none: ${far.site.title} has files of its own` })
  const workspace = hasOwnFiles ? undefined : (named ?? (await workspaceAt(context, tree)))
  const cwd = await farCwd(far, tree, asked)
  if (!workspace) return { cwd, workspace, sandbox: undefined, declared: [], variables: {}, notes: [], far, isSandbox: false }
  const { record } = workspace
  const { workspaceVariables } = await import('./run-workspace.ts')
  const isSandbox = record.kind === 'sandbox'
  if (isSandbox) await checkDeclared(context, workspace)
  const notes = [...(named ? await wrongTree(context, named) : []), ...unreadySetup(workspace)]
  return {
    cwd,
    workspace,
    sandbox: undefined,
    declared: isSandbox ? record.options.passEnv : [],
    variables: workspaceVariables(workspace),
    notes,
    far,
    isSandbox,
  }
}

/** What has to be visible beside a tree so that git works in it. */
export function mountsOf({ repositoryOf }: Pick<AppContext, 'repositoryOf'>, tree: string): string[] {
  const repository = repositoryOf(tree)
  return repository && !isInside(tree, repository.commonDir) ? [repository.commonDir] : []
}

/** An absolute path there, without links, inside the root of the site. */
export async function farCwd({ site, files }: Pick<FarPlace, 'site' | 'files'>, tree: string, asked: string): Promise<string> {
  const path = [relativeIn(tree, asked), relativeIn(tree, realOr(asked) ?? asked), relativeIn(site.root, asked)].find((each) => each !== undefined)
  if (path === undefined) throw failure('cwd_outside', { cwd: asked, root: site.workspace === 'own' ? `${site.root} of ${site.title}` : tree })
  // That it is there was found when the site was opened.
  if (path === '') return site.root
  const there = `${site.root}/${path}`
  try {
    return await files.canonicalPath(path)
  } catch (error) {
    if (hasReason(error, 'file_missing')) throw failure('cwd_missing', { cwd: `${there} of ${site.title}` }, error)
    if (hasReason(error, 'file_outside')) throw failure('cwd_outside', { cwd: there, root: site.root }, error)
    if (hasReason(error, 'file_kind')) throw failure('cwd_not_directory', { cwd: there }, error)
    throw error
  }
}

function relativeIn(folder: string, path: string): string | undefined {
  return isInside(folder, path) ? relative(folder, path).split(sep).join('/') : undefined
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
  const all = [...notes, ...(isOurs ? [] : unreadySetup(workspace))]
  if (record.kind !== 'sandbox' && !isOurs) return { cwd, workspace, sandbox: undefined, declared: [], variables, notes: all, far: undefined, isSandbox: false }
  const { makePrivateFolders, sandboxEnvironment } = await import('./sandbox-environment.ts')
  const declared = record.options.passEnv
  await checkDeclared(context, workspace)
  const folders = makePrivateFolders(context.workspaces.root(), record.id, context.ownEnv.PATH)
  const sandbox = sandboxEnvironment({ own: context.ownEnv, declared, asked: input.passEnv ?? [], folders })
  return { cwd, workspace, sandbox, declared, variables, notes: all, far: undefined, isSandbox: true }
}

const unreadySetup = ({ record: { id, setup } }: RunWorkspace): string[] =>
  !setup || setup.state === 'done' ? [] : [`the setup of workspace ${id} is ${inWords[setup.state]}`]

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
