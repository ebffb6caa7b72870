import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import type { OpenedWorkspace } from '../core/workspace-provider.ts'
import { findTree, listTrees } from '../git/admin.ts'
import { readEvents } from './events.ts'
import { keyOf, repositoryFiles } from './layout.ts'
import { openWorkspace } from './open.ts'
import { readRecord, removeRecord, writeRecord } from './records.ts'

/** A workspace of the branch `work` with a change that is staged, one that is not, and a file that git does not know. */
interface Place {
  readonly repo: string
  readonly commonDir: string
  readonly first: OpenedWorkspace
  readonly adminDir: string
  open(): Promise<OpenedWorkspace>
  status(path?: string): string
}

const dirty = 'M  a.txt\n M b.txt\n?? new.txt'

async function openPlace(world: GitWorld, { files = { 'a.txt': 'a\n', 'b.txt': 'b\n' } }: { files?: Record<string, string> } = {}): Promise<Place> {
  const repo = world.repository('repo', files)
  const commonDir = join(repo, '.git')
  const open = (): Promise<OpenedWorkspace> => openWorkspace(world.context(), { repo, branch: 'work' })
  const first = await open()
  writeFileSync(join(first.path, 'a.txt'), 'a changed\n')
  world.sh(first.path, 'add', 'a.txt')
  writeFileSync(join(first.path, 'b.txt'), 'b changed\n')
  writeFileSync(join(first.path, 'new.txt'), 'new\n')
  const adminDir = findTree(commonDir, first.path)?.adminDir as string
  // `sh` trims, and the first letter of a status may be a space.
  const status = (path = first.path): string => world.sh(path, '-c', 'core.fsmonitor=false', 'status', '--porcelain', '-uall')
  return { repo, commonDir, first, adminDir, open, status }
}

const names = ({ actions }: OpenedWorkspace): string[] => actions.map((action) => action.name)

/** Everything is as it should be: a second call has nothing to do. */
async function expectHealthy(place: Place, opened: OpenedWorkspace, status = dirty): Promise<void> {
  expect(await place.open()).toMatchObject({ id: opened.id, path: opened.path, actions: [] })
  expect(place.status(opened.path)).toBe(status)
}

it('a tree that lost its .git has it again, with all its changes', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  rmSync(join(place.first.path, '.git'))
  const opened = await place.open()
  expect(names(opened)).toEqual(['repaired-links'])
  await expectHealthy(place, opened)
  const events = readEvents(place.commonDir, keyOf({ branch: 'work' }))
  expect(events.map((event) => event.name)).toContain('repaired-links')
})

it('a tree that was moved by hand beside its old place is found there', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const moved = join(dirname(place.first.path), 'elsewhere')
  renameSync(place.first.path, moved)
  const opened = await place.open()
  expect([names(opened), opened.path]).toEqual([['repaired-links', 'moved'], moved])
  await expectHealthy(place, opened)
})

it('a tree that git moved is found by the lock on it', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const moved = join(dirname(place.first.path), 'elsewhere')
  world.sh(place.repo, 'worktree', 'move', '-f', '-f', place.first.path, moved)
  const opened = await place.open()
  expect([names(opened), opened.path]).toEqual([['moved'], moved])
  await expectHealthy(place, opened)
})

it('a tree that was moved out of the folder of all workspaces is not followed there', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.repo, 'worktree', 'move', '-f', '-f', place.first.path, world.path('out'))
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'branch_in_use', path: world.path('out') } })
  expect(place.status(world.path('out'))).toBe(dirty)
})

it('when the repository was moved, its workspace stays what and where it is', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const repo = world.path('moved')
  renameSync(place.repo, repo)
  const open = (): Promise<OpenedWorkspace> => openWorkspace(world.context(), { repo, branch: 'work' })
  const opened = await open()
  expect([names(opened), opened.path, opened.id]).toEqual([['repaired-links', 'repository-moved'], place.first.path, place.first.id])
  await expectHealthy({ ...place, open }, opened)
})

