import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { hasProgram } from '../../test/support/has-program.ts'
import { createGit } from '../git/git.ts'
import { openRepository } from '../git/open.ts'
import { addTree } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { type CheckoutOptions, finishCheckout, prepareCheckout } from './features.ts'

const plain: CheckoutOptions = { lfs: 'auto', submodules: 'init-offline', sparse: 'inherit' }

/** What opening a workspace does of it: the plan, the tree, the rest. */
async function makeTree(world: GitWorld, folder: string, options: Partial<CheckoutOptions> = {}, context: WorkspaceContext = world.context()) {
  const repo = await openRepository(context, folder)
  const sha = (await repo.require('the base', ['rev-parse', 'HEAD'])).stdout.trim()
  const wanted = { ...plain, ...options }
  const plan = await prepareCheckout(context, repo, sha, wanted)
  const path = mkdtempSync(join(world.folder, 'tree-'))
  rmSync(path, { recursive: true })
  const added = await addTree(repo, { path, at: { sha }, lockReason: 'test', noCheckout: plan.noCheckout, config: plan.config })
  expect([added.exitCode, added.stderr]).toEqual([0, ''])
  const actions = await finishCheckout(context, repo, { path, options: wanted, plan })
  return { path, actions, status: () => world.git.run({ args: ['status', '--porcelain'], cwd: path, reads: true }).then(({ stdout }) => stdout) }
}

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('.git') && lstatSync(join(folder, name)).isFile())
    .sort()

it('a plain repository needs nothing besides its checkout, and says nothing', async () => {
  await using world = openGitWorld()
  const { path, actions } = await makeTree(world, world.repository('plain'))
  expect([files(path), actions]).toEqual([['README.md'], []])
})

it('a filter that the repository requires and that is not there does not stand in the way, and it is said that it did not run', async () => {
  await using world = openGitWorld()
  const folder = world.repository('filtered', { '.gitattributes': '*.bin filter=own\n', 'a.bin': 'as committed\n' })
  for (const [name, value] of [
    ['process', 'no-such-program'],
    ['smudge', 'no-such-program'],
    ['required', 'true'],
  ]) {
    world.sh(folder, 'config', `filter.own.${name}`, value as string)
  }
  const { path, actions, status } = await makeTree(world, folder)
  expect([readFileSync(join(path, 'a.bin'), 'utf8'), await status()]).toEqual(['as committed\n', ''])
  expect(actions).toEqual([{ name: 'filters', status: 'skipped', detail: expect.stringContaining('filter own ') }])
})

describe('sparse checkouts', () => {
  const many = { 'README.md': 'r\n', 'src/a/one': '1\n', 'src/b/two': '2\n', 'assets/big': '3\n' }

  it('a tree is as sparse as the main checkout, unless everything or other folders are wanted; the main checkout stays as it is', async () => {
    await using world = openGitWorld()
    const folder = world.repository('sparse', many)
    world.sh(folder, 'sparse-checkout', 'set', 'src/a')
    const inherited = await makeTree(world, folder)
    expect([files(inherited.path), inherited.actions.map(({ name }) => name)]).toEqual([['README.md', 'src/a/one'], ['sparse']])
    const full = await makeTree(world, folder, { sparse: 'full' })
    expect([files(full.path), full.actions.map(({ name }) => name)]).toEqual([Object.keys(many).sort(), ['sparse']])
    const other = await makeTree(world, folder, { sparse: ['assets/', 'src/b'] })
    expect([files(other.path), other.actions.map(({ detail }) => detail)]).toEqual([
      ['README.md', 'assets/big', 'src/b/two'],
      [expect.stringContaining('src/b')],
    ])
    expect([await inherited.status(), await full.status(), await other.status()]).toEqual(['', '', ''])
    expect([world.sh(folder, 'sparse-checkout', 'list'), existsSync(join(folder, 'assets')), world.sh(folder, 'status', '--porcelain')]).toEqual([
      'src/a',
      false,
      '',
    ])
  })

  it('folders can be chosen where the main checkout has everything, and it keeps everything', async () => {
    await using world = openGitWorld()
    const folder = world.repository('whole', many)
    const { path, status } = await makeTree(world, folder, { sparse: ['src/a'] })
    expect([files(path), await status(), world.sh(folder, 'status', '--porcelain'), existsSync(join(folder, 'assets/big'))]).toEqual([
      ['README.md', 'src/a/one'],
      '',
      '',
      true,
    ])
  })

  it.each(['../up', '/etc', 'a//b', '', 'a\nb', 'src/.'])('%j is refused as a folder, before anything is made', async (folder) => {
    await using world = openGitWorld()
    const repo = await openRepository(world.context(), world.repository('odd'))
    await expect(prepareCheckout(world.context(), repo, 'HEAD', { ...plain, sparse: [folder] })).rejects.toMatchObject({
      details: { reason: 'invalid', field: 'sparse' },
    })
  })

  it('a folder that begins like an option is one', async () => {
    await using world = openGitWorld()
    const folder = world.repository('dashed', { '--no-cone/f': 'f\n', 'other/g': 'g\n' })
    const { path } = await makeTree(world, folder, { sparse: ['--no-cone'] })
    expect(files(path)).toEqual(['--no-cone/f'])
  })
})

