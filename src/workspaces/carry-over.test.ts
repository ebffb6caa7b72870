import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { failure } from '../core/errors.ts'
import { type CarryOver, carryOver } from './carry-over.ts'
import { isNamedIn, isSecretFile } from './secret-files.ts'

const ignore = 'node_modules/\n.env*\n*.pem\ncache/\n*.local\n'

/** A checkout with these files besides its ignore rules, and a worktree of it. */
function checkout(world: GitWorld, files: Readonly<Record<string, string>>, include?: string): { source: string; path: string } {
  const source = world.repository('source', { '.gitignore': ignore, tracked: 't\n' })
  const path = world.path('tree')
  world.sh(source, 'worktree', 'add', '--quiet', '-b', 'other', path)
  write(source, { ...files, ...(include === undefined ? {} : { '.worktreeinclude': include }) })
  return { source, path }
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

const carry = (world: GitWorld, places: { source: string | null; path: string }, request: Partial<CarryOver> = {}) =>
  carryOver(world.context(), { entries: [], kind: 'branch', ...places, ...request })

/** Everything in the tree but what is committed. */
const carried = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => !['.git', '.gitignore', 'tracked'].includes(name) && !lstatSync(join(path, name)).isDirectory())
    .sort()

it('a file is carried over when it is both ignored and listed, and the tree stays clean', async () => {
  await using world = openGitWorld()
  const files = { 'node_modules/a/index.js': 'a\n', 'cache/x/y': 'y\n', 'cache/z': 'z\n', 'only-listed': 'o\n', 'sub/only.local': 'i\n' }
  const places = checkout(world, files, '# what tests need\nnode_modules\n/cache/x/\nonly-listed\n')
  const actions = await carry(world, places)
  expect(carried(places.path)).toEqual(['cache/x/y', 'node_modules/a/index.js'])
  expect(actions).toEqual([
    { name: 'carried-over', status: 'done', detail: expect.stringMatching(/^cache\/, node_modules\/ \(2 files, 4 bytes, by (?:copy|reflink)\)$/) },
  ])
  expect(world.sh(places.path, 'status', '--porcelain')).toBe('')
})

it('without a list and without entries nothing is carried over and nothing said', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/x': 'x\n' })
  expect([await carry(world, places), carried(places.path)]).toEqual([[], []])
})

it('entries name files and folders by themselves; of what stays the reason is told', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n', 'cache/b': 'b\n', 'one.local': '1\n', untracked: 'u\n' })
  const actions = await carry(world, places, { entries: ['cache/', './one.local', 'untracked', 'tracked', 'gone'] })
  expect(carried(places.path)).toEqual(['cache/a', 'cache/b', 'one.local'])
  expect(actions.map(({ status, detail }) => [status, detail])).toEqual([
    ['done', expect.stringMatching(/^cache\/, one\.local \(3 files/)],
    ['skipped', 'tracked: git has it'],
    ['skipped', 'gone: it is not there'],
    ['skipped', 'untracked: git does not ignore it'],
  ])
})

it.each(['../up', '/etc/passwd', '', '.', '.git/config', 'a/../../b', 'a\0b'])('the entry %j is refused', async (entry) => {
  await using world = openGitWorld()
  const places = checkout(world, {})
  await expect(carry(world, places, { entries: [entry] })).rejects.toMatchObject({ details: { reason: 'invalid', field: 'carry' } })
})

it('what the tree does not ignore is not carried over, because it would be a change there', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n', 'x.local': 'x\n' }, 'cache/\n*.local\n')
  world.commit(places.path, { '.gitignore': '*.local\n' })
  const actions = await carry(world, places)
  expect([carried(places.path), actions.at(-1)?.detail, world.sh(places.path, 'status', '--porcelain')]).toEqual([
    ['x.local'],
    'cache/a: the tree does not ignore it',
    '',
  ])
})

