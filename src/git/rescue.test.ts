import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { type Random, random } from '../../test/support/random.ts'
import { inspectTree } from './inspect.ts'
import { saveWork } from './rescue.ts'
import { restoreWork } from './restore.ts'

/** A repository with a worktree on the branch `work`, which can be thrown away and made anew. */
function openTree(world: GitWorld, files?: Record<string, string>) {
  const repository = world.repository('repository', files)
  const path = world.path('tree')
  const add = (): void => void world.sh(repository, 'worktree', 'add', '--quiet', path, 'work')
  world.sh(repository, 'branch', 'work')
  add()
  const place = { path, adminDir: join(repository, '.git', 'worktrees', 'tree') }
  const save = (name = 'one') => saveWork(world.git, place, { workspace: '0123456789', branch: 'work', at: new Date(), name })
  return {
    repository,
    place,
    path,
    save,
    /** Saves, removes the tree by force, collects all garbage, makes a new one and restores into it. */
    async roundTrip() {
      const rescue = await save()
      if (rescue === null) throw new Error('nothing was saved')
      discard()
      add()
      const notes = await restoreWork(world.git, place, { commit: rescue.sha, scratch: world.path('scratch'), isFree: () => true })
      return { rescue, notes }
    },
    discard,
    add,
    status: () => statusOf(world, path),
  }
  function discard(): void {
    world.sh(repository, 'worktree', 'remove', '--force', path)
    world.sh(repository, 'reflog', 'expire', '--expire=now', '--expire-unreachable=now', '--all')
    world.sh(repository, 'gc', '--quiet', '--prune=now')
  }
}

const statusOf = (world: GitWorld, path: string): string[] => world.sh(path, 'status', '--porcelain=v2', '--branch', '--untracked-files=all', '-z').split('\0')

/** Every file with its kind, permissions and bytes, `.git` left out. */
function snapshot(folder: string, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(folder, { encoding: 'latin1' }).sort()) {
    if (name === '.git') continue
    const at = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')])
    const stat = lstatSync(at)
    const path = `${prefix}${name}`
    if (stat.isSymbolicLink()) found[path] = `link ${readlinkSync(at)}`
    else if (stat.isDirectory()) Object.assign(found, snapshot(join(folder, name), `${path}/`))
    else found[path] = `${(stat.mode & 0o7777).toString(8)} ${readFileSync(at).toString('base64')}`
  }
  return found
}

