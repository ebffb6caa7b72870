import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, type TestContext } from 'vitest'
import type { Capabilities } from '../../src/core/backend.ts'
import { HoldfastError } from '../../src/core/errors.ts'
import type { Files } from '../../src/core/files.ts'

/**
 * What files below a root must do, wherever they are, as rows with ids. A row arranges and looks by commands of a POSIX shell that
 * run where the files are. One that a place is known to break is listed by it, with the reason: it runs and must fail.
 */
interface Requirement {
  readonly id: string
  readonly sentence: string
  readonly body: (bench: Bench, test: TestContext) => Promise<void>
  /** Why the row says nothing about a place like this; undefined: it applies. */
  readonly unless?: (place: FilesPlace) => string | undefined
}

const requirements: Requirement[] = []

function requirement(id: string, sentence: string, body: Requirement['body'], unless?: Requirement['unless']): void {
  requirements.push(unless ? { id, sentence, body, unless } : { id, sentence, body })
}

/** Files below a root. The folder that has the root is the suite's alone, and all in it is removed before each row. */
export interface FilesPlace {
  readonly files: Files
  /** Absolute, without links, where the files are; a folder. */
  readonly root: string
  readonly capabilities: Pick<Capabilities, 'confinedFiles'>
  /** Whether a file of 200 MiB is carried there and back in little time. */
  readonly large?: boolean
  /** Runs a script of a POSIX shell there, in the folder that has the root, as who the files are used by. Rejects where it fails. */
  sh(script: string): Promise<Buffer>
  close(): Promise<void>
}

export interface FilesSuite {
  /** One place for all rows. */
  open(): Promise<FilesPlace>
  /** Ids of rows that fail, each with the reason. */
  readonly knownFailures?: Readonly<Record<string, string>>
  /** For the opening of the place; default that of a hook. */
  readonly openMs?: number
  /** For one row. Some make more than a hundred calls; more than 60 s are needed where each of them takes long. */
  readonly rowMs?: number
}

interface Bench {
  readonly place: FilesPlace
  readonly files: Files
  readonly root: string
  /** In the root. */
  sh(script: string): Promise<string>
  /** What is in the folder beside the root, which nothing may change. */
  outside(): Promise<string>
}

export function describeFiles(name: string, { open, knownFailures = {}, openMs = 60_000, rowMs = 60_000 }: FilesSuite): void {
  describe(`files: ${name}`, () => {
    let place: FilesPlace
    let bench: Bench

    beforeAll(async () => {
      place = await open()
    }, openMs)

    afterAll(async () => {
      await place?.close()
    }, openMs)

    beforeEach(async () => {
      const { files, root } = place
      const sh = async (script: string): Promise<string> => (await place.sh(`cd ${quoted(root)} && { ${script}\n}`)).toString()
      const outside = (): Promise<string> => sh('cd .. && find outside ws-evil | sort && cat $(find outside ws-evil -type f | sort)')
      bench = { place, files, root, sh, outside }
      const folder = quoted(root)
      await place.sh(
        `rm -rf ${folder} outside ws-evil; mkdir -p ${folder} outside/dir ws-evil; echo original > outside/victim.txt; echo original > ws-evil/victim.txt`,
      )
    }, rowMs)

    for (const { id, sentence, body, unless } of requirements) {
      const reason = knownFailures[id]
      const declare = reason === undefined ? it : it.fails
      declare(
        `${id}: ${sentence}${reason === undefined ? '' : ` (known failure: ${reason})`}`,
        async (test) => {
          const inapplicable = unless?.(place)
          if (inapplicable) return test.skip(inapplicable)
          await body(bench, test)
        },
        rowMs,
      )
    }

    it('has no known failure that the suite does not know', () => {
      const known = new Set(requirements.map(({ id }) => id))
      expect(Object.keys(knownFailures).filter((id) => !known.has(id))).toEqual([])
    })
  })
}

export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** The reason of the error, and the path that it names, where that is not the one that was asked for. */
async function reasonOf(act: Promise<unknown>, path?: string): Promise<string> {
  return act.then(
    (value) => `no error, but ${JSON.stringify(value)}`,
    (error: unknown) => {
      if (!(error instanceof HoldfastError)) return String(error)
      const { reason, path: named } = error.details
      return path === undefined || named === path ? reason : `${reason} of ${JSON.stringify(named)}`
    },
  )
}

/** All byte values, with no period that is a power of two. */
function deterministic(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let x = 12_345
  for (let at = 0; at < length; at += 1) {
    x = (Math.imul(x, 1_103_515_245) + 12_345) & 0x7fffffff
    bytes[at] = x >>> 16
  }
  return bytes
}

