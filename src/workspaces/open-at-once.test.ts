import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { buildActor, runActor } from '../../test/support/run-actor.ts'
import { openWorld } from '../../test/support/world.ts'
import type { OpenedWorkspace } from '../core/workspace-provider.ts'
import { listTrees } from '../git/admin.ts'
import { openWorkspace } from './open.ts'

/** Eight, as many agents as work on one repository on a large machine. */
const processes = 8
const rounds = 3

const actorWorld = openWorld()
let actor: string
beforeAll(async () => {
  actor = await buildActor(actorWorld.path('actor'))
  return () => actorWorld[Symbol.asyncDispose]()
})

const branches = (names: readonly string[]): string[] => names.map((name) => `refs/heads/${name}`).sort()

it(`${processes} processes that open the same branch at once get the same tree, ${rounds} times`, async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.remote(repo)
  for (let round = 0; round < rounds; round += 1) {
    const branch = `same-${round}`
    const acted = await Promise.all(Array.from({ length: processes }, () => runActor(actor, world, [[{ open: { repo, branch, base: 'main' } }]])))
    const opened = acted.flatMap(({ answers }) => answers as OpenedWorkspace[])
    expect(opened.map(({ path, branch: name }) => [path, name])).toEqual(Array.from({ length: processes }, () => [opened[0]?.path, branch]))
    expect(opened.filter(({ created }) => created)).toHaveLength(1)
    expect(listTrees(join(repo, '.git')).filter((tree) => tree.branch === branch)).toHaveLength(1)
  }
  expect(world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast')).toBe('')
}, 120_000)

it(`${processes} processes that open different branches at once each get their own tree, ${rounds} times`, async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.remote(repo)
  const all: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const names = Array.from({ length: processes }, (_, n) => `own-${round}/${n}`)
    const acted = await Promise.all(names.map((branch) => runActor(actor, world, [[{ open: { repo, branch, base: 'main' } }]])))
    const opened = acted.flatMap(({ answers }) => answers as OpenedWorkspace[])
    expect(opened.map(({ branch, created }) => [branch, created])).toEqual(names.map((name) => [name, true]))
    expect(new Set(opened.map(({ path }) => path)).size).toBe(processes)
    for (const { path, branch } of opened) expect(world.sh(path, 'status', '--porcelain', '--branch')).toBe(`## ${branch}`)
    all.push(...names)
  }
  expect(world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/heads').split('\n').sort()).toEqual(branches(['main', ...all]))
  expect(world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast')).toBe('')
  const folders = readdirSync(world.path('workspaces')).filter((name) => !name.startsWith('.'))
  expect(folders.flatMap((name) => readdirSync(world.path('workspaces', name)))).toHaveLength(all.length)
}, 120_000)

it('processes that open and release the same workspace at once never fail, and lose nothing', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const own = { repo, branch: 'work', base: 'main' }
  const steps = [[{ open: own }], [{ release: { repo, workspace: 'work' } }], [{ open: own }]]
  const acted = await Promise.all(Array.from({ length: 4 }, () => runActor(actor, world, steps)))
  const failed = acted.flatMap(({ answers }) => answers.filter((answer) => (answer as { error?: string }).error !== undefined))
  expect(failed).toEqual([])
  const opened = await openWorkspace(world.context(), own)
  expect(listTrees(join(repo, '.git')).map(({ path }) => path)).toEqual([repo, opened.path])
  expect(world.sh(opened.path, 'status', '--porcelain')).toBe('')
}, 120_000)

it('many calls of one process at once agree, too, also on a tree that has to be mended', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const open = (): Promise<OpenedWorkspace> => openWorkspace(world.context(), { repo, branch: 'work' })
  const first = await Promise.all(Array.from({ length: 5 }, open))
  expect(new Set(first.map(({ path }) => path)).size).toBe(1)
  expect(first.filter(({ created }) => created)).toHaveLength(1)
  world.sh(repo, 'worktree', 'unlock', first[0]?.path ?? '')
  const again = await Promise.all(Array.from({ length: 5 }, open))
  expect(again.flatMap(({ actions }) => actions.map(({ name }) => name))).toEqual(['locked'])
})