function put(folder: string, path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

describe('what is found in a tree', () => {
  it('a clean tree holds nothing, also with commits that no remote has, which its branch keeps', async () => {
    await using world = openGitWorld()
    const { place, path, save, repository } = openTree(world)
    world.commit(path, { 'new.txt': 'x' })
    expect(await inspectTree(world.git, place)).toMatchObject({ holds: [], unpushed: 0 })
    world.remote(repository)
    world.commit(path, { 'new.txt': 'y' })
    expect(await inspectTree(world.git, place)).toMatchObject({ holds: [], unpushed: 1 })
    expect(await save()).toBeNull()
  })

  it('changed, staged, untracked and hidden files, and commits on no branch are each named', async () => {
    await using world = openGitWorld()
    const { place, path } = openTree(world, { a: 'a', b: 'b', c: 'c', d: 'd' })
    world.sh(path, 'checkout', '--quiet', '--detach')
    world.commit(path, { e: 'e' })
    put(path, 'a', 'changed')
    put(path, 'b', 'staged')
    world.sh(path, 'add', 'b')
    put(path, 'new/file', 'x')
    world.sh(path, 'update-index', '--skip-worktree', 'c')
    world.sh(path, 'update-index', '--assume-unchanged', 'd')
    put(path, 'c', 'hidden')
    rmSync(join(path, 'd'))
    expect((await inspectTree(world.git, place)).holds).toEqual([
      '1 changed file',
      '1 staged file',
      '1 untracked file',
      '2 changed files that git was told not to see',
      '1 commit on no branch',
    ])
  })

  it('a commit that only the reflog of the tree still names is found', async () => {
    await using world = openGitWorld()
    const { place, path, roundTrip, repository } = openTree(world)
    world.sh(path, 'checkout', '--quiet', '--detach')
    const lost = world.commit(path, { e: 'e' })
    world.sh(path, 'checkout', '--quiet', 'work')
    expect((await inspectTree(world.git, place)).holds).toEqual(['1 commit on no branch'])
    await roundTrip()
    expect(world.sh(repository, 'cat-file', '-t', lost)).toBe('commit')
  })

  it('a commit that somebody else has is not the work of the tree', async () => {
    await using world = openGitWorld()
    const { place, path } = openTree(world)
    world.sh(path, 'checkout', '--quiet', '--detach')
    const base = world.commit(path, { e: 'e' })
    expect((await inspectTree(world.git, place, { known: [base] })).holds).toEqual([])
  })

  it('an index that cannot be read is no clean tree', async () => {
    await using world = openGitWorld()
    const { place, save } = openTree(world)
    writeFileSync(join(place.adminDir, 'index'), 'DIRC broken')
    await expect(inspectTree(world.git, place)).rejects.toMatchObject({ details: { reason: 'git_failed' } })
    await expect(save()).rejects.toMatchObject({ details: { reason: 'rescue_failed' } })
  })

  it('a file that was changed in the moment in which the index was written is seen', async () => {
    await using world = openGitWorld()
    const { place, path } = openTree(world, { a: 'one' })
    for (let n = 0; n < 8; n++) {
      put(path, 'a', 'two')
      world.sh(path, 'add', 'a')
      put(path, 'a', 'six')
      expect((await inspectTree(world.git, place)).holds).toContain('1 changed file')
    }
  })
})

describe('what was saved and put back', () => {
  it('is the same: staged and not, deleted and renamed, links, modes, bytes, and names of any kind', async () => {
    await using world = openGitWorld()
    const { path, roundTrip, status } = openTree(world, { a: 'a\n', b: 'b\n', c: 'c\n', 'folder/d': 'd\n', e: 'e\n', f: 'f\n', 'g h': 'g\n' })
    put(path, 'a', 'staged\n')
    world.sh(path, 'add', 'a')
    put(path, 'a', 'staged\nand changed\n')
    chmodSync(join(path, 'b'), 0o755)
    unlinkSync(join(path, 'c'))
    symlinkSync('../nowhere', join(path, 'c'))
    rmSync(join(path, 'folder'), { recursive: true })
    put(path, 'folder', 'a file now')
    renameSync(join(path, 'e'), join(path, 'e2'))
    world.sh(path, 'add', '--all', 'e', 'e2')
    world.sh(path, 'rm', '--quiet', '--cached', 'f')
    put(path, 'intended', 'x')
    world.sh(path, 'add', '--intent-to-add', 'intended')
    put(path, 'two\nlines "quoted"\\\r', 'x\r\n')
    put(path, ' é ü', new Uint8Array([0, 255, 10, 13, 0]))
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0x66, 0xff, 0xfe])]), 'not UTF-8')
    put(path, '-x', '')
    put(path, 'secret', 'x')
    chmodSync(join(path, 'secret'), 0o600)
    symlinkSync('a', join(path, 'link'))
    put(path, 'staged only', 'x')
    world.sh(path, 'add', 'staged only')
    rmSync(join(path, 'staged only'))
    const before = [status(), snapshot(path)]
    const { notes } = await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
    expect(notes).toEqual([])
  })

  it('is the same with filters, attributes and line ends that git would convert', async () => {
    await using world = openGitWorld()
    const { path, roundTrip } = openTree(world, { '.gitattributes': '*.txt text eol=crlf\n*.bin filter=lfs\n', 'a.txt': 'a\n', 'b.bin': 'b' })
    world.sh(path, 'config', 'filter.lfs.clean', 'false')
    world.sh(path, 'config', 'filter.lfs.smudge', 'false')
    world.sh(path, 'config', 'filter.lfs.required', 'true')
    put(path, 'a.txt', 'mixed\r\nand\nnot\r')
    put(path, 'b.bin', new Uint8Array([1, 2, 3]))
    put(path, 'new.txt', 'one\ntwo\r\n')
    put(path, 'new.bin', 'x')
    const before = snapshot(path)
    world.sh(path, 'config', 'filter.lfs.smudge', 'cat')
    await roundTrip()
    expect(snapshot(path)).toEqual(before)
  })

  it('has names that only another file system would take for `.git`, on disk and in the index', async () => {
    await using world = openGitWorld()
    const { path, roundTrip, status } = openTree(world)
    put(path, 'git~1', 'x')
    put(path, 'folder/GIT~1 /file', 'y')
    put(path, 'GIT~1', 'staged')
    world.sh(path, '-c', 'core.protectNTFS=false', 'add', 'GIT~1')
    const before = [status(), snapshot(path)]
    await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
  })

  it('has what is staged as it is on disk, not as git converted it', async () => {
    await using world = openGitWorld()
    const { path, repository, roundTrip, status } = openTree(world, { 'a.txt': 'a\n' })
    world.sh(repository, 'config', 'core.autocrlf', 'true')
    put(path, 'a.txt', 'changed\r\n')
    put(path, 'b.txt', 'new\r\n')
    world.sh(path, 'add', 'a.txt', 'b.txt')
    const before = [status(), snapshot(path)]
    await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
  })

  it('has a file that was taken out of the index and is ignored since, with what was changed in it', async () => {
    await using world = openGitWorld()
    const { path, roundTrip, status } = openTree(world, { 'settings.local': 'old\n', 'same.local': 'same\n' })
    world.sh(path, 'rm', '--quiet', '--cached', 'settings.local', 'same.local')
    put(path, '.gitignore', '*.local\n')
    put(path, 'settings.local', 'only here\n')
    const before = [status(), snapshot(path)]
    const { rescue } = await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
    expect(rescue.holds).toContain('2 changed files that git was told not to see')
  })

  it('is the same in the middle of a merge with conflicts, which can be gone on with', async () => {
    await using world = openGitWorld()
    const { path, repository, roundTrip, status } = openTree(world, { a: 'a\n', b: 'b\n', c: 'c\n' })
    world.commit(repository, { a: 'theirs\n', c: 'theirs\n' })
    put(path, 'a', 'ours\n')
    rmSync(join(path, 'c'))
    world.sh(path, 'commit', '--quiet', '--all', '-m', 'ours')
    expect(() => world.sh(path, 'merge', 'main')).toThrow()
    put(path, 'b', 'changed')
    const before = [status(), snapshot(path), world.sh(path, 'ls-files', '--stage')]
    const { rescue } = await roundTrip()
    expect([status(), snapshot(path), world.sh(path, 'ls-files', '--stage')]).toEqual(before)
    expect(rescue.holds).toContain('a merge that is not over')
    world.sh(path, 'add', '--all')
    world.sh(path, 'commit', '--quiet', '--no-edit')
    expect(world.sh(path, 'rev-list', '--parents', '--max-count=1', 'HEAD').split(' ')).toHaveLength(3)
  })

  it('is the same in the middle of a rebase, which can be gone on with and ends on its branch', async () => {
    await using world = openGitWorld()
    const { path, repository, roundTrip, status } = openTree(world, { a: 'a\n' })
    world.commit(repository, { a: 'theirs\n' })
    world.commit(path, { a: 'ours\n' })
    world.commit(path, { b: 'second\n' })
    put(path, 'b', 'set aside\n')
    expect(() => world.sh(path, 'rebase', '--autostash', 'main')).toThrow()
    const before = [status(), snapshot(path)]
    const { rescue } = await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
    expect(rescue.holds).toContain('a rebase that is not over')
    put(path, 'a', 'both\n')
    world.sh(path, 'add', 'a')
    world.sh(path, '-c', 'core.editor=true', 'rebase', '--continue')
    expect(world.sh(path, 'symbolic-ref', 'HEAD')).toBe('refs/heads/work')
    expect(readFileSync(join(path, 'b'), 'utf8')).toBe('set aside\n')
  })

  it('is the same on a HEAD that was on no branch, and in the middle of a bisect', async () => {
    await using world = openGitWorld()
    const { path, roundTrip, status } = openTree(world)
    for (const n of [1, 2, 3, 4, 5, 6]) world.commit(path, { n: String(n) })
    world.sh(path, 'bisect', 'start', 'HEAD', 'HEAD~6')
    world.sh(path, 'bisect', 'good')
    put(path, 'new', 'x')
    const before = [status(), world.sh(path, 'bisect', 'log'), world.sh(path, 'for-each-ref', 'refs/bisect')]
    await roundTrip()
    expect([status(), world.sh(path, 'bisect', 'log'), world.sh(path, 'for-each-ref', 'refs/bisect')]).toEqual(before)
  })

  it('keeps the bits of files that git was told not to see', async () => {
    await using world = openGitWorld()
    const { path, roundTrip } = openTree(world, { a: 'a', b: 'b', c: 'c' })
    world.sh(path, 'update-index', '--skip-worktree', 'a')
    world.sh(path, 'update-index', '--assume-unchanged', 'b')
    put(path, 'a', 'hidden')
    put(path, 'b', 'hidden, too')
    const before = [snapshot(path), world.sh(path, 'ls-files', '-v')]
    await roundTrip()
    expect([snapshot(path), world.sh(path, 'ls-files', '-v')]).toEqual(before)
  })

  it('leaves what a sparse checkout does not have as it is', async () => {
    await using world = openGitWorld()
    const { path, save, repository } = openTree(world, { 'in/a': 'a', 'out/b': 'b' })
    world.sh(path, 'sparse-checkout', 'set', 'in')
    put(path, 'in/new', 'x')
    const rescue = await save()
    expect(rescue?.holds).toEqual(['1 untracked file'])
    expect(world.sh(repository, 'ls-tree', '-r', '--name-only', `${rescue?.sha}`)).toBe('in/a\nin/new\nout/b')
  })

  it('is the same in a partial clone whose remote is gone', async () => {
    await using world = openGitWorld()
    const source = world.repository('source', { a: 'a\n', b: 'b\n' })
    world.sh(source, 'config', 'uploadpack.allowFilter', 'true')
    const path = world.path('partial')
    world.sh(world.folder, 'clone', '--quiet', '--filter=blob:none', '--sparse', `file://${source}`, path)
    world.sh(path, 'sparse-checkout', 'set', '--no-cone', '/a')
    rmSync(source, { recursive: true })
    const place = { path, adminDir: join(path, '.git') }
    put(path, 'a', 'changed')
    put(path, 'new', 'x')
    const before = [statusOf(world, path), snapshot(path)]
    const rescue = await saveWork(world.git, place, { workspace: '0123456789', branch: null, at: new Date(), name: 'x' })
    put(path, 'a', 'a\n')
    rmSync(join(path, 'new'))
    await restoreWork(world.git, place, { commit: rescue?.sha as string, scratch: world.path('scratch'), isFree: () => true })
    expect([statusOf(world, path), snapshot(path)]).toEqual(before)
  })

  it('is the same for a tree before the first commit', async () => {
    await using world = openGitWorld()
    const path = world.path('empty')
    world.sh(world.folder, 'init', '--quiet', path)
    put(path, 'a', 'staged')
    world.sh(path, 'add', 'a')
    put(path, 'b', 'untracked')
    const place = { path, adminDir: join(path, '.git') }
    const rescue = await saveWork(world.git, place, { workspace: '0123456789', branch: null, at: new Date(), name: 'x' })
    const before = [statusOf(world, path), snapshot(path)]
    for (const name of ['a', 'b', '.git/index']) rmSync(join(path, name))
    await restoreWork(world.git, place, { commit: rescue?.sha as string, scratch: world.path('scratch'), isFree: () => true })
    expect([statusOf(world, path), snapshot(path)]).toEqual(before)
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('is the same for a tree that chance made (%i)', async (seed) => {
    await using world = openGitWorld()
    const chance = random(seed)
    const { path, roundTrip, status, save, discard, add } = openTree(world, Object.fromEntries(names.map((name) => [name, `${name}\n`])))
    for (let step = 0; step < 25; step++) change(world, path, chance)
    const before = [status(), snapshot(path), world.sh(path, 'diff', '--cached', '--raw', '--no-renames')]
    if ((await inspectTree(world.git, { path, adminDir: join(world.path('repository'), '.git', 'worktrees', 'tree') })).holds.length === 0) {
      expect(await save()).toBeNull()
      discard()
      return add()
    }
    await roundTrip()
    expect([status(), snapshot(path), world.sh(path, 'diff', '--cached', '--raw', '--no-renames')]).toEqual(before)
  })
})