it('when repository and workspaces were both moved, they find each other', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const repo = world.path('moved')
  const root = world.path('other-root')
  renameSync(place.repo, repo)
  renameSync(world.path('workspaces'), root)
  const open = (): Promise<OpenedWorkspace> => openWorkspace(world.context({ root }), { repo, branch: 'work' })
  const opened = await open()
  const path = join(root, basename(dirname(place.first.path)), basename(place.first.path))
  expect([names(opened), opened.path]).toEqual([['repaired-links', 'repository-moved', 'moved'], path])
  await expectHealthy({ ...place, open }, opened)
})

it('when another folder of all workspaces is configured, those that are there stay where they are, and are mended there', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  rmSync(join(place.first.path, '.git'))
  const open = (): Promise<OpenedWorkspace> => openWorkspace(world.context({ root: world.path('other-root') }), { repo: place.repo, branch: 'work' })
  const opened = await open()
  expect([names(opened), opened.path]).toEqual([['repaired-links'], place.first.path])
  await expectHealthy({ ...place, open }, opened)
  rmSync(place.first.path, { recursive: true })
  const anew = await open()
  expect(anew.path.startsWith(world.path('other-root'))).toBe(true)
  await expectHealthy({ ...place, open }, anew, '')
})

it('a folder that was deleted by hand is there again at the same place, at the tip of its branch', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const tip = world.commit(place.first.path, { 'c.txt': 'c\n' })
  rmSync(place.first.path, { recursive: true })
  const opened = await place.open()
  expect(opened).toMatchObject({ id: place.first.id, path: place.first.path, created: false, base: { source: 'existing', sha: tip } })
  expect(names(opened)).toEqual(['checked-out', 'rematerialized'])
  await expectHealthy(place, opened, '')
})

it('of a folder that was deleted by hand what git still has of it is saved: commits on no branch, and what was staged', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.first.path, 'checkout', '-q', '--detach')
  const lost = world.commit(place.first.path, { 'c.txt': 'c\n' })
  writeFileSync(join(place.first.path, 'a.txt'), 'staged alone\n')
  world.sh(place.first.path, 'add', 'a.txt')
  rmSync(place.first.path, { recursive: true })
  const opened = await place.open()
  expect(names(opened)).toEqual(['rescued', 'checked-out', 'rematerialized'])
  world.sh(place.repo, 'gc', '--quiet', '--prune=now')
  expect(world.sh(place.repo, 'cat-file', '-t', lost)).toBe('commit')
  const [ref] = world.sh(place.repo, 'for-each-ref', '--format=%(refname)', 'refs/holdfast/rescue').split('\n')
  expect(world.sh(place.repo, 'show', `${ref}:a.txt`)).toBe('staged alone')
  await expectHealthy(place, opened, '')
})

it('what somebody locked is not made anew, since it may be on a disk that is away', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  writeFileSync(join(place.adminDir, 'locked'), 'on my usb disk')
  rmSync(place.first.path, { recursive: true })
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'locked_foreign', why: 'on my usb disk' } })
  expect(findTree(place.commonDir, place.first.path)).toBeDefined()
})

it('a lock of ours that is gone comes back', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.repo, 'worktree', 'unlock', place.first.path)
  const opened = await place.open()
  expect(names(opened)).toEqual(['locked'])
  await expectHealthy(place, opened)
})

it('a tree that git forgot is registered again, with its files as they were', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  rmSync(place.adminDir, { recursive: true })
  const opened = await place.open()
  expect(names(opened)).toEqual(['registered-again', 'repaired-index'])
  await expectHealthy(place, opened, 'M a.txt\n M b.txt\n?? new.txt')
  expect(readdirSync(dirname(place.first.path))).toEqual([basename(place.first.path)])
})