it('secrets are carried over only by their names, for their owner alone', async () => {
  await using world = openGitWorld()
  const files = { '.env': 's\n', '.env.test': 't\n', 'cache/key.pem': 'k\n', 'cache/plain': 'p\n' }
  const places = checkout(world, files, '.env*\ncache/\n')
  chmodSync(join(places.source, '.env'), 0o644)
  const actions = await carry(world, places)
  expect([carried(places.path), actions.at(-1)?.detail]).toEqual([
    ['cache/plain'],
    '.env, .env.test, cache/key.pem: it looks like a secret, and those are carried only by their names',
  ])
  write(places.source, { '.worktreeinclude': '/.env\n' })
  await carry(world, places, { entries: ['cache/key.pem'] })
  expect(carried(places.path)).toEqual(['.env', 'cache/key.pem', 'cache/plain'])
  expect([statSync(join(places.path, '.env')).mode & 0o777, statSync(join(places.path, 'cache/key.pem')).mode & 0o777]).toEqual([0o600, 0o600])
})

it('a sandbox gets no secret, however it is named, and everything else', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { '.env': 's\n', 'cache/plain': 'p\n' }, '.env\ncache/\n')
  const actions = await carry(world, places, { kind: 'sandbox', entries: ['.env'] })
  expect([carried(places.path), actions.at(-1)?.detail]).toEqual([['cache/plain'], '.env: it looks like a secret, and those never go into a sandbox'])
})

it('what is there already and the same is counted, as in the layer of a copy-on-write tree', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n', 'cache/b': 'b\n' }, 'cache/\n')
  symlinkSync('a', join(places.source, 'cache/link'))
  await carry(world, places)
  rmSync(join(places.path, 'cache/b'))
  expect((await carry(world, places)).map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/^cache\/ \(1 file, 2 bytes, by \w+; 2 files there already, the same\)$/),
  ])
})

it('nothing is overwritten', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'from the source\n', 'cache/b': 'b\n', '.env': 'from the source\n' }, 'cache/\n.env\n')
  write(places.path, { 'cache/a': 'work\n', '.env': 'work\n' })
  const actions = await carry(world, places)
  expect([readFileSync(join(places.path, 'cache/a'), 'utf8'), readFileSync(join(places.path, '.env'), 'utf8')]).toEqual(['work\n', 'work\n'])
  expect(actions.map(({ status, detail }) => [status, detail])).toEqual([
    ['done', expect.stringContaining('1 file,')],
    ['skipped', '.env, cache/a: it is there already'],
  ])
})

it('no file of both is one: a change in place leaves the source as it is', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'before\n' }, 'cache/\n')
  utimesSync(join(places.source, 'cache/a'), 1_000_000_000, 1_000_000_000)
  chmodSync(join(places.source, 'cache/a'), 0o755)
  await carry(world, places)
  const copy = statSync(join(places.path, 'cache/a'))
  expect([copy.nlink, copy.mode & 0o777, copy.mtimeMs]).toEqual([1, 0o755, 1_000_000_000_000])
  writeFileSync(join(places.path, 'cache/a'), 'after!\n', { flag: 'r+' })
  expect(readFileSync(join(places.source, 'cache/a'), 'utf8')).toBe('before\n')
})

it('links are carried over as what they say, and never followed out of either side', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n', 'node_modules/tool.js': 't\n' }, 'cache\nnode_modules\nout.local\n')
  write(world.folder, { 'outside/secret': 's\n' })
  symlinkSync('../outside', join(places.source, 'out.local'))
  symlinkSync('tool.js', join(places.source, 'node_modules/tool'))
  // In the tree the folder is a link that leads out: it may have been committed by anybody.
  symlinkSync(world.path('outside'), join(places.path, 'cache'))
  const actions = await carry(world, places, { entries: ['out.local/secret'] })
  expect([readlinkSync(join(places.path, 'out.local')), readlinkSync(join(places.path, 'node_modules/tool'))]).toEqual(['../outside', 'tool.js'])
  expect(readdirSync(world.path('outside'))).toEqual(['secret'])
  expect(actions.filter(({ status }) => status === 'skipped').map(({ detail }) => detail)).toEqual([
    'out.local/secret: out.local is no folder of the checkout',
    'cache/a: its folder is a link or a file in the tree',
  ])
})