async function* piecesOf(bytes: Uint8Array, pieceBytes = 300_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function taken(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

/** Each call that takes a path. */
const calls: Readonly<Record<string, (files: Files, path: string) => Promise<unknown>>> = {
  readText: (files, path) => files.readText(path),
  readBytes: (files, path) => files.readBytes(path),
  readLines: (files, path) => files.readLines(path),
  write: (files, path) => files.write(path, 'evil'),
  append: (files, path) => files.append(path, 'evil'),
  upload: (files, path) => files.upload(path, piecesOf(Buffer.from('evil'))),
  download: (files, path) => files.download(path),
  list: (files, path) => files.list(path),
  stat: (files, path) => files.stat(path),
  exists: (files, path) => files.exists(path),
  mkdir: (files, path) => files.mkdir(path),
  remove: (files, path) => files.remove(path, { recursive: true }),
  move: (files, path) => files.move(path, 'moved'),
  canonicalPath: (files, path) => files.canonicalPath(path),
  linkChain: (files, path) => files.linkChain(path),
  openBound: (files, path) => files.openBound(path),
}

const changing = ['write', 'append', 'upload', 'mkdir', 'remove', 'move']

// ---- paths

requirement('paths.text', 'every call refuses a path that is empty, absolute, goes above the root, or has a backslash or NUL', async ({ files, outside }) => {
  const before = await outside()
  for (const path of ['', '/etc/passwd', '../outside/victim.txt', 'a/../../outside/victim.txt', 'a\\b', 'C:/x', 'a\0b', '..', 'a\ud800'])
    for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(files, path), path), `${name} ${JSON.stringify(path)}`).toBe('file_outside')
  for (const path of ['/etc/moved', '../moved', 'a\\b', '']) expect(await reasonOf(files.move('.', path), undefined)).toBe('file_outside')
  expect(await outside()).toBe(before)
})

const linksOut =
  'mkdir sub; ln -s ../outside/victim.txt notes.md; ln -s ../outside/not-yet.txt draft.txt; ln -s ../outside/dir linked-dir; ln -s "$(pwd)/sub" inside-link; ' +
  'ln -s ../../ws-evil sub/prefix; ln -s loop-b loop-a; ln -s loop-a loop-b; ln -s "$(cd .. && pwd)/outside/victim.txt" absolute; ln -s .. up; ln -s / slash; ' +
  'ln -s sub/../notes.md chain'

requirement('paths.links-out', 'every call refuses a path that leads out by a link, and nothing outside changes', async ({ files, sh, outside }) => {
  await sh(linksOut)
  const before = await outside()
  const paths = [
    'notes.md',
    'draft.txt',
    'linked-dir/x.txt',
    'linked-dir',
    'sub/prefix/victim.txt',
    'absolute',
    'up',
    'slash',
    'notes.md/x',
    'chain',
    'linked-dir/..',
  ]
  for (const path of paths)
    for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(files, path), path), `${name} ${path}`).toBe('file_outside')
  await files.write('file', 'x')
  for (const path of paths) expect(await reasonOf(files.move('file', path, { replace: true }), path), `move to ${path}`).toBe('file_outside')
  expect(await outside()).toBe(before)
})

requirement('paths.links-inside', 'links that stay inside are followed, relative, absolute, by way of outside and dangling', async ({ files, sh, root }) => {
  await sh('mkdir sub; ln -s "$(pwd)/sub" inside-link; ln -s ../"$(basename "$(pwd)")"/sub around; ln -s new/folder/file.txt dangling')
  expect(await files.write('inside-link/ok.txt', '1')).toMatchObject({ path: 'sub/ok.txt', created: true })
  expect(await files.append('around/ok.txt', '2')).toMatchObject({ path: 'sub/ok.txt', created: false })
  expect(await files.readText('around/ok.txt')).toMatchObject({ path: 'sub/ok.txt', text: '12' })
  expect(await files.write('dangling', '3')).toMatchObject({ path: 'new/folder/file.txt', created: true })
  expect(await sh('readlink dangling; cat new/folder/file.txt')).toBe('new/folder/file.txt\n3')
  expect(await files.canonicalPath('around/ok.txt')).toBe(`${root}/sub/ok.txt`)
  expect(await files.canonicalPath('.')).toBe(root)
})

requirement('paths.chain', 'the links on the way are told, with what they say, and whether something is there', async ({ files, sh }) => {
  await sh('mkdir sub; ln -s sub a; ln -s none sub/b')
  expect(await files.linkChain('a/b')).toEqual({
    links: [
      { path: 'a', target: 'sub' },
      { path: 'sub/b', target: 'none' },
    ],
    path: 'sub/none',
    exists: false,
  })
  expect(await files.linkChain('sub')).toEqual({ links: [], path: 'sub', exists: true })
})

requirement('paths.loop', 'links that lead to each other are an error, and forty in a row are none', async ({ files, sh }) => {
  await sh('ln -s loop-b loop-a; ln -s loop-a loop-b; echo original > l0; i=0; while [ $i -lt 41 ]; do ln -s l$i l$((i+1)); i=$((i+1)); done')
  for (const [name, call] of Object.entries(calls)) expect(await reasonOf(call(files, 'loop-a'), 'loop-a'), name).toBe('file_loop')
  expect((await files.readText('l40')).text).toBe('original\n')
  expect(await reasonOf(files.readText('l41'), 'l41')).toBe('file_loop')
})

requirement(
  'paths.case-B041',
  'the links that led writes of other tools out lead none out here',
  async ({ files, place, outside }, test) => {
    const script = new URL('../../../shared/cases/B041.sh', import.meta.url)
    if (!existsSync(script)) return test.skip('the cases are not here')
    const folder = dirname(place.root)
    await place.sh(`rm -rf ${quoted(place.root)} outside ws-evil; sh -c ${quoted(readFileSync(script, 'utf8'))} sh ${quoted(folder)} >/dev/null`)
    const before = await outside()
    for (const path of ['notes.md', 'draft.txt', 'linked-dir/x.txt', 'sub/prefix/victim.txt', '../outside/victim.txt'])
      for (const name of ['write', 'append', 'upload']) expect(await reasonOf(calls[name]!(files, path), path), path).toBe('file_outside')
    expect(await reasonOf(files.write('loop-a', ''), 'loop-a')).toBe('file_loop')
    expect(await files.write('inside-link/ok.txt', 'ok')).toMatchObject({ path: 'sub/ok.txt' })
    expect(await outside()).toBe(before)
  },
  ({ root }) => (root.endsWith('/ws') ? undefined : 'the root has another name than in the case'),
)

