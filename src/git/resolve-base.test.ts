import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, openGitWorld } from '../../test/support/git-world.ts'
import { createGit } from './git.ts'
import { type GitRepository, openRepository } from './open.ts'
import { type BaseRequest, resolveBase, sweepFetchRefs } from './resolve-base.ts'

interface Published {
  readonly repo: GitRepository
  readonly remote: string
  /** Another clone of the remote. */
  readonly other: string
  /** What `main` is at here, and at the remote. */
  readonly here: string
  readonly there: string
  resolve(base: string | undefined, policy?: BaseRequest['policy']): ReturnType<typeof resolveBase>
}

/** A repository whose remote went on by one commit, that has not been fetched. */
async function published(world: GitWorld): Promise<Published> {
  const folder = world.repository('a')
  const remote = world.remote(folder)
  const other = world.path('other')
  world.sh(world.folder, 'clone', '--quiet', remote, other)
  const there = world.commit(other, { two: 'two\n' })
  world.sh(other, 'push', '--quiet', 'origin', 'main')
  const repo = await openRepository(world.context(), folder)
  return {
    repo,
    remote,
    other,
    here: world.sh(folder, 'rev-parse', 'main'),
    there,
    resolve: (base, policy = 'prefer-remote') => resolveBase(repo, { base, policy }),
  }
}

