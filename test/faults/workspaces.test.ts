import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenedWorkspace, OpenWorkspaceRequest } from '../../src/core/workspace-provider.ts'
import { listHalfMadeTrees, listTrees } from '../../src/git/admin.ts'
import { repositoryFiles } from '../../src/workspaces/layout.ts'
import { openWorkspace } from '../../src/workspaces/open.ts'
import { releaseWorkspace } from '../../src/workspaces/release.ts'
import { type GitWorld, openGitWorld } from '../support/git-world.ts'
import { type Random, random } from '../support/random.ts'
import { buildActor, type Fault, runActor } from '../support/run-actor.ts'
import type { ActorStep } from '../support/workspace-actor.ts'
import { openWorld } from '../support/world.ts'

/*
 * Whoever opens or releases a workspace is killed at a step of it: before or after anything is written, and around each start of git, which
 * then goes on alone. Opened again, there is one healthy workspace, no commit and no file is lost, and nothing is left over.
 */

const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)
/** How many of its steps each case is killed at; 0: at each of them, before and after. */
const pointsOfCase = Number(process.env.HOLDFAST_FAULT_POINTS ?? 5)

const boundMs = pointsOfCase === 0 ? 3_600_000 : 600_000

interface Scene {
  readonly repo: string
  /** The request that is opened in the end. */
  readonly request: OpenWorkspaceRequest
  /** What is killed in the middle of it. */
  readonly steps: readonly (readonly ActorStep[])[]
  /** Branches that were there before. */
  readonly branches: readonly string[]
  /** Commits that must be there afterwards, on a branch or in a rescue. */
  readonly commits: readonly string[]
  /** Contents of `precious.txt`, which must be in the tree or in a rescue afterwards; and which must be in the tree. */
  readonly precious?: string
  readonly staysInTree?: boolean
}

const cases: Readonly<Record<string, (world: GitWorld) => Promise<Scene>>> = {
  'the first open of a new branch': async (world) => {
    const repo = withRemote(world)
    const request = { repo, branch: 'work', base: 'main' }
    return { repo, request, steps: [[{ open: request }]], branches: ['main'], commits: [] }
  },
  'the first open of a branch that is behind what was published': async (world) => {
    const repo = withRemote(world)
    world.sh(repo, 'branch', 'work')
    const published = world.commit(repo, { 'published.txt': '1' })
    world.sh(repo, 'update-ref', 'refs/remotes/origin/work', published)
    const request = { repo, branch: 'work' }
    return { repo, request, steps: [[{ open: request }]], branches: ['main', 'work'], commits: [published] }
  },
  'the first open of a sandbox': async (world) => {
    const repo = withRemote(world)
    const request = { repo, operator: 'ada', base: 'main' }
    return { repo, request, steps: [[{ open: request }]], branches: ['main'], commits: [] }
  },
  'an open that makes a deleted folder anew': async (world) => {
    const { repo, path, request } = await opened(world)
    world.sh(path, 'checkout', '-q', '--detach')
    const lone = world.commit(path, { 'lone.txt': '1' })
    rmSync(path, { recursive: true })
    return { repo, request, steps: [[{ open: request }]], branches: ['main', 'work'], commits: [lone] }
  },
  'an open that registers a forgotten tree again': async (world) => {
    const { repo, path, request } = await opened(world)
    writeFileSync(join(path, 'precious.txt'), 'precious\n')
    rmSync(join(repo, '.git', 'worktrees'), { recursive: true })
    return { repo, request, steps: [[{ open: request }]], branches: ['main', 'work'], commits: [], precious: 'precious\n', staysInTree: true }
  },
  'a release that saves work': async (world) => {
    const { repo, path, request } = await opened(world)
    const commit = world.commit(path, { 'kept.txt': '1' })
    writeFileSync(join(path, 'precious.txt'), 'precious\n')
    return { repo, request, steps: [[{ release: { repo, workspace: 'work' } }]], branches: ['main', 'work'], commits: [commit], precious: 'precious\n' }
  },
}

function withRemote(world: GitWorld): string {
  const repo = world.repository('repo', { 'a.txt': 'a\n', 'deep/b.txt': 'b\n' })
  world.remote(repo)
  return repo
}

async function opened(world: GitWorld): Promise<{ repo: string; path: string; request: OpenWorkspaceRequest }> {
  const repo = withRemote(world)
  const request = { repo, branch: 'work', base: 'main' }
  const { path } = await openWorkspace(world.context(), request)
  return { repo, path, request }
}

const actorWorld = openWorld()
let actor: string
beforeAll(async () => {
  actor = await buildActor(actorWorld.path('actor'))
})
afterAll(() => actorWorld[Symbol.asyncDispose]())

describe('kill -9 in the middle of', () => {
  for (const [name, prepare] of Object.entries(cases)) {
    it.concurrent(
      name,
      async () => {
        const log = await countSteps(prepare)
        expect(log.length).toBeGreaterThan(5)
        for (const fault of choose(log, random(seed + name.length))) {
          await using world = openGitWorld()
          const scene = await prepare(world)
          await inContext(`HOLDFAST_SEED=${seed}, ${fault.when} step ${fault.at} of ${log.length}, ${log[fault.at - 1]}`, async () => {
            const { signal } = await runActor(actor, world, scene.steps, fault)
            expect(signal).toBe('SIGKILL')
            await expectWhole(world, scene)
          })
        }
      },
      boundMs,
    )
  }
})