requirement('paths.git', 'state of git is read, and never written, moved or removed, also by a link and in any case of letters', async ({ files, sh }) => {
  await sh('mkdir -p .git vendor/lib/.GIT; echo "[core]" > .git/config; echo "[core]" > vendor/lib/.GIT/config; ln -s .git state; echo x > file')
  expect((await files.readText('.git/config')).text).toBe('[core]\n')
  expect((await files.readText('state/config')).text).toBe('[core]\n')
  const paths = ['.git', '.git/config', '.git/hooks/pre-commit', 'state/config', 'vendor/lib/.GIT/config', 'new/.Git', 'new/.git/x', '.g\u200cit/x']
  for (const path of paths) for (const name of changing) expect(await reasonOf(calls[name]!(files, path), path), `${name} ${path}`).toBe('file_outside')
  for (const path of paths) expect(await reasonOf(files.move('file', path), path), `move to ${path}`).toBe('file_outside')
  expect(await reasonOf(files.remove('vendor', { recursive: true }), 'vendor')).toBe('file_outside')
  expect(await reasonOf(files.move('vendor', 'other'), 'vendor')).toBe('file_outside')
  expect(await sh('ls; cat vendor/lib/.GIT/config')).toBe('file\nstate\nvendor\n[core]\n')
  expect(await files.write('.gitignore', 'x')).toMatchObject({ created: true })
})

const oddNames = [
  'a b',
  '-n',
  '--',
  "it's",
  '"double"',
  '$HOME',
  '`id`',
  '$(exit 3)',
  'line\nfeed',
  'end\n',
  '\nbegin',
  'tab\t',
  ' space ',
  '*',
  '[a]',
  '?',
  '~',
  '#',
  '!',
  ';&|<>',
  '%s',
  'é€🔥',
  '.hidden',
  '...',
  '\x01\x1b[0m',
  '=',
  'a=b',
  '{x,y}',
]

requirement('paths.names', 'a file may have any name: line feeds, leading dashes, quotes, what a shell would expand', async ({ files, sh }) => {
  for (const name of oddNames) {
    const path = `d/${name}`
    expect(await files.write(path, name), name).toMatchObject({ path, created: true })
    expect(await files.append(path, '+'), name).toMatchObject({ created: false })
    expect(await files.readText(path), name).toMatchObject({ path, text: `${name}+` })
    expect(await files.stat(path), name).toMatchObject({ path, kind: 'file' })
  }
  const { entries } = await files.list('d')
  expect(entries.map(({ name }) => name).sort()).toEqual([...oddNames].sort())
  expect(await sh('find d -type f -exec printf . \\;')).toBe('.'.repeat(oddNames.length))
  for (const name of oddNames) {
    expect(await files.move(`d/${name}`, `e/${name}`), name).toEqual({ from: `d/${name}`, path: `e/${name}`, replaced: false })
    expect(await files.remove(`e/${name}`), name).toEqual({ path: `e/${name}`, kind: 'file', entries: 1 })
    expect(await files.exists(`e/${name}`), name).toBe(false)
  }
  for (const name of ['-rf', 'a\nb', "q'q", '$x']) {
    expect(await files.mkdir(`${name}/deep`), name).toEqual({ path: `${name}/deep`, created: true })
    expect(await files.write(`${name}/deep/file`, ''), name).toMatchObject({ path: `${name}/deep/file` })
    expect(await files.list(`${name}/deep`), name).toMatchObject({ path: `${name}/deep`, entries: [{ name: 'file' }] })
    expect(await files.remove(name, { recursive: true }), name).toMatchObject({ kind: 'directory', entries: 3 })
  }
})

requirement('paths.errors', 'only a missing file is missing, and every error names the path that was asked for', async ({ files, sh }) => {
  await sh('echo x > file; mkdir folder')
  const long = 'x'.repeat(300)
  for (const [reason, act, path] of [
    ['file_missing', 'readText', 'none'],
    ['file_missing', 'readBytes', 'none/below'],
    ['file_missing', 'readLines', 'none'],
    ['file_missing', 'download', 'none'],
    ['file_missing', 'openBound', 'none'],
    ['file_missing', 'stat', 'none'],
    ['file_missing', 'list', 'none'],
    ['file_missing', 'canonicalPath', 'none'],
    ['file_missing', 'remove', 'none'],
    ['file_missing', 'move', 'none'],
    ['file_kind', 'readText', 'folder'],
    ['file_kind', 'download', 'folder'],
    ['file_kind', 'write', 'folder'],
    ['file_kind', 'write', 'folder/'],
    ['file_kind', 'append', 'folder'],
    ['file_kind', 'upload', 'folder'],
    ['file_kind', 'readText', 'file/below'],
    ['file_kind', 'write', 'file/below'],
    ['file_kind', 'mkdir', 'file'],
    ['file_kind', 'mkdir', 'file/below'],
    ['file_kind', 'list', 'file'],
    ['file_name_too_long', 'readText', long],
    ['file_name_too_long', 'write', long],
    ['file_name_too_long', 'mkdir', long],
  ] as const)
    expect(await reasonOf(calls[act]!(files, path), path), `${act} ${path}`).toBe(reason)
  expect(await files.exists('none')).toBe(false)
  expect(await files.exists('none/below')).toBe(false)
  expect(await files.exists('file')).toBe(true)
  expect(await files.exists('.')).toBe(true)
})