describe('repositories inside of a tree', () => {
  function nestedIn(world: GitWorld, folder: string): string {
    world.sh(world.folder, 'init', '--quiet', '--initial-branch=main', folder)
    return world.commit(folder, { inner: 'inner\n' })
  }

  it('one that git does not know comes back with its commits, branches, stashes and changes', async () => {
    await using world = openGitWorld()
    const { path, repository, roundTrip, status } = openTree(world)
    const nested = join(path, 'nested')
    const head = nestedIn(world, nested)
    world.sh(nested, 'branch', 'other')
    put(nested, 'inner', 'stashed\n')
    world.sh(nested, 'stash')
    put(nested, 'inner', 'staged\n')
    world.sh(nested, 'add', 'inner')
    put(nested, 'untracked', 'x')
    put(path, 'own', 'x')
    nestedIn(world, join(nested, 'third'))
    const look = () => [status(), statusOf(world, nested), snapshot(path), world.sh(nested, 'for-each-ref'), world.sh(nested, 'stash', 'list', '--format=%H')]
    const before = look()
    const { rescue } = await roundTrip()
    expect(look()).toEqual(before)
    expect(world.sh(repository, 'cat-file', '-t', head)).toBe('commit')
    expect(rescue.holds[1]).toContain('the repository nested (1 staged file, 1 untracked file')
  })

  it('one that has worktrees of its own elsewhere leaves their commits', async () => {
    await using world = openGitWorld()
    const { path, repository, roundTrip } = openTree(world)
    const nested = join(path, 'nested')
    nestedIn(world, nested)
    const elsewhere = world.path('elsewhere')
    world.sh(nested, 'worktree', 'add', '--quiet', '--detach', elsewhere)
    const lone = world.commit(elsewhere, { lone: 'x' })
    await roundTrip()
    expect(world.sh(repository, 'cat-file', '-t', lone)).toBe('commit')
  })

  it('one that git ignores comes back with what no remote has of it, and is of no account without', async () => {
    await using world = openGitWorld()
    const { path, repository, save, roundTrip } = openTree(world, { '.gitignore': 'vendor/\n' })
    const remote = world.repository('remote')
    const nested = join(path, 'vendor/deep/nested')
    world.sh(world.folder, 'clone', '--quiet', remote, nested)
    expect(await save()).toBeNull()
    const lone = world.commit(nested, { mine: 'x' })
    put(nested, 'untracked', 'y')
    const before = [snapshot(nested), world.sh(nested, 'status', '--porcelain'), world.sh(nested, 'symbolic-ref', 'HEAD')]
    const { rescue } = await roundTrip()
    expect([snapshot(nested), world.sh(nested, 'status', '--porcelain'), world.sh(nested, 'symbolic-ref', 'HEAD')]).toEqual(before)
    expect(rescue.holds).toEqual(['the repository vendor/deep/nested (1 untracked file, 1 commit on no branch)'])
    expect(world.sh(repository, 'cat-file', '-t', lone)).toBe('commit')
  })

  it('one without a commit comes back with its files', async () => {
    await using world = openGitWorld()
    const { path, roundTrip, status } = openTree(world)
    world.sh(world.folder, 'init', '--quiet', join(path, 'nested'))
    put(path, 'nested/file', 'x')
    const before = [status(), snapshot(path)]
    await roundTrip()
    expect([status(), snapshot(path)]).toEqual(before)
  })

  function withSubmodule(world: GitWorld) {
    const library = world.repository('library', { l: 'l\n' })
    const tree = openTree(world)
    world.sh(tree.path, 'submodule', '--quiet', 'add', library, 'vendor/lib')
    world.sh(tree.path, 'commit', '--quiet', '-m', 'submodule')
    return { ...tree, inner: join(tree.path, 'vendor/lib') }
  }

  it('a submodule that is as its remote has it holds nothing', async () => {
    await using world = openGitWorld()
    const { save } = withSubmodule(world)
    expect(await save()).toBeNull()
  })

  it('a submodule with a change and a commit of its own comes back with both', async () => {
    await using world = openGitWorld()
    const { path, inner, repository, roundTrip, status } = withSubmodule(world)
    const lone = world.commit(inner, { l: 'committed\n' })
    put(inner, 'l', 'changed\n')
    const before = [status(), snapshot(path), world.sh(inner, 'rev-parse', 'HEAD')]
    const { rescue } = await roundTrip()
    expect([status(), snapshot(path), world.sh(inner, 'rev-parse', 'HEAD')]).toEqual(before)
    expect(rescue.holds).toEqual(['1 changed file', 'the submodule vendor/lib (1 changed file, 1 commit on no branch)'])
    expect(world.sh(repository, 'cat-file', '-t', lone)).toBe('commit')
  })
})