it('repositories inside of the checkout, other trees and the state of Holdfast are not carried over', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n', '.holdfast/runs/r': 'r\n' }, '*\n')
  write(places.source, { '.holdfast/.gitignore': '*\n' })
  world.sh(places.source, 'init', '--quiet', 'cache/nested')
  world.commit(join(places.source, 'cache/nested'), { f: 'f\n' })
  world.sh(places.source, 'worktree', 'add', '--quiet', '-b', 'third', 'cache/third')
  await carry(world, places)
  expect(carried(places.path).filter((name) => name.includes('.git/') || name.startsWith('.holdfast') || name.endsWith('.git'))).toEqual([])
  expect([existsSync(join(places.path, 'cache/a')), existsSync(join(places.path, 'cache/third')), world.sh(places.path, 'status', '--porcelain')]).toEqual([
    true,
    false,
    '',
  ])
})

it('a cancellation removes what was copied, and what was there stays', async () => {
  await using world = openGitWorld()
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, number) => [`cache/${number % 30}/${number}`, 'x']))
  const places = checkout(world, many, 'cache/\n')
  write(places.path, { 'cache/own': 'own\n' })
  const stop = new AbortController()
  const said: string[] = []
  const onProgress = (what: string): void => {
    said.push(what)
    if (what.startsWith('carried over 1000')) stop.abort()
  }
  await expect(carry(world, places, { signal: stop.signal, onProgress })).rejects.toMatchObject({ details: { reason: 'canceled' } })
  expect([said, carried(places.path), readdirSync(join(places.path, 'cache'))]).toEqual([
    ['carrying over 3000 files', 'carried over 1000 of 3000 files'],
    ['cache/own'],
    ['own'],
  ])
})

it('a git that fails is told, and no reason to go without the tree', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n' }, 'cache/\n')
  const context = world.context()
  const failing: typeof context.git = { run: context.git.run, require: async (what) => Promise.reject(failure('git_timeout', { what, afterMs: 1 })) }
  const actions = await carryOver({ ...context, git: failing }, { ...places, entries: [], kind: 'branch' })
  expect(actions).toEqual([{ name: 'carried-over', status: 'failed', detail: expect.stringContaining('was ended after 1 ms') }])
})

it('of a repository without a checkout nothing can be carried over, which is said where something was named', async () => {
  await using world = openGitWorld()
  const path = world.repository('any')
  expect(await carry(world, { source: null, path })).toEqual([])
  expect(await carry(world, { source: null, path }, { entries: ['cache'] })).toEqual([
    { name: 'carried-over', status: 'skipped', detail: 'cache: there is no checkout to carry it over from' },
  ])
})

it('a list that is a link is none', async () => {
  await using world = openGitWorld()
  const places = checkout(world, { 'cache/a': 'a\n' })
  write(world.folder, { list: 'cache/\n' })
  symlinkSync(world.path('list'), join(places.source, '.worktreeinclude'))
  expect([await carry(world, places), carried(places.path)]).toEqual([[], []])
  rmSync(join(places.source, '.worktreeinclude'))
})

it.each(['.env', 'a/.env.local', 'prod.env', 'certs/server.pem', '.npmrc', '.netrc', 'id_ed25519', '.aws/config', 'a/credentials.json'])(
  '%s is a secret',
  (path) => {
    expect(isSecretFile(path)).toBe(true)
  },
)

it.each(['.env.example', 'environment.ts', 'node_modules/certifi/cacert.pem', 'id_rsa.pub', 'keys.ts', 'src/secrets.ts'])('%s is none', (path) => {
  expect(isSecretFile(path)).toBe(false)
})

it.each([
  ['.env', '.env', true],
  ['.env', 'a/.env', true],
  ['/.env', 'a/.env', false],
  ['a/.env', 'a/.env', true],
  ['.env*', '.env', false],
  ['!.env', '.env', false],
  ['a/', 'a/.env', false],
  ['a', 'a/.env', false],
])('the list %j names %s: %s', (patterns, path, named) => {
  expect(isNamedIn(`# a comment\n${patterns}\n`, path)).toBe(named)
})
