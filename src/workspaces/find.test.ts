import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import { findWorkspace, findWorkspaceOf } from './find.ts'
import { idOf, keyOf, repositoryFiles } from './layout.ts'
import { writeRecord } from './records.ts'

it('a workspace is found by its id, a part of that, its branch and any folder in its tree, also through a link', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const made = makeWorkspace(world, context, repository, 'feat/a')
  makeWorkspace(world, context, repository, 'feat/b')
  mkdirSync(join(made.path, 'deep/er'), { recursive: true })
  symlinkSync(join(made.path, 'deep'), world.path('link'))
  const { id } = made.record
  for (const reference of [id, id.slice(0, 4), 'feat/a', 'refs/heads/feat/a', made.path, join(made.path, 'deep/er'), world.path('link'), '../link/er']) {
    expect(await findWorkspace(context, reference), reference).toEqual({ commonDir: made.commonDir, key: made.key, record: made.record })
  }
  for (const reference of [id.slice(0, 3), 'feat', '', 'refs/heads/none', repository, '/', `${made.path}x`, 'nul\0']) {
    await expect(findWorkspace(context, reference), reference).rejects.toMatchObject({ details: { reason: 'workspace_not_found' } })
  }
})

it('a sandbox is found by its operator, and only when the word operator is said', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { record, commonDir } = makeWorkspace(world, context, repository, 'x')
  const id = idOf(commonDir, { operator: 'ada' })
  writeRecord(commonDir, keyOf({ operator: 'ada' }), {
    ...record,
    id,
    kind: 'sandbox',
    branch: null,
    operator: 'ada',
    path: world.path('workspaces', 'r', 'ada'),
  })
  expect((await findWorkspace(context, 'operator:ada')).record.id).toBe(id)
  await expect(findWorkspace(context, 'ada')).rejects.toMatchObject({ details: { reason: 'workspace_not_found' } })
})

it('the tree of a workspace whose folder is gone is still found by its path', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const { path, key } = makeWorkspace(world, context, repository, 'a')
  rmSync(path, { recursive: true })
  expect((await findWorkspace(context, join(path, 'gone'))).key).toBe(key)
})

it('the repository where Holdfast works comes first, then every other; a name that is in two of those is refused with both', async () => {
  await using world = openGitWorld()
  const [one, two] = [world.repository('one'), world.repository('two')]
  const context = world.context()
  const first = makeWorkspace(world, context, one, 'same')
  const second = makeWorkspace(world, context, two, 'same')
  const other = makeWorkspace(world, context, two, 'other')
  expect((await findWorkspace({ ...context, base: one }, 'same')).record.id).toBe(first.record.id)
  expect((await findWorkspace({ ...context, base: one }, 'other')).record.id).toBe(other.record.id)
  expect((await findWorkspace(context, 'same', two)).record.id).toBe(second.record.id)
  await expect(findWorkspace(context, 'other', one)).rejects.toMatchObject({ details: { reason: 'workspace_not_found' } })
  await expect(findWorkspace(context, 'same')).rejects.toMatchObject({
    details: {
      reason: 'workspace_ambiguous',
      matches: expect.arrayContaining([expect.stringContaining(first.record.id), expect.stringContaining(second.record.id)]),
    },
  })
  await expect(findWorkspace(context, 'same', world.root)).rejects.toMatchObject({ details: { reason: 'not_a_repository' } })
})

it('a branch of the very name wins over an id that begins alike, and a part of two ids is refused', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const made = makeWorkspace(world, context, repository, 'a')
  const named = makeWorkspace(world, context, repository, made.record.id.slice(0, 5))
  expect((await findWorkspace(context, made.record.id.slice(0, 5))).record.id).toBe(named.record.id)
  expect((await findWorkspace(context, made.record.id)).record.id).toBe(made.record.id)
  writeRecord(made.commonDir, keyOf({ branch: 'twin' }), { ...made.record, id: `${made.record.id.slice(0, 6)}0000`, branch: 'twin' })
  await expect(findWorkspace(context, made.record.id.slice(0, 6))).rejects.toMatchObject({ details: { reason: 'workspace_ambiguous' } })
})

it('which workspace a folder belongs to is told also in a repository inside of it, and after its repository moved', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context()
  const { path, record } = makeWorkspace(world, context, repository, 'a')
  makeWorkspace(world, context, repository, 'b')
  const nested = join(path, 'nested')
  mkdirSync(nested)
  world.sh(nested, 'init', '--quiet')
  expect(findWorkspaceOf(context, nested)?.record.id).toBe(record.id)
  expect(findWorkspaceOf(context, repository)).toBeUndefined()
  expect(findWorkspaceOf(context, world.root)).toBeUndefined()
  renameSync(repository, world.path('moved'))
  expect((await findWorkspace({ ...context, base: world.path('moved') }, nested)).record.id).toBe(record.id)
})

it('where the record of a name cannot be understood, no workspace of that name in another repository is taken for it', async () => {
  await using world = openGitWorld()
  const [repository, other] = [world.repository('r'), world.repository('other')]
  const context = world.context({ base: repository })
  for (const branch of ['a', 'work']) {
    const { commonDir, key } = makeWorkspace(world, context, repository, branch)
    makeWorkspace(world, context, other, branch)
    writeFileSync(repositoryFiles(commonDir).record(key), '{')
    await expect(findWorkspace(context, branch)).rejects.toMatchObject({ message: expect.stringContaining('cannot be understood') })
  }
})