requirement('paths.pipes', 'nothing waits at a pipe, and nothing but a regular file is read or written', async ({ files, sh }) => {
  await sh('mkfifo pipe')
  for (const name of ['readText', 'readBytes', 'readLines', 'write', 'append', 'upload', 'download', 'openBound'])
    expect(await reasonOf(calls[name]!(files, 'pipe'), 'pipe'), name).toBe('file_kind')
  expect(await files.stat('pipe')).toMatchObject({ kind: 'other' })
  expect(await files.remove('pipe')).toEqual({ path: 'pipe', kind: 'other', entries: 1 })
})

requirement('paths.denied', 'what the user may not read or write is denied, and is not replaced either', async ({ files, sh }, test) => {
  if (await mayDoEverything(sh)) return test.skip('this user may do everything')
  await sh('echo old > locked; mkdir hidden; chmod 000 locked hidden')
  try {
    for (const name of ['readText', 'write', 'append', 'upload', 'download'])
      expect(await reasonOf(calls[name]!(files, 'locked'), 'locked'), name).toBe('file_denied')
    for (const name of ['readText', 'write', 'append', 'upload', 'stat'])
      expect(await reasonOf(calls[name]!(files, 'hidden/file'), 'hidden/file'), name).toBe('file_denied')
    expect(await reasonOf(files.list('hidden'), 'hidden')).toBe('file_denied')
  } finally {
    await sh('chmod 700 locked hidden')
  }
  expect(await sh('cat locked')).toBe('old\n')
})

/** As root may, where it was not taken from it. */
const mayDoEverything = async (sh: Bench['sh']): Promise<boolean> =>
  (await sh('mkdir shut; chmod 000 shut; (: > shut/x) 2>/dev/null && echo yes; chmod 700 shut; rm -r shut')) !== ''

requirement('write.in-place', 'where the directory takes no new file, the file itself is written, unless it has other names', async ({ files, sh }, test) => {
  if (await mayDoEverything(sh)) return test.skip('this user may do everything')
  await sh('mkdir shut; echo old > shut/file; echo old > shut/store; ln shut/store shut/shared; chmod 640 shut/file; chmod 555 shut')
  try {
    expect(await files.write('shut/file', 'new')).toMatchObject({ created: false, route: 'in-place' })
    expect(await files.append('shut/file', '+')).toMatchObject({ created: false, route: 'in-place' })
    expect(await sh('cat shut/file')).toBe('new+')
    expect(await files.upload('shut/file', piecesOf(deterministic(700_000)))).toMatchObject({ created: false, route: 'in-place' })
    expect(await files.stat('shut/file')).toMatchObject({ mode: '0640', bytes: 700_000 })
    for (const path of ['shut/shared', 'shut/fresh', 'shut/deep/fresh'])
      for (const name of ['write', 'append', 'upload']) expect(await reasonOf(calls[name]!(files, path), path), `${name} ${path}`).toBe('file_denied')
    for (const name of ['remove', 'move'])
      expect(await reasonOf(calls[name]!(files, 'shut/file'), name === 'move' ? undefined : 'shut/file'), name).toBe('file_denied')
    expect(await reasonOf(files.mkdir('shut/deep'), 'shut/deep')).toBe('file_denied')
    expect(await sh('ls -A shut; cat shut/store')).toBe('file\nshared\nstore\nold\n')
  } finally {
    await sh('chmod 755 shut')
  }
})

// ---- reading

requirement('read.text', 'text is UTF-8, and what is not is replaced and told', async ({ files, sh }) => {
  await sh("printf '\\357\\273\\277gr\\303\\274n\\r\\n' > good; printf 'a\\377\\000b' > bad; : > empty")
  expect(await files.readText('good')).toEqual({ path: 'good', text: '\ufeffgrün\r\n', size: 10, replaced: false })
  expect(await files.readText('bad')).toEqual({ path: 'bad', text: 'a\ufffd\0b', size: 4, replaced: true })
  expect(await files.readText('empty')).toEqual({ path: 'empty', text: '', size: 0, replaced: false })
  expect([...(await files.readBytes('bad')).bytes]).toEqual([0x61, 0xff, 0, 0x62])
})

requirement('read.ranges', 'ranges are given as they are asked for, and more than the limit is refused', async ({ files, sh }) => {
  await sh('printf 0123456789 > file')
  const range = async (from?: number, to?: number): Promise<string> => textOf((await files.readBytes('file', { from, to, maxBytes: 9 })).bytes)
  expect([await range(2, 5), await range(7), await range(20, 30), await range(5, 2), await range(8, 100), await range(0, 0)]).toEqual([
    '234',
    '789',
    '',
    '',
    '89',
    '',
  ])
  await expect(files.readText('file', { maxBytes: 9 })).rejects.toMatchObject({ details: { reason: 'file_too_large', path: 'file', bytes: 10, maxBytes: 9 } })
  await expect(files.readBytes('file', { maxBytes: 9 })).rejects.toMatchObject({ details: { reason: 'file_too_large' } })
  expect(await files.readBytes('file', { from: 1, to: 3 })).toMatchObject({ path: 'file', size: 10 })
})

