import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findRepository, headOf } from './repository.ts'

let world: string
const at = (...parts: string[]): string => join(world, ...parts)

beforeEach(() => {
  world = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-git-')))
})
afterEach(() => {
  rmSync(world, { recursive: true, force: true })
})

const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
}
const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

function makeRepository(path: string, ...options: string[]): void {
  mkdirSync(path, { recursive: true })
  git(path, 'init', '-q', '-b', 'main', ...options)
  git(path, 'commit', '-q', '--allow-empty', '-m', 'first')
}

describe('finding a repository', () => {
  it('finds the top from any folder in it, also through a symbolic link and from inside .git', () => {
    makeRepository(at('p'))
    mkdirSync(at('p', 'a', 'b'), { recursive: true })
    symlinkSync(at('p'), at('link'))
    const expected = { root: at('p'), gitDir: at('p', '.git'), commonDir: at('p', '.git'), mainRoot: at('p') }
    for (const from of [at('p'), at('p', 'a', 'b'), at('link', 'a'), at('p', '.git', 'refs')]) expect(findRepository(from)).toEqual(expected)
  })

  it('sees what has changed since it looked last', () => {
    makeRepository(at('p'))
    mkdirSync(at('p', 'a', 'b'), { recursive: true })
    const rootFrom = (...from: string[]) => findRepository(at(...from))?.root
    expect(rootFrom('p', 'a', 'b')).toBe(at('p'))
    makeRepository(at('p', 'a'))
    expect(rootFrom('p', 'a', 'b')).toBe(at('p', 'a'))
    rmSync(at('p', 'a', '.git'), { recursive: true })
    mkdirSync(at('p', 'a', '.git'))
    expect(rootFrom('p', 'a', 'b')).toBe(at('p'))
    rmSync(at('p', '.git'), { recursive: true })
    expect(rootFrom('p', 'a', 'b')).toBeUndefined()
    makeRepository(at('other'))
    writeFileSync(at('p', '.git'), `gitdir: ${at('other', '.git')}\n`)
    expect(findRepository(at('p', 'a'))).toMatchObject({ root: at('p'), gitDir: at('other', '.git') })
  })

  it('gives all worktrees the main root of the main checkout', () => {
    makeRepository(at('p'))
    git(at('p'), 'worktree', 'add', '-q', '-b', 'topic/x', at('elsewhere', 'w'))
    mkdirSync(at('elsewhere', 'w', 'deep'))
    expect(findRepository(at('elsewhere', 'w', 'deep'))).toEqual({
      root: at('elsewhere', 'w'),
      gitDir: at('p', '.git', 'worktrees', 'w'),
      commonDir: at('p', '.git'),
      mainRoot: at('p'),
    })
    expect(headOf(at('p', '.git', 'worktrees', 'w')).branch).toBe('topic/x')
    expect(headOf(at('p', '.git')).branch).toBe('main')
  })

  it('finds a bare repository, its worktrees, and a checkout that points at it', () => {
    makeRepository(at('seed'))
    git(world, 'clone', '-q', '--bare', at('seed'), at('p', '.bare'))
    git(at('p', '.bare'), 'worktree', 'add', '-q', at('p', 'w'), 'main')
    writeFileSync(at('p', '.git'), 'gitdir: ./.bare\n')
    expect(findRepository(at('p', '.bare', 'refs'))).toMatchObject({ root: at('p', '.bare'), mainRoot: at('p', '.bare') })
    expect(findRepository(at('p', 'w'))).toMatchObject({ root: at('p', 'w'), mainRoot: at('p', '.bare') })
    expect(findRepository(at('p'))).toMatchObject({ root: at('p'), mainRoot: at('p', '.bare') })
  })

  it('takes a submodule and its worktrees for a project of their own', () => {
    makeRepository(at('lib'))
    makeRepository(at('p'))
    git(at('p'), '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', at('lib'), 'vendor/lib')
    git(at('p', 'vendor', 'lib'), 'worktree', 'add', '-q', '-b', 'side', at('w'))
    expect(findRepository(at('p', 'vendor', 'lib'))).toMatchObject({ root: at('p', 'vendor', 'lib'), mainRoot: at('p', 'vendor', 'lib') })
    expect(findRepository(at('w'))).toMatchObject({ root: at('w'), mainRoot: at('p', 'vendor', 'lib') })
  })

  it('gives a repository with a separate git folder the same main root from all its worktrees', () => {
    makeRepository(at('p'), `--separate-git-dir=${at('store.git')}`)
    git(at('p'), 'worktree', 'add', '-q', at('w'))
    for (const root of [at('p'), at('w')]) expect(findRepository(root)).toMatchObject({ root, mainRoot: at('store.git') })
  })

  it('finds none where there is none', () => {
    mkdirSync(at('plain', 'deep'), { recursive: true })
    expect(findRepository(at('plain', 'deep'))).toBeUndefined()
    expect(findRepository(at('missing'))).toBeUndefined()
    expect(findRepository('/')).toBeUndefined()
  })

  it('passes over a .git folder that is none, as git does, and stops at a .git file that leads nowhere', () => {
    makeRepository(at('p'))
    mkdirSync(at('p', 'a', '.git'), { recursive: true })
    expect(findRepository(at('p', 'a'))?.root).toBe(at('p'))
    mkdirSync(at('p', 'b'))
    for (const text of ['', 'nonsense', 'gitdir: ', 'gitdir: /nowhere\n', 'gitdir: ..\n', `gitdir: ${'x'.repeat(100_000)}`, 'gitdir: \0\n']) {
      writeFileSync(at('p', 'b', '.git'), text)
      expect(findRepository(at('p', 'b'))).toBeUndefined()
    }
  })

  it('survives damage in every file that it reads', () => {
    makeRepository(at('p'))
    git(at('p'), 'worktree', 'add', '-q', at('w'))
    const own = at('p', '.git', 'worktrees', 'w')
    for (const text of ['', '/nowhere', '\0', '.', 'x'.repeat(50_000)]) {
      writeFileSync(join(own, 'commondir'), text)
      expect(findRepository(at('w'))?.mainRoot).toBeUndefined()
    }
    rmSync(join(own, 'HEAD'))
    expect(findRepository(at('w'))).toBeUndefined()
  })

  it('does not wait for a pipe in the place of a file', () => {
    mkdirSync(at('p'))
    execFileSync('mkfifo', [at('p', '.git')])
    expect(findRepository(at('p'))).toBeUndefined()
  })

  it('does not throw where a folder may not be entered', () => {
    mkdirSync(at('closed', 'deep'), { recursive: true })
    chmodSync(at('closed'), 0)
    try {
      expect(findRepository(at('closed'))).toBeUndefined()
    } finally {
      chmodSync(at('closed'), 0o700)
    }
  })
})

