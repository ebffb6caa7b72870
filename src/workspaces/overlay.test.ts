import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { GitWorld } from '../../test/support/git-world.ts'
import { killedAfter } from '../../test/support/killed-after.ts'
import { canMountOverlays, endMount, openOverlayWorld } from '../../test/support/overlay-world.ts'
import type { ProgramRequest } from '../core/program.ts'
import type { WorkspaceOverlay } from '../core/workspace.ts'
import { type GitRepository, openRepository } from '../git/open.ts'
import { removeRegistration } from '../git/trees.ts'
import type { WorkspaceContext } from './context.ts'
import { trashFolder } from './layout.ts'
import { listOverlayMounts, mountOverlay } from './mounts.ts'
import { abandonOverlay, collectBases, isMounted, makeOverlayTree, mountAgain, prepareBase, probeOverlay, removeOverlay } from './overlay.ts'

const canMount = await canMountOverlays()

const files = {
  'README.md': 'one\n',
  '.gitignore': 'node_modules/\n',
  'src/deep/a.ts': 'export const a = 1\n',
  'src/deep/b.ts': 'export const b = 2\n',
  'bin/run': '#!/bin/sh\necho hi\n',
}

interface Opened {
  readonly world: GitWorld
  readonly context: WorkspaceContext
  readonly repo: GitRepository
  readonly sha: string
  /** Makes a tree on a branch of its own. */
  make(name: string, overrides?: Partial<Parameters<typeof makeOverlayTree>[2]>): Promise<{ path: string; overlay: WorkspaceOverlay }>
  path(name: string): string
}

async function openTrees(world: GitWorld, overrides: Partial<WorkspaceContext> = {}): Promise<Opened> {
  const folder = world.repository('repo', files)
  const sha = world.sh(folder, 'rev-parse', 'HEAD')
  const context = world.context(overrides)
  const repo = await openRepository(context, folder)
  const path = (name: string): string => join(context.root, 'trees', name)
  return {
    world,
    context,
    repo,
    sha,
    path,
    async make(name, more = {}) {
      mkdirSync(join(context.root, 'trees'), { recursive: true })
      world.sh(folder, 'branch', '--force', name, sha)
      const request = { path: path(name), sha, branch: name, lockReason: `holdfast:${name}:n`, name: `${name}-n`, config: [], ...more }
      return { path: path(name), overlay: await makeOverlayTree(context, repo, request) }
    },
  }
}

/** Everything in a folder by its name: kind, mode and content. */
function contentOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const path = join(folder, name)
    const { mode } = lstatSync(path)
    const content = lstatSync(path).isSymbolicLink() ? readlinkSync(path) : lstatSync(path).isFile() ? readFileSync(path).toString('latin1') : ''
    found[name] = `${mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}`
  }
  return found
}

const status = (world: GitWorld, path: string): string => world.sh(path, 'status', '--porcelain', '--untracked-files=all')

