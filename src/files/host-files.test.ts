import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import type { Files } from '../core/files.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { directoryOpener, directoryOpeners } from './directory.ts'
import { createHostFiles } from './host-files.ts'

const machine = { self: identifySelf(), isAlive }

interface Place extends AsyncDisposable {
  readonly world: World
  readonly files: Files
  readonly root: string
  /** Writes a file below the world, `ws/…` or `outside/…`. */
  put(path: string, text?: string): void
  link(path: string, target: string): void
  text(path: string): string
}

function openPlace(way: keyof typeof directoryOpeners = directoryOpener().way): Place {
  const world = openWorld()
  const root = world.path('ws')
  mkdirSync(root)
  mkdirSync(world.path('outside'))
  return {
    world,
    root,
    files: createHostFiles({ root, machine, opener: directoryOpeners[way] }),
    put(path, text = 'original\n') {
      mkdirSync(dirname(world.path(path)), { recursive: true })
      writeFileSync(world.path(path), text)
    },
    link(path, target) {
      mkdirSync(dirname(world.path(path)), { recursive: true })
      symlinkSync(target, world.path(path))
    },
    text: (path) => readFileSync(world.path(path), 'utf8'),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

const reasonOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    (value) => `no error, but ${JSON.stringify(value)}`,
    (error: { details?: { reason?: string } }) => error.details?.reason ?? String(error),
  )

/** Everything below a folder with its content, to see that nothing changed. */
function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(folder, name)
      const stats = lstatSync(path)
      const content = stats.isSymbolicLink() ? readlinkSync(path) : stats.isFile() ? readFileSync(path, 'utf8') : ''
      return `${name} ${stats.mode.toString(8)} ${stats.mtimeMs} ${content}`
    })
}

/** Each call that takes a path. */
const calls: Readonly<Record<string, (files: Files, path: string) => Promise<unknown>>> = {
  readText: (files, path) => files.readText(path),
  readBytes: (files, path) => files.readBytes(path),
  readLines: (files, path) => files.readLines(path),
  write: (files, path) => files.write(path, 'evil'),
  append: (files, path) => files.append(path, 'evil'),
  list: (files, path) => files.list(path),
  stat: (files, path) => files.stat(path),
  exists: (files, path) => files.exists(path),
  mkdir: (files, path) => files.mkdir(path),
  remove: (files, path) => files.remove(path, { recursive: true }),
  canonicalPath: (files, path) => files.canonicalPath(path),
  linkChain: (files, path) => files.linkChain(path),
  openBound: (files, path) => files.openBound(path),
}

it('directories are held by handles on Linux', () => {
  expect(directoryOpener().way).toBe(process.platform === 'linux' ? 'handles' : 'paths')
})

