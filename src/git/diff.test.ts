import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { diffTree } from './diff.ts'

const maxBytes = 1024 ** 2

/** A repository with a linked tree of it, whose files are told by `diff`. */
function withTree(world: GitWorld, files: Readonly<Record<string, string>>) {
  const repository = world.repository('r', files)
  const path = world.path('tree')
  world.sh(repository, 'worktree', 'add', '--quiet', '-b', 'work', path)
  const adminDir = join(repository, '.git', 'worktrees', 'tree')
  const from = world.sh(repository, 'rev-parse', 'HEAD')
  return { repository, path, adminDir, from, diff: (bytes = maxBytes) => diffTree(world.git, { path, adminDir }, from, bytes) }
}

/** The same files, made by applying the patch to where it begins. */
function apply(world: GitWorld, repository: string, from: string, patch: string): string {
  const other = world.path('applied')
  world.sh(repository, 'worktree', 'add', '--quiet', '--detach', other, from)
  const file = world.path('all.patch')
  writeFileSync(file, patch)
  world.sh(other, 'apply', '--whitespace=nowarn', file)
  return other
}

function content(folder: string, at = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(join(folder, at), { encoding: 'latin1' })) {
    if (name === '.git') continue
    const path = Buffer.from(`${join(folder, at)}/${name}`, 'latin1')
    const stat = lstatSync(path)
    if (stat.isDirectory()) Object.assign(found, content(folder, join(at, name)))
    else found[join(at, name)] = `${(stat.mode & 0o111) === 0 ? '' : 'x'} ${stat.isSymbolicLink() ? 'link' : readFileSync(path).toString('base64')}`
  }
  return found
}

const text = (lines: number): string => Array.from({ length: lines }, (_, n) => `line ${n}\n`).join('')

it('a patch holds all that differs: text, binary, renamed, removed, links, modes, odd names and what git does not know yet', async () => {
  await using world = openGitWorld()
  const { repository, path, from, diff } = withTree(world, {
    'a.txt': 'one\n',
    'old.txt': text(50),
    'gone.txt': 'x\n',
    'run.sh': '#!/bin/sh\n',
    'to-link': 'a\n',
  })
  writeFileSync(join(path, 'a.txt'), 'two\nno line feed at the end')
  renameSync(join(path, 'old.txt'), join(path, 'new name.txt'))
  rmSync(join(path, 'gone.txt'))
  chmodSync(join(path, 'run.sh'), 0o755)
  rmSync(join(path, 'to-link'))
  symlinkSync('a.txt', join(path, 'to-link'))
  mkdirSync(join(path, 'deep/er'), { recursive: true })
  writeFileSync(join(path, 'deep/er/binary'), Buffer.from([0, 1, 2, 255, 254]))
  writeFileSync(join(path, 'latin "1"\n*.txt'), Buffer.from([0x67, 0x72, 0xfc, 0xdf, 0x0a]))
  writeFileSync(join(path, 'empty'), '')
  writeFileSync(Buffer.from(`${path}/n\xe4me`, 'latin1'), 'in no UTF-8\n')
  world.sh(path, 'add', 'a.txt')
  const { files, patch, truncated } = await diff()
  expect(truncated).toBe(false)
  expect(Object.fromEntries(files.map(({ path: name, status }) => [name, status]))).toEqual({
    'a.txt': 'M',
    'deep/er/binary': 'A',
    empty: 'A',
    'gone.txt': 'D',
    'latin "1"\n*.txt': 'A',
    'n\ufffdme': 'A',
    'new name.txt': 'R',
    'run.sh': 'M',
    'to-link': 'T',
  })
  expect(files.find(({ path: name }) => name === 'a.txt')).toMatchObject({ added: 2, removed: 1 })
  expect(files.find(({ status }) => status === 'R')).toMatchObject({ from: 'old.txt', added: 0, removed: 0 })
  expect(files.find(({ path: name }) => name === 'deep/er/binary')).toMatchObject({ added: null, removed: null })
  expect(content(apply(world, repository, from, patch))).toEqual(content(path))
})

it('the index of the tree stays as it is, to the byte and the nanosecond, and nothing is written to the object store', async () => {
  await using world = openGitWorld()
  const { repository, path, adminDir, diff } = withTree(world, { 'a.txt': 'one\n' })
  writeFileSync(join(path, 'a.txt'), 'two\n')
  writeFileSync(join(path, 'new.txt'), 'new\n')
  const state = () => {
    const { mtimeNs, ctimeNs, ino } = statSync(join(adminDir, 'index'), { bigint: true })
    return [readFileSync(join(adminDir, 'index')).toString('base64'), mtimeNs, ctimeNs, ino, world.sh(repository, 'count-objects'), readdirSync(adminDir)]
  }
  const before = state()
  expect((await diff()).files).toHaveLength(2)
  expect(state()).toEqual(before)
})

