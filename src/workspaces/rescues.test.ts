import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { readEvents } from './events.ts'
import { keyOf } from './layout.ts'
import { openWorkspace } from './open.ts'
import { releaseWorkspace } from './release.ts'
import { dropRescue, exportRescue, listRescues, restoreRescue, showRescue } from './rescues.ts'

async function openOne(world: GitWorld) {
  const repo = world.repository('repository', { a: 'a\n', b: 'b\n', c: 'c\n' })
  const context = world.context({ base: repo, background: () => {} })
  const open = () => openWorkspace(context, { repo, branch: 'work', remotePolicy: 'local' })
  const opened = await open()
  return {
    ...opened,
    repo,
    context,
    open,
    /** Releases it with its work; the id of the rescue. */
    async saved(): Promise<string> {
      await releaseWorkspace(context, { workspace: opened.id, repo })
      return (await listRescues(context, { repo })).at(-1)?.id as string
    },
    status: () => world.sh(opened.path, 'status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all'),
  }
}

function work(world: GitWorld, path: string): void {
  writeFileSync(join(path, 'a'), 'staged\n')
  world.sh(path, 'add', 'a')
  writeFileSync(join(path, 'a'), 'staged and changed\n')
  rmSync(join(path, 'b'))
  chmodSync(join(path, 'c'), 0o755)
  symlinkSync('a', join(path, 'link'))
  writeFileSync(join(path, 'binary'), new Uint8Array([0, 1, 2, 255]))
}

describe('saved work', () => {
  it('is listed with what it holds, and shown with its files', async () => {
    await using world = openGitWorld()
    const { context, repo, path, id, saved } = await openOne(world)
    expect(await listRescues(context, { repo })).toEqual([])
    work(world, path)
    const rescue = await saved()
    const listed = await listRescues(context, { repo })
    expect(listed).toMatchObject([{ id: rescue, workspace: id, branch: 'work', holds: ['3 changed files', '1 staged file', '2 untracked files'] }])
    expect(rescue).toMatch(new RegExp(`^${id}-\\d{8}T\\d{6}Z-\\w+$`))
    const { files } = await showRescue(context, { rescue, repo })
    expect(files.map(({ status, path: name }) => `${status} ${name}`)).toEqual(['M a', 'D b', '? binary', 'M c', '? link'])
    expect(await listRescues({ ...context, base: world.folder }, {})).toEqual([])
  })

  it('is put back into the workspace that was opened again, as it was', async () => {
    await using world = openGitWorld()
    const { context, repo, path, open, saved, status } = await openOne(world)
    work(world, path)
    const before = status()
    const rescue = await saved()
    await expect(restoreRescue(context, { rescue, repo })).rejects.toMatchObject({ details: { reason: 'workspace_not_found' } })
    await open()
    expect(await restoreRescue(context, { rescue, repo })).toMatchObject({ rescue, path, actions: [{ name: 'restored', status: 'done' }] })
    expect(status()).toBe(before)
    expect(readEvents(join(repo, '.git'), keyOf({ branch: 'work' })).at(-1)?.name).toBe('restored')
    await expect(restoreRescue(context, { rescue, repo })).rejects.toMatchObject({ details: { reason: 'restore_refused' } })
  })

  it('is put into another workspace, found by its branch, on a HEAD that is on no branch where its own is taken', async () => {
    await using world = openGitWorld()
    const { context, repo, path, open, saved } = await openOne(world)
    work(world, path)
    const rescue = await saved()
    await open()
    const other = await openWorkspace(context, { repo, branch: 'other', remotePolicy: 'local' })
    const { actions } = await restoreRescue(context, { rescue, repo, workspace: 'other' })
    expect(actions[1]).toMatchObject({ status: 'skipped', detail: expect.stringContaining('checked out elsewhere') })
    expect(readFileSync(join(other.path, 'a'), 'utf8')).toBe('staged and changed\n')
  })

  it('is found without its repository being named', async () => {
    await using world = openGitWorld()
    const { context, path, open, saved } = await openOne(world)
    work(world, path)
    const rescue = await saved()
    await open()
    expect(await showRescue({ ...context, base: world.folder }, { rescue })).toMatchObject({ id: rescue })
    await expect(showRescue(context, { rescue: 'nothing' })).rejects.toMatchObject({ details: { reason: 'rescue_not_found' } })
  })

  it('is exported as a patch that git apply --index takes, with binary files, links and modes', async () => {
    await using world = openGitWorld()
    const { context, repo, path, saved } = await openOne(world)
    work(world, path)
    writeFileSync(join(path, 'latin'), new Uint8Array([0x66, 0xfc, 0x72, 10]))
    const rescue = await saved()
    const { patch, from } = await exportRescue(context, { rescue, repo })
    writeFileSync(world.path('patch'), patch)
    expect(from).toBe(world.sh(repo, 'rev-parse', 'HEAD'))
    world.sh(repo, 'apply', '--index', world.path('patch'))
    const [{ sha } = { sha: '' }] = await listRescues(context, { repo })
    expect(world.sh(repo, 'write-tree')).toBe(world.sh(repo, 'rev-parse', `${sha}^{tree}`))
  })

  it('of commits on no branch is exported from where they left the branch', async () => {
    await using world = openGitWorld()
    const { context, repo, path, saved } = await openOne(world)
    world.sh(path, 'checkout', '--quiet', '--detach')
    world.commit(path, { lone: 'x\n' })
    const { patch, from } = await exportRescue(context, { rescue: await saved(), repo })
    expect(from).toBe(world.sh(repo, 'rev-parse', 'work'))
    expect(patch).toContain('+x')
  })
})