it('an index that is missing or damaged is made anew, and no file is touched', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const afterwards = 'M a.txt\n M b.txt\n?? new.txt'
  const index = join(place.adminDir, 'index')
  rmSync(index)
  const missing = await place.open()
  expect(names(missing)).toEqual(['repaired-index'])
  await expectHealthy(place, missing, afterwards)
  truncateSync(index, 60)
  const damaged = await place.open()
  expect(names(damaged)).toEqual(['repaired-index'])
  await expectHealthy(place, damaged, afterwards)
  expect(readdirSync(place.adminDir).filter((name) => name.startsWith('index.damaged-'))).toHaveLength(1)
})

it('a merge that goes on is still one when the index was made anew', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.commit(place.first.path, { 'a.txt': 'ours\n' })
  world.commit(place.repo, { 'a.txt': 'theirs\n' })
  expect(() => world.sh(place.first.path, 'merge', 'main')).toThrow()
  rmSync(join(place.adminDir, 'index'))
  const opened = await place.open()
  expect(names(opened)).toEqual(['repaired-index'])
  expect(opened.warnings).toEqual(['a merge was begun in it and is not over'])
  expect(existsSync(join(place.adminDir, 'MERGE_HEAD'))).toBe(true)
})

it('the lock of a git that is gone is removed after a minute, not sooner', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const lock = join(place.adminDir, 'index.lock')
  writeFileSync(lock, '')
  const young = await place.open()
  expect([names(young), young.warnings.length, existsSync(lock)]).toEqual([[], 1, true])
  utimesSync(lock, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000))
  const opened = await place.open()
  expect(names(opened)).toEqual(['removed-index-lock'])
  await expectHealthy(place, opened)
})

it('a lock that somebody has open is not removed, however old; and an index is not made anew beside it', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const lock = join(place.adminDir, 'index.lock')
  writeFileSync(lock, '')
  utimesSync(lock, new Date(0), new Date(0))

  const held = openSync(lock, 'r')
  try {
    const opened = await place.open()
    expect([names(opened), existsSync(lock)]).toEqual([[], true])
    expect(opened.warnings[0]).toContain(`by process ${process.pid}`)
    rmSync(join(place.adminDir, 'index'))
    await expect(place.open()).rejects.toMatchObject({ details: { reason: 'index_locked', holder: `process ${process.pid}` } })
  } finally {
    closeSync(held)
  }
})

it('detached at the tip of its branch it is put back on it, and nothing else changes', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.first.path, 'checkout', '-q', '--detach')
  const opened = await place.open()
  expect(names(opened)).toEqual(['reattached'])
  expect(world.sh(opened.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/work')
  await expectHealthy(place, opened)
})

it('a branch that moves while its tree is put back on it is left where it moved to, and the tree detached', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.first.path, 'checkout', '-q', '--detach')
  const head = world.sh(place.first.path, 'rev-parse', 'HEAD')
  const moved = world.sh(place.repo, 'commit-tree', '-m', 'moved', '-p', 'work', 'work^{tree}')
  const require: typeof world.git.require = (what, call) => {
    if (call.args[0] === 'symbolic-ref') world.sh(place.repo, 'update-ref', 'refs/heads/work', moved)
    return world.git.require(what, call)
  }
  const context = world.context({ git: { ...world.git, require } })
  await expect(openWorkspace(context, { repo: place.repo, branch: 'work' })).rejects.toMatchObject({ details: { reason: 'detached_unpublished' } })
  expect([world.sh(place.first.path, 'rev-parse', 'HEAD'), world.sh(place.repo, 'rev-parse', 'work')]).toEqual([head, moved])
  expect(() => world.sh(place.first.path, 'symbolic-ref', '--quiet', 'HEAD')).toThrow()
  expect(place.status()).toBe(dirty)
})

