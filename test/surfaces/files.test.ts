import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { caseFile, describeCases, type Place, program, testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(60_000)

const reasonOf = (act: Promise<unknown>): Promise<string> =>
  act.then(
    (value) => `no error, but ${JSON.stringify(value)}`,
    (error: { details?: { reason?: string } }) => error.details?.reason ?? String(error),
  )

function makeRepository({ world }: Place): void {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env: world.env, encoding: 'utf8' })
  git('init', '--quiet', '--initial-branch=main')
  mkdirSync(world.path('root', 'src'))
  writeFileSync(world.path('root', 'src/main.txt'), 'one\ntwo\nthree\n')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'first')
}

describe('files', () => {
  inPlace('give the same results to the library and on the command line', async (place) => {
    const { holdfast, cli, world } = place
    makeRepository(place)
    const typed = async (...words: string[]): Promise<unknown> => (await cli(['files', ...words, '--json'])).json()
    const error = async (...words: string[]): Promise<string> =>
      (await cli(['files', ...words, '--json'])).json<{ error: { details: { reason: string } } }>().error.details.reason
    const written = { path: 'a/b', bytes: 3, created: true, route: 'staged' }
    expect(await holdfast.writeFile({ path: 'a/b', content: 'abc' })).toEqual(written)
    expect(await typed('write', 'a/c', 'abc')).toEqual({ ...written, path: 'a/c' })
    expect(await holdfast.appendFile({ path: 'a/b', content: new Uint8Array([0xff]) })).toEqual({ ...written, bytes: 1, created: false, route: 'in-place' })
    expect((await cli(['files', 'append', 'a/c', '-', '--json'], { input: new Uint8Array([0xff]) })).json()).toMatchObject({ path: 'a/c', bytes: 1 })
    for (const input of [{}, { encoding: 'base64' }, { bytes: '1-2' }, { bytes: '-2' }, { lines: '1-1' }, { maxBytes: 9 }] as const) {
      const flags = Object.entries(input).flatMap(([name, value]) => [
        `--${name === 'maxBytes' ? 'max-bytes' : name}=${value}${name === 'maxBytes' ? 'B' : ''}`,
      ])
      expect(await typed('read', 'a/c', ...flags), JSON.stringify(input)).toEqual({ ...(await holdfast.readFile({ path: 'a/b', ...input })), path: 'a/c' })
    }
    expect(await holdfast.readFile({ path: 'a/b' })).toMatchObject({ content: 'abc\ufffd', replaced: true, size: 4 })
    expect(await holdfast.readFile({ path: 'src/main.txt', lines: '-2' })).toMatchObject({ content: 'two\nthree\n', next: null })
    expect(await holdfast.readFile({ path: 'src/main.txt', lines: '2-2' })).toMatchObject({ content: 'two\n', next: 3 })
    expect(await typed('list', 'a')).toEqual(await holdfast.listFiles({ path: 'a' }))
    expect((await holdfast.listFiles({})).entries.map(({ name }) => name)).toContain('src')
    expect(await typed('stat', 'a/b')).toEqual(await holdfast.statFile({ path: 'a/b' }))
    expect(await typed('mkdir', 'd/e')).toEqual({ path: 'd/e', created: true })
    expect(await holdfast.makeDirectory({ path: 'd/e' })).toEqual({ path: 'd/e', created: false })
    expect(await reasonOf(holdfast.removeFile({ path: 'd' }))).toBe('file_kind')
    expect(await typed('remove', 'd', '--recursive')).toEqual({ path: 'd', kind: 'directory', entries: 2 })
    for (const path of ['../x', '/etc/passwd', 'a\\b', '']) {
      expect(await reasonOf(holdfast.writeFile({ path, content: '' })), path).toBe('file_outside')
      expect(await error('write', path, ''), path).toBe('file_outside')
    }
    expect(await error('write', '.git/config', '')).toBe('file_outside')
    expect(await error('read', 'none')).toBe('file_missing')
    expect(existsSync(world.path('x'))).toBe(false)
  })

  inPlace('come out of the command line byte by byte, and are taken from where the caller stands', async (place) => {
    const { cli, world } = place
    makeRepository(place)
    const bytes = Buffer.from([0, 1, 0xff, 10, 13])
    const below = { cwd: world.path('root', 'src') }
    expect((await cli(['files', 'write', 'bytes', '-'], { ...below, input: bytes })).stdout).toBe('Made src/bytes (5 bytes, staged)\n')
    expect(readFileSync(world.path('root', 'src/bytes'))).toEqual(bytes)
    const read = execFileSync(process.execPath, [program, 'files', 'read', 'bytes'], { ...below, env: world.env })
    expect(read).toEqual(bytes)
    expect((await cli(['files', 'read', 'main.txt'], below)).stdout).toBe('one\ntwo\nthree\n')
    expect((await cli(['files', 'read', '../src/main.txt', '--lines', '2'], below)).stdout).toBe('two\n')
    expect((await cli(['files', 'list'], below)).stdout).toMatch(/main\.txt/)
    const refused = await cli(['files', 'read', '../../home/x'], below)
    expect(refused).toMatchObject({ status: 125, stdout: '' })
    expect(refused.stderr).toMatch(/leads outside; accepted: a path inside/)
    // No path of a caller becomes another one by where they stand.
    expect((await cli(['files', 'write', '/main.txt', 'x'], below)).status).toBe(125)
  })

  inPlace('of a workspace are its own, and stay in it', async (place) => {
    const { holdfast, cli, world } = place
    makeRepository(place)
    const { path } = await holdfast.openWorkspace({ branch: 'feature/a', base: 'main' })
    expect(await holdfast.writeFile({ path: 'src/main.txt', content: 'changed\n', workspace: 'feature/a' })).toMatchObject({
      path: 'src/main.txt',
      created: false,
    })
    expect(readFileSync(`${path}/src/main.txt`, 'utf8')).toBe('changed\n')
    expect(readFileSync(world.path('root', 'src/main.txt'), 'utf8')).toBe('one\ntwo\nthree\n')
    expect((await cli(['files', 'read', 'src/main.txt', '--workspace', 'feature/a'])).stdout).toBe('changed\n')
    // The main checkout is outside of it, and so is the file that links it to its repository.
    symlinkSync(world.path('root'), `${path}/main`)
    expect(await reasonOf(holdfast.writeFile({ path: 'main/src/main.txt', content: 'x', workspace: 'feature/a' }))).toBe('file_outside')
    expect(await reasonOf(holdfast.writeFile({ path: '.git', content: 'x', workspace: 'feature/a' }))).toBe('file_outside')
    expect(await reasonOf(holdfast.removeFile({ path: '.git', workspace: 'feature/a' }))).toBe('file_outside')
    expect(await reasonOf(holdfast.readFile({ path: 'x', workspace: 'no-such' }))).toBe('workspace_not_found')
    const sandbox = await holdfast.openWorkspace({ operator: 'reviewer', base: 'main' })
    await holdfast.appendFile({ path: 'src/main.txt', content: 'four\n', workspace: 'operator:reviewer' })
    expect(readFileSync(`${sandbox.path}/src/main.txt`, 'utf8')).toBe('one\ntwo\nthree\nfour\n')
  })
})

