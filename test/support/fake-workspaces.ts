import { failure } from '../../src/core/errors.ts'
import type { WorkspaceBase } from '../../src/core/workspace.ts'
import type {
  DescribedWorkspace,
  OpenedWorkspace,
  OpenWorkspaceRequest,
  ReleasedWorkspace,
  ReleaseWorkspaceRequest,
  WorkspaceProvider,
  WorkspaceSummary,
} from '../../src/core/workspace-provider.ts'
import { checkBranch } from '../../src/git/names.ts'
import { idOf, keyOf, treePath, type WorkspaceName } from '../../src/workspaces/layout.ts'

type Method = 'describe' | 'open' | 'release' | 'list'
type Files = Map<string, string>

interface Commit {
  readonly files: Files
}

interface Tree {
  readonly name: WorkspaceName
  readonly id: string
  readonly path: string
  readonly createdAt: string
  base: WorkspaceBase
  /** null: its folder was taken away. */
  files: Files | null
  /** Of a sandbox, and of a branch that is not asked: where it was when its folder was last there. */
  sha: string
}

/** Workspaces that are nowhere but in memory: as many repositories as there are fakes, with one branch `main`, which is the base of all. */
export interface FakeWorkspaces {
  readonly provider: WorkspaceProvider
  /** Everything that was asked for, in order. */
  readonly calls: readonly { readonly method: Method; readonly request: unknown }[]
  another(): WorkspaceProvider
  /** The next call of the method rejects with this: `before` it did anything, or `after` all was done and only the answer is missing. */
  fail(method: Method, error: unknown, when?: 'before' | 'after'): void
  read(path: string, file: string): string | undefined
  write(path: string, file: string, text: string): void
  commit(path: string): string
  head(path: string): { readonly branch: string | null; readonly sha: string }
  branch(name: string): string | undefined
  advanceBase(): string
  removeTree(path: string): void
}

const commonDir = '/fake/repository/.git'
export const fakeRepository = '/fake/repository'
const root = '/fake/workspaces'

