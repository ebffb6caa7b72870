import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { resolveBase } from './base.ts'
import { openRepository } from './open.ts'

it('a base is what the remote has now, and no ref of the person moves', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const remote = world.remote(folder)
  const other = world.path('other')
  world.sh(world.folder, 'clone', '--quiet', remote, other)
  const sha = world.commit(other, { two: 'two\n' })
  world.sh(other, 'push', '--quiet', 'origin', 'main')
  const repo = await openRepository(world.context(), folder)
  const before = world.sh(folder, 'for-each-ref')
  const base = await resolveBase(repo, { base: 'main', policy: 'prefer-remote' })
  expect(base).toMatchObject({ source: 'remote', ref: 'refs/heads/main', sha, behind: 0, remoteError: null })
  await base.drop()
  expect(world.sh(folder, 'for-each-ref')).toBe(before)
})
