import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { GitWorld } from '../../test/support/git-world.ts'
import { canMountOverlays, endMount, openOverlayWorld } from '../../test/support/overlay-world.ts'
import { createGit } from '../git/git.ts'
import type { WorkspaceContext } from './context.ts'
import { keyOf } from './layout.ts'
import { listOverlayMounts } from './mounts.ts'
import { openWorkspace } from './open.ts'
import { readRecord, removeRecord } from './records.ts'
import { releaseWorkspace } from './release.ts'

const canMount = await canMountOverlays()

function opened(world: GitWorld, runProgram: WorkspaceContext['runProgram'] = world.runProgram) {
  const repo = world.repository('repo', { 'README.md': 'one\n', 'src/a.ts': 'a\n', '.gitignore': 'node_modules\n' })
  const context = world.context({ runProgram, git: createGit({ runProgram, ownEnv: world.env }) })
  const open = (branch = 'one', copyOnWrite = true) => openWorkspace(context, { repo, branch, base: 'main', copyOnWrite, remotePolicy: 'local' })
  const record = () => readRecord(join(repo, '.git'), keyOf({ branch: 'one' }))
  return { repo, context, open, record }
}

const status = (world: GitWorld, path: string): string => world.sh(path, 'status', '--porcelain')

describe.runIf(canMount)('a workspace that was opened copy-on-write', () => {
  it('is whole, says what it is, and is given back as it is, with at most 6 processes of git', async () => {
    await using world = openOverlayWorld()
    const programs: string[] = []
    const { open, record } = opened(world, (request) => {
      programs.push(request.argv[0])
      return world.runProgram(request)
    })
    const first = await open()
    expect([first.copyOnWrite, first.created, status(world, first.path), listOverlayMounts().some(({ path }) => path === first.path)]).toEqual([
      true,
      true,
      '',
      true,
    ])
    expect(record()?.overlay).toMatchObject({ upper: expect.any(String) })
    writeFileSync(join(first.path, 'src/a.ts'), 'changed\n')
    expect(programs).toEqual(expect.arrayContaining(['git', 'mount']))
    programs.length = 0
    const again = await open()
    expect([again.id, again.path, again.created, again.actions]).toEqual([first.id, first.path, false, []])
    expect(readFileSync(join(again.path, 'src/a.ts'), 'utf8')).toBe('changed\n')
    expect([programs.filter((program) => program !== 'git'), programs.length <= 6]).toEqual([[], true])
  })

  it('has its changes again when the machine was started anew, also where its record was lost', async () => {
    await using world = openOverlayWorld()
    const { open, repo, record } = opened(world)
    const { path } = await open()
    writeFileSync(join(path, 'new.txt'), 'new\n')
    await endMount(world, path)
    expect((await open()).actions.map(({ name }) => name)).toContain('mounted')
    expect(status(world, path)).toBe('?? new.txt')
    const { overlay } = record() ?? {}
    await endMount(world, path)
    removeRecord(join(repo, '.git'), keyOf({ branch: 'one' }))
    const adopted = await open()
    expect([adopted.path, adopted.actions.map(({ name }) => name).slice(0, 2)]).toEqual([path, ['mounted', 'adopted']])
    expect([status(world, path), record()?.overlay]).toEqual(['?? new.txt', overlay])
  })

  it('is mended like an ordinary one when its link is lost, and made anew when everything in it was deleted', async () => {
    await using world = openOverlayWorld()
    const { open, record } = opened(world)
    const { path } = await open()
    writeFileSync(join(path, 'new.txt'), 'new\n')
    rmSync(join(path, '.git'))
    expect((await open()).actions.map(({ name }) => name)).toEqual(['repaired-links'])
    expect(status(world, path)).toBe('?? new.txt')
    const { overlay } = record() ?? {}
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true })
    const { actions, copyOnWrite } = await open()
    expect([actions.map(({ name }) => name), copyOnWrite]).toEqual([expect.arrayContaining(['rematerialized']), true])
    expect([status(world, path), record()?.overlay?.upper === overlay?.upper, existsSync(overlay?.upper ?? '')]).toEqual(['', false, false])
  })

  it('comes to life from a release that was cut short, with its changes, also when the machine was started anew meanwhile', async () => {
    await using world = openOverlayWorld()
    const { open, repo, record } = opened(world)
    const { path } = await open()
    writeFileSync(join(path, 'new.txt'), 'new\n')
    const key = keyOf({ branch: 'one' })
    const file = join(repo, '.git', 'holdfast', 'workspaces', `${key}.json`)
    writeFileSync(file, JSON.stringify({ ...record(), state: 'releasing', holder: null }))
    await endMount(world, path)
    await open()
    expect([status(world, path), record()?.state]).toEqual(['?? new.txt', 'ready'])
  })

  it('is an ordinary one where a part of the files is checked out, and it is said', async () => {
    await using world = openOverlayWorld()
    const { context, repo, open } = opened(world)
    const skipped = expect.objectContaining({ name: 'copy-on-write', status: 'skipped', detail: expect.stringContaining('sparse') })
    const part = await openWorkspace(context, { repo, branch: 'part', base: 'main', copyOnWrite: true, sparse: ['src'], remotePolicy: 'local' })
    expect([part.copyOnWrite, part.actions, status(world, part.path)]).toEqual([false, expect.arrayContaining([skipped]), ''])
    world.sh(repo, 'sparse-checkout', 'set', 'src')
    const inherited = await open()
    expect([inherited.copyOnWrite, inherited.actions, status(world, inherited.path)]).toEqual([false, expect.arrayContaining([skipped]), ''])
  })

  it('is released like any other: its work is saved, nothing is mounted and nothing left, and a new one begins without it', async () => {
    await using world = openOverlayWorld()
    const { open, context, repo, record } = opened(world)
    const { path, id } = await open()
    const overlay = record()?.overlay
    writeFileSync(join(path, 'new.txt'), 'new\n')
    rmSync(join(path, 'src'), { recursive: true })
    // Also where the machine was started anew in between.
    await endMount(world, path)
    const released = await releaseWorkspace(context, { repo, workspace: id })
    expect(released).toMatchObject({ released: true, rescue: expect.stringContaining('refs/holdfast/rescue/') })
    expect(world.sh(repo, 'show', `${released.rescue}:new.txt`)).toBe('new')
    expect([existsSync(path), existsSync(overlay?.upper ?? ''), listOverlayMounts().some((mount) => mount.path === path)]).toEqual([false, false, false])
    expect([record(), world.sh(repo, 'worktree', 'list').split('\n').length, world.sh(repo, 'rev-parse', 'one')]).toEqual([
      undefined,
      1,
      world.sh(repo, 'rev-parse', 'main'),
    ])
    expect((await releaseWorkspace(context, { repo, workspace: id })).released).toBe(false)
    const again = await open()
    expect([again.path, again.copyOnWrite, status(world, path), existsSync(join(path, 'new.txt'))]).toEqual([path, true, '', false])
  })

  it('that lost everything, or only its link, is released without a deletion of all files being saved as work', async () => {
    await using world = openOverlayWorld()
    const { open, context, repo, record } = opened(world)
    const { path, id } = await open()
    rmSync(join(path, '.git'))
    await expect(releaseWorkspace(context, { repo, workspace: id })).rejects.toMatchObject({ details: { reason: 'workspace_unusable' } })
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true })
    expect(await releaseWorkspace(context, { repo, workspace: id })).toMatchObject({ released: true, rescue: null })
    expect([record(), existsSync(path)]).toEqual([undefined, false])
  })

  it('has ignored folders of the main checkout without copying them', async () => {
    await using world = openOverlayWorld()
    const { context, repo } = opened(world)
    mkdirSync(join(repo, 'node_modules/pkg'), { recursive: true })
    writeFileSync(join(repo, 'node_modules/pkg/index.js'), 'x\n')
    const { path } = await openWorkspace(context, { repo, branch: 'one', base: 'main', copyOnWrite: true, carry: ['node_modules'], remotePolicy: 'local' })
    const upper = readRecord(join(repo, '.git'), keyOf({ branch: 'one' }))?.overlay?.upper as string
    expect([readFileSync(join(path, 'node_modules/pkg/index.js'), 'utf8'), existsSync(join(upper, 'node_modules'))]).toEqual(['x\n', false])
    expect(status(world, path)).toBe('')
  })
})

