import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { listTrees } from '../git/admin.ts'
import { keyOf } from './layout.ts'
import { openWorkspace } from './open.ts'
import { readRecord } from './records.ts'

it('a new branch begins at what was fetched, and no ref of the person moves', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const remote = world.remote(repo)
  const other = world.path('other')
  world.sh(world.folder, 'clone', '-q', remote, other)
  const newest = world.commit(other, { 'README.md': 'two\n' })
  world.sh(other, 'push', '-q', 'origin', 'main')
  rmSync(join(repo, '.git', 'FETCH_HEAD'))
  const before = world.sh(repo, 'for-each-ref')
  const opened = await openWorkspace(world.context(), { repo, base: 'main', branch: 'work' })
  expect(opened).toMatchObject({ branch: 'work', created: true, kind: 'branch', isolation: 'worktree', copyOnWrite: false, warnings: [] })
  expect(opened.base).toEqual({ source: 'remote', ref: 'refs/heads/main', sha: newest, behind: 0, remoteError: null })
  expect(opened.actions.map((action) => action.name)).toEqual(['created'])
  expect(world.sh(repo, 'for-each-ref')).toBe(
    `${newest} commit\trefs/heads/work\n${before}`
      .split('\n')
      .sort((a, b) => (a.slice(48) < b.slice(48) ? -1 : 1))
      .join('\n'),
  )
  expect(world.sh(opened.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('work')
  expect(world.sh(opened.path, 'status', '--porcelain')).toBe('')
  expect(readFileSync(join(opened.path, 'README.md'), 'utf8')).toBe('two\n')
  // No upstream is set up, and no FETCH_HEAD is left.
  expect(world.sh(repo, 'config', '--list')).not.toContain('branch.work')
  expect(existsSync(join(repo, '.git', 'FETCH_HEAD'))).toBe(false)
  expect(statSync(world.path('workspaces')).mode & 0o777).toBe(0o700)
  expect(readRecord(join(repo, '.git'), keyOf({ branch: 'work' }))).toMatchObject({ state: 'ready', holder: null, id: opened.id, path: opened.path })
})

it('a workspace that is open is given back as it is, with its uncommitted work', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  world.remote(repo)
  const calls: string[][] = []
  const counted = { ...world.context(), git: counting(world.git, calls) }
  const first = await openWorkspace(counted, { repo, branch: 'work' })
  writeFileSync(join(first.path, 'scratch'), 'mine')
  calls.length = 0
  const again = await openWorkspace(counted, { repo, branch: 'work' })
  expect(again).toMatchObject({ id: first.id, path: first.path, created: false, actions: [], warnings: [] })
  expect(again.base).toMatchObject({ source: 'existing', ref: 'refs/heads/work', sha: first.base.sha, behind: 0 })
  expect(calls.length).toBeLessThanOrEqual(2)
  expect(readFileSync(join(first.path, 'scratch'), 'utf8')).toBe('mine')
  expect(listTrees(join(repo, '.git'))).toHaveLength(2)
})

function counting(git: import('../git/git.ts').Git, calls: string[][]): import('../git/git.ts').Git {
  return {
    run: (call) => {
      calls.push([...call.args])
      return git.run(call)
    },
    require: (what, call) => {
      calls.push([...call.args])
      return git.require(what, call)
    },
  }
}