export function createFakeWorkspaces(files: Readonly<Record<string, string>> = { 'README.md': 'one\n' }): FakeWorkspaces {
  const commits: Commit[] = []
  const branches = new Map<string, string>()
  const trees = new Map<string, Tree>()
  const calls: { method: Method; request: unknown }[] = []
  const failures: { method: Method; error: unknown; when: 'before' | 'after' }[] = []
  let rescues = 0

  const addCommit = (content: Files): string => {
    commits.push({ files: new Map(content) })
    return String(commits.length).padStart(40, '0')
  }
  const filesOf = (sha: string): Files => new Map(commits[Number(sha) - 1]?.files)
  branches.set('main', addCommit(new Map(Object.entries(files))))

  const treeAt = (path: string): Tree & { files: Files } => {
    const tree = [...trees.values()].find((each) => each.path === path)
    if (!tree?.files) throw new Error(`there is no tree ${path}`)
    return tree as Tree & { files: Files }
  }
  const branchOf = (name: WorkspaceName): string | null => ('branch' in name ? name.branch : null)
  const operatorOf = (name: WorkspaceName): string | null => ('operator' in name ? name.operator : null)
  const tipOf = (tree: Tree): string => branches.get(branchOf(tree.name) ?? '') ?? tree.sha
  const isDirty = (tree: Tree): boolean => {
    const committed = filesOf(tipOf(tree))
    return tree.files !== null && (tree.files.size !== committed.size || [...tree.files].some(([path, text]) => committed.get(path) !== text))
  }

  function describe(request: Pick<OpenWorkspaceRequest, 'branch' | 'operator'>): DescribedWorkspace & { readonly name: WorkspaceName } {
    const name = toName(request)
    const place = { commonDir, mainRoot: fakeRepository }
    return { id: idOf(commonDir, name), path: treePath(root, place, name), exists: Boolean(trees.get(keyOf(name))?.files), name }
  }

  function open(request: OpenWorkspaceRequest): OpenedWorkspace {
    const { id, path, name } = describe(request)
    const known = trees.get(keyOf(name))
    if (known?.files) return toOpened(known, false, [])
    const branch = branchOf(name)
    const tip = known ? tipOf(known) : branch === null ? undefined : branches.get(branch)
    const base = request.base ?? 'main'
    const baseSha = branches.get(base)
    if (tip === undefined && baseSha === undefined) throw failure('unknown_base', { base, looked: [`refs/heads/${base}`] })
    const sha = tip ?? (baseSha as string)
    if (branch !== null && tip === undefined) branches.set(branch, sha)
    const from: WorkspaceBase = { source: tip === undefined ? 'local' : 'existing', ref: `refs/heads/${base}`, sha, behind: 0, remoteError: null }
    const tree: Tree = { name, id, path, createdAt: known?.createdAt ?? new Date().toISOString(), base: from, files: filesOf(sha), sha }
    trees.set(keyOf(name), tree)
    return toOpened(tree, tip === undefined, [known ? 'rematerialized' : 'created'])
  }

  function toOpened(tree: Tree, created: boolean, done: readonly string[]): OpenedWorkspace {
    const { id, path, name } = tree
    const sha = tipOf(tree)
    return {
      ...{ id, path, kind: branchOf(name) === null ? 'sandbox' : 'branch', branch: branchOf(name), operator: operatorOf(name), created },
      base: created ? tree.base : { ...tree.base, source: 'existing', sha },
      ...{ setup: null, ports: [], isolation: 'worktree', copyOnWrite: false, warnings: [] },
      actions: done.map((action) => ({ name: action, status: 'done', detail: `the fake ${action} it` })),
    }
  }

  function release({ workspace, mode }: ReleaseWorkspaceRequest): ReleasedWorkspace {
    const [key, tree] = [...trees].find(([, each]) => [each.id, each.path, branchOf(each.name)].includes(workspace)) ?? []
    const answer = { branch: null, stopped: [], actions: [], warnings: [] }
    if (key === undefined || tree === undefined) return { ...answer, id: workspace, released: false, rescue: null }
    if (mode === 'refuse' && isDirty(tree)) throw failure('workspace_dirty', { workspace: tree.id, holds: ['files that were changed'] })
    const rescue = isDirty(tree) && mode !== 'discard' ? `refs/holdfast/rescue/${tree.id}/${++rescues}` : null
    trees.delete(key)
    return { ...answer, id: tree.id, released: true, rescue, branch: branchOf(tree.name) }
  }

  function summarize(tree: Tree): WorkspaceSummary {
    const { id, path, name, base, createdAt } = tree
    return {
      ...{ id, path, kind: branchOf(name) === null ? 'sandbox' : 'branch', repository: commonDir, branch: branchOf(name), operator: operatorOf(name), base },
      ...{
        state: tree.files ? 'ready' : 'missing',
        head: tipOf(tree),
        headBranch: null,
        ahead: null,
        behind: null,
        dirty: null,
        operation: null,
        locked: null,
      },
      ...{ setup: null, running: [], bytes: null, ports: [], overlay: null, createdAt, usedAt: createdAt, warnings: [] },
    }
  }

  async function call<T>(method: Method, request: unknown, signal: AbortSignal | undefined, work: () => T): Promise<T> {
    calls.push({ method, request })
    if (signal?.aborted) throw failure('canceled', {})
    const at = failures.findIndex((each) => each.method === method)
    const [planned] = at < 0 ? [] : failures.splice(at, 1)
    if (planned?.when === 'before') throw planned.error
    const result = work()
    if (planned?.when === 'after') throw planned.error
    return result
  }

  const another = (): WorkspaceProvider => ({
    name: 'fake',
    describe: (request) =>
      call('describe', request, undefined, () => {
        const { name: _, ...described } = describe(request)
        return described
      }),
    open: (request, { signal } = {}) => call('open', request, signal, () => open(request)),
    release: (request, { signal } = {}) => call('release', request, signal, () => release(request)),
    list: (request) => call('list', request, undefined, () => [...trees.values()].map(summarize)),
  })

  return {
    provider: another(),
    calls,
    another,
    fail: (method, error, when = 'before') => void failures.push({ method, error, when }),
    read: (path, file) => [...trees.values()].find((each) => each.path === path)?.files?.get(file),
    write: (path, file, text) => void treeAt(path).files.set(file, text),
    commit(path) {
      const tree = treeAt(path)
      tree.sha = addCommit(tree.files)
      const branch = branchOf(tree.name)
      if (branch !== null) branches.set(branch, tree.sha)
      return tree.sha
    },
    head: (path) => ({ branch: branchOf(treeAt(path).name), sha: tipOf(treeAt(path)) }),
    branch: (name) => branches.get(name),
    advanceBase() {
      const sha = addCommit(filesOf(branches.get('main') as string))
      branches.set('main', sha)
      return sha
    },
    removeTree(path) {
      const tree = treeAt(path)
      tree.sha = tipOf(tree)
      ;(tree as Tree).files = null
    },
  }
}

function toName({ branch, operator }: Pick<OpenWorkspaceRequest, 'branch' | 'operator'>): WorkspaceName {
  if (branch !== undefined && operator !== undefined)
    throw failure('invalid', { field: 'operator', value: operator, accepted: 'a branch or an operator, not both' })
  if (branch === undefined && operator === undefined) throw failure('invalid', { field: 'branch', value: branch, accepted: 'a branch, or an operator' })
  if (branch === undefined) return { operator: operator as string }
  checkBranch(branch)
  return { branch }
}