describe.runIf(canMount)('a copy-on-write tree', () => {
  it('has all files of its commit on its branch, clean and locked, and git reads no file to know it', async () => {
    await using world = openOverlayWorld()
    const { make, repo, sha } = await openTrees(world)
    const { path, overlay } = await make('one')
    // It names every file whose size, times or number are not those of the index.
    expect(world.sh(path, 'diff-files', '--name-only')).toBe('')
    expect(status(world, path)).toBe('')
    expect(readFileSync(join(path, 'src/deep/a.ts'), 'utf8')).toBe('export const a = 1\n')
    expect([world.sh(path, 'rev-parse', 'HEAD'), world.sh(path, 'symbolic-ref', 'HEAD')]).toEqual([sha, 'refs/heads/one'])
    expect(world.sh(repo.mainRoot, 'worktree', 'list', '--porcelain', '-z')).toContain(
      `worktree ${path}\0HEAD ${sha}\0branch refs/heads/one\0locked holdfast:one:n\0`,
    )
    expect(isMounted(world.context(), overlay, path)).toBe(true)
  })

  it('takes every kind of change that an ordinary tree takes', async () => {
    await using world = openOverlayWorld()
    const { make } = await openTrees(world)
    const { path } = await make('one')
    const commit = (message: string) => world.sh(path, 'commit', '--quiet', '--all', '-m', message)
    writeFileSync(join(path, 'src/deep/a.ts'), 'export const a = 9\n')
    expect(status(world, path)).toBe('M src/deep/a.ts')
    commit('edit of the same length')
    world.sh(path, 'mv', 'src/deep', 'src/moved')
    world.sh(path, 'mv', 'src', 'lib')
    commit('folders renamed')
    expect(world.sh(path, 'ls-files', 'lib')).toBe('lib/moved/a.ts\nlib/moved/b.ts')
    world.sh(path, 'rm', '--quiet', 'bin/run')
    mkdirSync(join(path, 'bin'))
    symlinkSync('../README.md', join(path, 'bin/link'))
    world.sh(path, 'add', '--all')
    commit('a folder deleted and made again')
    world.sh(path, 'switch', '--quiet', '-c', 'side', 'HEAD~2')
    writeFileSync(join(path, 'new.txt'), 'new\n')
    world.sh(path, 'add', 'new.txt')
    commit('beside')
    world.sh(path, 'rebase', '--quiet', 'one')
    expect(readdirSync(path).sort()).toEqual(['.git', '.gitignore', 'README.md', 'bin', 'lib', 'new.txt'])
    expect(readlinkSync(join(path, 'bin/link'))).toBe('../README.md')
    expect(status(world, path)).toBe('')
    world.sh(path, 'fsck', '--strict')
  })

  it('sees nothing of another one, and neither changes what both look through', async () => {
    await using world = openOverlayWorld()
    const { make } = await openTrees(world)
    const one = await make('one')
    const base = one.overlay.lower.at(-1) as string
    const before = contentOf(base)
    expect(Object.keys(before)).toHaveLength(8)
    const two = await make('two')
    expect(two.overlay.lower).toEqual(one.overlay.lower)
    writeFileSync(join(one.path, 'README.md'), 'of one\n')
    rmSync(join(one.path, 'src'), { recursive: true })
    writeFileSync(join(two.path, 'README.md'), 'of two\n', { flag: 'a' })
    world.sh(two.path, 'mv', 'src', 'moved')
    expect(readFileSync(join(two.path, 'README.md'), 'utf8')).toBe('one\nof two\n')
    expect(readFileSync(join(one.path, 'README.md'), 'utf8')).toBe('of one\n')
    expect([existsSync(join(one.path, 'moved')), existsSync(join(two.path, 'moved/deep/a.ts'))]).toEqual([false, true])
    expect(contentOf(base)).toEqual(before)
  })

  it('is detached where no branch is named', async () => {
    await using world = openOverlayWorld()
    const { make, sha } = await openTrees(world)
    const { path } = await make('one', { branch: null })
    expect([world.sh(path, 'rev-parse', 'HEAD'), world.sh(path, 'branch', '--show-current')]).toEqual([sha, ''])
  })

  it('leaves the refs, the index and the trees of the repository alone while its base is made', async () => {
    await using world = openOverlayWorld()
    const { context, repo, sha } = await openTrees(world)
    const facts = () => [world.sh(repo.mainRoot, 'for-each-ref'), world.sh(repo.mainRoot, 'worktree', 'list'), statSync(join(repo.commonDir, 'index')).mtimeMs]
    const before = facts()
    await prepareBase(context, repo, { sha, config: [] })
    expect(facts()).toEqual(before)
    expect(status(world, repo.mainRoot)).toBe('')
  })

  it('is taken away whole: unmounted, with an empty folder, its changes in the trash; twice is no failure', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    writeFileSync(join(path, 'new.txt'), 'new\n')
    expect(await removeOverlay(context, overlay, path)).toBe('cleanly')
    expect([readdirSync(path), existsSync(overlay.upper), isMounted(context, overlay, path)]).toEqual([[], false, false])
    const [trashed, ...more] = readdirSync(trashFolder(context.root))
    expect(more).toEqual([])
    expect(readFileSync(join(trashFolder(context.root), trashed as string, 'upper/new.txt'), 'utf8')).toBe('new\n')
    expect(await removeOverlay(context, overlay, path)).toBe('was not mounted')
  })

  it('is taken out of sight where something still uses it, which is told', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    const descriptor = openSync(join(path, 'README.md'), 'r')
    try {
      expect(await removeOverlay(context, overlay, path)).toBe('lazily')
      expect(readFileSync(descriptor, 'utf8')).toBe('one\n')
    } finally {
      closeSync(descriptor)
    }
    expect([readdirSync(path), isMounted(context, overlay, path)]).toEqual([[], false])
  })

  it('is mounted again with all its changes when its mount is gone, and only then', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    world.sh(path, 'mv', 'src', 'moved')
    rmSync(join(path, 'bin'), { recursive: true })
    writeFileSync(join(path, 'new.txt'), 'new\n')
    const before = [contentOf(path), status(world, path), world.sh(path, 'diff', 'HEAD')]
    expect(await mountAgain(context, overlay, path)).toBe(false)
    await endMount(world, path)
    expect(readdirSync(path)).toEqual([])
    expect(await mountAgain(context, overlay, path)).toBe(true)
    expect([contentOf(path), status(world, path), world.sh(path, 'diff', 'HEAD')]).toEqual(before)
    await endMount(world, path)
    rmdirSync(path)
    expect(await mountAgain(context, overlay, path)).toBe(true)
    expect(contentOf(path)).toEqual(before[0])
  })

  it('hides no files that were written to its folder while it was not mounted, and does without no layer', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    await endMount(world, path)
    writeFileSync(join(path, 'written-meanwhile'), 'x')
    await expect(mountAgain(context, overlay, path)).rejects.toMatchObject({ details: { reason: 'workspace_unusable' }, message: /written-meanwhile/ })
    expect(isMounted(context, overlay, path)).toBe(false)
    rmSync(join(path, 'written-meanwhile'))
    const away = `${overlay.lower[0]}.away`
    renameSync(overlay.lower[0] as string, away)
    await expect(mountAgain(context, overlay, path)).rejects.toMatchObject({ details: { reason: 'workspace_unusable' }, message: /is gone/ })
    renameSync(away, overlay.lower[0] as string)
    expect(await mountAgain(context, overlay, path)).toBe(true)
  })

  it('is mounted only from the layers, and at the place, that the folder of its changes names', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    await endMount(world, path)
    const mine = join(world.root, 'mine')
    for (const name of ['lower', 'upper', 'work', 'place']) mkdirSync(join(mine, name), { recursive: true })
    const planted: [WorkspaceOverlay, string][] = [
      [{ ...overlay, lower: [join(mine, 'lower')] }, path],
      [{ ...overlay, work: join(mine, 'work') }, path],
      [{ ...overlay, lower: [join(mine, 'lower')], upper: join(mine, 'upper'), work: join(mine, 'work') }, path],
      [overlay, join(mine, 'place')],
    ]
    for (const [layers, place] of planted) await expect(mountAgain(context, layers, place)).rejects.toThrow(/names other layers|is not in/)
    expect(listOverlayMounts().filter((mount) => [path, join(mine, 'place')].includes(mount.path))).toEqual([])
    expect(await mountAgain(context, overlay, path)).toBe(true)
  })

  it('never moves a folder that is not one of changes', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    const planted = { ...overlay, upper: join(world.root, 'mine', 'upper') }
    mkdirSync(planted.upper, { recursive: true })
    await expect(removeOverlay(context, planted, path)).rejects.toMatchObject({ details: { reason: 'not_owned' } })
    expect([existsSync(planted.upper), isMounted(context, overlay, path)]).toEqual([true, true])
  })

  it.each([
    ['a bare repository', async (world: GitWorld, repo: string) => world.sh(world.folder, 'clone', '--quiet', '--bare', repo, `${repo}.git`) && `${repo}.git`],
    ['a linked worktree', async (world: GitWorld, repo: string) => world.sh(repo, 'worktree', 'add', '-b', 'linked', `${repo}-linked`) && `${repo}-linked`],
    [
      'a repository with a split index and names of many kinds',
      async (world: GitWorld, repo: string) => {
        world.commit(repo, { 'a b': '1', 'é\n"x"': '2', '-dash': '3', 'a:b,c\\d': '4' })
        world.sh(repo, 'config', 'core.splitIndex', 'true')
        world.sh(repo, 'update-index', '--split-index')
        return repo
      },
    ],
  ])('is made of %s, too', async (_, prepare) => {
    await using world = openOverlayWorld()
    const folder = world.repository('repo', files)
    await prepare(world, folder)
    const source = existsSync(`${folder}.git`) ? `${folder}.git` : existsSync(`${folder}-linked`) ? `${folder}-linked` : folder
    const context = world.context()
    const repo = await openRepository(context, source)
    const sha = world.sh(source, 'rev-parse', 'HEAD')
    const path = join(context.root, 'tree')
    mkdirSync(context.root, { recursive: true })
    world.sh(source, 'branch', 'one', sha)
    await makeOverlayTree(context, repo, { path, sha, branch: 'one', lockReason: 'holdfast:a:b', name: 'one-n', config: [] })
    expect([status(world, path), world.sh(path, 'diff-files', '--name-only')]).toEqual(['', ''])
    expect(world.sh(path, 'ls-files', '-z')).toBe(world.sh(source, 'ls-tree', '-r', '-z', '--name-only', 'HEAD'))
  })

  it('looks through a frozen copy of ignored folders, never at the live ones, and one copy serves for one content', async () => {
    await using world = openOverlayWorld()
    const { make, repo, context, path } = await openTrees(world)
    const live = join(repo.mainRoot, 'node_modules')
    mkdirSync(join(live, 'pkg'), { recursive: true })
    writeFileSync(join(live, 'pkg/index.js'), 'one\n')
    linkSync(join(live, 'pkg/index.js'), join(live, 'pkg/same.js'))
    symlinkSync('pkg', join(live, 'link'))
    const folders = { source: repo.mainRoot, entries: ['node_modules/', 'src', 'absent', '../outside'] }
    const one = await make('one', { folders })
    const two = await make('two', { folders })
    expect([one.overlay.lower.length, two.overlay.lower]).toEqual([2, one.overlay.lower])
    // What the commit has itself is not covered up, also where it is listed.
    expect(readdirSync(one.overlay.lower[0] as string)).toEqual(['node_modules'])
    writeFileSync(join(live, 'pkg/index.js'), 'changed meanwhile\n')
    writeFileSync(join(one.path, 'node_modules/pkg/same.js'), 'of one\n')
    const read = (of: string) => ['index.js', 'same.js'].map((name) => readFileSync(join(path(of), 'node_modules/pkg', name), 'utf8'))
    expect([read('one'), read('two'), readlinkSync(join(two.path, 'node_modules/link'))]).toEqual([['one\n', 'of one\n'], ['one\n', 'one\n'], 'pkg'])
    expect([status(world, one.path), status(world, two.path)]).toEqual(['', ''])
    const three = await make('three', { folders })
    expect(three.overlay.lower[0]).not.toBe(one.overlay.lower[0])
    expect(read('three')).toEqual(['changed meanwhile\n', 'changed meanwhile\n'])
    expect(await collectBases(context, { dryRun: true })).toEqual([])
  })

  it('is made, found and mounted again below a root of any name, also by a link to it', async () => {
    await using world = openOverlayWorld()
    const root = world.path('a b,c:d\\e=é')
    mkdirSync(root)
    symlinkSync(root, world.path('link'))
    const { make, context } = await openTrees(world, { root: world.path('link') })
    const { overlay } = await make('one', { path: join(root, 'trees', 'one') })
    const path = join(root, 'trees', 'one')
    expect(overlay.upper).toBe(join(root, '.overlays', 'one-n', 'upper'))
    expect([status(world, path), isMounted(context, overlay, path), isMounted(world.context({ root }), overlay, path)]).toEqual(['', true, true])
    expect(await collectBases(context, { dryRun: true })).toEqual([])
    await endMount(world, path)
    expect(await mountAgain(context, overlay, path)).toBe(true)
    expect(await removeOverlay(context, overlay, path)).toBe('cleanly')
  })

  it('is probed without anything left, and what a killed probe left is taken away by a later one', async () => {
    await using world = openOverlayWorld()
    const { make, context } = await openTrees(world)
    const { path, overlay } = await make('one')
    const folders = join(context.root, '.overlays')
    // A probe that was killed while it was mounted, a while ago, and one that goes on.
    for (const [name, ageMs] of [
      ['probe-dead', 120_000],
      ['probe-alive', 0],
    ] as const) {
      const folder = join(folders, name)
      for (const part of ['lower', 'upper', 'work', 'path']) mkdirSync(join(folder, part), { recursive: true })
      expect(
        (await mountOverlay(context, { lower: [join(folder, 'lower')], upper: join(folder, 'upper'), work: join(folder, 'work') }, join(folder, 'path'))).ok,
      ).toBe(true)
      utimesSync(folder, new Date(), new Date(Date.now() - ageMs))
    }
    expect(await probeOverlay(world.context({ runProgram: (request) => world.runProgram(request) }))).toEqual({ ok: true })
    expect(readdirSync(folders).sort()).toEqual(['one-n', 'probe-alive'])
    expect(isMounted(context, overlay, path)).toBe(true)
  })

  it('is not made of a sparse source or where nothing can be mounted, and then nothing of it is left', async () => {
    await using world = openOverlayWorld()
    const refuses = (request: ProgramRequest) => request.argv[0] === 'mount'
    const { make, repo, context, path } = await openTrees(world, {
      runProgram: (request) => world.runProgram(refuses(request) ? { ...request, argv: ['sh', '-c', 'echo no mounts today >&2; exit 32'] } : request),
    })
    const facts = () => [world.sh(repo.mainRoot, 'worktree', 'list', '--porcelain'), existsSync(path('one')), readdirSync(join(context.root, '.overlays'))]
    const unavailable = { details: { reason: 'copy_on_write_unavailable' } }
    expect(await probeOverlay(context)).toEqual({ ok: false, why: 'no mounts today' })
    const before = facts()
    await expect(make('one')).rejects.toMatchObject({ ...unavailable, message: /no mounts today/ })
    expect(facts()).toEqual(before)
    world.sh(repo.mainRoot, 'sparse-checkout', 'set', 'src')
    await expect(make('one')).rejects.toMatchObject({ ...unavailable, message: /sparse/ })
    expect(facts()).toEqual(before)
  })

  it('is thrown away, and made anew whole, when whoever made it was killed after any of its programs', async () => {
    await using world = openOverlayWorld()
    const { make, repo, context, path, sha } = await openTrees(world)
    const { overlay: first } = await make('one')
    const takeBack = async (overlay: WorkspaceOverlay): Promise<void> => {
      await removeOverlay(context, overlay, path('one'))
      rmdirSync(path('one'))
      await removeRegistration(repo, path('one'))
      expect(await collectBases(context, { dryRun: false })).toHaveLength(1)
    }
    await takeBack(first)
    const request = { path: path('one'), sha, branch: 'one', lockReason: 'holdfast:one:n', name: 'one-n', config: [] }
    const reached: string[] = []
    for (let step = 1; ; step += 1) {
      const died = await killedAfter(world, step, async (killed) => void (await makeOverlayTree(killed, await openRepository(killed, repo.mainRoot), request)))
      if (died === undefined) break
      reached.push(died)
      await abandonOverlay(context, request)
      rmSync(path('one'), { recursive: true, force: true })
      await removeRegistration(repo, path('one'))
      const { overlay } = await make('one')
      expect([status(world, path('one')), readdirSync(path('one')).length]).toEqual(['', 5])
      // What was begun is gone, and of the base there is one.
      expect([readdirSync(join(context.root, '.overlays')), await collectBases(context, { dryRun: true })]).toEqual([['one-n'], []])
      await takeBack(overlay)
    }
    expect(reached).toEqual(expect.arrayContaining(['git read-tree', 'sync', 'git worktree', 'mount']))
  })
})

