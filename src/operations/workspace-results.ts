import { array, boolean, description, type InferOutput, nullable, number, optional, picklist, pipe, strictObject, string } from 'valibot'
import { setupStates, workspaceKinds } from '../core/workspace.ts'
import type { OpenedWorkspace, ReleasedWorkspace, WorkspaceSummary } from '../core/workspace-provider.ts'

/** What programs read of workspaces: the answers of workspace open, release and list. Published as a JSON Schema. */

const said = (about: string) => description<string, string>(about)

const base = strictObject({
  source: pipe(picklist(['remote', 'local', 'existing']), description('remote: fetched now; local: as it was here; existing: the branch was there.')),
  ref: pipe(string(), said('The base as it was found: a full ref, or a commit.')),
  sha: pipe(string(), said('The commit that the workspace begins at, or, of existing, is at.')),
  behind: pipe(nullable(number()), description('Commits of the base that the workspace does not have; null where that cannot be told.')),
  remoteError: pipe(nullable(string()), description('All that git said when nothing could be fetched.')),
})

const process = strictObject({ pid: number(), startTime: string() })

const setup = strictObject({
  command: string(),
  state: picklist(setupStates),
  attempt: pipe(number(), description('How often it was begun.')),
  run: pipe(nullable(string()), description('The run with its output.')),
  ended: nullable(string()),
  holder: nullable(process),
  inputs: optional(string()),
})

const action = strictObject({ name: string(), status: picklist(['done', 'skipped', 'failed']), detail: pipe(string(), said('One sentence.')) })

const named = {
  id: pipe(string(), said('10 hexadecimal digits.')),
  kind: picklist(workspaceKinds),
  path: pipe(string(), said('Absolute, without links.')),
  branch: pipe(nullable(string()), description('null of a sandbox.')),
  operator: nullable(string()),
}

export const openedSchema = strictObject({
  ...named,
  created: boolean(),
  base,
  setup: nullable(setup),
  ports: array(number()),
  isolation: picklist(['worktree', 'env-only']),
  copyOnWrite: boolean(),
  actions: pipe(array(action), description('What was done, in order; empty where it was there and healthy.')),
  warnings: array(string()),
})

export const releasedSchema = strictObject({
  id: string(),
  released: pipe(boolean(), description('false where there was nothing to release any more.')),
  rescue: pipe(nullable(string()), description('The ref that holds what was saved.')),
  branch: nullable(string()),
  stopped: pipe(array(string()), description('Runs that were stopped for it.')),
  actions: array(action),
  warnings: array(string()),
})

const overlay = strictObject({ lower: array(string()), upper: string(), work: string() })

export const summarySchema = strictObject({
  ...named,
  repository: pipe(string(), said('The common git folder.')),
  state: pipe(
    picklist(['creating', 'ready', 'releasing', 'missing', 'unregistered']),
    description('missing: its folder is gone; unregistered: git does not know it. Both are mended by opening it again.'),
  ),
  base,
  head: nullable(string()),
  headBranch: pipe(nullable(string()), description('What is checked out, where that is another branch.')),
  ahead: nullable(number()),
  behind: nullable(number()),
  dirty: pipe(
    nullable(strictObject({ staged: number(), changed: number(), untracked: number(), conflicted: number() })),
    description('null where nobody asked.'),
  ),
  operation: nullable(string()),
  locked: nullable(string()),
  setup: nullable(setup),
  running: array(strictObject({ run: string(), command: string() })),
  bytes: nullable(number()),
  ports: array(number()),
  overlay: nullable(overlay),
  createdAt: string(),
  usedAt: string(),
  warnings: array(string()),
})

export const listedSchema = array(summarySchema)

// Fails to compile when a type that the code uses and the schema that is published part ways.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type DeepReadonly<T> = T extends (infer E)[] ? readonly DeepReadonly<E>[] : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T
export const openedMatches: Same<DeepReadonly<InferOutput<typeof openedSchema>>, OpenedWorkspace> = true
export const releasedMatches: Same<DeepReadonly<InferOutput<typeof releasedSchema>>, ReleasedWorkspace> = true
export const summaryMatches: Same<DeepReadonly<InferOutput<typeof summarySchema>>, WorkspaceSummary> = true
