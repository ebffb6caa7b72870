import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type GitWorld, noCommands, openGitWorld } from '../../test/support/git-world.ts'
import type { WorkspaceRecord } from '../core/workspace.ts'
import type { ReleaseWorkspaceRequest } from '../core/workspace-provider.ts'
import { listTrees } from '../git/admin.ts'
import { createGit } from '../git/git.ts'
import type { WorkspaceContext } from './context.ts'
import { deleteWorkspaceBranch } from './delete-branch.ts'
import { readEvents } from './events.ts'
import { keyOf, trashFolder } from './layout.ts'
import { openWorkspace } from './open.ts'
import { listRecords, readRecord, writeRecord } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { listRescues, restoreRescue } from './rescues.ts'
import { moveAside, scratchFolder } from './trash.ts'

async function openOne(world: GitWorld, overrides: Partial<WorkspaceContext> = {}, files?: Record<string, string>) {
  const repo = world.repository('repository', files)
  // Nothing is deleted behind the back of a test, unless it says so.
  const context = world.context({ base: repo, background: () => {}, ...overrides })
  const open = () => openWorkspace(context, { repo, branch: 'work', remotePolicy: 'local' })
  const opened = await open()
  const release = (request: Partial<ReleaseWorkspaceRequest> = {}) => releaseWorkspace(context, { workspace: opened.id, repo, ...request })
  const commonDir = join(repo, '.git')
  const state = () => ({
    folder: existsSync(opened.path),
    record: readRecord(commonDir, keyOf({ branch: 'work' }))?.state,
    registered: listTrees(commonDir).length - 1,
    branch: world.sh(repo, 'for-each-ref', '--format=%(refname)', 'refs/heads/work'),
    trash: existsSync(trashFolder(context.root)) ? readdirSync(trashFolder(context.root)).length : 0,
  })
  return { repo, context, open, release, state, commonDir, key: keyOf({ branch: 'work' }), ...opened }
}

const untouched = { folder: true, record: 'ready', registered: 1, branch: 'refs/heads/work', trash: 0 }
const gone = { folder: false, record: undefined, registered: 0, branch: 'refs/heads/work', trash: 1 }

/** Somebody who writes by the path of the tree, once, right after git did the first call with that name. */
function writing(world: GitWorld, path: string, moment: string): typeof world.git {
  let isWritten = false
  return {
    ...world.git,
    async require(what, call) {
      const result = await world.git.require(what, call)
      if (what === moment && !isWritten) {
        isWritten = true
        for (const name of ['early', 'late']) writeFileSync(join(path, name), 'late\n')
      }
      return result
    },
  }
}