requirement('read.large', 'more than one piece is read whole, and from within', async ({ files, sh }) => {
  const bytes = deterministic(5 * 1024 * 1024 + 3)
  await files.write('large', bytes)
  const read = await files.readBytes('large')
  expect([read.size, hashOf(read.bytes)]).toEqual([bytes.length, hashOf(bytes)])
  const part = await files.readBytes('large', { from: 1_000_000, to: 4_500_001 })
  expect(hashOf(part.bytes)).toBe(hashOf(bytes.subarray(1_000_000, 4_500_001)))
  await sh('dd if=/dev/zero of=larger bs=1048576 seek=17 count=0 2>/dev/null')
  expect(await reasonOf(files.readText('larger'), 'larger')).toBe('file_too_large')
  expect((await files.readBytes('larger', { from: 17 * 1024 * 1024 - 5 })).bytes).toHaveLength(5)
})

requirement('read.lines', 'lines are given by their numbers, also from the end, within a number and a size', async ({ files, sh }) => {
  await sh("printf 'a\\nb\\r\\n\\nlast' > file")
  for (const [options, lines, next] of [
    [{}, ['a', 'b\r', '', 'last'], null],
    [{ from: 2, max: 2 }, ['b\r', ''], 4],
    [{ from: 4 }, ['last'], null],
    [{ from: -1 }, ['last'], null],
    [{ from: -2, max: 1 }, [''], 4],
    [{ from: 9 }, [], null],
    [{ maxBytes: 4 }, ['a', 'b\r'], 3],
  ] as const)
    expect(await files.readLines('file', options), JSON.stringify(options)).toMatchObject({ path: 'file', lines, next, cut: false, replaced: false, size: 10 })
  await files.write('long', `${'é'.repeat(600_000)}\nnext\n`)
  expect(await files.readLines('long', { maxBytes: 101 })).toMatchObject({ lines: ['é'.repeat(50)], cut: true, replaced: false, next: 2 })
  expect(await files.readLines('long', { from: 2 })).toMatchObject({ lines: ['next'], cut: false, next: null })
})

requirement('read.bound', 'a file that was opened stays that file, whatever becomes of its name', async ({ files, sh }) => {
  await sh('printf first > file')
  const bound = await files.openBound('file')
  try {
    await sh('rm file; ln -s ../outside/victim.txt file')
    expect(textOf(await bound.read(1, 3))).toBe('irs')
    expect(textOf(await bound.read(3, 100))).toBe('st')
    expect(await bound.read(5, 1)).toHaveLength(0)
    expect(bound.path).toBe('file')
    expect(bound.stat()).toMatchObject({ path: 'file', kind: 'file', bytes: 5 })
  } finally {
    bound.close()
    bound.close()
  }
  expect(await reasonOf(bound.read(0, 1))).toBe('file_failed')
})

// ---- writing

requirement('write.sizes', 'content of any size arrives byte for byte, and is read back the same', async ({ files, sh }) => {
  for (const size of [0, 1, 255, 65_536, 1024 * 1024 + 1]) {
    const bytes = deterministic(size)
    expect(await files.write(`f${size}`, bytes), String(size)).toEqual({ path: `f${size}`, bytes: size, created: true, route: 'staged' })
    const read = await files.readBytes(`f${size}`)
    expect([read.size, hashOf(read.bytes)], String(size)).toEqual([size, hashOf(bytes)])
    expect(await sh(`wc -c < f${size} | tr -d ' '`)).toBe(`${size}\n`)
  }
  expect(await files.write('text', 'grün €')).toMatchObject({ bytes: 9 })
  expect(await sh('cat text')).toBe('grün €')
})

requirement('write.parents', 'the directories above are made, for write, append and upload alike', async ({ files, sh }) => {
  expect(await files.write('a/b/c', 'x')).toEqual({ path: 'a/b/c', bytes: 1, created: true, route: 'staged' })
  expect(await files.append('d/e/f', 'y')).toMatchObject({ path: 'd/e/f', bytes: 1, created: true })
  expect(await files.append('d/e/f', 'z')).toMatchObject({ path: 'd/e/f', bytes: 1, created: false })
  expect(await files.upload('g/h/i', piecesOf(Buffer.from('w')))).toMatchObject({ path: 'g/h/i', bytes: 1, created: true })
  expect(await sh('cat a/b/c d/e/f g/h/i; ls -A a/b d/e g/h')).toBe('xyzwa/b:\nc\n\nd/e:\nf\n\ng/h:\ni\n')
})

requirement('write.empty', 'empty content: write empties, append and upload make the file, and append changes none', async ({ files, sh }) => {
  await sh('echo original > full; echo original > kept')
  expect(await files.write('full', '')).toMatchObject({ created: false, bytes: 0 })
  expect(await files.append('new', '')).toMatchObject({ created: true, bytes: 0 })
  expect(await files.append('kept', new Uint8Array())).toMatchObject({ created: false, bytes: 0 })
  expect(await files.upload('up', piecesOf(Buffer.alloc(0)))).toMatchObject({ created: true, bytes: 0, sha256: hashOf(Buffer.alloc(0)) })
  expect(await sh('wc -c < full; wc -c < new; cat kept; wc -c < up')).toMatch(/^\s*0\n\s*0\noriginal\n\s*0\n$/)
})

