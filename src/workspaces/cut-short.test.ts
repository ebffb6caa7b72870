import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import type { ProcessIdentity } from '../core/run.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { findTree, listHalfMadeTrees, listTrees } from '../git/admin.ts'
import { identify } from '../process/identity.ts'
import { keyOf } from './layout.ts'
import { openWorkspace } from './open.ts'
import { readRecord, writeRecord } from './records.ts'

/** As an open call leaves it that is cut short after the tree was registered. */
async function openCutShort(world: GitWorld, holder: ProcessIdentity = { pid: 2 ** 22 + 1, startTime: 'gone' }) {
  const repo = world.repository('repo')
  const commonDir = join(repo, '.git')
  const open = (branch = 'work') => openWorkspace(world.context(), { repo, branch })
  const { path } = await open()
  const adminDir = findTree(commonDir, path)?.adminDir as string
  const key = keyOf({ branch: 'work' })
  const record: WorkspaceRecord = { ...(readRecord(commonDir, key) as WorkspaceRecord), state: 'creating', holder }
  writeRecord(commonDir, key, record)
  return { repo, commonDir, open, path, adminDir, key, record }
}

const living = (child: ChildProcess): ProcessIdentity => identify(child.pid as number) as ProcessIdentity

it('a tree that was not finished is made from the beginning, and the branch that was made for it is its own', async () => {
  await using world = openGitWorld()
  const { open, path, adminDir, record } = await openCutShort(world)
  rmSync(join(adminDir, 'index'))
  rmSync(join(path, 'README.md'))
  const opened = await open()
  expect(opened.actions.map(({ name }) => name)).toEqual(['recreated', 'created'])
  expect(opened).toMatchObject({ path, created: true, base: record.base })
  expect(world.sh(path, 'status', '--porcelain')).toBe('')
  expect(await open()).toMatchObject({ actions: [] })
})

it('a tree that git was still initializing, and an administrative folder without a tree, are recognized as the rest of it', async () => {
  await using world = openGitWorld()
  const { open, commonDir, adminDir, record } = await openCutShort(world)
  writeFileSync(join(adminDir, 'locked'), 'initializing')
  const half = join(commonDir, 'worktrees', 'half')
  mkdirSync(half)
  writeFileSync(join(half, 'locked'), `holdfast:${record.id}:${record.nonce}`)
  const foreign = join(commonDir, 'worktrees', 'foreign')
  mkdirSync(foreign)
  writeFileSync(join(foreign, 'locked'), 'somebody else')
  expect((await open()).actions.map(({ name }) => name)).toEqual(['recreated', 'created'])
  expect(listHalfMadeTrees(commonDir).map((each) => each.adminDir)).toEqual([foreign])
  expect(listTrees(commonDir)).toHaveLength(2)
})

it('a branch that moved since it was made for a tree that was not finished is not its own', async () => {
  await using world = openGitWorld()
  const { repo, open, path } = await openCutShort(world)
  const moved = world.commit(path, { 'a.txt': '1' })
  const opened = await open()
  expect(opened).toMatchObject({ created: false, base: { source: 'existing', sha: moved } })
  expect(world.sh(repo, 'rev-parse', 'work')).toBe(moved)
})

it('what another living process is making is waited for, and made only when that is gone', async () => {
  await using world = openGitWorld()
  const maker = spawn('sleep', ['60'])
  try {
    const { open, path, key, commonDir } = await openCutShort(world, living(maker))
    const waits: string[] = []
    const opening = openWorkspace(world.context(), { repo: join(commonDir, '..'), branch: 'work' }, { onProgress: (what) => waits.push(what) })
    // Others are not kept from the repository meanwhile.
    expect((await open('other')).created).toBe(true)
    while (!waits.includes(`waiting for process ${maker.pid}`)) await pause(10)
    expect(readRecord(commonDir, key)?.state).toBe('creating')
    maker.kill('SIGKILL')
    await once(maker, 'exit')
    expect((await opening).path).toBe(path)
    expect(readRecord(commonDir, key)?.state).toBe('ready')
  } finally {
    maker.kill('SIGKILL')
  }
})

it('waiting for another process ends when the call is canceled', async () => {
  await using world = openGitWorld()
  const maker = spawn('sleep', ['60'])
  try {
    const { repo } = await openCutShort(world, living(maker))
    const cancel = new AbortController()
    const onProgress = (what: string): void => {
      if (what.startsWith('waiting')) cancel.abort()
    }
    const opening = openWorkspace(world.context(), { repo, branch: 'work' }, { signal: cancel.signal, onProgress })
    await expect(opening).rejects.toMatchObject({ details: { reason: 'canceled' } })
  } finally {
    maker.kill('SIGKILL')
  }
})

it('a git that goes on in the tree after whoever started it died is waited for before the tree is made anew', async () => {
  await using world = openGitWorld()
  const { open, path } = await openCutShort(world)
  const git = spawn('git', ['cat-file', '--batch'], { cwd: path, env: world.env })
  const started = once(git.stdout, 'data')
  git.stdin.write('HEAD\n')
  await started
  let isOpen = false
  const opening = open().then((opened) => {
    isOpen = true
    return opened
  })
  // Longer than it takes without anybody to wait for.
  for (let round = 0; round < 15; round += 1) await pause(100)
  expect([isOpen, existsSync(join(path, 'README.md'))]).toEqual([false, true])
  git.stdin.end()
  await once(git, 'exit')
  expect((await opening).actions.map(({ name }) => name)).toEqual(['recreated', 'created'])
})