it('a tree in a conflict, and one without an index, are compared by their files', async () => {
  await using world = openGitWorld()
  const { repository, path, adminDir, from, diff } = withTree(world, { 'a.txt': 'one\n' })
  world.commit(repository, { 'a.txt': 'main\n' })
  world.commit(path, { 'a.txt': 'work\n' })
  expect(() => world.sh(path, 'merge', 'main')).toThrow()
  const conflicted = await diff()
  expect(conflicted.files).toMatchObject([{ path: 'a.txt', status: 'M', added: 5, removed: 1 }])
  expect(content(apply(world, repository, from, conflicted.patch))).toEqual(content(path))
  rmSync(join(adminDir, 'index'))
  expect((await diff()).files).toEqual(conflicted.files)
  expect(existsSync(join(adminDir, 'index'))).toBe(false)
})

it('what git was told not to see, and what it was only told of, is seen', async () => {
  await using world = openGitWorld()
  const { repository, path, from, diff } = withTree(world, { 'hidden.txt': 'one\n', 'touched.txt': 'one\n' })
  world.sh(path, 'update-index', '--assume-unchanged', 'hidden.txt')
  writeFileSync(join(path, 'hidden.txt'), 'two\n')
  writeFileSync(join(path, 'intended.txt'), 'new\n')
  world.sh(path, 'add', '--intent-to-add', 'intended.txt')
  utimesSync(join(path, 'touched.txt'), 1, 1)
  const { files, patch } = await diff()
  expect(files.map((file) => `${file.status} ${file.path} ${file.added} ${file.removed}`)).toEqual(['M hidden.txt 1 1', 'A intended.txt 1 0'])
  expect(content(apply(world, repository, from, patch))).toEqual(content(path))
})

it('ignored files are left out, and so are repositories inside of the tree', async () => {
  await using world = openGitWorld()
  const { path, diff } = withTree(world, { '.gitignore': 'ignored\n' })
  writeFileSync(join(path, 'ignored'), 'x\n')
  mkdirSync(join(path, 'nested'))
  world.sh(join(path, 'nested'), 'init', '--quiet')
  world.commit(join(path, 'nested'), { inside: 'x\n' })
  expect(await diff()).toEqual({ files: [], patch: '', truncated: false })
})

it('nothing runs that the repository names for its diffs, and no setting changes what the patch looks like', async () => {
  await using world = openGitWorld()
  const { repository, path, from, diff } = withTree(world, { '.gitattributes': '* diff=evil\n', 'a.txt': 'one\n' })
  const plain = (name: string, value: string): string => world.sh(repository, 'config', name, value)
  for (const name of ['diff.external', 'diff.evil.command', 'diff.evil.textconv']) plain(name, `touch ${world.path('ran')}; cat`)
  plain('diff.noprefix', 'true')
  plain('diff.mnemonicPrefix', 'true')
  plain('color.ui', 'always')
  plain('diff.context', '0')
  plain('diff.orderFile', world.path('none'))
  writeFileSync(join(path, 'a.txt'), 'one\ntwo\n')
  const { patch } = await diff()
  expect(existsSync(world.path('ran'))).toBe(false)
  expect(patch).toMatch(
    /^diff --git a\/a\.txt b\/a\.txt\nindex [0-9a-f]{40}\.\.[0-9a-f]{40} 100644\n--- a\/a\.txt\n\+\+\+ b\/a\.txt\n@@ -1 \+1,2 @@\n one\n\+two\n$/,
  )
  expect(content(apply(world, repository, from, patch))).toEqual(content(path))
})

it('a long patch is cut between two files, and what is left can be applied', async () => {
  await using world = openGitWorld()
  const { repository, path, from, diff } = withTree(world, { 'a.txt': 'one\n' })
  for (const name of ['b', 'c', 'd']) writeFileSync(join(path, name), `${'ü'.repeat(60)}\n`.repeat(100))
  const whole = await diff()
  const cut = await diff(30_000)
  expect(cut.truncated).toBe(true)
  expect(cut.files).toEqual(whole.files)
  expect(whole.patch.startsWith(cut.patch)).toBe(true)
  expect(Object.keys(content(apply(world, repository, from, cut.patch)))).toEqual(['a.txt', 'b', 'c'])
  const tiny = await diff(301)
  expect(tiny.patch).toBe(whole.patch.slice(0, tiny.patch.length))
  expect(tiny.patch).toMatch(/\n$/)
})

it('a tree of a repository with SHA-256, and one with a sparse checkout, is compared like any other', async () => {
  await using world = openGitWorld()
  const folder = world.path('sha256')
  mkdirSync(folder)
  world.sh(folder, 'init', '--quiet', '--object-format=sha256', '--initial-branch=main')
  const from = world.commit(folder, { 'a/x': '1\n', 'b/y': '2\n' })
  world.sh(folder, 'sparse-checkout', 'set', 'a')
  mkdirSync(join(folder, 'c'))
  writeFileSync(join(folder, 'c/z'), 'outside of the cone\n')
  writeFileSync(join(folder, 'a/x'), '3\n')
  const { files } = await diffTree(world.git, { path: folder, adminDir: join(folder, '.git') }, from, maxBytes)
  expect(files.map(({ path, status }) => `${status} ${path}`)).toEqual(['M a/x', 'A c/z'])
})
