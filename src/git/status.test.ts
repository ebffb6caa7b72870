import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { isDirty, parseStatus, readStatus } from './status.ts'

it('every way in which a path can differ is told, names taken as they are', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { 'a b': '1\n', 'old\nname': 'the same text in both\n'.repeat(5), removed: '1\n', both: '1\n' })
  writeFileSync(join(repository, 'a b'), '2\n')
  renameSync(join(repository, 'old\nname'), join(repository, '? new'))
  world.sh(repository, 'add', '--all')
  writeFileSync(join(repository, 'both'), '2\n')
  world.sh(repository, 'add', 'both')
  writeFileSync(join(repository, 'both'), '3\n')
  rmSync(join(repository, 'removed'))
  mkdirSync(join(repository, 'folder'))
  for (const name of ['1 .M', 'zwei']) writeFileSync(join(repository, 'folder', name), 'x')
  const status = await readStatus(world.git, repository)
  expect(status).toEqual({
    head: world.sh(repository, 'rev-parse', 'HEAD'),
    branch: 'main',
    entries: [
      { path: '? new', index: 'R', worktree: '.', kind: 'renamed', from: 'old\nname' },
      { path: 'a b', index: 'M', worktree: '.', kind: 'changed' },
      { path: 'both', index: 'M', worktree: 'M', kind: 'changed' },
      { path: 'removed', index: '.', worktree: 'D', kind: 'changed' },
      { path: 'folder/1 .M', index: '.', worktree: '?', kind: 'untracked' },
      { path: 'folder/zwei', index: '.', worktree: '?', kind: 'untracked' },
    ],
    counts: { staged: 3, changed: 2, untracked: 2, conflicted: 0 },
  })
  expect((await readStatus(world.git, repository, { untracked: 'folders' })).counts.untracked).toBe(1)
})

it('a conflict is counted by itself, and a detached HEAD and a repository without a commit have no branch or no commit', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { a: '1\n' })
  world.sh(repository, 'checkout', '--quiet', '-b', 'other')
  world.commit(repository, { a: '2\n' })
  world.sh(repository, 'checkout', '--quiet', '--detach', 'main')
  world.commit(repository, { a: '3\n' })
  expect(() => world.sh(repository, 'merge', 'other')).toThrow()
  expect(await readStatus(world.git, repository)).toMatchObject({
    branch: null,
    entries: [{ path: 'a', index: 'U', worktree: 'U', kind: 'unmerged' }],
    counts: { staged: 0, changed: 0, untracked: 0, conflicted: 1 },
  })
  const empty = world.path('empty')
  mkdirSync(empty)
  world.sh(empty, 'init', '--quiet', '--initial-branch=main')
  const status = await readStatus(world.git, empty)
  expect(status).toEqual({ head: null, branch: 'main', entries: [], counts: { staged: 0, changed: 0, untracked: 0, conflicted: 0 } })
  expect(isDirty(status.counts)).toBe(false)
})

it('a look refreshes nothing: the index stays as it is although the times of its files are not those it knows', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r', { a: '1\n' })
  utimesSync(join(repository, 'a'), 1, 1)
  const index = join(repository, '.git/index')
  const before = [readFileSync(index).toString('base64'), statSync(index, { bigint: true }).mtimeNs]
  expect((await readStatus(world.git, repository)).entries).toEqual([])
  expect([readFileSync(index).toString('base64'), statSync(index, { bigint: true }).mtimeNs]).toEqual(before)
})

it('settings of a submodule run nothing, and its new commit is a change', async () => {
  await using world = openGitWorld()
  const inner = world.repository('inner', { '.gitattributes': '* filter=evil\n', a: '1\n' })
  const outer = world.repository('outer')
  world.sh(outer, 'submodule', '--quiet', 'add', inner, 'sub')
  world.commit(outer, {})
  const sub = join(outer, 'sub')
  world.sh(sub, 'config', 'filter.evil.clean', `touch ${world.path('ran')}; cat`)
  world.sh(sub, 'config', 'core.fsmonitor', `touch ${world.path('ran')}`)
  writeFileSync(join(sub, 'a'), '2\n')
  expect((await readStatus(world.git, outer)).entries).toEqual([])
  expect(existsSync(world.path('ran'))).toBe(false)
  world.sh(sub, '-c', 'core.fsmonitor=false', '-c', 'filter.evil.clean=', 'commit', '--quiet', '--allow-empty', '-m', 'inner')
  expect((await readStatus(world.git, outer)).entries).toMatchObject([{ path: 'sub', worktree: 'M' }])
})

it('a tree that lost its .git file is not taken for the repository around it', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const tree = join(repository, 'inside')
  world.sh(repository, 'worktree', 'add', '--quiet', '-b', 'work', tree)
  rmSync(join(tree, '.git'))
  await expect(readStatus(world.git, tree)).rejects.toMatchObject({ details: { reason: 'git_failed' } })
  expect((await readStatus(world.git, tree, { adminDir: join(repository, '.git/worktrees/inside') })).branch).toBe('work')
})

it('a path of any kind of record may begin or go on with what looks like a record', () => {
  const sha = '0'.repeat(40)
  const text = [
    `1 A. N... 000000 100644 100644 ${sha} ${sha} 2 x y`,
    `u UU N... 100644 100644 100644 100644 ${sha} ${sha} ${sha} # branch.oid`,
    '? ? a',
    '',
  ].join('\0')
  expect(parseStatus(text).entries.map(({ path }) => path)).toEqual(['2 x y', '# branch.oid', '? a'])
})