requirement('write.mode', 'permissions are kept, what is executable stays so, and a new file gets what the mask leaves', async ({ files, sh }) => {
  for (const mode of ['755', '600', '640']) {
    await sh(`echo original > f${mode}; chmod ${mode} f${mode}`)
    await files.write(`f${mode}`, 'new')
    await files.append(`f${mode}`, '+')
    await files.upload(`f${mode}`, piecesOf(Buffer.from('uploaded')))
    expect(await files.stat(`f${mode}`)).toMatchObject({ mode: `0${mode}` })
  }
  const { mode } = await files.stat((await files.write('fresh', '')).path)
  expect(mode).toMatch(/^06[0-7][0-7]$/)
  expect((await files.stat((await files.append('appended', '')).path)).mode).toBe(mode)
  expect((await files.stat((await files.upload('uploaded', piecesOf(Buffer.alloc(1)))).path)).mode).toBe(mode)
})

requirement('write.links-to-it', 'other names of a file keep the old content', async ({ files, sh }) => {
  for (const [name, expected] of [
    ['write', 'new'],
    ['append', 'original\nnew'],
  ] as const) {
    await sh(`echo original > ../outside/store; rm -f ${name}; ln ../outside/store ${name}`)
    expect(await files[name](name, 'new')).toMatchObject({ route: 'staged' })
    expect([await sh(`cat ${name}`), await sh('cat ../outside/store')]).toEqual([expected, 'original\n'])
  }
})

requirement('write.one-step', 'who reads meanwhile sees the old content or the new one, and nothing is left beside it', async ({ files, sh }) => {
  const contents = Array.from({ length: 8 }, (_, i) => String(i).repeat(200_000))
  await files.write('file', contents[0]!)
  const seen: string[] = []
  await Promise.all([
    ...contents.map((content) => files.write('file', content)),
    ...contents.map(async () => {
      seen.push((await files.readText('file')).text)
    }),
  ])
  expect(seen.filter((text) => !contents.includes(text)).map((text) => text.length)).toEqual([])
  expect(contents).toContain((await files.readText('file')).text)
  expect(await sh('ls -A')).toBe('file\n')
})

requirement('append.together', 'nothing is lost of what several append at once', async ({ files, sh }) => {
  const lines = Array.from({ length: 24 }, (_, i) => `line ${i}\n`)
  await Promise.all(lines.map((line) => files.append('log', line)))
  expect((await sh('cat log')).split('\n').filter(Boolean).sort()).toEqual(lines.map((line) => line.trimEnd()).sort())
  expect(await sh('ls -A')).toBe('log\n')
})

requirement('append.large', 'a large text is added whole', async ({ files }) => {
  const bytes = deterministic(3 * 1024 * 1024 + 7)
  await files.write('file', 'begin')
  expect(await files.append('file', bytes)).toMatchObject({ created: false, bytes: bytes.length })
  const read = await files.readBytes('file')
  expect(hashOf(read.bytes)).toBe(hashOf(Buffer.concat([Buffer.from('begin'), bytes])))
})

requirement('write.cleared', 'what a writer that is gone left behind for more than a day is cleared by the next write', async ({ files, sh }) => {
  const left = '.holdfast-staged-4194304-00-0123456789ab-0123456789abcdef'
  await sh(`: > ${left}; touch -t 202001010000 ${left}; : > .holdfast-staged-notes.txt`)
  await files.write('file', '')
  expect(await sh('ls -A | sort')).toBe('.holdfast-staged-notes.txt\nfile\n')
})

// ---- transfer

requirement('transfer.sizes', 'what is uploaded is there, byte for byte, and downloaded the same; both give its hash', async ({ files, sh }) => {
  for (const size of [0, 1, 1024 * 1024 + 1, 5 * 1024 * 1024]) {
    const bytes = deterministic(size)
    const up = await files.upload('file', piecesOf(bytes), { mode: 0o750 })
    expect(up, String(size)).toMatchObject({ path: 'file', bytes: size, created: true, route: 'staged', sha256: hashOf(bytes) })
    const down = await files.download('file')
    expect([down.path, down.size, hashOf(await taken(down.pieces)), await down.sha256], String(size)).toEqual(['file', size, hashOf(bytes), hashOf(bytes)])
    expect(await files.stat('file')).toMatchObject({ mode: '0750', bytes: size })
    await files.remove('file')
  }
  expect(await sh('ls -A')).toBe('')
})

requirement('transfer.pieces', 'pieces of any size make one content', async ({ files }) => {
  const bytes = deterministic(300_007)
  await files.upload('small', piecesOf(bytes, 911))
  await files.upload('whole', piecesOf(deterministic(2_500_000), 2_500_000))
  expect(hashOf((await files.readBytes('small')).bytes)).toBe(hashOf(bytes))
  expect(hashOf((await files.readBytes('whole')).bytes)).toBe(hashOf(deterministic(2_500_000)))
})