it('a base is what the remote has now; no ref of the person moves, no tag comes along, and nothing is written but a ref of ours that goes away', async () => {
  await using world = openGitWorld()
  const { repo, other, there, resolve } = await published(world)
  world.sh(other, 'tag', 'v1')
  world.sh(other, 'push', '--quiet', '--tags')
  for (const setting of ['fetch.prune', 'fetch.pruneTags', 'remote.origin.mirror']) world.sh(repo.mainRoot, 'config', setting, 'true')
  world.sh(repo.mainRoot, 'config', 'remote.origin.tagOpt', '--tags')
  const before = world.sh(repo.mainRoot, 'for-each-ref')
  rmSync(join(repo.commonDir, 'FETCH_HEAD'), { force: true })
  const base = await resolve('main')
  expect(base).toMatchObject({
    source: 'remote',
    ref: 'refs/heads/main',
    sha: there,
    behind: 0,
    remoteError: null,
    fetchedAt: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(world.sh(repo.mainRoot, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/holdfast/')).toMatch(
    new RegExp(`^refs/holdfast/fetch/\\d{13}-${process.pid}-[0-9a-f]{16} ${there}$`),
  )
  await base.drop()
  await base.drop()
  expect(world.sh(repo.mainRoot, 'for-each-ref')).toBe(before)
  expect(existsSync(join(repo.commonDir, 'FETCH_HEAD'))).toBe(false)
})

it('every form of a name is understood, and the answer says which ref it was', async () => {
  await using world = openGitWorld()
  const { repo, other, here, there, resolve } = await published(world)
  const second = world.path('second.git')
  world.sh(world.folder, 'clone', '--quiet', '--bare', repo.mainRoot, second)
  world.sh(repo.mainRoot, 'remote', 'add', 'team/b', second)
  world.sh(other, 'tag', '-a', '-m', 'a tag', 'v1', 'HEAD~1')
  world.sh(other, 'branch', 'beef')
  world.sh(other, 'push', '--quiet', 'origin', 'v1', 'beef')
  world.sh(repo.mainRoot, 'tag', '-a', '-m', 'mine', 'mine')
  world.sh(repo.mainRoot, 'update-ref', 'refs/remotes/gone/x', here)
  const forms: [string, string, string, string][] = [
    [there, 'remote', there, there],
    ['origin/main', 'remote', 'refs/heads/main', there],
    ['refs/remotes/origin/main', 'remote', 'refs/heads/main', there],
    ['refs/heads/main', 'remote', 'refs/heads/main', there],
    ['team/b/main', 'remote', 'refs/heads/main', here],
    ['v1', 'remote', 'refs/tags/v1', here],
    ['refs/tags/v1', 'remote', 'refs/tags/v1', here],
    ['beef', 'remote', 'refs/heads/beef', there],
    ['mine', 'local', 'refs/tags/mine', here],
    [here, 'local', here, here],
    ['HEAD', 'local', here, here],
    ['refs/remotes/gone/x', 'local', 'refs/remotes/gone/x', here],
    [here.slice(0, 9).toUpperCase(), 'local', here, here],
  ]
  for (const [name, source, ref, sha] of forms) {
    const base = await resolve(name)
    expect({ name, ...base }).toMatchObject({ name, source, ref, sha })
    await base.drop()
  }
})

it('without a name the base is what the remote calls its default branch, and where none can be asked what is checked out', async () => {
  await using world = openGitWorld()
  const { repo, remote, here, there, resolve } = await published(world)
  world.sh(repo.mainRoot, 'checkout', '--quiet', '-b', 'mine')
  expect(await resolve(undefined)).toMatchObject({ source: 'remote', ref: 'refs/heads/main', sha: there })
  world.sh(repo.mainRoot, 'checkout', '--quiet', '--detach')
  expect(await resolve(undefined)).toMatchObject({ source: 'remote', ref: 'refs/heads/main', sha: there })
  expect(await resolve(undefined, 'local')).toMatchObject({ source: 'local', ref: 'HEAD', sha: here })
  world.sh(repo.mainRoot, 'checkout', '--quiet', 'mine')
  expect(await resolve(undefined, 'local')).toMatchObject({ source: 'local', ref: 'refs/heads/mine', sha: here })
  world.sh(repo.mainRoot, 'remote', 'set-head', 'origin', 'main')
  expect(await resolve(undefined, 'local')).toMatchObject({ source: 'local', ref: 'refs/heads/main', sha: here })
  world.sh(remote, 'branch', '--move', 'main', 'trunk')
  expect(await resolve(undefined)).toMatchObject({ source: 'remote', ref: 'refs/heads/trunk', sha: there })
  rmSync(remote, { recursive: true })
  expect(await resolve(undefined)).toMatchObject({
    source: 'local',
    ref: 'refs/heads/main',
    sha: here,
    remoteError: expect.stringContaining('does not appear'),
  })
})

it('where nothing can be fetched the local branch serves, with all that git said and how far it is behind', async () => {
  await using world = openGitWorld()
  const { repo, remote, here, there, resolve } = await published(world)
  world.sh(repo.mainRoot, 'fetch', '--quiet', 'origin')
  rmSync(remote, { recursive: true })
  const base = await resolve('main')
  expect(base).toMatchObject({ source: 'local', ref: 'refs/heads/main', sha: here, behind: 1, fetchedAt: null })
  expect(base.remoteError).toMatch(/does not appear to be a git repository\n.*Could not read from remote repository/s)
  expect(await resolve('origin/main')).toMatchObject({ source: 'local', ref: 'refs/remotes/origin/main', sha: there, behind: 0 })
  await expect(resolve('main', 'require-remote')).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'fetch_failed', kind: 'missing' } })
  await expect(resolve('none')).rejects.toMatchObject({ details: { reason: 'unknown_base', looked: expect.arrayContaining(['refs/heads/none']) } })
})

it('without a remote the local branch serves, and that there is none is said without asking for it', async () => {
  await using world = openGitWorld()
  const repo = await openRepository(world.context(), world.repository('a'))
  const base = await resolveBase(repo, { base: 'main', policy: 'prefer-remote' })
  expect(base).toMatchObject({
    source: 'local',
    ref: 'refs/heads/main',
    behind: null,
    remoteError: 'there is no remote named origin',
  })
  await expect(resolveBase(repo, { base: 'main', policy: 'require-remote' })).rejects.toMatchObject({ details: { reason: 'fetch_failed', remote: 'origin' } })
})

