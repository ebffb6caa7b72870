import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { openWorkspace } from './open.ts'

it('an operator has one sandbox in a repository, detached at the local base, with no branch of its own', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.remote(repo)
  const sha = world.commit(repo, { 'local.txt': 'not pushed\n' })
  const refs = world.sh(repo, 'for-each-ref')
  const opened = await openWorkspace(world.context(), { repo, operator: 'Ada L.', base: 'main' })
  expect(opened).toMatchObject({ kind: 'sandbox', branch: null, operator: 'Ada L.', created: true, isolation: 'env-only' })
  expect(opened.base).toMatchObject({ source: 'local', ref: 'refs/heads/main', sha })
  expect(world.sh(opened.path, 'rev-parse', 'HEAD')).toBe(sha)
  expect(() => world.sh(opened.path, 'symbolic-ref', '-q', 'HEAD')).toThrow()
  expect(world.sh(repo, 'for-each-ref')).toBe(refs)
  expect(await openWorkspace(world.context(), { repo, operator: 'Ada L.' })).toMatchObject({ id: opened.id, path: opened.path, created: false, actions: [] })
  expect((await openWorkspace(world.context(), { repo, operator: 'Bob' })).path).not.toBe(opened.path)
  expect((await openWorkspace(world.context(), { repo, branch: 'Ada' })).path).not.toBe(opened.path)
})

it('what a sandbox differs from its base is told, and never reset', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const opened = await openWorkspace(world.context(), { repo, operator: 'ada', base: 'main' })
  world.commit(repo, { 'a.txt': '1' })
  const head = world.commit(opened.path, { 'b.txt': '1' })
  writeFileSync(join(opened.path, 'README.md'), 'changed\n')
  const again = await openWorkspace(world.context(), { repo, operator: 'ada' })
  expect(again.base).toEqual({ source: 'existing', ref: 'refs/heads/main', sha: head, behind: 1, remoteError: null })
  expect(again.warnings).toEqual(['it differs from its base refs/heads/main: 1 ahead, 1 behind, 1 changed; it was left as it is'])
  expect(world.sh(opened.path, 'status', '--porcelain')).toBe('M README.md')
})

it('a sandbox whose folder was deleted goes on at the commit where it was', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const opened = await openWorkspace(world.context(), { repo, operator: 'ada', base: 'main' })
  const head = world.commit(opened.path, { 'b.txt': '1' })
  rmSync(opened.path, { recursive: true })
  const again = await openWorkspace(world.context(), { repo, operator: 'ada' })
  expect(again).toMatchObject({ id: opened.id, path: opened.path, created: false, base: { sha: head } })
  expect([world.sh(again.path, 'rev-parse', 'HEAD'), existsSync(join(again.path, 'b.txt'))]).toEqual([head, true])
})
