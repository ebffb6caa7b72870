import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import { diffWorkspace } from './diff.ts'

it('a workspace is compared with where it and its base parted, or with what is named', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  const context = world.context({ base: repository })
  const { path, record } = makeWorkspace(world, context, repository, 'a')
  const first = world.commit(path, { f: '2\n' })
  writeFileSync(join(path, 'new'), 'x\n')
  const tip = world.commit(repository, { g: 'of the base\n' })
  const paths = async (from?: string) => {
    const diff = await diffWorkspace(context, { workspace: 'a', from })
    return [diff.from, ...diff.files.map(({ path: name, status }) => `${status} ${name}`)]
  }
  expect(await paths()).toEqual([record.base.sha, 'M f', 'A new'])
  expect(await paths('base')).toEqual([tip, 'M f', 'D g', 'A new'])
  expect(await paths('HEAD')).toEqual([first, 'A new'])
  expect(await paths('refs/heads/main')).toEqual([tip, 'M f', 'D g', 'A new'])
  world.sh(path, 'merge', '--quiet', '--no-edit', 'main')
  expect(await paths()).toEqual([tip, 'M f', 'A new'])
  for (const from of ['none', '--output=x', '']) {
    await expect(diffWorkspace(context, { workspace: 'a', from })).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
  }
})

it('without a common commit it is compared with where it began, and a tree that git forgot is refused', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { f: '1\n' })
  const context = world.context({ base: repository })
  const { path, record } = makeWorkspace(world, context, repository, 'a')
  writeFileSync(join(path, 'f'), '2\n')
  world.sh(repository, 'checkout', '--quiet', '--orphan', 'lonely')
  world.sh(repository, 'commit', '--quiet', '-m', 'lonely')
  world.sh(repository, 'branch', '--force', 'main', 'lonely')
  world.sh(path, 'checkout', '--quiet', '--orphan', 'other')
  const { from, files } = await diffWorkspace(context, { workspace: record.id })
  expect([from, files]).toMatchObject([record.base.sha, [{ path: 'f', status: 'M', added: 1, removed: 1 }]])
  world.sh(repository, 'worktree', 'remove', '--force', '--force', path)
  rmSync(path, { recursive: true, force: true })
  await expect(diffWorkspace(context, { workspace: record.id })).rejects.toMatchObject({ details: { reason: 'workspace_unusable' } })
})
