import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { identify } from '../process/identity.ts'
import { createGit, type Git } from './git.ts'
import { inTree, openRepository } from './open.ts'

/** A program of a name, first on a PATH of its own; the environment with that PATH. */
function withProgram(world: GitWorld, name: string, script: string): Record<string, string> {
  const folder = world.path('programs')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
  return { ...world.env, PATH: `${folder}:${world.env.PATH}` }
}

const gitOf = (world: GitWorld, env: Readonly<Record<string, string | undefined>>, lockWaitsMs?: readonly number[]): Git =>
  createGit({ runProgram: world.runProgram, ownEnv: env, lockWaitsMs })

/** Leaves a file with the name of the plant where anything runs it; the programs that it names go on as the real ones. */
function plant(world: GitWorld, repository: string): { ran(): string[]; commandOf(name: string): string } {
  const marks = world.path('ran')
  mkdirSync(marks, { recursive: true })
  const commandOf = (name: string): string => `touch '${marks}/${name}';`
  const gitDir = world.sh(repository, 'rev-parse', '--path-format=absolute', '--git-common-dir')
  const set = (name: string, then = 'cat'): void => void world.sh(repository, 'config', name, `${commandOf(name)} ${then}`)
  set('core.fsmonitor', 'exit 1')
  for (const name of ['core.sshCommand', 'core.editor', 'core.pager', 'core.askPass', 'core.gitProxy', 'core.alternateRefsCommand']) set(name)
  for (const name of ['sequence.editor', 'gpg.program', 'gpg.ssh.program', 'diff.external', 'uploadpack.packObjectsHook', 'interactive.diffFilter']) set(name)
  for (const name of ['filter.evil.clean', 'filter.evil.smudge', 'filter.a=b.clean', 'filter.a=b.smudge', 'filter.late.process', 'diff.evil.textconv'])
    set(name)
  for (const name of ['diff.evil.command', 'merge.evil.driver', 'pager.diff', 'pager.status', 'remote.origin.uploadpack', 'remote.origin.receivepack'])
    set(name)
  for (const name of ['filter.evil.required', 'commit.gpgSign', 'tag.gpgSign', 'log.showSignature', 'submodule.recurse'])
    world.sh(repository, 'config', name, 'true')
  for (const name of ['credential.helper', 'credential.https://example.org.helper', 'alias.status', 'alias.fetch', 'alias.lost']) {
    world.sh(repository, 'config', name, `!${commandOf(name)} true`)
  }
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-commit', 'post-commit', 'fsmonitor-watchman']) {
    writeFileSync(join(gitDir, 'hooks', hook), `#!/bin/sh\n${commandOf(hook)}\n`)
    chmodSync(join(gitDir, 'hooks', hook), 0o755)
  }
  writeFileSync(join(gitDir, 'info', 'attributes'), '*.txt filter=evil diff=evil merge=evil\n*.b filter=a=b\n*.p filter=late\n')
  return { commandOf, ran: () => readdirSync(marks).sort() }
}