describeCases('E: files, paths, links', () => {
  inPlace('B041: no link leads a write out, and a legal one is followed', async ({ cli, world }) => {
    const folder = world.path('b041')
    mkdirSync(folder)
    execFileSync('bash', [caseFile('B041.sh'), folder], { env: world.env })
    const inWs = { cwd: world.path('b041', 'ws') }
    for (const path of ['notes.md', 'draft.txt', 'linked-dir/x.txt', 'sub/prefix/victim.txt', 'loop-a', '../outside/victim.txt']) {
      for (const act of ['write', 'append']) {
        const { status, stderr } = await cli(['files', act, path, 'evil'], inWs)
        expect(status, `${act} ${path}`).toBe(125)
        expect(stderr).toMatch(path === 'loop-a' ? /more than 40 links/ : /leads outside/)
      }
    }
    expect((await cli(['files', 'write', 'inside-link/ok.txt', 'fine'], inWs)).status).toBe(0)
    expect(readFileSync(world.path('b041', 'ws/sub/ok.txt'), 'utf8')).toBe('fine')
    expect(readdirSync(world.path('b041', 'outside')).sort()).toEqual(['dir', 'victim.txt'])
    expect(readdirSync(world.path('b041', 'outside/dir'))).toEqual([])
    for (const name of ['outside', 'ws-evil']) expect(readFileSync(world.path('b041', name, 'victim.txt'), 'utf8')).toBe('original\n')
  })
})