it('detached with a commit that no branch has it is refused, and nothing is touched', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const tip = world.sh(place.repo, 'rev-parse', 'work')
  world.sh(place.first.path, 'checkout', '-q', '--detach')
  const head = world.commit(place.first.path, { 'c.txt': 'c\n' })
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'detached_unpublished', head, tip } })
  expect([world.sh(place.first.path, 'rev-parse', 'HEAD'), world.sh(place.repo, 'rev-parse', 'work')]).toEqual([head, tip])
  world.sh(place.repo, 'branch', '-D', 'work')
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'detached_unpublished', head, tip: null } })
})

it('detached while another tree has its branch it is refused', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.first.path, 'checkout', '-q', '--detach')
  world.sh(place.repo, 'worktree', 'add', '-q', world.path('other'), 'work')
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'branch_in_use', path: world.path('other') } })
  expect(place.status()).toBe(dirty)
})

it('on another branch it is given back so, and said', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.sh(place.first.path, 'checkout', '-q', '-b', 'mine')
  const opened = await place.open()
  expect([names(opened), opened.warnings]).toEqual([[], ['mine is checked out in it and not work']])
  expect(world.sh(place.first.path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/mine')
  await expect(openWorkspace(world.context(), { repo: place.repo, branch: 'mine' })).rejects.toMatchObject({
    details: { reason: 'branch_in_use', path: place.first.path, workspace: place.first.id },
  })
})

it('in the middle of a rebase it is given back so, and said', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  world.commit(place.first.path, { 'a.txt': 'ours\n' })
  world.commit(place.repo, { 'a.txt': 'theirs\n' })
  expect(() => world.sh(place.first.path, 'rebase', 'main')).toThrow()
  const before = world.sh(place.first.path, 'status')
  const opened = await place.open()
  expect([names(opened), opened.warnings]).toEqual([[], ['a rebase was begun in it and is not over']])
  expect(world.sh(place.first.path, 'status')).toBe(before)
})

it('a branch that was deleted under its tree is there again, where the tree was', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const tip = world.commit(place.first.path, { 'c.txt': 'c\n' })
  world.sh(place.repo, 'update-ref', '-d', 'refs/heads/work')
  const opened = await place.open()
  expect(names(opened)).toEqual(['restored-branch'])
  expect(world.sh(place.repo, 'rev-parse', 'work')).toBe(tip)
  await expectHealthy(place, opened, '')
})

it('a ref that is there and cannot be read is never made anew', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const tip = world.sh(place.repo, 'rev-parse', 'work')
  rmSync(place.first.path, { recursive: true })
  writeFileSync(join(place.commonDir, 'refs', 'heads', 'work'), '')
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'branch_broken', proposed: tip } })
  expect(readFileSync(join(place.commonDir, 'refs', 'heads', 'work'), 'utf8')).toBe('')
})

it('a tree without a record is taken over with all that is in it', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  removeRecord(place.commonDir, keyOf({ branch: 'work' }))
  const opened = await place.open()
  expect(names(opened)).toEqual(['adopted'])
  expect(opened).toMatchObject({ id: place.first.id, path: place.first.path, created: false })
  await expectHealthy(place, opened)
})

it('a tree of the branch that git made below the folder of all workspaces is taken over', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const path = world.path('workspaces', 'by-hand', 'tree')
  world.sh(repo, 'worktree', 'add', '-q', '-b', 'work', path)
  const opened = await openWorkspace(world.context(), { repo, branch: 'work' })
  expect([names(opened), opened.path]).toEqual([['adopted', 'locked'], path])
  expect(await openWorkspace(world.context(), { repo, branch: 'work' })).toMatchObject({ actions: [], path })
})