describe.each(['handles', 'paths'] as const)('files by %s', (way) => {
  it.each(['', '/etc/passwd', '../outside/victim.txt', 'a/../../outside/victim.txt', 'a\\b', 'C:/x', 'a\0b', '..', 'a\ud800'])(
    'every call refuses the path %j by its text',
    async (path) => {
      await using place = openPlace(way)
      place.put('outside/victim.txt')
      for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(place.files, path)), name).toBe('file_outside')
    },
  )

  it.each([
    ['a link to a file', 'notes.md'],
    ['a dangling link', 'draft.txt'],
    ['a file behind a link to a directory', 'linked-dir/x.txt'],
    ['a file behind a link to a sibling with the same beginning of its name', 'sub/prefix/victim.txt'],
    ['an absolute link', 'absolute'],
    ['a link to the folder above', 'up'],
    ['a link to the root of the file system', 'slash'],
    ['a link that is a file outside, on the way', 'notes.md/x'],
    ['a link by way of a link', 'chain'],
    ['a path that leaves by the parent of a link', 'deep/..'],
  ])('every call refuses %s that leads out, and nothing outside changes', async (_, path) => {
    await using place = openPlace(way)
    place.put('outside/victim.txt')
    place.put('ws-evil/victim.txt')
    mkdirSync(place.world.path('outside/dir'))
    place.link('ws/notes.md', '../outside/victim.txt')
    place.link('ws/draft.txt', '../outside/not-yet.txt')
    place.link('ws/linked-dir', '../outside/dir')
    place.link('ws/sub/prefix', '../../ws-evil')
    place.link('ws/absolute', place.world.path('outside/victim.txt'))
    place.link('ws/up', '..')
    place.link('ws/slash', '/')
    place.link('ws/chain', 'sub/../notes.md')
    place.link('ws/deep', '../outside/dir')
    const before = [snapshot(place.world.path('outside')), snapshot(place.world.path('ws-evil'))]
    for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(place.files, path)), name).toBe('file_outside')
    expect([snapshot(place.world.path('outside')), snapshot(place.world.path('ws-evil'))]).toEqual(before)
  })

  it('links that stay inside are followed, relative or absolute, also by way of outside, and when they dangle', async () => {
    await using place = openPlace(way)
    mkdirSync(place.world.path('ws/sub'))
    place.link('ws/inside-link', place.world.path('ws/sub'))
    place.link('ws/around', '../ws/sub')
    place.link('ws/dangling', 'new/folder/file.txt')
    place.link('alias', 'ws')
    place.link('ws/by-alias', place.world.path('alias/sub'))
    const { files } = place
    expect(await files.write('inside-link/ok.txt', '1')).toMatchObject({ path: 'sub/ok.txt', created: true })
    expect(await files.append('around/ok.txt', '2')).toMatchObject({ path: 'sub/ok.txt', created: false })
    expect(await files.readText('by-alias/ok.txt')).toMatchObject({ path: 'sub/ok.txt', text: '12' })
    expect(await files.write('dangling', '3')).toMatchObject({ path: 'new/folder/file.txt' })
    expect(lstatSync(place.world.path('ws/dangling')).isSymbolicLink()).toBe(true)
    expect(place.text('ws/new/folder/file.txt')).toBe('3')
    expect(await files.canonicalPath('around/ok.txt')).toBe(place.world.path('ws/sub/ok.txt'))
    expect(await files.linkChain('dangling')).toEqual({
      links: [{ path: 'dangling', target: 'new/folder/file.txt' }],
      path: 'new/folder/file.txt',
      exists: true,
    })
  })

  it('links that lead to each other are an error, and forty in a row are none', async () => {
    await using place = openPlace(way)
    place.link('ws/loop-a', 'loop-b')
    place.link('ws/loop-b', 'loop-a')
    place.put('ws/l0')
    for (let i = 1; i <= 41; i += 1) place.link(`ws/l${i}`, `l${i - 1}`)
    for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(place.files, 'loop-a')), name).toBe('file_loop')
    expect((await place.files.readText('l40')).text).toBe('original\n')
    expect(await reasonOf(place.files.readText('l41'))).toBe('file_loop')
  })

  it('the root may be named by a link', async () => {
    await using place = openPlace(way)
    place.link('alias', 'ws')
    const files = createHostFiles({ root: place.world.path('alias'), machine, opener: directoryOpeners[way] })
    await files.write('a/b', 'x')
    expect(await files.canonicalPath('a/b')).toBe(place.world.path('ws/a/b'))
    expect((await files.list('.')).entries).toMatchObject([{ name: 'a', kind: 'directory' }])
  })

  it('state of git is read, and never written or removed, also by a link and in any case', async () => {
    await using place = openPlace(way)
    place.put('ws/.git/config', '[core]\n')
    place.put('ws/vendor/lib/.GIT/config', '[core]\n')
    place.link('ws/state', '.git')
    const { files } = place
    expect((await files.readText('.git/config')).text).toBe('[core]\n')
    expect((await files.readText('state/config')).text).toBe('[core]\n')
    const paths = ['.git', '.git/config', '.git/hooks/pre-commit', 'state/config', 'vendor/lib/.GIT/config', 'new/.Git', 'new/.git/x', '.g\u200cit/x']
    for (const path of paths) {
      for (const name of ['write', 'append', 'mkdir', 'remove']) expect(await reasonOf(calls[name]!(files, path)), `${name} ${path}`).toBe('file_outside')
    }
    expect(existsSync(place.world.path('ws/new'))).toBe(false)
    expect(await reasonOf(files.remove('vendor', { recursive: true }))).toBe('file_outside')
    expect(place.text('ws/vendor/lib/.GIT/config')).toBe('[core]\n')
    expect(await files.write('.gitignore', 'x')).toMatchObject({ created: true })
  })

  it('only a missing file is missing', async () => {
    await using place = openPlace(way)
    place.put('ws/file')
    mkdirSync(place.world.path('ws/folder'))
    const { files } = place
    expect(await reasonOf(files.readText('none'))).toBe('file_missing')
    expect(await reasonOf(files.readText('none/below'))).toBe('file_missing')
    expect(await reasonOf(files.readText('folder'))).toBe('file_kind')
    expect(await reasonOf(files.write('folder', ''))).toBe('file_kind')
    expect(await reasonOf(files.write('folder/', ''))).toBe('file_kind')
    expect(await reasonOf(files.readText('file/below'))).toBe('file_kind')
    expect(await reasonOf(files.write('file/below', ''))).toBe('file_kind')
    expect(await reasonOf(files.list('file'))).toBe('file_kind')
    expect(await reasonOf(files.readText('x'.repeat(300)))).toBe('file_name_too_long')
    expect(await reasonOf(files.write('x'.repeat(300), ''))).toBe('file_name_too_long')
    expect(await files.exists('none')).toBe(false)
    expect(await files.exists('file')).toBe(true)
  })

  it('nothing waits at a pipe, and nothing but a regular file is read or written', async () => {
    await using place = openPlace(way)
    execFileSync('mkfifo', [place.world.path('ws/pipe')])
    for (const call of [calls.readText!, calls.write!, calls.append!, calls.openBound!]) expect(await reasonOf(call(place.files, 'pipe'))).toBe('file_kind')
    expect(await place.files.stat('pipe')).toMatchObject({ kind: 'other' })
    expect(await place.files.remove('pipe')).toEqual({ path: 'pipe', kind: 'other', entries: 1 })
  })

  it('removing takes a link itself, a directory only whole, and never the root', async () => {
    await using place = openPlace(way)
    const { files } = place
    place.put('outside/victim.txt')
    place.put('ws/folder/deep/file')
    place.put('ws/kept/file')
    place.link('ws/folder/deep/out', '../../../outside')
    place.link('ws/link', 'kept')
    expect(await reasonOf(files.remove('folder'))).toBe('file_kind')
    expect(await files.remove('folder', { recursive: true })).toEqual({ path: 'folder', kind: 'directory', entries: 4 })
    expect(await files.remove('link', { recursive: true })).toEqual({ path: 'link', kind: 'link', entries: 1 })
    expect(place.text('ws/kept/file')).toBe('original\n')
    expect(place.text('outside/victim.txt')).toBe('original\n')
    expect(await reasonOf(files.remove('.', { recursive: true }))).toBe('file_outside')
    expect(await reasonOf(files.remove('kept/..', { recursive: true }))).toBe('file_outside')
    expect(await reasonOf(files.remove('gone'))).toBe('file_missing')
    expect(readdirSync(place.root)).toEqual(['kept'])
  })
})