requirement('transfer.failing', 'when the content fails half-way, its error is given on and nothing is changed', async ({ files, sh }) => {
  await sh('echo original > file; chmod 640 file')
  class Mine extends Error {}
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield deterministic(2_000_000)
    throw new Mine('no more')
  }
  await expect(files.upload('file', failing())).rejects.toBeInstanceOf(Mine)
  await expect(files.upload('new', failing())).rejects.toBeInstanceOf(Mine)
  expect(await sh('cat file; ls -A')).toBe('original\nfile\n')
})

requirement('transfer.given', 'a hash that is given with an upload is what has to arrive, or nothing is changed', async ({ files, sh }) => {
  const bytes = deterministic(700_000)
  await sh('echo old > file')
  const wrong = files.upload('file', piecesOf(bytes), { sha256: Promise.resolve(hashOf(Buffer.from('other'))) })
  await expect(wrong).rejects.toMatchObject({ details: { reason: 'file_changed' } })
  expect(await sh('cat file; ls -A')).toBe('old\nfile\n')
  expect(await files.upload('file', piecesOf(bytes), { sha256: Promise.resolve(hashOf(bytes)) })).toMatchObject({ bytes: 700_000, sha256: hashOf(bytes) })
})

requirement('transfer.reuse', 'pieces of a download whose memory is used again are right until the next one is asked for', async ({ files }) => {
  const bytes = deterministic(3_500_000)
  await files.upload('file', piecesOf(bytes))
  const { pieces } = await files.download('file', { reuse: true })
  const taken: Buffer[] = []
  for await (const piece of pieces) taken.push(Buffer.from(piece))
  expect(Buffer.concat(taken).equals(bytes)).toBe(true)
})

requirement('transfer.stopped', 'a download that is not taken to its end lets go, and the next one is whole', async ({ files }) => {
  const bytes = deterministic(3_000_000)
  await files.write('file', bytes)
  const { pieces } = await files.download('file')
  for await (const piece of pieces) {
    expect(piece.length).toBeGreaterThan(0)
    break
  }
  expect(hashOf(await taken((await files.download('file')).pieces))).toBe(hashOf(bytes))
})

requirement('transfer.case-B088', 'the binary file of 20 MiB that other tools cut short arrives whole', async ({ files, sh }) => {
  const bytes = deterministic(20 * 1024 * 1024)
  expect(await files.upload('file', piecesOf(bytes, 1024 * 1024))).toMatchObject({ bytes: bytes.length, sha256: hashOf(bytes) })
  const down = await files.download('file')
  expect(hashOf(await taken(down.pieces))).toBe(hashOf(bytes))
  expect((await sh("wc -c < file | tr -d ' '")).trim()).toBe(String(bytes.length))
})

requirement(
  'transfer.large',
  '200 MiB go there and back',
  async ({ files }) => {
    const [piece, count] = [deterministic(4 * 1024 * 1024 + 1), 50]
    async function* many(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < count; at += 1) yield piece
    }
    const up = await files.upload('file', many())
    const down = await files.download('file')
    const hash = createHash('sha256')
    let most = 0
    for await (const each of down.pieces) {
      most = Math.max(most, each.length)
      hash.update(each)
    }
    expect([up.bytes, down.size]).toEqual([piece.length * count, piece.length * count])
    expect([hash.digest('hex'), await down.sha256]).toEqual([up.sha256, up.sha256])
    expect(most).toBeLessThanOrEqual(16 * 1024 * 1024)
  },
  ({ large }) => (large ? undefined : 'it would take too long here'),
)

// ---- names and folders

requirement('list.order', 'entries come by name, with their kinds, sizes and what links say, in parts', async ({ files, sh }) => {
  await sh('printf 12 > b; mkdir a; ln -s ../outside/x c; mkfifo e; : > .first; : > B')
  const { entries, more, path } = await files.list('.', { max: 5 })
  expect([path, more]).toEqual(['.', true])
  expect(entries).toEqual([
    { name: '.first', kind: 'file', bytes: 0, target: null },
    { name: 'B', kind: 'file', bytes: 0, target: null },
    { name: 'a', kind: 'directory', bytes: expect.any(Number), target: null },
    { name: 'b', kind: 'file', bytes: 2, target: null },
    { name: 'c', kind: 'link', bytes: expect.any(Number), target: '../outside/x' },
  ])
  expect(await files.list('.', { after: 'c' })).toMatchObject({ entries: [{ name: 'e', kind: 'other' }], more: false })
  expect(await files.list('.', { after: 'e' })).toMatchObject({ entries: [], more: false })
  expect(await files.list('a')).toEqual({ path: 'a', entries: [], more: false })
})

requirement('list.pages', 'a large folder is listed page by page, each entry once', async ({ files, sh }) => {
  await sh('mkdir many; cd many; i=0; while [ $i -lt 2500 ]; do : > n$i; i=$((i+1)); done')
  const names: string[] = []
  let pages = 0
  for (let after: string | undefined; ; pages += 1) {
    const { entries, more } = await files.list('many', { max: 700, after })
    names.push(...entries.map(({ name }) => name))
    after = names.at(-1)
    if (!more) break
  }
  expect(pages).toBe(3)
  expect(names).toEqual(Array.from({ length: 2_500 }, (_, i) => `n${i}`).sort())
  const first = await files.list('many')
  expect([first.entries.length, first.more]).toEqual([1_000, true])
})

