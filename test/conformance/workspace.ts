import { describe, expect, it } from 'vitest'
import type { OpenWorkspaceRequest, ProviderCall, WorkspaceProvider } from '../../src/core/workspace-provider.ts'

/** One repository, and a provider of workspaces of it: for one test alone. */
export interface WorkspaceHarness extends AsyncDisposable {
  readonly provider: WorkspaceProvider
  /** For the field `repo` of each request. */
  readonly repo: string
  /** The name of a base that is there, and the whole name of its commit. */
  readonly base: string
  readonly baseSha: string
  /** A file that the base has, by its path in the tree, and its text. */
  readonly file: { readonly path: string; readonly text: string }
  /** Another provider of the same workspaces, as another process would have it. */
  another(): WorkspaceProvider
  read(path: string, file: string): Promise<string | undefined>
  write(path: string, file: string, text: string): Promise<void>
  /** Commits all that is in the tree; the whole name of the commit. */
  commit(path: string, message: string): Promise<string>
  /** What is checked out in a tree; null for the branch of a sandbox. */
  head(path: string): Promise<{ readonly branch: string | null; readonly sha: string }>
  /** Where a branch is; undefined where there is none. */
  branch(name: string): Promise<string | undefined>
  /** Moves the branch of the base on by a commit, without anybody knowing of it here; the new commit. */
  advanceBase(): Promise<string>
  /** Takes a tree away, not by a release. */
  removeTree(path: string): Promise<void>
}

/** Requirements that an implementation cannot meet yet, by their ids, and why. Each must fail: the day that it holds, its entry has to go. */
export type KnownFailures = Readonly<Record<string, string>>

type Body = (harness: WorkspaceHarness) => Promise<void>

/**
 * What everything that gives out workspaces must do. `openHarness` is called once for each test. Needs vitest alone.
 */
export function describeWorkspaceProvider(name: string, openHarness: () => Promise<WorkspaceHarness>, knownFailures: KnownFailures = {}): void {
  describe(`${name} gives out workspaces`, () => {
    for (const { id, title, body } of requirements) {
      const run = async (): Promise<void> => {
        await using harness = await openHarness()
        await body(harness)
      }
      if (knownFailures[id] === undefined) it(`${title} [${id}]`, run)
      else it.fails(`${title} [${id}: known to fail, ${knownFailures[id]}]`, run)
    }
    it('the failures that are known are of requirements that there are', () => {
      expect(Object.keys(knownFailures).filter((id) => !requirements.some((each) => each.id === id))).toEqual([])
    })
  })
}

/** What a branch or an operator is asked for with. */
const of = ({ repo, base }: WorkspaceHarness, request: Pick<OpenWorkspaceRequest, 'branch' | 'operator'>): OpenWorkspaceRequest => ({ repo, base, ...request })

const reasonOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    return { resolved: await promise }
  } catch (error) {
    return (error as { details?: { reason?: unknown } }).details?.reason ?? error
  }
}

interface Requirement {
  readonly id: string
  readonly title: string
  readonly body: Body
}

