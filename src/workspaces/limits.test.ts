import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import type { WorkspaceContext, WorkspaceLimits } from './context.ts'
import { freeBytesAt, measureUsage } from './disk-usage.ts'
import { checkLimits, usedBytes } from './limits.ts'

const withLimits = (context: WorkspaceContext, limits: Partial<WorkspaceLimits>, now = context.now): WorkspaceContext => ({
  ...context,
  now,
  settings: { ...context.settings, limits: { ...context.settings.limits, ...limits } },
})

it('a repository has no more workspaces than it may have', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context()
  const { commonDir } = makeWorkspace(world, context, repository, 'a')
  const repo = { commonDir, mainRoot: repository }
  await checkLimits(withLimits(context, { maxWorkspaces: 2 }), repo)
  await expect(checkLimits(withLimits(context, { maxWorkspaces: 1 }), repo)).rejects.toMatchObject({
    code: 'resource_exhausted',
    details: { reason: 'quota', limit: 1, used: 1 },
  })
})

it('nothing is begun with less free space than must stay free, also before the root is there', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const repo = { commonDir: join(repository, '.git'), mainRoot: repository }
  const free = freeBytesAt(world.folder)
  await checkLimits(withLimits(world.context(), { minFreeBytes: 1 }), repo)
  await expect(checkLimits(withLimits(world.context(), { minFreeBytes: free * 4 }), repo)).rejects.toMatchObject({
    code: 'resource_exhausted',
    details: { reason: 'disk_full', path: world.path('workspaces'), neededBytes: free * 4 },
  })
})

it('all trees together take no more bytes than they may, and each is measured again only after a while', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  let now = new Date('2026-01-01T00:00:00Z')
  const context = withLimits(world.context(), { maxBytes: 1_000_000 }, () => now)
  const { commonDir, path } = makeWorkspace(world, context, repository, 'a')
  const repo = { commonDir, mainRoot: repository }
  await checkLimits(context, repo)
  writeFileSync(join(path, 'large'), Buffer.alloc(2_000_000, 'x'))
  // A measurement is good for five minutes.
  now = new Date('2026-01-01T00:04:00Z')
  await checkLimits(context, repo)
  now = new Date('2026-01-01T00:06:00Z')
  await expect(checkLimits(context, repo)).rejects.toMatchObject({ details: { reason: 'quota', limit: 1_000_000 } })
  expect(await usedBytes(context)).toBeGreaterThan(2_000_000)
})

it('what copy-on-write trees changed counts, and what is being deleted does not', async () => {
  await using world = openGitWorld()
  const context = world.context()
  for (const folder of ['.overlays/a/upper', '.trash/b']) {
    mkdirSync(join(context.root, folder), { recursive: true })
    writeFileSync(join(context.root, folder, 'large'), Buffer.alloc(2_000_000, 'x'))
  }
  const used = await usedBytes(context)
  expect(used).toBeGreaterThan(2_000_000)
  expect(used).toBeLessThan(2_100_000)
})

it('a file with two names counts once, links are not followed, and a measurement ends when its time is over', async () => {
  await using world = openGitWorld()
  const folder = world.path('files')
  mkdirSync(join(folder, 'deep'), { recursive: true })
  const empty = (await measureUsage(folder, { timeoutMs: 5_000 })).bytes
  writeFileSync(join(folder, 'a'), Buffer.alloc(1_000_000, 'x'))
  const one = await measureUsage(folder, { timeoutMs: 5_000 })
  expect(one.isWhole).toBe(true)
  expect(one.bytes - empty).toBeGreaterThanOrEqual(1_000_000)
  expect(one.bytes - empty).toBeLessThan(1_100_000)
  linkSync(join(folder, 'a'), join(folder, 'deep/b'))
  writeFileSync(world.path('root', 'elsewhere'), Buffer.alloc(1_000_000, 'x'))
  symlinkSync(world.root, join(folder, 'deep/link'))
  expect((await measureUsage(folder, { timeoutMs: 5_000 })).bytes - one.bytes).toBeLessThan(10_000)
  for (let n = 0; n < 600; n++) writeFileSync(join(folder, `f${n}`), '')
  expect((await measureUsage(folder, { timeoutMs: 0 })).isWhole).toBe(false)
  expect(await measureUsage(world.path('none'), { timeoutMs: 0 })).toEqual({ bytes: 0, isWhole: true })
})