describe('a release', () => {
  it('removes the tree and its registration, and leaves the branch', async () => {
    await using world = openGitWorld()
    const { id, release, state, commonDir, key } = await openOne(world)
    expect(await release()).toMatchObject({ id, released: true, rescue: null, branch: 'work', stopped: [] })
    expect(state()).toEqual(gone)
    expect(
      readEvents(commonDir, key)
        .map(({ name }) => name)
        .slice(-3),
    ).toEqual(['releasing', 'removed', 'released'])
  })

  it('twice, or of what never was, is no failure', async () => {
    await using world = openGitWorld()
    const { release } = await openOne(world)
    await release()
    expect(await release()).toMatchObject({ released: false, rescue: null })
    expect(await release({ workspace: 'never/there' })).toMatchObject({ id: 'never/there', released: false })
  })

  it('by eight callers at once is done once', async () => {
    await using world = openGitWorld()
    const { release, path, state } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    const all = await Promise.all(Array.from({ length: 8 }, () => release()))
    expect(all.filter(({ released }) => released)).toHaveLength(1)
    expect(all.filter(({ rescue }) => rescue !== null)).toHaveLength(1)
    expect(state()).toEqual(gone)
  })

  it('saves what is nowhere else first, and says under which ref', async () => {
    await using world = openGitWorld()
    const { release, path, repo, state, id } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    const { rescue, actions } = await release()
    expect(rescue).toMatch(new RegExp(`^refs/holdfast/rescue/${id}/`))
    expect(world.sh(repo, 'show', `${rescue}:new`)).toBe('x')
    expect(actions.map(({ name }) => name)).toEqual(['rescued', 'removed'])
    expect(state()).toEqual(gone)
  })

  it('with the mode refuse is refused while something would be lost, which it names; nothing is changed', async () => {
    await using world = openGitWorld()
    const { release, path, state } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    await expect(release({ mode: 'refuse' })).rejects.toMatchObject({ details: { reason: 'workspace_dirty', holds: ['1 untracked file', 'namely new'] } })
    expect(state()).toEqual(untouched)
    rmSync(join(path, 'new'))
    expect(await release({ mode: 'refuse' })).toMatchObject({ released: true })
  })

  it('with the mode discard throws it away, and its history says what', async () => {
    await using world = openGitWorld()
    const { release, path, repo, commonDir, key, state } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    expect(await release({ mode: 'discard' })).toMatchObject({ released: true, rescue: null })
    expect(world.sh(repo, 'for-each-ref', 'refs/holdfast')).toBe('')
    expect(readEvents(commonDir, key).find(({ name }) => name === 'discarded')?.facts).toMatchObject({ holds: '1 untracked file' })
    expect(state()).toEqual(gone)
  })

  it('says how many commits are on no remote, which the branch keeps', async () => {
    await using world = openGitWorld()
    const { release, path, repo } = await openOne(world)
    world.remote(repo)
    world.commit(path, { new: 'x' })
    world.commit(path, { new: 'y' })
    expect((await release()).warnings).toEqual(['2 commits of work are on no remote; the branch keeps them'])
  })

  it('of a workspace that was opened again after it is a new one, with the branch as it was', async () => {
    await using world = openGitWorld()
    const { release, path, open, id } = await openOne(world)
    const tip = world.commit(path, { new: 'x' })
    await release()
    expect(await open()).toMatchObject({ id, path, created: false })
    expect(world.sh(path, 'rev-parse', 'HEAD')).toBe(tip)
  })

  it('that cannot look into the tree removes nothing', async () => {
    await using world = openGitWorld()
    const { release, state, commonDir } = await openOne(world)
    writeFileSync(join(listTrees(commonDir)[1]?.adminDir as string, 'index'), 'DIRC broken')
    await expect(release()).rejects.toMatchObject({ details: { reason: 'rescue_failed' } })
    expect(state()).toEqual(untouched)
  })

  it('that cannot save the work removes nothing', async () => {
    await using world = openGitWorld()
    const fail: WorkspaceContext['git'] = {
      ...world.git,
      require: (what, call) => world.git.require(what, call.args[0] === 'update-ref' ? { ...call, args: ['update-ref', '--no-such-option'] } : call),
    }
    const { path, context, state, repo, id } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    await expect(releaseWorkspace({ ...context, git: fail }, { workspace: id, repo })).rejects.toMatchObject({ details: { reason: 'rescue_failed' } })
    expect(state()).toEqual(untouched)
  })

  it('takes trees with a submodule, which git itself does not remove', async () => {
    await using world = openGitWorld()
    const library = world.repository('library', { l: 'l\n' })
    const { release, path, state, repo } = await openOne(world)
    world.sh(path, 'submodule', '--quiet', 'add', library, 'vendor/lib')
    world.sh(path, 'commit', '--quiet', '-m', 'submodule')
    writeFileSync(join(path, 'vendor/lib/l'), 'changed\n')
    await expect(release({ mode: 'refuse' })).rejects.toMatchObject({ details: { reason: 'workspace_dirty' } })
    const { rescue } = await release()
    expect(world.sh(repo, 'log', '--format=%s', '-1', `${rescue}`)).toContain('Work of workspace')
    expect([state(), readdirSync(join(repo, '.git')).includes('worktrees')]).toEqual([gone, false])
  })

  it('takes a tree with a submodule that is as its remote has it, without saving anything', async () => {
    await using world = openGitWorld()
    const library = world.repository('library', { l: 'l\n' })
    const { release, path, state } = await openOne(world)
    world.sh(path, 'submodule', '--quiet', 'add', library, 'vendor/lib')
    world.sh(path, 'commit', '--quiet', '-m', 'submodule')
    expect(() => world.sh(path, 'worktree', 'remove', path)).toThrow()
    expect(await release({ mode: 'refuse' })).toMatchObject({ released: true, rescue: null })
    expect(state()).toEqual(gone)
  })

  it('takes a tree that was moved beside its place by hand, with its work', async () => {
    await using world = openGitWorld()
    const { release, path, repo, state } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    renameSync(path, `${path}-moved`)
    const { rescue } = await release()
    expect([world.sh(repo, 'show', `${rescue}:new`), existsSync(`${path}-moved`)]).toEqual(['x', false])
    expect(state()).toEqual(gone)
  })

  it('of a branch that somebody deleted under it keeps its commits', async () => {
    await using world = openGitWorld()
    const { release, path, repo } = await openOne(world)
    const lone = world.commit(path, { new: 'x' })
    world.sh(repo, 'update-ref', '-d', 'refs/heads/work')
    const { rescue } = await release()
    expect(world.sh(repo, 'rev-list', `${rescue}`).split('\n')).toContain(lone)
  })

  it('takes a tree whose folder somebody deleted, and keeps the commits that only it had', async () => {
    await using world = openGitWorld()
    const { release, path, state, repo } = await openOne(world)
    world.sh(path, 'checkout', '--quiet', '--detach')
    const lone = world.commit(path, { lone: 'x' })
    rmSync(path, { recursive: true })
    const { rescue } = await release()
    expect(world.sh(repo, 'rev-list', `${rescue}`).split('\n')).toContain(lone)
    expect(state()).toEqual({ ...gone, trash: 0 })
  })

  it('is not stopped by a lock of an index that nobody holds any more', async () => {
    await using world = openGitWorld()
    const { release, path, commonDir, state } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    writeFileSync(join(listTrees(commonDir)[1]?.adminDir as string, 'index.lock'), '')
    expect((await release()).rescue).not.toBeNull()
    expect(state()).toEqual(gone)
  })

  it('deletes the files later, in the background', async () => {
    await using world = openGitWorld()
    const { release, path, context } = await openOne(world, { background: undefined })
    mkdirSync(join(path, 'ignored/deep'), { recursive: true })
    writeFileSync(join(path, 'ignored/deep/file'), 'x')
    await release({ mode: 'discard' })
    await vi.waitFor(() => expect(readdirSync(trashFolder(context.root))).toEqual([]), { timeout: 10_000 })
  })
})