describe('what kinds of repositories a tree can be made from', () => {
  it('a bare one', async () => {
    await using world = openGitWorld()
    const bare = world.remote(world.repository('source', { 'a/b': 'b\n', c: 'c\n' }))
    const { path, status } = await makeTree(world, bare)
    expect([files(path), await status()]).toEqual([['a/b', 'c'], ''])
    const narrow = await makeTree(world, bare, { sparse: ['x'] })
    expect([files(narrow.path), await narrow.status()]).toEqual([['c'], ''])
    expect(world.sh(bare, 'rev-parse', '--is-bare-repository')).toBe('true')
  })

  it('one with SHA-256', async () => {
    await using world = openGitWorld()
    const folder = world.path('sha256')
    mkdirSync(folder)
    world.sh(folder, 'init', '--quiet', '--object-format=sha256')
    world.commit(folder, { 'src/a': 'a\n', '.gitattributes': '*.x filter=some\n' })
    const { path, actions } = await makeTree(world, folder, { sparse: ['src'] })
    expect([files(path), actions.map(({ name }) => name)]).toEqual([
      ['.gitattributes', 'src/a'],
      ['filters', 'sparse'],
    ])
  })

  it('a shallow one, which is said', async () => {
    await using world = openGitWorld()
    const folder = world.repository('deep')
    world.commit(folder, { 'README.md': 'two\n' })
    world.sh(world.folder, 'clone', '--quiet', '--depth=1', `file://${folder}`, 'shallow')
    const { path, actions } = await makeTree(world, world.path('shallow'))
    expect([files(path), actions.map(({ name, status }) => [name, status])]).toEqual([['README.md'], [['shallow', 'done']]])
  })

  it('a linked worktree', async () => {
    await using world = openGitWorld()
    const folder = world.repository('main-checkout')
    world.sh(folder, 'worktree', 'add', '--quiet', '-b', 'other', '../linked')
    const { path } = await makeTree(world, world.path('linked'))
    expect(files(path)).toEqual(['README.md'])
  })
})