describe('a rescue that cannot be', () => {
  it('names the file that no tree of git can hold, and nothing is taken for saved', async () => {
    await using world = openGitWorld()
    const { path, save, repository } = openTree(world)
    put(path, 'folder/.GIT/file', 'x')
    await expect(save()).rejects.toMatchObject({ details: { reason: 'rescue_failed', git: { stderr: expect.stringContaining('folder/.GIT/file') } } })
    expect(world.sh(repository, 'for-each-ref', 'refs/holdfast')).toBe('')
  })

  it('is an error that names what failed, and no ref is there', async () => {
    await using world = openGitWorld()
    const { path, place, repository } = openTree(world)
    put(path, 'new', 'x')
    const git: typeof world.git = {
      ...world.git,
      require: (what, call) => world.git.require(what, call.args[0] === 'hash-object' ? { ...call, args: ['hash-object', '--no-such-option'] } : call),
    }
    await expect(saveWork(git, place, { workspace: '0123456789', branch: 'work', at: new Date(), name: 'x' })).rejects.toMatchObject({
      details: { reason: 'rescue_failed', what: 'saving files' },
    })
    expect(world.sh(repository, 'for-each-ref', 'refs/holdfast')).toBe('')
    expect(readdirSync(place.adminDir).filter((name) => name.startsWith('holdfast'))).toEqual([])
  })

  it('is not put into a tree that is not clean, whose branch moved on, or where something ignored is in the way; nothing is changed then', async () => {
    await using world = openGitWorld()
    const { path, place, save, discard, add } = openTree(world, { '.gitignore': 'way\n', a: 'a' })
    put(path, 'sub/x', 'x')
    put(path, '.gitignore', '')
    put(path, 'way', 'x')
    const rescue = await save()
    discard()
    add()
    const restore = () => restoreWork(world.git, place, { commit: rescue?.sha as string, scratch: world.path('scratch'), isFree: () => true })
    const refused = (why: RegExp) => expect(restore()).rejects.toMatchObject({ details: { reason: 'restore_refused', why: expect.stringMatching(why) } })
    put(path, 'dirty', 'x')
    await refused(/not clean: 1 untracked file/)
    rmSync(join(path, 'dirty'))
    put(path, 'way', 'ignored')
    await refused(/in the way: way/)
    expect(readFileSync(join(path, 'way'), 'utf8')).toBe('ignored')
    rmSync(join(path, 'way'))
    world.commit(path, { b: 'b' })
    await refused(/its branch was at .* and is at/)
    expect([statusOf(world, path).filter((line) => !line.startsWith('#')), existsSync(world.path('scratch'))]).toEqual([[''], false])
  })

  it('a tree whose folder is gone leaves its lone commits and what was staged', async () => {
    await using world = openGitWorld()
    const { path, repository, save } = openTree(world, { a: 'a' })
    world.sh(path, 'checkout', '--quiet', '--detach')
    const lone = world.commit(path, { b: 'b' })
    put(path, 'staged', 'x')
    world.sh(path, 'add', 'staged')
    rmSync(path, { recursive: true })
    const rescue = await save()
    expect(rescue?.holds).toEqual(['1 staged file', '1 commit on no branch'])
    expect(world.sh(repository, 'rev-list', `${rescue?.sha}`).split('\n')).toContain(lone)
    expect(world.sh(repository, 'ls-tree', '-r', '--name-only', `${rescue?.sha}`)).toBe('a\nb\nstaged')
  })
})