it('nothing that a repository names is run, whatever is asked of git', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a', { 'one.txt': 'one\n', 'two.b': 'two\n', 'three.p': 'three\n' })
  world.remote(folder)
  const { ran } = plant(world, folder)
  // The plants work: git as a person runs it does start some of them.
  writeFileSync(join(folder, 'one.txt'), 'changed\n')
  expect(() => world.sh(folder, 'diff')).toThrow()
  expect(ran()).toEqual(expect.arrayContaining(['core.fsmonitor', 'diff.evil.command', 'filter.evil.clean', 'filter.late.process']))
  rmSync(world.path('ran'), { recursive: true })
  mkdirSync(world.path('ran'))

  const repo = await openRepository(world.context(), folder)
  const tree = world.path('tree')
  await repo.require('adding a tree', ['worktree', 'add', '--quiet', '--detach', tree, 'HEAD'])
  for (const name of ['one.txt', 'two.b', 'three.p']) writeFileSync(join(tree, name), `other ${name}\n`)
  const place = inTree(world.git, tree)
  const index = { indexFile: world.path('index') }
  await place.require('reading the tree', ['read-tree', 'HEAD'], index)
  await place.require('adding', ['add', '--all'], index)
  await place.require('writing', ['write-tree'], index)
  await place.require('asking', ['status', '--porcelain=v2', '-z'], { reads: true })
  for (const args of [['diff'], ['diff', 'HEAD'], ['diff-files', '-p'], ['diff-index', '-p', 'HEAD'], ['log', '-p'], ['show'], ['stash', 'create']]) {
    await place.run(args, { config: ['user.name=a', 'user.email=a@example.org'] })
  }
  const commit = await place.require('committing', ['commit', '--quiet', '--all', '-m', 'x'], { config: ['user.name=a', 'user.email=a@example.org'] })
  expect(commit.exitCode).toBe(0)
  await place.require('checking out', ['checkout', '--quiet', '--force', 'HEAD~0'])
  await repo.require('fetching', ['fetch', '--quiet', 'origin', '+refs/heads/main:refs/holdfast/x'], { network: true })
  await repo.require('moving a ref', ['update-ref', 'refs/heads/new', 'HEAD'])
  const lost = await repo.run(['lost'])
  await repo.run(['ls-remote', 'ext::sh -c touch% ran'], { network: true })
  expect(ran().filter((name) => name !== 'alias.lost')).toEqual([])
  expect(lost.exitCode).not.toBe(0)
  expect(ran()).toEqual([])
})

it('neither a filter in a nested repository nor one in an included file is run', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const nested = join(folder, 'nested')
  mkdirSync(nested)
  world.sh(nested, 'init', '--quiet')
  world.commit(nested, { f: 'f\n', '.gitattributes': '* filter=inner\n' })
  world.sh(folder, 'add', 'nested')
  world.commit(folder, { '.gitattributes': '*.x filter=far\n', 'f.x': 'f\n' })
  const ran = world.path('ran')
  world.sh(nested, 'config', 'filter.inner.clean', `touch '${ran}'; cat`)
  writeFileSync(world.path('far'), `[filter "far"]\n\tclean = "touch '${ran}'; cat"\n`)
  world.sh(folder, 'config', 'include.path', world.path('far'))
  const change = (text: string): void => {
    writeFileSync(join(nested, 'f'), text)
    writeFileSync(join(folder, 'f.x'), text)
  }
  const place = inTree(world.git, folder)
  change('g\n')
  for (const args of [['status'], ['diff'], ['add', '--all'], ['stash', 'create']]) await place.run(args, { config: ['user.name=a', 'user.email=a@e.org'] })
  expect(existsSync(ran)).toBe(false)
  change('h\n')
  world.sh(folder, 'status')
  expect(existsSync(ran)).toBe(true)
})

it('a filter whose name cannot be handed on keeps git from being started', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  writeFileSync(join(folder, '.git', 'config'), Buffer.from('[filter "\xff"]\n\tclean = cat\n', 'latin1'), { flag: 'a' })
  await expect(inTree(world.git, folder).run(['status'])).rejects.toMatchObject({ details: { reason: 'unsafe_config' } })
})

it('the tree of a call is its folder, whatever the configuration of the worktree says', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const secret = world.path('secret')
  mkdirSync(secret)
  writeFileSync(join(secret, 'key'), 'secret\n')
  world.sh(folder, 'worktree', 'add', '--quiet', world.path('tree'))
  world.sh(folder, 'config', 'extensions.worktreeConfig', 'true')
  world.sh(world.path('tree'), 'config', '--worktree', 'core.worktree', secret)
  const place = inTree(world.git, world.path('tree'))
  expect((await place.require('asking', ['rev-parse', '--show-toplevel'])).stdout).toBe(`${world.path('tree')}\n`)
  await place.require('adding', ['add', '--all'])
  expect((await place.require('listing', ['ls-files'])).stdout).toBe('README.md\n')
})

it('a folder that lost its link is in no repository, and the one above it is not taken for it', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  mkdirSync(join(folder, 'tree'))
  const result = await inTree(world.git, join(folder, 'tree')).run(['status'])
  expect([result.exitCode, result.stderr]).toEqual([128, expect.stringContaining('not a git repository')])
})