it('with the policy "local" no remote is asked', async () => {
  await using world = openGitWorld()
  const { here, there, repo, resolve } = await published(world)
  expect(await resolve('main', 'local')).toMatchObject({ source: 'local', sha: here, behind: 0, remoteError: null })
  world.sh(repo.mainRoot, 'fetch', '--quiet')
  expect(await resolve('main', 'local')).toMatchObject({ source: 'local', sha: here, behind: 1 })
  expect(await resolve('origin/main', 'local')).toMatchObject({ source: 'local', sha: there, behind: 0 })
  await expect(resolve('none', 'local')).rejects.toMatchObject({
    details: { reason: 'unknown_base', looked: ['refs/heads/none', 'refs/tags/none', 'refs/remotes/origin/none'] },
  })
})

it('a base that is nowhere is refused with the full refs that were looked for and the words of git', async () => {
  await using world = openGitWorld()
  const { resolve } = await published(world)
  await expect(resolve('none')).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('refs/heads/none'),
    details: {
      reason: 'unknown_base',
      base: 'none',
      looked: ['refs/heads/none of origin', 'refs/tags/none of origin', 'refs/heads/none', 'refs/tags/none', 'refs/remotes/origin/none'],
      git: { stderr: expect.stringContaining("couldn't find remote ref refs/heads/none") },
    },
  })
  await expect(resolve('none', 'require-remote')).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
  await expect(resolve('0123456')).rejects.toMatchObject({ details: { reason: 'unknown_base', looked: expect.arrayContaining(['the commit 0123456']) } })
  await expect(resolve('1'.repeat(40))).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
})

it('a name that git could take for an option, a pattern or an address never reaches it', async () => {
  await using world = openGitWorld()
  const { repo } = await published(world)
  const ran = world.path('ran')
  const commands: string[][] = []
  const git = createGit({
    runProgram: (request) => {
      commands.push([...request.argv])
      return world.runProgram(request)
    },
    ownEnv: world.env,
  })
  const spied = await openRepository({ git, settings: { trusted: [] } }, repo.mainRoot)
  const names = [
    `--upload-pack=touch ${ran}`,
    '-x',
    'main:refs/heads/evil',
    '*',
    'main^',
    'main..HEAD',
    '@{-1}',
    'ext::sh -c true',
    'a b',
    '',
    'a\nb',
    'HEAD~1',
  ]
  for (const base of names) {
    await expect(resolveBase(spied, { base, policy: 'prefer-remote' })).rejects.toMatchObject({ details: { reason: 'unknown_base', base } })
  }
  for (const remote of [`--upload-pack=touch ${ran}`, 'ext::touch ran']) {
    await expect(resolveBase(spied, { base: 'none', remote, policy: 'prefer-remote' })).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
  }
  expect(existsSync(ran)).toBe(false)
  expect(commands.flat().filter((argument) => names.filter((name) => name.length > 2).some((name) => argument.includes(name)))).toEqual([])
})

it('what has no commit yet is no base', async () => {
  await using world = openGitWorld()
  const folder = world.path('empty')
  world.sh(world.folder, 'init', '--quiet', '--initial-branch=main', folder)
  const repo = await openRepository(world.context(), folder)
  for (const base of [undefined, 'main']) {
    await expect(resolveBase(repo, { base, policy: 'prefer-remote' })).rejects.toMatchObject({
      code: 'failed_precondition',
      details: { reason: 'unborn_base', base: 'main' },
    })
  }
  await expect(resolveBase(repo, { base: 'HEAD', policy: 'local' })).rejects.toMatchObject({ details: { reason: 'unborn_base' } })
  await expect(resolveBase(repo, { base: 'other', policy: 'prefer-remote' })).rejects.toMatchObject({ details: { reason: 'unknown_base' } })
})

