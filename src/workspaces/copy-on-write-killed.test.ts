import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { GitWorld } from '../../test/support/git-world.ts'
import { canMountOverlays, endMount, openOverlayWorld } from '../../test/support/overlay-world.ts'
import { random } from '../../test/support/random.ts'
import { buildActor, type Fault, runActor } from '../../test/support/run-actor.ts'
import { openWorld } from '../../test/support/world.ts'
import type { OpenWorkspaceRequest } from '../core/workspace-provider.ts'
import { listHalfMadeTrees, listTrees } from '../git/admin.ts'
import { listOverlayMounts } from './mounts.ts'
import { openWorkspace } from './open.ts'
import { collectBases } from './overlay.ts'
import { releaseWorkspace } from './release.ts'

const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)
/** How many of its steps each case is killed at; 0: at each of them, before and after. */
const pointsOfCase = Number(process.env.HOLDFAST_FAULT_POINTS ?? 4)

const canMount = await canMountOverlays()
const actorWorld = openWorld()
let actor: string
beforeAll(async () => {
  actor = await buildActor(actorWorld.path('actor'))
})
afterAll(() => actorWorld[Symbol.asyncDispose]())

interface Scene {
  readonly repo: string
  readonly request: OpenWorkspaceRequest
  readonly step: 'open' | 'release'
  /** Whether `precious.txt` was written before. */
  readonly isPrecious: boolean
}

async function begun(world: GitWorld) {
  const repo = world.repository('repo', { 'a.txt': 'a\n', 'deep/b.txt': 'b\n', '.gitignore': 'deps\n' })
  const request = { repo, branch: 'work', base: 'main', copyOnWrite: true, remotePolicy: 'local' } as const
  return { repo, request }
}

async function opened(world: GitWorld) {
  const scene = await begun(world)
  const { path } = await openWorkspace(world.context(), scene.request)
  writeFileSync(join(path, 'precious.txt'), 'precious\n')
  return { ...scene, path }
}

const cases: Readonly<Record<string, (world: GitWorld) => Promise<Scene>>> = {
  'the first open of a commit': async (world) => ({ ...(await begun(world)), step: 'open', isPrecious: false }),
  'an open that finds the frozen checkout': async (world) => {
    const scene = await begun(world)
    await openWorkspace(world.context(), { ...scene.request, branch: 'first' })
    await releaseWorkspace(world.context(), { repo: scene.repo, workspace: 'first' })
    return { ...scene, step: 'open', isPrecious: false }
  },
  'an open after the machine was started anew': async (world) => {
    const { repo, request, path } = await opened(world)
    await endMount(world, path)
    return { repo, request, step: 'open', isPrecious: true }
  },
  'a release that saves work': async (world) => {
    const { repo, request } = await opened(world)
    return { repo, request, step: 'release', isPrecious: true }
  },
}

describe.runIf(canMount)('kill -9, with copy-on-write, in the middle of', () => {
  for (const [name, prepare] of Object.entries(cases)) {
    it(name, async () => {
      const log = await runFor(prepare, { at: 0, when: 'before' }, async () => {})
      expect(log.length).toBeGreaterThan(3)
      const numbers = random(seed + name.length)
      const all = log.flatMap((_, index): Fault[] => (['before', 'after'] as const).map((when) => ({ at: index + 1, when })))
      const chosen = pointsOfCase === 0 ? all : Array.from({ length: pointsOfCase }, () => numbers.pick(all))
      for (const fault of chosen) {
        const where = `HOLDFAST_SEED=${seed}, ${fault.when} step ${fault.at} of ${log.length}, ${log[fault.at - 1]}`
        await runFor(prepare, fault, (world, scene) => expectWhole(world, scene, where))
      }
    }, 600_000)
  }
})

async function runFor(
  prepare: (world: GitWorld) => Promise<Scene>,
  fault: Fault,
  check: (world: GitWorld, scene: Scene) => Promise<void>,
): Promise<readonly string[]> {
  await using world = openOverlayWorld()
  const scene = await prepare(world)
  const { repo, request, step } = scene
  const { log } = await runActor(actor, world, [[step === 'open' ? { open: request } : { release: { repo, workspace: 'work' } }]], fault)
  await check(world, scene)
  return log
}

/** One healthy workspace, its work in it or saved, and nothing else: no mount, no changes of another, one frozen checkout. */
async function expectWhole(world: GitWorld, { repo, request, isPrecious }: Scene, where: string): Promise<void> {
  const context = world.context()
  const { path, copyOnWrite } = await openWorkspace(context, request)
  const saved = world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast/rescue').split('\n').filter(Boolean)
  const changes = world.sh(path, 'status', '--porcelain')
  expect([copyOnWrite, world.sh(path, 'branch', '--show-current'), readFileSync(join(path, 'deep/b.txt'), 'utf8')], where).toEqual([true, 'work', 'b\n'])
  if (isPrecious && changes === '')
    expect(
      saved.map((ref) => world.sh(repo, 'show', `${ref}:precious.txt`)),
      where,
    ).toContain('precious')
  else expect(changes, where).toBe(isPrecious ? '?? precious.txt' : '')
  expect(
    listTrees(join(repo, '.git'))
      .map((tree) => tree.path)
      .sort(),
    where,
  ).toEqual([repo, path].sort())
  expect(listHalfMadeTrees(join(repo, '.git')), where).toEqual([])
  const mounted = listOverlayMounts().filter((mount) => mount.path.startsWith(`${world.folder}/`) && !mount.path.includes('/probe-'))
  const kept = readdirSync(join(context.root, '.overlays')).filter((name) => !name.startsWith('probe-'))
  expect([mounted.map((mount) => mount.path), kept.length], where).toEqual([[path], 1])
  await collectBases(context, { dryRun: false })
  const store = join(context.root, '.bases', readdirSync(join(context.root, '.bases'))[0] as string)
  expect(
    readdirSync(store).filter((name) => /^[0-9a-f]{40}-[0-9a-f]{8}\./.test(name) && !name.endsWith('.json')),
    where,
  ).toHaveLength(1)
}
