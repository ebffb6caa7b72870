import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { canMountOverlays, endMount, openOverlayWorld } from '../../test/support/overlay-world.ts'
import { diffWorkspace } from './diff.ts'
import { examineWorkspaces, repair } from './examine.ts'
import { collectWorkspaces } from './gc.ts'
import { listWorkspaces } from './list.ts'
import { openWorkspace } from './open.ts'

it.runIf(await canMountOverlays())('a copy-on-write tree is looked at like any other, and while it is not mounted nothing is said of its files', async () => {
  await using world = openOverlayWorld()
  const repository = world.repository('r', { f: '1\n', large: 'x'.repeat(1_000_000) })
  const context = world.context({ base: repository })
  const { id, path, copyOnWrite } = await openWorkspace(context, { branch: 'a', base: 'main', copyOnWrite: true, remotePolicy: 'local' })
  expect(copyOnWrite).toBe(true)
  writeFileSync(join(path, 'f'), '2\n')
  const look = async () => (await listWorkspaces(context, { status: true, bytes: true }))[0]
  expect(await look()).toMatchObject({ state: 'ready', dirty: { changed: 1, untracked: 0 }, warnings: [] })
  // What was not changed is not its own.
  expect((await look())?.bytes).toBeLessThan(100_000)
  expect((await diffWorkspace(context, { workspace: 'a' })).files).toMatchObject([{ path: 'f', status: 'M' }])

  await endMount(world, path)
  expect(await look()).toMatchObject({ state: 'ready', dirty: null, warnings: [expect.stringContaining('not mounted; open the workspace again')] })
  await expect(diffWorkspace(context, { workspace: 'a' })).rejects.toMatchObject({ details: { reason: 'workspace_unusable' } })
  const later = { ...context, now: () => new Date(Date.now() + 30 * 86_400_000) }
  expect((await collectWorkspaces(later, {})).kept).toEqual([{ id, why: expect.stringContaining('not mounted') }])

  const item = `workspace:${id}`
  expect((await examineWorkspaces(context)).find(({ name }) => name === item)).toMatchObject({ status: 'warning', fix: 'open it again' })
  await repair(context, { item })
  expect(readFileSync(join(path, 'f'), 'utf8')).toBe('2\n')
  expect(await look()).toMatchObject({ dirty: { changed: 1 }, warnings: [] })
})