it('many that fetch the same base at once all get it', async () => {
  await using world = openGitWorld()
  const { repo, there } = await published(world)
  for (let round = 0; round < 3; round++) {
    // Each has a git of its own, as processes have.
    const bases = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const git = createGit({ runProgram: world.runProgram, ownEnv: world.env })
        return resolveBase(await openRepository({ git, settings: { trusted: [] } }, repo.mainRoot), { base: 'main', policy: 'require-remote' })
      }),
    )
    expect(bases.map(({ sha, source }) => [sha, source])).toEqual(bases.map(() => [there, 'remote']))
    await Promise.all(bases.map((base) => base.drop()))
  }
  expect(world.sh(repo.mainRoot, 'for-each-ref', 'refs/holdfast/')).toBe('')
})

it('a shallow repository is not cut shorter, and a repository of SHA-256 and a bare one have bases, too', async () => {
  await using world = openGitWorld()
  const { remote, there } = await published(world)
  world.sh(world.folder, 'clone', '--quiet', '--depth=1', `file://${remote}`, 'shallow')
  const source = world.path('other')
  const newest = world.commit(source, { three: 'three\n' })
  world.sh(source, 'push', '--quiet', 'origin', 'main')
  const shallow = await openRepository(world.context(), world.path('shallow'))
  const base = await resolveBase(shallow, { base: 'main', policy: 'require-remote' })
  expect(base.sha).toBe(newest)
  expect(world.sh(world.path('shallow'), 'rev-list', newest).split('\n')).toEqual([newest, there])

  world.sh(world.folder, 'init', '--quiet', '--object-format=sha256', '--initial-branch=main', 'long')
  const long = world.commit(world.path('long'), { one: 'one\n' })
  world.sh(world.folder, 'clone', '--quiet', '--bare', 'long', 'bare.git')
  const bare = await openRepository(world.context(), world.path('bare.git'))
  expect(await resolveBase(bare, { policy: 'require-remote' })).toMatchObject({ source: 'remote', ref: 'refs/heads/main', sha: long })
})

it('what fetches left behind that were killed is swept, and of one that may go on only after a day', async () => {
  await using world = openGitWorld()
  const { repo, here } = await published(world)
  const now = new Date()
  const dead = spawnSync('true').pid
  const kept = `${now.getTime()}-${process.pid}-0123456789abcdef`
  const leaked = [`${now.getTime() - 90_000_000}-${process.pid}-0123456789abcdef`, `${now.getTime()}-${dead}-0123456789abcdef`]
  for (const name of [...leaked, kept, 'other', 'a/b']) world.sh(repo.mainRoot, 'update-ref', `refs/holdfast/fetch/${name}`, here)
  expect(await sweepFetchRefs(repo, now)).toBe(2)
  expect(world.sh(repo.mainRoot, 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/holdfast/fetch/').split('\n')).toEqual([kept, 'a/b', 'other'])
})

it('a canceled fetch is no local base, and leaves nothing', async () => {
  await using world = openGitWorld()
  const { repo } = await published(world)
  const stop = new AbortController()
  const resolving = resolveBase(repo, { base: 'main', policy: 'prefer-remote', signal: stop.signal, onProgress: () => stop.abort() })
  await expect(resolving).rejects.toMatchObject({ details: { reason: 'canceled' } })
  expect(world.sh(repo.mainRoot, 'for-each-ref', 'refs/holdfast/')).toBe('')
})

it('a branch whose file is broken is no base, and is told', async () => {
  await using world = openGitWorld()
  const repo = await openRepository(world.context(), world.repository('a'))
  world.sh(repo.mainRoot, 'branch', 'b')
  writeFileSync(join(repo.commonDir, 'refs', 'heads', 'b'), '')
  await expect(resolveBase(repo, { base: 'b', policy: 'local' })).rejects.toMatchObject({ details: { reason: 'branch_broken' } })
})