const names = ['a', 'b.txt', 'c d', 'deep/er/e', 'deep/f', 'g\nh', 'ü']
const fresh = ['new', 'deep/new', 'other/place/x', 'z"z', 'line\nbreak']

function change(world: GitWorld, path: string, chance: Random): void {
  const name = chance.pick([...names, ...fresh])
  const file = join(path, name)
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined
  const deed = chance.int(0, 7)
  if (deed <= 1) {
    if (isThere) rmSync(file, { recursive: true })
    put(path, name, chance.bytes(chance.int(0, 40)))
  } else if (deed === 2) rmSync(file, { force: true, recursive: true })
  else if (deed === 3) {
    rmSync(file, { force: true, recursive: true })
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync(chance.pick(['a', '../x', 'no where']), file)
  } else if (deed === 4 && isThere && !lstatSync(file).isSymbolicLink()) chmodSync(file, chance.pick([0o755, 0o644]))
  else if (deed <= 6) world.sh(path, 'add', '--all', '--', ...(isThere || world.sh(path, 'ls-files', '--', name) ? [name] : ['.']))
  else if (existsSync(file) || world.sh(path, 'ls-files', '--', name) !== '')
    world.sh(path, 'rm', '--quiet', '--cached', '--force', '--ignore-unmatch', '--', name)
}
