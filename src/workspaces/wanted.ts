import { resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import type { WorkspaceOptions } from '../core/workspace.ts'
import type { OpenWorkspaceRequest } from '../core/workspace-provider.ts'
import { checkBranch } from '../git/names.ts'
import { type GitRepository, openRepository } from '../git/open.ts'
import type { WorkspaceContext } from './context.ts'
import { idOf, keyOf, treePath, type WorkspaceName } from './layout.ts'
import { canonical } from './placement.ts'

/** A request, understood: which workspace of which repository. */
export interface Wanted {
  readonly repository: GitRepository
  readonly name: WorkspaceName
  /** null of a sandbox. */
  readonly branch: string | null
  readonly operator: string | null
  readonly key: string
  /** What its id and its path are, unless it has a record, which names others when the repository was moved. */
  readonly id: string
  readonly path: string
  /** The folder of all workspaces, without links. */
  readonly root: string
  readonly request: OpenWorkspaceRequest
  /** For a workspace that is made now. */
  readonly options: WorkspaceOptions
}

export async function toWanted(context: WorkspaceContext, request: OpenWorkspaceRequest): Promise<Wanted> {
  const name = toName(request)
  const repository = await openRepository(context, resolve(context.base, request.repo ?? '.'))
  const root = canonical(resolve(context.root))
  const { commonDir } = repository
  return {
    repository,
    name,
    branch: 'branch' in name ? name.branch : null,
    operator: 'operator' in name ? name.operator : null,
    key: keyOf(name),
    id: idOf(commonDir, name),
    path: treePath(root, repository, name),
    root,
    request,
    options: toOptions(context.settings.options, request),
  }
}

/** As much of it is shown in a path, in messages and as the name of a person or agent. */
const maxOperatorLength = 200

function toName({ branch, operator }: OpenWorkspaceRequest): WorkspaceName {
  if (branch !== undefined && operator !== undefined) {
    throw failure('invalid', { field: 'operator', value: operator, accepted: 'a branch or an operator, not both' })
  }
  if (branch !== undefined) {
    checkBranch(branch)
    return { branch }
  }
  if (operator === undefined) throw failure('invalid', { field: 'branch', value: undefined, accepted: 'a branch, or an operator' })
  if (operator.trim() === '' || operator.length > maxOperatorLength || /[\p{Cc}\p{Cs}]/u.test(operator)) {
    throw failure('invalid', { field: 'operator', value: operator, accepted: `a name of 1 to ${maxOperatorLength} characters that can be seen` })
  }
  return { operator }
}

/** What the request says of them; of the rest what is usual. */
export function toOptions(usual: WorkspaceOptions, request: OpenWorkspaceRequest): WorkspaceOptions {
  const given = (value: unknown): boolean => value !== undefined
  const names = ['copyOnWrite', 'setup', 'lfs', 'submodules', 'sparse', 'carry', 'ports', 'passEnv'] as const
  return { ...usual, ...Object.fromEntries(names.filter((name) => given(request[name])).map((name) => [name, request[name]])) }
}