async function countSteps(prepare: (world: GitWorld) => Promise<Scene>): Promise<readonly string[]> {
  await using world = openGitWorld()
  const scene = await prepare(world)
  const { log } = await runActor(actor, world, scene.steps, { at: 0, when: 'before' })
  return log
}

function choose(log: readonly string[], numbers: Random): Fault[] {
  const all = log.flatMap((_, index): Fault[] => [
    { at: index + 1, when: 'before' },
    { at: index + 1, when: 'after' },
  ])
  if (pointsOfCase === 0) return all
  const chosen = new Set<Fault>()
  while (chosen.size < Math.min(pointsOfCase, all.length)) chosen.add(numbers.pick(all))
  return [...chosen]
}

async function inContext(where: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    throw Object.assign(error as Error, { message: `${where}: ${(error as Error).message}` })
  }
}

async function expectWhole(world: GitWorld, { repo, request, branches, commits, precious, staysInTree }: Scene): Promise<void> {
  const context = world.context()
  const common = join(repo, '.git')
  const own = await openWorkspace(context, request)
  expect(await openWorkspace(context, request)).toMatchObject({ id: own.id, path: own.path, actions: [] })
  // Somebody else's slow way in lets go of what a dead one had fetched.
  const other = await openWorkspace(context, { repo, branch: 'other', base: 'main', remotePolicy: 'local' })
  const sandbox = request.operator !== undefined

  const trees = listTrees(common)
  expect(trees.map((tree) => tree.path).sort()).toEqual([repo, own.path, other.path].sort())
  expect(listHalfMadeTrees(common)).toEqual([])
  expect(trees.find((tree) => tree.path === own.path)?.branch).toBe(sandbox ? null : 'work')
  expect(readdirSync(repositoryFiles(common).records).filter((file) => file.endsWith('.json'))).toHaveLength(2)
  expect(foldersOfTrees(world).sort()).toEqual([own.path, other.path].sort())

  const heads = lines(world.sh(repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads'))
  expect(heads.sort()).toEqual([...new Set([...branches, 'other', ...(sandbox ? [] : ['work'])])].sort())
  const rescues = lines(world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast'))
  expect(rescues.filter((ref) => !ref.startsWith('refs/holdfast/rescue/'))).toEqual([])

  const changes = world.sh(own.path, 'status', '--porcelain', '--untracked-files=all')
  expect(changes).toBe(precious !== undefined && existsSync(join(own.path, 'precious.txt')) ? '?? precious.txt' : '')
  expect(readFileSync(join(own.path, 'deep/b.txt'), 'utf8')).toBe('b\n')
  for (const commit of commits) {
    expect(lines(world.sh(repo, 'for-each-ref', '--format=%(refname)', '--contains', commit)), `the commit ${commit} is kept`).not.toEqual([])
  }
  if (precious !== undefined) expect(keptContents(world, repo, own, rescues, staysInTree === true)).toContain(precious.trim())
}

const lines = (text: string): string[] => text.split('\n').filter(Boolean)

function foldersOfTrees(world: GitWorld): string[] {
  const root = world.path('workspaces')
  const folders = readdirSync(root).filter((name) => !name.startsWith('.'))
  return folders.flatMap((name) => readdirSync(join(root, name)).map((tree) => join(root, name, tree)))
}

function keptContents(world: GitWorld, repo: string, own: OpenedWorkspace, rescues: readonly string[], inTree: boolean): string[] {
  const file = join(own.path, 'precious.txt')
  const here = existsSync(file) ? [readFileSync(file, 'utf8').trim()] : []
  return inTree ? here : [...here, ...rescues.map((ref) => world.sh(repo, 'show', `${ref}:precious.txt`))]
}

it(
  'a release that was killed is finished by releasing again',
  async () => {
    const log = await countSteps(cases['a release that saves work'] as (world: GitWorld) => Promise<Scene>)
    for (const fault of choose(log, random(seed))) {
      await using world = openGitWorld()
      const scene = await (cases['a release that saves work'] as (world: GitWorld) => Promise<Scene>)(world)
      await inContext(`HOLDFAST_SEED=${seed}, ${fault.when} step ${fault.at} of ${log.length}, ${log[fault.at - 1]}`, async () => {
        await runActor(actor, world, scene.steps, fault)
        await releaseAtLast(world, scene.repo)
        const common = join(scene.repo, '.git')
        expect(listTrees(common)).toHaveLength(1)
        expect(foldersOfTrees(world)).toEqual([])
        expect(readdirSync(repositoryFiles(common).records).filter((file) => file.endsWith('.json'))).toEqual([])
        const rescues = lines(world.sh(scene.repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast'))
        expect(rescues.map((ref) => world.sh(scene.repo, 'show', `${ref}:precious.txt`))).toContain('precious')
        expect(world.sh(scene.repo, 'branch', '--contains', scene.commits[0] as string)).toContain('work')
      })
    }
  },
  boundMs,
)

/** A git that goes on alone in the tree keeps it from being removed until it is over. */
async function releaseAtLast(world: GitWorld, repo: string): Promise<void> {
  const until = Date.now() + 10_000
  for (;;) {
    const reason = await releaseWorkspace(world.context(), { repo, workspace: 'work' }).then(
      () => undefined,
      (error: { details?: { reason?: string } }) => error.details?.reason ?? error,
    )
    // Where it was over but for the answer, there is nothing of that name any more.
    if (reason === undefined || reason === 'workspace_not_found') return
    if (reason !== 'workspace_busy' || Date.now() > until) throw new Error(String(reason))
  }
}