it('an ordinary workspace that is there is opened with at most 6 processes of git, by a new process and with a remote, too', async () => {
  await using world = openOverlayWorld()
  const programs: string[] = []
  const { open, repo } = opened(world, (request) => {
    programs.push(request.argv[0])
    return world.runProgram(request)
  })
  world.remote(repo)
  const { id } = await open('one', false)
  expect(programs.length).toBeGreaterThan(2)
  programs.length = 0
  // Nothing that an earlier call found out is known to it.
  const runProgram: WorkspaceContext['runProgram'] = (request) => {
    programs.push(request.argv[0])
    return world.runProgram(request)
  }
  const context = world.context({ runProgram, git: createGit({ runProgram, ownEnv: world.env }) })
  expect((await openWorkspace(context, { repo, branch: 'one', base: 'main' })).id).toBe(id)
  expect(programs.length).toBeLessThanOrEqual(6)
})

it('the next new workspace of a commit takes at most 4 processes of git', async () => {
  await using world = openOverlayWorld()
  const programs: string[] = []
  const { context, repo } = opened(world, (request) => {
    programs.push(request.argv[0])
    return world.runProgram(request)
  })
  const counts: number[] = []
  for (const branch of ['one', 'two']) {
    for (const copyOnWrite of [true, false]) {
      programs.length = 0
      await openWorkspace(context, { repo, base: 'main', branch: `${branch}-${copyOnWrite}`, copyOnWrite, remotePolicy: 'local' })
      counts.push(programs.filter((program) => program === 'git').length)
    }
  }
  expect(Math.max(...counts.slice(2))).toBeLessThanOrEqual(4)
  expect(Math.min(...counts)).toBeGreaterThan(0)
})

it('where it cannot be had, an ordinary workspace is made, and it is said why', async () => {
  await using world = openOverlayWorld()
  const { open, record } = opened(world, (request) =>
    world.runProgram(request.argv[0] === 'mount' ? { ...request, argv: ['sh', '-c', 'echo no mounts today >&2; exit 32'] } : request),
  )
  const { path, copyOnWrite, actions } = await open()
  expect([copyOnWrite, status(world, path), record()?.overlay]).toEqual([false, '', null])
  expect(actions).toContainEqual({ name: 'copy-on-write', status: 'skipped', detail: expect.stringMatching(/an ordinary tree was made.*no mounts today/) })
})