describe('a workspace in use', () => {
  const running = [{ run: 'r1', command: 'npm test' }]

  it('is refused with the name of the command', async () => {
    await using world = openGitWorld()
    const { release, state } = await openOne(world, { commands: { ...noCommands, running: async () => running } })
    await expect(release()).rejects.toMatchObject({ details: { reason: 'workspace_busy', commands: ['npm test (run r1)'] } })
    expect(state()).toEqual(untouched)
  })

  it('is released with stop, which ends the command first', async () => {
    await using world = openGitWorld()
    let isOver = false
    const stop = async () => {
      isOver = true
      return ['r1']
    }
    const commands = { ...noCommands, running: async () => (isOver ? [] : running), stop }
    const { release, state } = await openOne(world, { commands })
    expect(await release({ stop: true })).toMatchObject({ released: true, stopped: ['r1'] })
    expect(state()).toEqual(gone)
  })

  it('is refused when the command does not end', async () => {
    await using world = openGitWorld()
    const { release, state } = await openOne(world, { commands: { ...noCommands, running: async () => running, stop: async () => [] } })
    await expect(release({ stop: true })).rejects.toMatchObject({ details: { reason: 'workspace_busy' } })
    expect(state()).toEqual(untouched)
  })

  it('does not come back where something makes its folder again in that very moment, and what that wrote is left alone', async () => {
    await using world = openGitWorld()
    const { context, path, repo, id, state } = await openOne(world)
    // As a program does that writes by an absolute path: the tree is in the trash, and git still knows it.
    const git: typeof world.git = {
      ...world.git,
      require(what, call) {
        if (call.args[0] === 'worktree') mkdirSync(path)
        return world.git.require(what, call)
      },
      run(call) {
        if (call.args[0] === 'worktree') mkdirSync(path)
        return world.git.run(call)
      },
    }
    const { released, warnings } = await releaseWorkspace({ ...context, git }, { workspace: id, repo })
    expect([released, warnings.at(-1), state()]).toEqual([true, expect.stringContaining(`something made ${path} again`), { ...gone, folder: true }])
  })

  it('keeps what is written by its path while it is looked at and saved', async () => {
    for (const moment of ['looking at the changes', 'saving files']) {
      await using world = openGitWorld()
      const { context, path, repo, id, state } = await openOne(world)
      if (moment === 'saving files') writeFileSync(join(path, 'early'), 'early\n')
      const { released, rescue } = await releaseWorkspace({ ...context, git: writing(world, path, moment) }, { workspace: id, repo })
      expect([released, world.sh(repo, 'show', `${rescue}:late`), world.sh(repo, 'show', `${rescue}:early`), state()]).toEqual([true, 'late', 'late', gone])
    }
  })

  it('puts the tree back where what was written in the last moment cannot be kept', async () => {
    await using world = openGitWorld()
    const { context, path, repo, id, state } = await openOne(world)
    const git = writing(world, path, 'looking at the changes')
    const refused = releaseWorkspace({ ...context, git }, { workspace: id, repo, mode: 'refuse' })
    await expect(refused).rejects.toMatchObject({ details: { reason: 'workspace_dirty' } })
    expect([state(), readFileSync(join(path, 'late'), 'utf8'), readdirSync(scratchFolder(context.root))]).toEqual([untouched, 'late\n', []])
  })

  it('that cannot take the tree away leaves the workspace as it was, and one that cannot take it to the trash is finished by the next', async () => {
    await using world = openGitWorld()
    const { context, path, release, state } = await openOne(world)
    writeFileSync(scratchFolder(context.root), 'a file')
    await expect(release()).rejects.toMatchObject({ details: { reason: 'file_failed' } })
    expect(state()).toEqual(untouched)
    rmSync(scratchFolder(context.root))
    writeFileSync(trashFolder(context.root), 'a file')
    await expect(release()).rejects.toMatchObject({ details: { reason: 'file_failed' } })
    expect([existsSync(path), readdirSync(scratchFolder(context.root)).length]).toEqual([false, 1])
    rmSync(trashFolder(context.root))
    expect([await release(), state(), readdirSync(scratchFolder(context.root))]).toMatchObject([{ released: true }, gone, []])
  })

  it('cut short while its tree is aside, it is finished by releasing again and taken back by opening again, with all that is in it', async () => {
    for (const next of ['release', 'open'] as const) {
      await using world = openGitWorld()
      const { context, path, repo, release, open, state, commonDir, key } = await openOne(world)
      writeFileSync(join(path, 'late'), 'late\n')
      const record = { ...(readRecord(commonDir, key) as WorkspaceRecord), state: 'releasing' as const, holder: null }
      writeRecord(commonDir, key, record)
      moveAside(context, path, record)
      const rescue = next === 'release' ? (await release()).rescue : null
      if (next === 'open') await open()
      const late = next === 'open' ? readFileSync(join(path, 'late'), 'utf8').trim() : world.sh(repo, 'show', `${rescue}:late`)
      expect([next, late, state(), readdirSync(scratchFolder(context.root))]).toEqual([next, 'late', next === 'open' ? untouched : gone, []])
    }
  })

  it('is refused while a git that is alive holds its index', async () => {
    await using world = openGitWorld()
    const { release, path, commonDir, state } = await openOne(world)
    const lock = join(listTrees(commonDir)[1]?.adminDir as string, 'index.lock')
    const descriptor = openSync(lock, 'w')
    const child = spawn('sleep', ['60'], { stdio: ['ignore', descriptor, 'ignore'] })
    closeSync(descriptor)
    onTestFinished(() => void child.kill('SIGKILL'))
    await started(child)
    writeFileSync(join(path, 'new'), 'x')
    await expect(release()).rejects.toMatchObject({ details: { reason: 'index_locked', path: lock, holder: expect.stringContaining(`${child.pid}`) } })
    expect([state(), existsSync(lock)]).toEqual([untouched, true])
  })

  it('is refused with the name of another process that works in it; with stop that is a warning', async () => {
    await using world = openGitWorld()
    const { release, path, state } = await openOne(world)
    const child = spawn('sleep', ['60'], { cwd: path, stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    await started(child)
    await expect(release()).rejects.toMatchObject({ details: { reason: 'workspace_busy', commands: [`sleep (process ${child.pid})`] } })
    expect(state()).toEqual(untouched)
    const { released, warnings } = await release({ stop: true })
    expect([released, warnings[0]]).toEqual([true, expect.stringContaining(`sleep (process ${child.pid})`)])
  })
})

const started = (child: ChildProcess): Promise<void> =>
  vi.waitFor(() => expect(readFileSync(`/proc/${child.pid}/comm`, 'utf8').trim()).toBe('sleep'), { timeout: 10_000 })

describe('what is not surely ours', () => {
  const refused = (reason: string, why?: RegExp) => ({ details: { reason, ...(why ? { why: expect.stringMatching(why) } : {}) } })

  it('a folder on no record is refused and left alone', async () => {
    await using world = openGitWorld()
    const { release, repo, context } = await openOne(world)
    const other = world.path('other')
    world.sh(repo, 'worktree', 'add', '--quiet', '--detach', other)
    mkdirSync(join(context.root, 'x', 'y'), { recursive: true })
    for (const folder of [other, repo, join(context.root, 'x', 'y')]) {
      await expect(release({ workspace: folder, repo: undefined })).rejects.toMatchObject(refused('not_owned'))
      expect(existsSync(folder)).toBe(true)
    }
  })

  it('a record that names a place outside of the root is refused', async () => {
    await using world = openGitWorld()
    const { release, commonDir, key, repo, path } = await openOne(world)
    const outside = world.path('outside')
    // Everything but its place says that it is the tree that was made.
    world.sh(repo, 'worktree', 'move', '--force', '--force', path, outside)
    const record = readRecord(commonDir, key)
    if (record) writeRecord(commonDir, key, { ...record, path: outside })
    await expect(release({ workspace: 'work' })).rejects.toMatchObject(refused('not_owned', /is not inside of/))
    expect(existsSync(join(outside, 'README.md'))).toBe(true)
  })

  it('a link in the place of the tree is not followed', async () => {
    await using world = openGitWorld()
    const { release, path } = await openOne(world)
    const target = world.path('target')
    mkdirSync(target)
    writeFileSync(join(target, 'precious'), 'x')
    renameSync(path, `${path}-away`)
    symlinkSync(target, path)
    await expect(release()).rejects.toMatchObject(refused('not_owned'))
    expect(readFileSync(join(target, 'precious'), 'utf8')).toBe('x')
  })

  it('a tree that another repository took over is refused', async () => {
    await using world = openGitWorld()
    const { release, path } = await openOne(world)
    const other = world.repository('other-repository')
    renameSync(path, `${path}-away`)
    world.sh(other, 'worktree', 'add', '--quiet', '--detach', path)
    await expect(release()).rejects.toMatchObject(refused('identity_mismatch'))
    expect(existsSync(join(path, 'README.md'))).toBe(true)
  })

  it('a tree that was made again by somebody else in the same place is refused', async () => {
    await using world = openGitWorld()
    const { release, path, repo } = await openOne(world)
    world.sh(repo, 'worktree', 'remove', '--force', '--force', path)
    world.sh(repo, 'worktree', 'add', '--quiet', path, 'work')
    await expect(release()).rejects.toMatchObject(refused('not_owned', /nothing says/))
    expect(existsSync(join(path, 'README.md'))).toBe(true)
  })

  it('a tree that somebody locked is refused with the reason, also when its folder is gone', async () => {
    await using world = openGitWorld()
    const { release, path, repo, state } = await openOne(world)
    world.sh(repo, 'worktree', 'unlock', path)
    world.sh(repo, 'worktree', 'lock', '--reason', 'agent 4711', path)
    await expect(release()).rejects.toMatchObject(refused('locked_foreign', /agent 4711/))
    expect(state()).toEqual(untouched)
    rmSync(path, { recursive: true })
    await expect(release()).rejects.toMatchObject(refused('locked_foreign', /agent 4711/))
    expect(state()).toEqual({ ...untouched, folder: false })
  })

  it('a tree without its .git, or that git forgot, is refused until it is mended, and then released', async () => {
    await using world = openGitWorld()
    const { release, path, open, repo, state, commonDir, key } = await openOne(world)
    unlinkSync(join(path, '.git'))
    await expect(release()).rejects.toMatchObject(refused('workspace_unusable', /lost its .git/))
    await open()
    world.sh(repo, 'worktree', 'unlock', path)
    rmSync(join(repo, '.git/worktrees'), { recursive: true })
    await expect(release()).rejects.toMatchObject(refused('workspace_unusable', /git forgot/))
    await open()
    expect(await release()).toMatchObject({ released: true })
    expect(state()).toEqual(gone)
    await open()
    world.sh(repo, 'worktree', 'unlock', path)
    rmSync(join(repo, '.git/worktrees'), { recursive: true })
    expect(await release({ mode: 'discard' })).toMatchObject({ released: true, rescue: null })
    expect(state()).toEqual({ ...gone, trash: 2 })
    expect(readEvents(commonDir, key)).toContainEqual(expect.objectContaining({ name: 'discarded', facts: { inspected: false } }))
  })

  it('a tree whose repository is gone goes only when it is said that it may be lost', async () => {
    await using world = openGitWorld()
    const { release, path, repo, id } = await openOne(world)
    rmSync(repo, { recursive: true })
    for (const workspace of [path, id]) {
      await expect(release({ workspace, repo: undefined })).rejects.toMatchObject(refused('workspace_unusable', /repository .* is gone/))
    }
    expect(existsSync(join(path, 'README.md'))).toBe(true)
    expect(await release({ workspace: path, repo: undefined, mode: 'discard' })).toMatchObject({ released: true })
    expect([existsSync(path), await release({ workspace: path, repo: undefined })]).toMatchObject([false, { released: false }])
  })

  it('a repository that moved is found again, and its tree is released', async () => {
    await using world = openGitWorld()
    const { release, path, repo } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    const moved = world.path('moved')
    renameSync(repo, moved)
    const { released, rescue } = await release({ repo: moved })
    expect([released, existsSync(path), world.sh(moved, 'show', `${rescue}:new`), listTrees(join(moved, '.git'))]).toMatchObject([
      true,
      false,
      'x',
      { length: 1 },
    ])
  })
})

it('over a whole round of open and release, git is never asked for anything that could take work away', async () => {
  await using world = openGitWorld()
  const calls: string[] = []
  const runProgram: typeof world.runProgram = (request) => {
    const words = request.argv.slice(1)
    const first = words.findIndex((word, at) => !word.startsWith('-') && words[at - 1] !== '-c')
    calls.push(words.slice(first).join(' '))
    return world.runProgram(request)
  }
  const git = createGit({ runProgram, ownEnv: world.env })
  const { release, path, open, repo, context } = await openOne(world, { git })
  world.sh(path, 'checkout', '--quiet', '--detach')
  world.commit(path, { lone: 'x' })
  writeFileSync(join(path, 'untracked'), 'x')
  await release()
  await open()
  const [rescue] = await listRescues(context, { repo })
  await restoreRescue(context, { rescue: rescue?.id as string, repo })
  await release({ mode: 'discard' })
  await open()
  rmSync(path, { recursive: true })
  await open()
  rmSync(path, { recursive: true })
  await release()
  await deleteWorkspaceBranch(context, { branch: 'work', repo })
  const forbidden =
    /^(worktree (prune|move)|worktree add .*(-f|--force|-B)\b|branch\b|reset .*--hard|clean|gc|prune|reflog|stash (drop|clear)|checkout .*(-f|--force|-B)\b)/
  expect(calls.filter((call) => forbidden.test(call))).toEqual([])
  expect(calls.filter((call) => /^worktree (add|remove)/.test(call)).length).toBeGreaterThanOrEqual(6)
})

it('no record is left behind, and no other workspace is touched', async () => {
  await using world = openGitWorld()
  const { release, commonDir, context, repo } = await openOne(world)
  const other = await openWorkspace(context, { repo, branch: 'other', remotePolicy: 'local' })
  await release()
  expect(listRecords(commonDir).map(({ record }) => record.branch)).toEqual(['other'])
  expect([existsSync(other.path), world.sh(other.path, 'status', '--porcelain')]).toEqual([true, ''])
})