describe('saved work that is dropped', () => {
  it('is kept while its branch lacks it, unless that is overruled', async () => {
    await using world = openGitWorld()
    const { context, repo, path, saved } = await openOne(world)
    work(world, path)
    const rescue = await saved()
    await expect(dropRescue(context, { rescue, repo })).rejects.toMatchObject({ details: { reason: 'rescue_needed', branch: 'work' } })
    expect(await dropRescue(context, { olderThanMs: 0, repo })).toEqual({ dropped: [], kept: [{ id: rescue, why: 'the branch does not have its files' }] })
    expect(await dropRescue(context, { rescue, repo, force: true })).toEqual({ dropped: [rescue], kept: [] })
    expect(await listRescues(context, { repo })).toEqual([])
  })

  it('goes when its branch has the files, and not before it is so old', async () => {
    await using world = openGitWorld()
    const { context, repo, path, open, saved } = await openOne(world)
    writeFileSync(join(path, 'new'), 'x')
    const rescue = await saved()
    await open()
    world.commit(path, { new: 'x', another: 'y' })
    expect(await dropRescue(context, { olderThanMs: 60_000, repo })).toEqual({ dropped: [], kept: [] })
    expect(await dropRescue(context, { olderThanMs: 0, repo })).toEqual({ dropped: [rescue], kept: [] })
  })

  it('is kept while something that was staged is nowhere else', async () => {
    await using world = openGitWorld()
    const { context, repo, path, open, saved } = await openOne(world)
    writeFileSync(join(path, 'new'), 'staged')
    world.sh(path, 'add', 'new')
    writeFileSync(join(path, 'new'), 'x')
    const rescue = await saved()
    await open()
    world.commit(path, { new: 'x' })
    await expect(dropRescue(context, { rescue, repo })).rejects.toMatchObject({ details: { reason: 'rescue_needed' } })
  })

  it('goes when its lone commits were picked onto the branch, and not before', async () => {
    await using world = openGitWorld()
    const { context, repo, path, open, saved } = await openOne(world)
    world.sh(path, 'checkout', '--quiet', '--detach')
    const lone = world.commit(path, { lone: 'x' })
    const rescue = await saved()
    await expect(dropRescue(context, { rescue, repo })).rejects.toMatchObject({ details: { reason: 'rescue_needed' } })
    await open()
    world.commit(path, { another: 'y' })
    world.sh(path, 'cherry-pick', lone)
    expect(await dropRescue(context, { rescue, repo })).toEqual({ dropped: [rescue], kept: [] })
  })

  it('needs to be named, by its id or by an age', async () => {
    await using world = openGitWorld()
    const { context, repo } = await openOne(world)
    await expect(dropRescue(context, { repo })).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})