describe('partial clones', () => {
  function partial(world: GitWorld, ...how: string[]): { folder: string; origin: string } {
    const origin = world.repository('origin', { 'a/one': '1\n', 'b/two': '2\n', top: 't\n' })
    world.sh(origin, 'config', 'uploadpack.allowFilter', 'true')
    world.sh(origin, 'config', 'uploadpack.allowAnySHA1InWant', 'true')
    world.sh(world.folder, 'clone', '--quiet', '--no-checkout', ...how, `file://${origin}`, 'partial')
    return { folder: world.path('partial'), origin }
  }
  const lacking = (world: GitWorld, folder: string): number =>
    world
      .sh(folder, 'rev-list', '--objects', '--missing=print', '--no-walk', 'HEAD')
      .split('\n')
      .filter((line) => line.startsWith('?')).length

  it.each(['--filter=blob:none', '--filter=tree:0'])('with %s what the base lacks is fetched before anything is made', async (filter) => {
    await using world = openGitWorld()
    const { folder, origin } = partial(world, filter)
    expect(lacking(world, folder)).toBeGreaterThan(0)
    const context = world.context()
    const repo = await openRepository(context, folder)
    const plan = await prepareCheckout(context, repo, world.sh(folder, 'rev-parse', 'HEAD'), plain)
    expect(plan.actions).toEqual([{ name: 'partial-clone', status: 'done', detail: expect.stringContaining('3 files') }])
    expect(lacking(world, folder)).toBe(0)
    rmSync(origin, { recursive: true })
    const { path, actions, status } = await makeTree(world, folder)
    expect([files(path), await status(), actions[0]?.detail]).toEqual([['a/one', 'b/two', 'top'], '', expect.stringContaining('everything')])
  })

  it('of a sparse tree only what it has is fetched', async () => {
    await using world = openGitWorld()
    const { folder } = partial(world, '--filter=blob:none')
    const { path, actions } = await makeTree(world, folder, { sparse: ['a'] })
    expect([files(path), actions[0]?.detail, lacking(world, folder)]).toEqual([['a/one', 'top'], expect.stringContaining('2 files'), 1])
  })

  it('where the remote is gone it is refused, and nothing was made', async () => {
    await using world = openGitWorld()
    const { folder, origin } = partial(world, '--filter=blob:none')
    rmSync(origin, { recursive: true })
    const context = world.context()
    const repo = await openRepository(context, folder)
    await expect(prepareCheckout(context, repo, world.sh(folder, 'rev-parse', 'HEAD'), plain)).rejects.toMatchObject({
      details: { reason: 'promisor_unreachable', git: { exitCode: 128 } },
    })
    expect(existsSync(join(folder, '.git/worktrees'))).toBe(false)
  })

  it('a program that the repository names for the other side is not run', async () => {
    await using world = openGitWorld()
    const { folder } = partial(world, '--filter=blob:none')
    world.sh(folder, 'config', 'remote.origin.uploadpack', `touch ${world.path('planted')}; git-upload-pack`)
    await makeTree(world, folder)
    expect(existsSync(world.path('planted'))).toBe(false)
  })
})