describe.runIf(canMount)('a frozen checkout', () => {
  it('is made once, also by many at once, and again where the settings that it was made with differ', async () => {
    await using world = openOverlayWorld()
    const { context, repo, sha } = await openTrees(world)
    const folders = () => readdirSync(join(context.root, '.bases'), { recursive: true }).filter((name) => String(name).endsWith('/tree'))
    await Promise.all(Array.from({ length: 4 }, () => prepareBase(context, repo, { sha, config: [] })))
    expect(folders()).toHaveLength(1)
    world.sh(repo.mainRoot, 'config', 'core.eol', 'crlf')
    await prepareBase(context, repo, { sha, config: [] })
    expect(folders()).toHaveLength(2)
    world.sh(repo.mainRoot, 'config', 'branch.main.description', 'nothing that a checkout depends on')
    await prepareBase(context, repo, { sha, config: [] })
    expect(folders()).toHaveLength(2)
  })

  it('is collected when no tree looks through it, mounted or not', async () => {
    await using world = openOverlayWorld()
    const { context, make } = await openTrees(world)
    const { path, overlay } = await make('one')
    const base = dirname(overlay.lower[0] as string)
    expect(await collectBases(context, { dryRun: false })).toEqual([])
    await endMount(world, path)
    expect(await collectBases(context, { dryRun: false })).toEqual([])
    expect(await mountAgain(context, overlay, path)).toBe(true)
    // Without its note the mount alone keeps it.
    renameSync(join(dirname(overlay.upper), 'overlay.json'), join(world.root, 'overlay.json'))
    expect(await collectBases(context, { dryRun: false })).toEqual([])
    renameSync(join(world.root, 'overlay.json'), join(dirname(overlay.upper), 'overlay.json'))
    await removeOverlay(context, overlay, path)
    expect(await collectBases(context, { dryRun: true, unusedForMs: 60_000 })).toEqual([])
    expect(await collectBases(context, { dryRun: true })).toEqual([base])
    expect(existsSync(base)).toBe(true)
    expect(await collectBases(context, { dryRun: false })).toEqual([base])
    expect([existsSync(base), await collectBases(context, { dryRun: false })]).toEqual([false, []])
  })

  it('that was not finished is taken for whole by nobody', async () => {
    await using world = openOverlayWorld()
    const { context, make, repo, sha } = await openTrees(world)
    await prepareBase(context, repo, { sha, config: [] })
    const store = join(context.root, '.bases', readdirSync(join(context.root, '.bases'))[0] as string)
    const marker = readdirSync(store).find((name) => name.endsWith('.json')) as string
    const folder = join(store, (JSON.parse(readFileSync(join(store, marker), 'utf8')) as { name: string }).name)
    rmSync(join(store, marker))
    rmSync(join(folder, 'tree/README.md'))
    const { path, overlay } = await make('one')
    expect([status(world, path), overlay.lower]).not.toContainEqual([join(folder, 'tree')])
    expect([readFileSync(join(path, 'README.md'), 'utf8'), existsSync(folder)]).toEqual(['one\n', false])
  })
})

it('takes root, and says so without having tried', async () => {
  await using world = openOverlayWorld()
  const geteuid = vi.spyOn(process, 'geteuid').mockReturnValue(1000)
  try {
    const probe = await probeOverlay(world.context({ runProgram: () => Promise.reject(new Error('a program was started')) }))
    const why = process.platform === 'linux' ? /^it takes root here: .* user namespace/ : /of Linux/
    expect(probe).toEqual({ ok: false, why: expect.stringMatching(why) })
  } finally {
    geteuid.mockRestore()
  }
})