it('files of a tree that look like a repository are none', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const tree = world.path('tree')
  world.sh(world.folder, 'clone', '--quiet', '--bare', folder, tree)
  expect((await world.git.run({ args: ['rev-parse', '--git-dir'], cwd: tree })).exitCode).toBe(0)
  const result = await inTree(world.git, tree).run(['rev-parse', '--git-dir'], { config: ['a.b=c'] })
  expect([result.exitCode, result.stderr]).toEqual([128, expect.stringContaining('cannot use bare repository')])
})

it('variables of git in the environment of Holdfast change nothing', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const other = world.repository('other', { other: 'other\n' })
  const traces = world.path('traces')
  const local = world.sh(folder, 'rev-parse', '--local-env-vars').split('\n')
  const poison: Record<string, string> = {
    ...Object.fromEntries(local.map((name) => [name, join(other, '.git')])),
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.fsmonitor',
    GIT_CONFIG_VALUE_0: `touch ${traces}`,
    GIT_CONFIG_PARAMETERS: "'core.hooksPath'='/tmp'",
    GIT_CONFIG_SYSTEM: world.path('nowhere'),
    GIT_CONFIG_GLOBAL: world.path('nowhere'),
    GIT_NAMESPACE: 'n',
    GIT_CEILING_DIRECTORIES: world.folder,
    GIT_EXEC_PATH: world.path('nowhere'),
    GIT_TRACE: traces,
    GIT_TRACE2: traces,
    GIT_TRACE_SETUP: traces,
    GIT_SSH_COMMAND: `touch ${traces}`,
    GIT_ASKPASS: `touch ${traces}`,
    GIT_EXTERNAL_DIFF: `touch ${traces}`,
    GIT_PROXY_COMMAND: `touch ${traces}`,
    GIT_ALLOW_PROTOCOL: 'ext',
    GIT_DEFAULT_HASH: 'sha256',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_ATTR_SOURCE: 'HEAD',
    GIT_TEMPLATE_DIR: world.path('nowhere'),
    GIT_EDITOR: `touch ${traces}`,
    GIT_PAGER: `touch ${traces}`,
  }
  const git = gitOf(world, { ...world.env, ...poison })
  writeFileSync(join(folder, 'new'), 'new\n')
  const place = inTree(git, folder)
  const asked = await place.require('asking', ['rev-parse', '--absolute-git-dir', '--show-object-format'])
  expect(asked.stdout).toBe(`${join(folder, '.git')}\nsha1\n`)
  expect((await place.require('asking', ['status', '--porcelain=v2', '-z'])).stdout).toBe('? new\0')
  await place.require('adding', ['add', '--all'])
  expect((await place.require('asking', ['diff', '--cached', '--name-only', '-z'])).stdout).toBe('new\0')
  await place.run(['fetch', 'ssh://example.invalid/a'], { network: true })
  expect(existsSync(traces)).toBe(false)
  expect(world.sh(other, 'status', '--porcelain')).toBe('')
})

it('a program that lies where git works is not taken for one of the PATH', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  writeFileSync(join(folder, 'git'), `#!/bin/sh\ntouch '${world.path('ran')}'\n`, { mode: 0o755 })
  const git = gitOf(world, { ...world.env, PATH: `.::${world.env.PATH}` })
  expect((await inTree(git, folder).run(['status'])).exitCode).toBe(0)
  expect(existsSync(world.path('ran'))).toBe(false)
})

it('what the person told git about files of all repositories holds, unless the repository says otherwise', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  writeFileSync(join(folder, 'x.tmp'), '')
  writeFileSync(join(folder, 'x.log'), '')
  writeFileSync(join(world.home, 'ignored'), '*.tmp\n')
  writeFileSync(join(world.home, '.gitconfig'), `[core]\n\texcludesFile = ~/ignored\n\tautocrlf = true\n\tfsmonitor = touch ${world.path('ran')}\n`)
  const git = gitOf(world, world.env)
  const place = inTree(git, folder)
  const untracked = async (): Promise<string> => (await place.require('asking', ['status', '--porcelain', '-z'], { reads: true })).stdout
  expect(await untracked()).toBe('?? x.log\0')
  rmSync(join(world.home, '.gitconfig'))
  mkdirSync(join(world.home, '.config', 'git'))
  writeFileSync(join(world.home, '.config', 'git', 'ignore'), '*.log\n')
  expect(await untracked()).toBe('?? x.tmp\0')
  world.sh(folder, 'config', 'core.excludesFile', '/dev/null')
  expect(await untracked()).toBe('?? x.log\0?? x.tmp\0')
  expect(existsSync(world.path('ran'))).toBe(false)
})

