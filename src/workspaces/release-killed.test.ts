import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { buildActor, type Fault, runActor } from '../../test/support/run-actor.ts'
import { openWorld } from '../../test/support/world.ts'
import { listTrees } from '../git/admin.ts'
import { openRepository } from '../git/open.ts'
import { readRescues } from '../git/rescue-list.ts'
import { trashFolder } from './layout.ts'
import { openWorkspace } from './open.ts'
import { listRecords } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { scratchFolder } from './trash.ts'

const actorWorld = openWorld()
let actor: string
beforeAll(async () => {
  actor = await buildActor(actorWorld.path('actor'))
})
afterAll(() => actorWorld[Symbol.asyncDispose]())

/** At how many steps, spread evenly, the release is killed; 0: at each of them, before and after. */
const pointsOfRun = Number(process.env.HOLDFAST_FAULT_POINTS ?? 8)

const precious = 'only here\n'

/** A workspace with an untracked file, a staged one, and a commit on no branch; then its release in a process that is killed. */
async function kill(world: GitWorld, fault: Fault) {
  const repo = world.repository('repository')
  const context = world.context({ base: repo, background: () => {} })
  const opened = await openWorkspace(context, { repo, branch: 'work', remotePolicy: 'local' })
  world.sh(opened.path, 'checkout', '--quiet', '--detach')
  const lone = world.commit(opened.path, { lone: 'lone\n' })
  writeFileSync(join(opened.path, 'untracked'), precious)
  writeFileSync(join(opened.path, 'staged'), precious)
  world.sh(opened.path, 'add', 'staged')
  const acted = await runActor(actor, world, [[{ release: { workspace: opened.id, repo } }]], fault)
  return { repo, context, lone, acted, ...opened }
}

/** Steps that only look are no points at which something is half done. */
const looks = /^spawn git .*\b(?:version|config --list|status|ls-files|rev-list|rev-parse|for-each-ref|cat-file|symbolic-ref)\b/

async function choosePoints(): Promise<{ fault: Fault; step: string }[]> {
  await using world = openGitWorld()
  const { log } = (await kill(world, { at: 0, when: 'after' })).acted
  const all = log.flatMap((step, at) => (looks.test(step) ? [] : (['before', 'after'] as const).map((when) => ({ step, fault: { at: at + 1, when } }))))
  const every = pointsOfRun === 0 ? 1 : all.length / pointsOfRun
  return all.filter((_, at) => Math.floor(at / every) !== Math.floor((at - 1) / every))
}

/** All of the work is somewhere: in the tree as it was, or in what was saved. */
async function requireKept(world: GitWorld, { repo, path, lone, context }: Awaited<ReturnType<typeof kill>>, where: string): Promise<void> {
  const repository = await openRepository(context, repo)
  const saved = await readRescues(repository)
  const isInTree = existsSync(join(path, 'untracked')) && world.sh(path, 'rev-parse', 'HEAD') === lone
  if (isInTree) {
    const files = ['untracked', 'staged'].map((name) => readFileSync(join(path, name), 'utf8'))
    expect([where, ...files, world.sh(path, 'ls-files', '--', 'staged')]).toEqual([where, precious, precious, 'staged'])
  } else {
    const sha = saved[0]?.rescue.sha ?? where
    expect(world.sh(repo, 'show', `${sha}:untracked`)).toBe(precious.trim())
    expect(world.sh(repo, 'rev-list', sha).split('\n')).toContain(lone)
  }
}

describe('a release that is killed at any step', () => {
  it('loses nothing, and is finished by releasing again', async () => {
    const points = await choosePoints()
    expect(points.length).toBeGreaterThanOrEqual(Math.max(pointsOfRun, 1))
    for (const { fault, step } of points) {
      await using world = openGitWorld()
      const left = await kill(world, fault)
      const { context, repo, id, path, acted } = left
      const where = `killed ${fault.when} step ${fault.at}, ${step}`
      expect([where, acted.signal]).toEqual([where, 'SIGKILL'])
      await requireKept(world, left, where)
      await releaseWorkspace(context, { workspace: id, repo })
      await requireKept(world, left, where)
      const commonDir = join(repo, '.git')
      const after = [existsSync(path), listRecords(commonDir), listTrees(commonDir).length, world.sh(repo, 'branch', '--list', 'work')]
      expect([where, ...after]).toEqual([where, false, [], 1, 'work'])
      rmSync(trashFolder(context.root), { recursive: true, force: true })
      // It is there, and nothing in it.
      if (existsSync(scratchFolder(context.root))) rmdirSync(scratchFolder(context.root))
      expect([where, ...readdirSync(context.root, { recursive: true })]).toEqual([where])
    }
  }, 900_000)
})
