import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { startInBackground } from '../process/background.ts'
import { trashFolder } from './layout.ts'
import { mountPoints } from './mounts.ts'
import { emptyTrash, emptyTrashLater, moveToTrash } from './trash.ts'

function withTree(world: World, name = 'a tree') {
  const root = world.path('workspaces')
  const tree = join(root, 'repository', name)
  mkdirSync(join(tree, 'deep'), { recursive: true })
  writeFileSync(join(tree, 'deep/file'), 'x')
  const outside = world.path('outside')
  mkdirSync(outside, { recursive: true })
  writeFileSync(join(outside, 'precious'), 'x')
  symlinkSync(outside, join(tree, 'link'))
  let count = 0
  const trashed = moveToTrash({ root, newName: () => `n${++count}` }, tree, 'id')
  return { root, tree, trashed, precious: join(outside, 'precious') }
}

it('what is moved to the trash is gone from its place at once, and whole until it is deleted', async () => {
  await using world = openWorld()
  const { root, tree, trashed } = withTree(world)
  expect([existsSync(tree), trashed, readFileSync(join(trashed, 'deep/file'), 'utf8')]).toEqual([false, join(trashFolder(root), 'id-n1'), 'x'])
})

it('what is old enough is deleted, as far as the time goes; links are not followed', async () => {
  await using world = openWorld()
  const { root, trashed, precious } = withTree(world)
  expect(await emptyTrash({ root }, { olderThanMs: 60_000 })).toEqual({ removed: [], left: [] })
  expect(await emptyTrash({ root }, { budgetMs: -1 })).toEqual({ removed: [], left: [trashed] })
  expect(await emptyTrash({ root })).toEqual({ removed: [trashed], left: [] })
  expect([readdirSync(trashFolder(root)), existsSync(precious)]).toEqual([[], true])
})

it('a program in the background deletes it, whatever it is called', async () => {
  await using world = openWorld()
  const { root, precious } = withTree(world, '-rf "$HOME"')
  emptyTrashLater({ root, background: (argv) => startInBackground(argv, process.env.PATH ?? '') })
  await vi.waitFor(() => expect(readdirSync(trashFolder(root))).toEqual([]), { timeout: 20_000 })
  expect(existsSync(precious)).toBe(true)
})

it('with nothing in the trash nothing is started', async () => {
  await using world = openWorld()
  const background = vi.fn()
  emptyTrashLater({ root: world.path('workspaces'), background })
  expect(background).not.toHaveBeenCalled()
})

it.runIf(process.platform === 'linux')('what the system has mounted is known', () => {
  expect(mountPoints()).toContain('/proc')
})