describe('the head', () => {
  it('is the branch, also before its first commit', () => {
    mkdirSync(at('p'))
    git(at('p'), 'init', '-q', '-b', 'feature/日本')
    expect(headOf(at('p', '.git'))).toEqual({ branch: 'feature/日本', commit: null })
  })

  it('is the short commit when it is detached', () => {
    makeRepository(at('p'))
    git(at('p'), 'checkout', '-q', '--detach')
    expect(headOf(at('p', '.git'))).toEqual({ branch: null, commit: git(at('p'), 'rev-parse', 'HEAD').slice(0, 7) })
    expect(readFileSync(at('p', '.git', 'HEAD'), 'utf8')).toContain(headOf(at('p', '.git')).commit)
  })

  it('is nothing when it cannot be understood', () => {
    mkdirSync(at('d'))
    for (const text of [
      '',
      'ref: refs/heads/.invalid\n',
      'ref: refs/heads/\n',
      'ref: refs/heads/a\u001b[31m',
      'ref: refs/remotes/o/x\n',
      '12345',
      'g'.repeat(40),
      'x'.repeat(1e6),
    ]) {
      writeFileSync(at('d', 'HEAD'), text)
      expect(headOf(at('d'))).toEqual({ branch: null, commit: null })
    }
    expect(headOf(at('missing'))).toEqual({ branch: null, commit: null })
  })
})