requirement('list.no-utf8', 'a name that is no UTF-8 is listed once, and does not stand in the way of the next page', async ({ files, sh }) => {
  await sh("printf '' > \"$(printf 'd\\377')\"; : > c; : > e")
  expect((await files.list('.')).entries.map(({ name }) => name)).toEqual(['c', 'd\ufffd', 'e'].sort())
  const rest = await files.list('.', { after: 'd\ufffd' })
  expect(rest.entries.map(({ name }) => name)).not.toContain('d\ufffd')
})

requirement('stat.facts', 'kind, size, permissions and time are told, links followed', async ({ files, sh }) => {
  await sh('printf 123 > file; chmod 604 file; touch -t 202001020304.05 file; mkdir folder; chmod 750 folder; ln -s file link')
  const expected = { path: 'file', kind: 'file', bytes: 3, mode: '0604', modifiedAt: expect.stringMatching(/^2020-01-0\dT\d\d:\d\d:05\.000Z$/) }
  expect(await files.stat('file')).toEqual(expected)
  expect(await files.stat('link')).toEqual(expected)
  expect(await files.stat('folder')).toMatchObject({ path: 'folder', kind: 'directory', mode: '0750' })
  expect(await files.stat('.')).toMatchObject({ path: '.', kind: 'directory' })
})

requirement('mkdir.deep', 'a directory is made with those above it, and made once', async ({ files, sh }) => {
  expect(await files.mkdir('g/h')).toEqual({ path: 'g/h', created: true })
  expect(await files.mkdir('g/h/')).toEqual({ path: 'g/h', created: false })
  expect(await files.mkdir('.')).toEqual({ path: '.', created: false })
  expect(await sh('test -d g/h && echo there')).toBe('there\n')
  const many = await Promise.all(Array.from({ length: 6 }, () => files.mkdir('p/q/r')))
  expect(many.map(({ path }) => path)).toEqual(Array.from({ length: 6 }, () => 'p/q/r'))
  expect(many.filter(({ created }) => created)).toHaveLength(1)
})

requirement('remove.kinds', 'a link itself is removed, a directory only whole, and never the root', async ({ files, sh, outside }) => {
  await sh('mkdir -p folder/deep kept empty; echo x > folder/deep/file; echo original > kept/file; ln -s ../../../outside folder/deep/out; ln -s kept link')
  const before = await outside()
  expect(await reasonOf(files.remove('folder'), 'folder')).toBe('file_kind')
  expect(await files.remove('folder', { recursive: true })).toEqual({ path: 'folder', kind: 'directory', entries: 4 })
  expect(await files.remove('link', { recursive: true })).toEqual({ path: 'link', kind: 'link', entries: 1 })
  expect(await files.remove('empty')).toEqual({ path: 'empty', kind: 'directory', entries: 1 })
  expect(await files.remove('kept/file')).toEqual({ path: 'kept/file', kind: 'file', entries: 1 })
  for (const path of ['.', 'kept/..']) expect(await reasonOf(files.remove(path, { recursive: true }), path)).toBe('file_outside')
  expect(await sh('ls -A')).toBe('kept\n')
  expect(await outside()).toBe(before)
})

requirement('move.kinds', 'files, links themselves and directories are renamed, with the directories above made', async ({ files, sh }) => {
  await sh('mkdir -p folder/deep; echo 1 > folder/deep/file; ln -s folder link; echo 2 > file; chmod 755 file')
  expect(await files.move('file', 'new/place')).toEqual({ from: 'file', path: 'new/place', replaced: false })
  expect(await files.move('link', 'other')).toEqual({ from: 'link', path: 'other', replaced: false })
  expect(await files.move('folder', 'moved')).toEqual({ from: 'folder', path: 'moved', replaced: false })
  expect(await sh('cat new/place moved/deep/file; readlink other; test -x new/place && ls')).toBe('2\n1\nfolder\nmoved\nnew\nother\n')
})

requirement('move.taken', 'a name that is taken is refused, but a file with `replace`', async ({ files, sh }) => {
  await sh('echo 1 > a; echo 2 > b; mkdir folder empty; ln -s a link')
  for (const to of ['b', 'folder', 'link']) expect(await reasonOf(files.move('a', to), to), to).toBe('file_kind')
  for (const to of ['folder', 'link']) expect(await reasonOf(files.move('b', to, { replace: true }), to), to).toBe('file_kind')
  expect(await reasonOf(files.move('folder', 'empty', { replace: true }), 'empty')).toBe('file_kind')
  expect(await reasonOf(files.move('folder', 'a', { replace: true }), 'a')).toBe('file_kind')
  expect(await files.move('a', 'b', { replace: true })).toEqual({ from: 'a', path: 'b', replaced: true })
  expect(await sh('cat b; ls')).toBe('1\nb\nempty\nfolder\nlink\n')
})

requirement('move.refused', 'neither the root nor what is missing is moved, and nothing below itself', async ({ files, sh }) => {
  await sh('mkdir folder; echo 1 > file')
  expect(await reasonOf(files.move('.', 'x'), '.')).toBe('file_outside')
  expect(await reasonOf(files.move('file', '.', { replace: true }), '.')).toMatch(/^file_(outside|kind)$/)
  expect(await reasonOf(files.move('none', 'x'), 'none')).toBe('file_missing')
  expect(await reasonOf(files.move('folder', 'folder/below'), 'folder/below')).toBe('file_kind')
  expect(await reasonOf(files.move('file', 'file/below'), 'file/below')).toBe('file_kind')
  expect(await sh('ls; cat file')).toBe('file\nfolder\n1\n')
})