describe('submodules', () => {
  /** `app` has the submodule `vendor/lib`, which has one of its own, `inner`; all are checked out in the main checkout. */
  function nested(world: GitWorld): { app: string; library: string; inner: string } {
    const inner = world.repository('inner', { i: 'i\n' })
    const library = world.repository('library', { l: 'l\n' })
    world.sh(library, 'submodule', '--quiet', 'add', inner, 'inner')
    world.commit(library, {}, 'with one inside')
    const app = world.repository('app')
    world.sh(app, 'submodule', '--quiet', 'add', library, 'vendor/lib')
    world.commit(app, {}, 'with a library')
    world.sh(app, 'submodule', '--quiet', 'update', '--init', '--recursive')
    return { app, library, inner }
  }

  it('they are checked out with those inside of them from what is here, without the network, and know their real origin', async () => {
    await using world = openGitWorld()
    const { app, library, inner } = nested(world)
    const before = readFileSync(join(app, '.git/config'), 'utf8')
    for (const gone of [library, inner]) rmSync(gone, { recursive: true })
    const { path, actions, status } = await makeTree(world, app)
    expect(actions).toEqual([{ name: 'submodules', status: 'done', detail: 'checked out: vendor/lib, vendor/lib/inner' }])
    expect([files(path), await status()]).toEqual([['.gitmodules', 'README.md', 'vendor/lib/.gitmodules', 'vendor/lib/inner/i', 'vendor/lib/l'], ''])
    expect(world.sh(join(path, 'vendor/lib'), 'config', 'remote.origin.url')).toBe(library)
    expect(world.sh(join(path, 'vendor/lib/inner'), 'config', 'remote.origin.url')).toBe(inner)
    expect(readFileSync(join(app, '.git/config'), 'utf8')).toBe(before)
  })

  it('one that was never fetched is left out with a word, and nothing is asked of the network', async () => {
    await using world = openGitWorld()
    const { app } = nested(world)
    world.sh(world.folder, 'clone', '--quiet', app, 'fresh')
    const { path, actions } = await makeTree(world, world.path('fresh'))
    expect(actions).toEqual([{ name: 'submodules', status: 'skipped', detail: 'vendor/lib is empty: it was never fetched here' }])
    expect(readdirSync(join(path, 'vendor/lib'))).toEqual([])
    expect((await makeTree(world, world.path('fresh'), { submodules: 'none' })).actions).toEqual([])
  })

  it('a commit that is not here is told as a failure with the words of git', async () => {
    await using world = openGitWorld()
    const { app, library } = nested(world)
    const next = world.commit(library, { l: 'newer\n' })
    world.sh(app, 'update-index', '--cacheinfo', `160000,${next},vendor/lib`)
    world.sh(app, 'commit', '--quiet', '-m', 'newer')
    const { actions } = await makeTree(world, app)
    expect(actions).toEqual([{ name: 'submodules', status: 'failed', detail: expect.stringMatching(/vendor\/lib is empty: .*did not contain/) }])
  })

  it('one that takes too long is told, and the others are checked out', async () => {
    await using world = openGitWorld()
    const { app, inner } = nested(world)
    world.sh(app, 'submodule', '--quiet', 'add', inner, 'other')
    world.commit(app, {}, 'with another')
    const base = world.context()
    const git: typeof base.git = {
      run: (call) => base.git.run(call.args.includes('submodule') && call.args.at(-1) === 'vendor/lib' ? { ...call, timeoutMs: 1 } : call),
      require: (what, call) => base.git.require(what, call),
    }
    const { actions } = await makeTree(world, app, {}, { ...base, git })
    expect(actions).toEqual([
      { name: 'submodules', status: 'done', detail: 'checked out: other' },
      { name: 'submodules', status: 'failed', detail: expect.stringMatching(/^vendor\/lib is empty: .* was ended after 1 ms$/) },
    ])
  })

  it('what is not here is fetched where that is wanted', async () => {
    await using world = openGitWorld()
    const { app } = nested(world)
    world.sh(world.folder, 'clone', '--quiet', app, 'fresh')
    // What a test can fetch from without a server; by itself git takes no such address from a repository.
    const base = world.context()
    const git: typeof base.git = {
      run: (call) => base.git.run(call.network ? { ...call, config: ['protocol.file.allow=always', ...(call.config ?? [])] } : call),
      require: (what, call) => base.git.require(what, call),
    }
    const { path, actions } = await makeTree(world, world.path('fresh'), { submodules: 'init' }, { ...base, git })
    expect(actions).toEqual([{ name: 'submodules', status: 'done', detail: 'checked out: vendor/lib, vendor/lib/inner' }])
    expect(readFileSync(join(path, 'vendor/lib/inner/i'), 'utf8')).toBe('i\n')
  })

  it('a way of updating that a repository names as a program is not run', async () => {
    await using world = openGitWorld()
    const { app } = nested(world)
    world.sh(app, 'config', 'submodule.vendor/lib.update', `!touch ${world.path('planted')}`)
    const { actions } = await makeTree(world, app)
    expect([actions[0]?.status, existsSync(world.path('planted'))]).toEqual(['done', false])
  })

  it.each(['x.update=!touch planted; true #', '../../../outside', '-u'])('one with the name %j is refused', async (name) => {
    await using world = openGitWorld()
    const { app } = nested(world)
    const text = readFileSync(join(app, '.gitmodules'), 'utf8').replace('vendor/lib"', `${name}"`)
    world.commit(app, { '.gitmodules': text }, 'renamed')
    const { path, actions } = await makeTree(world, app)
    expect(actions).toEqual([{ name: 'submodules', status: 'failed', detail: expect.stringContaining('not one that can be passed to git safely') }])
    expect([existsSync(join(path, 'planted')), readdirSync(join(path, 'vendor/lib'))]).toEqual([false, []])
  })
})