it('what is in the way is left alone: a folder with files, a file, a link, a repository, the tree of another', async () => {
  await using world = openGitWorld()
  const repo = world.repository('repo')
  const first = await openWorkspace(world.context(), { repo, branch: 'work' })
  world.sh(repo, 'worktree', 'remove', '-f', '-f', first.path)
  removeRecord(join(repo, '.git'), keyOf({ branch: 'work' }))
  world.sh(repo, 'branch', '-D', 'work')
  const refs = world.sh(repo, 'for-each-ref')
  const other = world.repository('other')
  mkdirSync(world.path('some', 'folder'), { recursive: true })
  const ways: Record<string, [() => void, string]> = {
    folder: [() => cpSync(world.path('some'), first.path, { recursive: true }), 'path_occupied'],
    file: [() => writeFileSync(first.path, 'x'), 'path_occupied'],
    link: [() => symlinkSync(world.path('root'), first.path), 'path_occupied'],
    repository: [() => world.sh(world.folder, 'clone', '-q', other, first.path), 'path_occupied'],
    tree: [() => world.sh(other, 'worktree', 'add', '-q', '--detach', first.path), 'identity_mismatch'],
  }
  for (const [name, [put, reason]] of Object.entries(ways)) {
    put()
    await expect(openWorkspace(world.context(), { repo, branch: 'work' }), name).rejects.toMatchObject({ details: { reason, path: first.path } })
    expect(existsSync(first.path), name).toBe(true)
    expect(world.sh(repo, 'for-each-ref'), name).toBe(refs)
    rmSync(first.path, { recursive: true })
  }
  expect((await openWorkspace(world.context(), { repo, branch: 'work' })).created).toBe(true)
})

it('a folder in the place of the tree that has none of its files is not made its tree', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  rmSync(place.first.path, { recursive: true })
  mkdirSync(place.first.path)
  writeFileSync(join(place.first.path, 'foreign'), 'x')
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'path_occupied' } })
  expect(readdirSync(place.first.path)).toEqual(['foreign'])
})

it('a tree whose lock names another workspace is left alone', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  writeFileSync(join(place.adminDir, 'locked'), 'holdfast:0123456789:abc')
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'identity_mismatch' } })
  expect(place.status()).toBe(dirty)
})

it('a copy of the repository does not take the workspace of the one that it was copied from', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)

  cpSync(place.repo, world.path('copy'), { recursive: true })
  await expect(openWorkspace(world.context(), { repo: world.path('copy'), branch: 'work' })).rejects.toMatchObject({
    details: { reason: 'identity_mismatch', found: place.commonDir },
  })
  expect(await place.open()).toMatchObject({ path: place.first.path, actions: [] })
  expect(place.status()).toBe(dirty)
})

it('a release that was cut short before anything was removed leaves a workspace', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const key = keyOf({ branch: 'work' })
  const record = readRecord(place.commonDir, key)
  if (record) writeRecord(place.commonDir, key, { ...record, state: 'releasing', holder: { pid: 2 ** 22 + 1, startTime: 'gone' } })
  const opened = await place.open()
  expect(names(opened)).toEqual(['kept'])
  await expectHealthy(place, opened)
})

it('a record of a tree that is being made deletes nothing outside of the folder of all workspaces', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  const key = keyOf({ branch: 'work' })
  const record = readRecord(place.commonDir, key)
  const victim = world.path('victim')
  world.sh(place.repo, 'worktree', 'add', '-q', '-b', 'victim', '--lock', '--reason', `holdfast:${record?.id}:abc`, victim)
  if (record) writeRecord(place.commonDir, key, { ...record, state: 'creating', nonce: 'abc', path: victim, holder: null })
  await expect(place.open()).rejects.toMatchObject({ details: { reason: 'not_owned', path: victim } })
  expect(existsSync(join(victim, 'a.txt'))).toBe(true)
})

it('nothing but the trees that are meant is there after all of it', async () => {
  await using world = openGitWorld()
  const place = await openPlace(world)
  rmSync(place.adminDir, { recursive: true })
  await place.open()
  rmSync(place.first.path, { recursive: true })
  await place.open()
  expect(listTrees(place.commonDir).map((tree) => tree.path)).toEqual([place.repo, place.first.path])
  expect(readdirSync(repositoryFiles(place.commonDir).records)).toEqual([`${keyOf({ branch: 'work' })}.json`])
})