describe('reading', () => {
  it('gives text with what is no UTF-8 replaced, and says so', async () => {
    await using place = openPlace()
    writeFileSync(join(place.root, 'good'), '\ufeffgrün\r\n')
    writeFileSync(join(place.root, 'bad'), Buffer.from([0x61, 0xff, 0x00, 0x62]))
    expect(await place.files.readText('good')).toEqual({ path: 'good', text: '\ufeffgrün\r\n', size: 10, replaced: false })
    expect(await place.files.readText('bad')).toEqual({ path: 'bad', text: 'a\ufffd\0b', size: 4, replaced: true })
    expect(Buffer.from((await place.files.readBytes('bad')).bytes)).toEqual(Buffer.from([0x61, 0xff, 0x00, 0x62]))
  })

  it('refuses more than the limit, and gives ranges of it', async () => {
    await using place = openPlace()
    place.put('ws/file', '0123456789')
    const { files } = place
    await expect(files.readText('file', { maxBytes: 9 })).rejects.toMatchObject({ details: { reason: 'file_too_large', bytes: 10, maxBytes: 9 } })
    const range = async (from?: number, to?: number): Promise<string> =>
      Buffer.from((await files.readBytes('file', { from, to, maxBytes: 9 })).bytes).toString()
    expect([await range(2, 5), await range(7), await range(20, 30), await range(5, 2), await range(8, 100)]).toEqual(['234', '789', '', '', '89'])
    execFileSync('truncate', ['-s', '17M', join(place.root, 'large')])
    expect(await reasonOf(files.readText('large'))).toBe('file_too_large')
  })

  it.each([
    [{}, ['a', 'b\r', '', 'last'], null],
    [{ from: 2, max: 2 }, ['b\r', ''], 4],
    [{ from: 4 }, ['last'], null],
    [{ from: -1 }, ['last'], null],
    [{ from: -2, max: 1 }, [''], 4],
    [{ from: 9 }, [], null],
    [{ maxBytes: 4 }, ['a', 'b\r'], 3],
    [{ max: 4 }, ['a', 'b\r', '', 'last'], null],
  ])('gives the lines %j', async (options, lines, next) => {
    await using place = openPlace()
    place.put('ws/file', 'a\nb\r\n\nlast')
    expect(await place.files.readLines('file', options)).toMatchObject({ lines, next, cut: false, replaced: false })
  })

  it('gives the beginning of a line that is too long, whole characters only, and goes on behind it', async () => {
    await using place = openPlace()
    place.put('ws/file', `${'é'.repeat(600_000)}\nnext\n`)
    const first = await place.files.readLines('file', { maxBytes: 101 })
    expect(first).toMatchObject({ lines: ['é'.repeat(50)], cut: true, replaced: false, next: 2 })
    expect(await place.files.readLines('file', { from: 2 })).toMatchObject({ lines: ['next'], cut: false, next: null })
    expect((await place.files.readLines('file', { max: 1 })).lines[0]).toHaveLength(600_000)
  })

  it('of a bound file stays with that file, whatever becomes of its name', async () => {
    await using place = openPlace()
    place.put('ws/file', 'first')
    const bound = await place.files.openBound('file')
    unlinkSync(join(place.root, 'file'))
    place.put('outside/secret', 'secret')
    place.link('ws/file', '../outside/secret')
    expect(Buffer.from(await bound.read(1, 3)).toString()).toBe('irs')
    expect(bound.stat()).toMatchObject({ path: 'file', bytes: 5 })
    bound.close()
    bound.close()
    expect(await reasonOf(bound.read(0, 1))).toBe('file_failed')
  })

  it('lists entries by name with their kinds, in parts', async () => {
    await using place = openPlace()
    place.put('ws/b', '12')
    mkdirSync(join(place.root, 'a'))
    place.link('ws/c', '../outside/x')
    writeFileSync(Buffer.concat([Buffer.from(`${place.root}/d`), Buffer.from([0xff])]), '')
    const { entries, more } = await place.files.list('.', { max: 3 })
    expect(entries).toEqual([
      { name: 'a', kind: 'directory', bytes: expect.any(Number), target: null },
      { name: 'b', kind: 'file', bytes: 2, target: null },
      { name: 'c', kind: 'link', bytes: 12, target: '../outside/x' },
    ])
    expect(more).toBe(true)
    expect(await place.files.list('.', { after: 'c' })).toMatchObject({ entries: [{ name: 'd\ufffd', kind: 'file' }], more: false })
  })
})