describe.skipIf(!hasProgram('git-lfs', 'Git LFS'))('Git LFS', () => {
  const content = 'content of a large file\n'.repeat(1000)

  function withLfs(world: GitWorld): string {
    const folder = world.repository('large', { '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n' })
    for (const [name, value] of [
      ['clean', 'git-lfs clean -- %f'],
      ['smudge', 'git-lfs smudge -- %f'],
      ['process', 'git-lfs filter-process'],
      ['required', 'true'],
    ]) {
      world.sh(folder, 'config', `filter.lfs.${name}`, value as string)
    }
    world.commit(folder, { 'a.bin': content, 'd/b.bin': 'small\n' })
    for (const hook of readdirSync(join(folder, '.git/hooks'))) rmSync(join(folder, '.git/hooks', hook))
    return folder
  }
  const isPointer = (file: string): boolean => readFileSync(file, 'utf8').startsWith('version https://git-lfs.github.com/spec/v1\n')

  it('the content of files that is here is checked out, the tree is clean also for a git that knows no filter, and no hook is left', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    const { path, actions } = await makeTree(world, folder)
    expect(actions).toEqual([{ name: 'lfs', status: 'done', detail: '2 files fetched from Git LFS' }])
    expect([readFileSync(join(path, 'a.bin'), 'utf8'), readFileSync(join(path, 'd/b.bin'), 'utf8')]).toEqual([content, 'small\n'])
    const bare = ['clean=', 'smudge=', 'process=', 'required=false'].map((setting) => `filter.lfs.${setting}`)
    const seen = await world.git.run({ args: ['status', '--porcelain'], cwd: path, reads: true, config: bare })
    expect([seen.stdout, world.sh(path, 'status', '--porcelain')]).toEqual(['', ''])
    expect(readdirSync(join(folder, '.git/hooks'))).toEqual([])
  })

  it('content that is not here is fetched from the remote', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    const remote = world.path('remote.git')
    world.sh(world.folder, 'clone', '--quiet', '--bare', folder, remote)
    world.sh(folder, 'remote', 'add', 'origin', `file://${remote}`)
    world.sh(folder, 'lfs', 'push', '--all', 'origin')
    rmSync(join(folder, '.git/lfs'), { recursive: true })
    const { path, actions } = await makeTree(world, folder, { lfs: 'pull' })
    expect([readFileSync(join(path, 'a.bin'), 'utf8'), actions.map(({ status }) => status)]).toEqual([content, ['done']])
    const sparse = await makeTree(world, folder, { lfs: 'pull', sparse: ['d'] })
    expect(readFileSync(join(sparse.path, 'd/b.bin'), 'utf8')).toBe('small\n')
  })

  it('of a sparse tree only its own files are written', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    const { path } = await makeTree(world, folder, { sparse: ['other'] })
    expect([readFileSync(join(path, 'a.bin'), 'utf8'), existsSync(join(path, 'd'))]).toEqual([content, false])
  })

  it('pointers are left where that is wanted', async () => {
    await using world = openGitWorld()
    const { path, actions, status } = await makeTree(world, withLfs(world), { lfs: 'pointers' })
    expect([isPointer(join(path, 'a.bin')), actions.map((action) => action.status), await status()]).toEqual([true, ['done'], ''])
  })

  it('content that cannot be fetched leaves pointers with a word, and a failure where it was to be pulled', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    rmSync(join(folder, '.git/lfs'), { recursive: true })
    world.sh(folder, 'remote', 'add', 'origin', 'http://127.0.0.1:1/none')
    const { path, actions } = await makeTree(world, folder)
    expect(actions).toEqual([{ name: 'lfs', status: 'failed', detail: expect.stringMatching(/^2 files could not be fetched.*refused.*left as pointers$/s) }])
    expect(isPointer(join(path, 'a.bin'))).toBe(true)
    await expect(makeTree(world, folder, { lfs: 'pull' })).rejects.toMatchObject({ details: { reason: 'feature_failed' } })
  })

  it('a server that does not answer is given up', { timeout: 60_000 }, async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    rmSync(join(folder, '.git/lfs'), { recursive: true })
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      const { port } = server.address() as { port: number }
      world.sh(folder, 'remote', 'add', 'origin', `http://127.0.0.1:${port}/none`)
      const context = world.context()
      // The bound is shortened for the test; that there is one is what is tested.
      const git: typeof context.git = {
        run: (call) =>
          context.git.run(
            call.args[0] === 'lfs' || call.args[0] === 'checkout-index'
              ? { ...call, timeoutMs: Math.min(call.timeoutMs ?? Number.POSITIVE_INFINITY, 1_000) }
              : call,
          ),
        require: (what, call) => context.git.require(what, call),
      }
      const { actions } = await makeTree(world, folder, {}, { ...context, git })
      expect(actions).toEqual([{ name: 'lfs', status: 'failed', detail: expect.stringContaining('was ended after 1000 ms') }])
    } finally {
      server.close()
    }
  })

  it('programs that the repository names for git-lfs are not run', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    for (const name of ['clean', 'smudge']) world.sh(folder, 'config', `lfs.extension.planted.${name}`, `touch ${world.path('planted')}; cat`)
    world.sh(folder, 'config', 'lfs.extension.planted.priority', '0')
    const { path, actions } = await makeTree(world, folder)
    expect([isPointer(join(path, 'a.bin')), existsSync(world.path('planted'))]).toEqual([true, false])
    expect(actions).toEqual([{ name: 'lfs', status: 'skipped', detail: expect.stringContaining('lfs.extension.planted.clean') }])
    await expect(makeTree(world, folder, { lfs: 'pull' })).rejects.toMatchObject({ details: { reason: 'feature_failed' } })
  })

  /** Everything that is on the PATH but git-lfs. */
  function pathWithoutLfs(world: GitWorld): string {
    const folder = world.path('bin')
    mkdirSync(folder)
    for (const from of (process.env.PATH ?? '').split(delimiter)) {
      if (!existsSync(from)) continue
      for (const name of readdirSync(from)) {
        if (name !== 'git-lfs' && !existsSync(join(folder, name))) {
          try {
            symlinkSync(join(from, name), join(folder, name))
          } catch {
            // A link that leads nowhere is there already.
          }
        }
      }
    }
    return folder
  }

  it('without git-lfs pointers are checked out with a word; where they were to be pulled it is refused before anything is made', async () => {
    await using world = openGitWorld()
    const folder = withLfs(world)
    const ownEnv = { ...world.env, PATH: pathWithoutLfs(world) }
    const context = world.context({ ownEnv, git: createGit({ runProgram: world.runProgram, ownEnv }) })
    const { path, actions } = await makeTree(world, folder, {}, context)
    expect([isPointer(join(path, 'a.bin')), actions]).toEqual([
      true,
      [{ name: 'lfs', status: 'skipped', detail: expect.stringContaining('git-lfs is not installed here') }],
    ])
    const before = readdirSync(join(folder, '.git/worktrees'))
    await expect(makeTree(world, folder, { lfs: 'pull' }, context)).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'lfs_unavailable' } })
    expect(readdirSync(join(folder, '.git/worktrees'))).toEqual(before)
  })
})