it('without git, and with one that is too old, that is said', async () => {
  await using world = openGitWorld()
  mkdirSync(world.path('empty'))
  const call = { args: ['status'], cwd: world.root }
  await expect(gitOf(world, { ...world.env, PATH: world.path('empty') }).run(call)).rejects.toMatchObject({ details: { reason: 'git_missing' } })
  const old = gitOf(world, withProgram(world, 'git', 'echo git version 2.30.9'))
  await expect(old.run(call)).rejects.toMatchObject({ code: 'unsupported', details: { reason: 'git_old', version: '2.30.9', needed: '2.31' } })
  const new_ = gitOf(world, withProgram(world, 'git', 'echo git version 3.0.1.windows'))
  expect((await new_.run(call)).exitCode).toBe(0)
})

it('a call that does not end is ended with all that it started, and its time is told', async () => {
  await using world = openGitWorld()
  const pid = world.path('pid')
  const env = withProgram(world, 'git', `case "$*" in *version) echo git version 2.40.0; exit;; esac\nsleep 300 & echo $! > '${pid}'; wait`)
  const hanging = gitOf(world, env).require('asking', { args: ['status'], cwd: world.root, timeoutMs: 300 })
  await expect(hanging).rejects.toMatchObject({ details: { reason: 'git_timeout', afterMs: 300, retryable: true, git: { exitCode: null } } })
  expect(identify(Number(readFileSync(pid, 'utf8')))).toBeUndefined()
})

it('an error has the command, the exit code and what git said, without secrets of addresses', async () => {
  await using world = openGitWorld()
  const repo = await openRepository(world.context(), world.repository('a'))
  const url = 'https://user:s3cret@127.0.0.1:1/a.git'
  const failed = repo.require('fetching', ['fetch', '--quiet', url, 'refs/heads/x'], { network: true })
  await expect(failed).rejects.toMatchObject({
    code: 'internal',
    details: { reason: 'git_failed', git: { command: 'git fetch --quiet https://***@127.0.0.1:1/a.git refs/heads/x', exitCode: 128 } },
  })
  const error = await failed.catch((thrown: unknown) => thrown)
  expect(JSON.stringify(error)).toContain('unable to access')
  expect(JSON.stringify(error)).not.toContain('s3cret')
})

it('a lock file that goes away soon is waited for, and one that stays is named', async () => {
  await using world = openGitWorld()
  const folder = world.repository('a')
  const lock = join(folder, '.git', 'refs', 'heads', 'new.lock')
  const held = join(folder, '.git', 'config.lock')
  let attempts = 0
  const counting = createGit({
    runProgram: (request) => {
      // Whoever held it lets go of it while it is waited for.
      if (request.argv.includes('update-ref') && ++attempts === 3) rmSync(lock)
      return world.runProgram(request)
    },
    ownEnv: world.env,
    lockWaitsMs: [1, 1, 1],
  })
  const repo = await openRepository({ git: counting, settings: { trusted: [] } }, folder)
  writeFileSync(lock, '')
  await repo.require('writing', ['update-ref', 'refs/heads/new', 'HEAD'])
  expect([attempts, world.sh(folder, 'rev-parse', 'new')]).toEqual([3, world.sh(folder, 'rev-parse', 'HEAD')])
  writeFileSync(held, '')
  const refused = repo.require('setting', ['config', 'a.b', 'c'])
  await expect(refused).rejects.toMatchObject({
    code: 'unavailable',
    details: { reason: 'git_locked', path: expect.stringMatching(/config\.lock$/), retryable: true },
  })
})