describe('writing', () => {
  it('makes the directories above, for write and for append alike', async () => {
    await using place = openPlace()
    expect(await place.files.write('a/b/c', 'x')).toEqual({ path: 'a/b/c', bytes: 1, created: true, route: 'staged' })
    expect(await place.files.append('d/e/f', 'y')).toEqual({ path: 'd/e/f', bytes: 1, created: true, route: 'staged' })
    expect(await place.files.append('d/e/f', 'z')).toEqual({ path: 'd/e/f', bytes: 1, created: false, route: 'in-place' })
    expect(await place.files.mkdir('g/h')).toEqual({ path: 'g/h', created: true })
    expect(await place.files.mkdir('g/h')).toEqual({ path: 'g/h', created: false })
    expect([place.text('ws/a/b/c'), place.text('ws/d/e/f')]).toEqual(['x', 'yz'])
    expect(readdirSync(join(place.root, 'd/e'))).toEqual(['f'])
  })

  it('takes empty content: write empties, append makes the file and changes none', async () => {
    await using place = openPlace()
    place.put('ws/full')
    await place.files.write('full', '')
    expect(await place.files.append('new', '')).toMatchObject({ created: true })
    place.put('ws/kept')
    await place.files.append('kept', new Uint8Array())
    expect([place.text('ws/full'), place.text('ws/new'), place.text('ws/kept')]).toEqual(['', '', 'original\n'])
  })

  it('keeps the permissions of a file, and gives a new one what the mask of the process leaves', async () => {
    await using place = openPlace()
    for (const mode of [0o755, 0o600, 0o444 | 0o200]) {
      place.put('ws/script')
      chmodSync(join(place.root, 'script'), mode)
      await place.files.write('script', 'new')
      expect(statSync(join(place.root, 'script')).mode & 0o7777).toBe(mode)
    }
    await place.files.write('fresh', '')
    expect(statSync(join(place.root, 'fresh')).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  it.runIf(process.getuid?.() === 0)('keeps the owner of a file where this user may', async () => {
    await using place = openPlace()
    place.put('ws/theirs')
    execFileSync('chown', ['1234:2345', join(place.root, 'theirs')])
    expect(await place.files.write('theirs', 'new')).toMatchObject({ route: 'staged' })
    expect(statSync(join(place.root, 'theirs'))).toMatchObject({ uid: 1234, gid: 2345 })
  })

  it('leaves the other names of a file as they were', async () => {
    await using place = openPlace()
    for (const [name, expected] of [
      ['write', 'new'],
      ['append', 'original\nnew'],
    ] as const) {
      place.put('outside/store')
      linkSync(place.world.path('outside/store'), join(place.root, name))
      expect(await place.files[name](name, 'new')).toMatchObject({ route: 'staged' })
      expect([place.text(`ws/${name}`), place.text('outside/store')]).toEqual([expected, 'original\n'])
    }
  })

  it('replaces a program that runs', async () => {
    await using place = openPlace()
    const program = join(place.root, 'program')
    copyFileSync('/bin/sleep', program)
    const child = spawn(program, ['60'])
    try {
      await once(child, 'spawn')
      expect(await place.files.write('program', '#!/bin/sh\n')).toMatchObject({ route: 'staged' })
      expect(statSync(program).mode & 0o111).toBe(0o111)
    } finally {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  })

  it('adds to a file that is just being made, which has a second name for a moment, and replaces it for nobody', async () => {
    await using place = openPlace()
    place.put('ws/log', 'one\n')
    // As by another process, between the link to its name and the end of the name that it was staged under.
    linkSync(place.world.path('ws/log'), place.world.path('ws/.staged'))
    const { ino } = statSync(place.world.path('ws/log'))
    const appending = place.files.append('log', 'two\n')
    unlinkSync(place.world.path('ws/.staged'))
    expect(await appending).toMatchObject({ created: false, route: 'in-place' })
    expect([place.text('ws/log'), statSync(place.world.path('ws/log')).ino]).toEqual(['one\ntwo\n', ino])
  })

  it('keeps everything that several append at once', async () => {
    await using place = openPlace()
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}\n`)
    await Promise.all(lines.map((line) => place.files.append('log', line)))
    expect(place.text('ws/log').split('\n').filter(Boolean).sort()).toEqual(lines.map((line) => line.trimEnd()).sort())
    expect(readdirSync(place.root)).toEqual(['log'])
  })

  it('of many at once leaves one of their contents whole', async () => {
    await using place = openPlace()
    const contents = Array.from({ length: 20 }, (_, i) => String(i % 10).repeat(100_000))
    await Promise.all(contents.map((content) => place.files.write('file', content)))
    expect(contents).toContain(place.text('ws/file'))
    expect(readdirSync(place.root)).toEqual(['file'])
  })

  it('names the full disk, and leaves the file and its directory as they were', async ({ skip }) => {
    await using place = openPlace()
    const full = place.world.path('full')
    mkdirSync(full)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', full], { stdio: 'ignore' })
    } catch {
      skip('only root may mount a small disk to fill')
    }
    try {
      const files = createHostFiles({ root: full, machine })
      await files.write('kept', 'original')
      const large = Buffer.alloc(1024 * 1024, 'x')
      await expect(files.write('kept', large)).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'file_failed', errno: 'ENOSPC' } })
      await expect(files.append('kept', large)).rejects.toMatchObject({ details: { errno: 'ENOSPC' } })
      await expect(files.append('new', large)).rejects.toMatchObject({ details: { errno: 'ENOSPC' } })
      expect(readFileSync(join(full, 'kept'), 'utf8')).toBe('original')
      expect(readdirSync(full)).toEqual(['kept'])
      // A directory on which another file system is mounted is not emptied.
      const outer = createHostFiles({ root: place.world.folder, machine })
      expect(await reasonOf(outer.remove('full', { recursive: true }))).toBe('file_denied')
      expect(readdirSync(full)).toEqual(['kept'])
    } finally {
      execFileSync('umount', [full])
    }
  })

  it('renames nothing over a directory that took the place of the file', async () => {
    await using place = openPlace()
    place.put('ws/a')
    const writing = place.files.write('a', 'new'.repeat(1000))
    renameSync(join(place.root, 'a'), join(place.root, 'b'))
    mkdirSync(join(place.root, 'a'))
    expect(await reasonOf(writing)).toBe('file_kind')
    expect(statSync(join(place.root, 'a')).isDirectory()).toBe(true)
    expect(readdirSync(place.root).sort()).toEqual(['a', 'b'])
  })
})