const requirements: readonly Requirement[] = [
  {
    id: 'open.usable',
    title: 'a new workspace is a copy on its own branch, with evidence of where that began, and can be written to',
    async body(harness) {
      const { provider, baseSha, file } = harness
      const opened = await provider.open(of(harness, { branch: 'work' }))
      expect(opened).toMatchObject({ kind: 'branch', branch: 'work', operator: null, created: true })
      expect(opened.base.sha).toBe(baseSha)
      expect(['remote', 'local']).toContain(opened.base.source)
      expect(opened.actions.length).toBeGreaterThan(0)
      expect(await harness.head(opened.path)).toEqual({ branch: 'work', sha: baseSha })
      expect(await harness.read(opened.path, file.path)).toBe(file.text)
      await harness.write(opened.path, 'new.txt', 'new\n')
      const sha = await harness.commit(opened.path, 'a change')
      expect([await harness.head(opened.path), await harness.branch('work')]).toEqual([{ branch: 'work', sha }, sha])
    },
  },
  {
    id: 'open.idempotent',
    title: 'opened again it is given back as it is, and its uncommitted work with it',
    async body(harness) {
      const { provider, baseSha } = harness
      const first = await provider.open(of(harness, { branch: 'work' }))
      await harness.write(first.path, 'scratch.txt', 'mine\n')
      for (const each of [provider, harness.another()]) {
        const again = await each.open(of(harness, { branch: 'work' }))
        expect(again).toMatchObject({ id: first.id, path: first.path, branch: 'work', created: false, actions: [] })
        expect(again.base).toMatchObject({ source: 'existing', sha: baseSha })
      }
      expect(await harness.read(first.path, 'scratch.txt')).toBe('mine\n')
    },
  },
  {
    id: 'open.resumes',
    title: 'a branch that is there is never made anew, also when its base went on',
    async body(harness) {
      const { provider } = harness
      const first = await provider.open(of(harness, { branch: 'work' }))
      await harness.write(first.path, 'kept.txt', 'kept\n')
      const sha = await harness.commit(first.path, 'kept')
      await provider.release({ workspace: first.id, repo: harness.repo })
      await harness.advanceBase()
      const again = await provider.open(of(harness, { branch: 'work' }))
      expect(again).toMatchObject({ created: false, base: { source: 'existing', sha } })
      expect(await harness.read(again.path, 'kept.txt')).toBe('kept\n')
    },
  },
  {
    id: 'open.fresh',
    title: 'a new branch begins at the base as it is now',
    async body(harness) {
      const newest = await harness.advanceBase()
      expect((await harness.provider.open(of(harness, { branch: 'work' }))).base).toMatchObject({ sha: newest })
    },
  },
  {
    id: 'open.rematerializes',
    title: 'a tree that was deleted is there again at the same place, at the tip of its branch',
    async body(harness) {
      const first = await harness.provider.open(of(harness, { branch: 'work' }))
      await harness.write(first.path, 'kept.txt', 'kept\n')
      const sha = await harness.commit(first.path, 'kept')
      await harness.removeTree(first.path)
      const again = await harness.another().open(of(harness, { branch: 'work' }))
      expect(again).toMatchObject({ id: first.id, path: first.path, created: false, base: { source: 'existing', sha } })
      expect(await harness.read(again.path, 'kept.txt')).toBe('kept\n')
    },
  },
  {
    id: 'open.together',
    title: 'opened many times at once there is one workspace, and all are given the same',
    async body(harness) {
      const providers = [harness.provider, harness.another(), harness.provider, harness.another()]
      const opened = await Promise.all(providers.map((provider) => provider.open(of(harness, { branch: 'work' }))))
      expect(new Set(opened.map(({ id, path }) => `${id} ${path}`)).size).toBe(1)
      expect(opened.filter(({ created }) => created)).toHaveLength(1)
    },
  },
  {
    id: 'open.apart',
    title: 'different branches have different trees, whatever their names have in common, and one does not see the work of another',
    async body(harness) {
      const branches = ['ab/x', 'ab-x', 'ab_x', 'AB.x', `${'long'.repeat(30)}/1`, `${'long'.repeat(30)}/2`]
      const opened = []
      for (const branch of branches) opened.push(await harness.provider.open(of(harness, { branch })))
      expect(new Set(opened.map(({ path }) => path.toLowerCase())).size).toBe(branches.length)
      expect(new Set(opened.map(({ id }) => id)).size).toBe(branches.length)
      await harness.write(opened[0]?.path ?? '', 'scratch.txt', 'mine\n')
      expect(await harness.read(opened[1]?.path ?? '', 'scratch.txt')).toBeUndefined()
    },
  },
  {
    id: 'open.refuses',
    title: 'a name that is no branch, a base that is not there, and neither branch nor operator are refused, each with its reason',
    async body(harness) {
      const { provider, repo } = harness
      for (const branch of ['-d', '../escape', 'x..y', 'name.lock', 'HEAD', '']) {
        expect([branch, await reasonOf(provider.open(of(harness, { branch })))]).toEqual([branch, 'invalid_branch'])
      }
      expect(await reasonOf(provider.open({ repo, base: 'no-such-base', branch: 'work' }))).toBe('unknown_base')
      expect(await harness.branch('work')).toBeUndefined()
      expect(await reasonOf(provider.open({ repo }))).toBe('invalid')
      expect(await reasonOf(provider.open({ repo, branch: 'a', operator: 'b' }))).toBe('invalid')
      expect(await provider.list({ repo })).toEqual([])
    },
  },
  {
    id: 'open.cancels',
    title: 'canceled before it began it makes nothing',
    async body(harness) {
      const canceled: ProviderCall = { signal: AbortSignal.abort() }
      expect(await reasonOf(harness.provider.open(of(harness, { branch: 'work' }), canceled))).toBe('canceled')
      expect([await harness.branch('work'), await harness.provider.list({ repo: harness.repo })]).toEqual([undefined, []])
    },
  },
  {
    id: 'sandbox.detached',
    title: 'an operator has one sandbox, on no branch, which goes on where it was left',
    async body(harness) {
      const { provider, baseSha } = harness
      const opened = await provider.open(of(harness, { operator: 'ada' }))
      expect(opened).toMatchObject({ kind: 'sandbox', branch: null, operator: 'ada', created: true })
      expect(await harness.head(opened.path)).toEqual({ branch: null, sha: baseSha })
      await harness.write(opened.path, 'scratch.txt', 'mine\n')
      expect(await provider.open(of(harness, { operator: 'ada' }))).toMatchObject({ id: opened.id, path: opened.path, created: false, actions: [] })
      expect(await harness.read(opened.path, 'scratch.txt')).toBe('mine\n')
      expect((await provider.open(of(harness, { operator: 'bob' }))).path).not.toBe(opened.path)
    },
  },
  {
    id: 'describe.makes-nothing',
    title: 'what a workspace will be is told without making it',
    async body(harness) {
      const { provider, repo } = harness
      const described = await provider.describe({ repo, branch: 'work' })
      expect(described.exists).toBe(false)
      expect([await harness.branch('work'), await provider.list({ repo })]).toEqual([undefined, []])
      const opened = await provider.open(of(harness, { branch: 'work' }))
      expect([opened.id, opened.path]).toEqual([described.id, described.path])
      expect(await provider.describe({ repo, branch: 'work' })).toEqual({ ...described, exists: true })
    },
  },
  {
    id: 'list.names',
    title: 'a list has what is open, and says where and at what',
    async body(harness) {
      const { provider, repo, baseSha } = harness
      const work = await provider.open(of(harness, { branch: 'work' }))
      const ada = await provider.open(of(harness, { operator: 'ada' }))
      const listed = await provider.list({ repo })
      expect(listed.map(({ id }) => id).sort()).toEqual([work.id, ada.id].sort())
      const shown = listed.find(({ id }) => id === work.id)
      expect(shown).toMatchObject({ kind: 'branch', path: work.path, branch: 'work', operator: null, state: 'ready', head: baseSha })
    },
  },
  {
    id: 'release.keeps-branch',
    title: 'a release removes the tree and never the branch',
    async body(harness) {
      const { provider, repo, baseSha } = harness
      const opened = await provider.open(of(harness, { branch: 'work' }))
      expect(await provider.release({ workspace: opened.id, repo })).toMatchObject({ id: opened.id, released: true, rescue: null, branch: 'work' })
      expect([await harness.read(opened.path, harness.file.path), await harness.branch('work'), await provider.list({ repo })]).toEqual([
        undefined,
        baseSha,
        [],
      ])
    },
  },
  {
    id: 'release.twice',
    title: 'a release of what was released before is no failure',
    async body(harness) {
      const { provider, repo } = harness
      const opened = await provider.open(of(harness, { branch: 'work' }))
      await provider.release({ workspace: opened.id, repo })
      for (const each of [provider, harness.another()]) {
        expect(await each.release({ workspace: opened.id, repo })).toMatchObject({ id: opened.id, released: false, rescue: null })
      }
    },
  },
  {
    id: 'release.saves',
    title: 'what would be lost with the tree is saved by a release, or the release is refused, as asked',
    async body(harness) {
      const { provider, repo } = harness
      const opened = await provider.open(of(harness, { branch: 'work' }))
      await harness.write(opened.path, 'scratch.txt', 'mine\n')
      expect(await reasonOf(provider.release({ workspace: opened.id, repo, mode: 'refuse' }))).toBe('workspace_dirty')
      expect(await harness.read(opened.path, 'scratch.txt')).toBe('mine\n')
      const released = await provider.release({ workspace: opened.id, repo })
      expect(released.released).toBe(true)
      expect(released.rescue).toEqual(expect.stringMatching(/./))
    },
  },
]
