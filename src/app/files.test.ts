import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { failure } from '../core/errors.ts'
import { createHostFiles } from '../files/host-files.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { createFileUseCases, type FilesBasis } from './files.ts'

const openFiles = (root: string) => createHostFiles({ root, machine: { self: identifySelf(), isAlive } })
const noTarget = async (): Promise<undefined> => undefined
const noTree: FilesBasis['treeOf'] = async (workspace) => {
  throw failure('workspace_not_found', { workspace })
}

it('a change in a workspace that is released meanwhile is no success', async () => {
  await using world = openWorld()
  const trees = [
    { nonce: 'first', after: 'first' },
    { nonce: 'first', after: 'second' },
    { nonce: 'first', after: undefined },
  ]
  const ends: string[] = []
  for (const { nonce, after } of trees) {
    let isAfter = false
    const files = createFileUseCases({
      root: world.root,
      base: world.root,
      filesAt: noTarget,
      openFiles,
      async treeOf(workspace) {
        const now = isAfter ? after : nonce
        isAfter = true
        if (now === undefined) throw failure('workspace_unusable', { workspace, why: 'it is being released' })
        return { root: world.root, nonce: now }
      },
    })
    const end = await files.writeFile({ path: 'file', content: 'x', workspace: 'w' }).then(
      () => 'done',
      (error: { details: { reason: string } }) => error.details.reason,
    )
    ends.push(end)
  }
  expect(ends).toEqual(['done', 'workspace_unusable', 'workspace_unusable'])
})

it('a path is taken from where the caller stands in the root, never one that is refused as it is', async () => {
  await using world = openWorld()
  const files = createFileUseCases({ root: world.root, base: world.path('root', 'sub'), openFiles, treeOf: noTree, filesAt: noTarget })
  expect((await files.writeFile({ path: 'a', content: '1' })).path).toBe('sub/a')
  expect((await files.writeFile({ path: '../b', content: '2' })).path).toBe('b')
  expect((await files.listFiles({})).path).toBe('sub')
  expect(readFileSync(world.path('root', 'sub/a'), 'utf8')).toBe('1')
  for (const path of ['/a', '', '../../a', 'C:/a', 'x\\a']) {
    await expect(files.writeFile({ path, content: '' }), path).rejects.toMatchObject({ details: { reason: 'file_outside', path: expect.any(String) } })
  }
})

it.each([
  [{ lines: '2' }, 'two\n', 3],
  [{ lines: '2-' }, 'two\nthree\n', null],
  [{ lines: '-1' }, 'three\n', null],
  [{ lines: '-9' }, 'one\ntwo\nthree\n', null],
  [{ lines: '9-' }, '', null],
  [{ bytes: '4-6' }, 'two', null],
  [{ bytes: '-3' }, 'ree', null],
  [{ bytes: '90-' }, '', null],
  [{ bytes: '0-2', encoding: 'base64' }, 'b25l', null],
] as const)('reads the range %j', async (range, content, next) => {
  await using world = openWorld()
  const files = createFileUseCases({ root: world.root, base: world.root, openFiles, treeOf: noTree, filesAt: noTarget })
  await files.writeFile({ path: 'file', content: 'one\ntwo\nthree' })
  expect(await files.readFile({ path: 'file', ...range })).toMatchObject({ content, next, size: 13 })
})
