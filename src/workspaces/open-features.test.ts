import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type GitWorld, noCommands, openGitWorld } from '../../test/support/git-world.ts'
import type { OpenWorkspaceRequest } from '../core/workspace-provider.ts'
import { readStatus } from '../git/status.ts'
import type { WorkspaceContext } from './context.ts'
import { openWorkspace } from './open.ts'
import { listRecords } from './records.ts'
import { releaseWorkspace } from './release.ts'
import { rerunSetup } from './setup.ts'

/** Opens, opens again, and releases: all of it as if the repository were any other. */
async function wholeLife(world: GitWorld, context: WorkspaceContext, request: OpenWorkspaceRequest & { readonly repo: string }) {
  const opened = await openWorkspace(context, { branch: 'topic', ...request })
  const status = await readStatus(context.git, opened.path)
  expect(status.counts).toEqual({ staged: 0, changed: 0, untracked: 0, conflicted: 0 })
  const again = await openWorkspace(context, { branch: 'topic', repo: request.repo })
  expect([again.path, again.created, again.actions]).toEqual([opened.path, false, []])
  const files = readdirSync(opened.path, { recursive: true, encoding: 'utf8' }).sort()
  const released = await releaseWorkspace(context, { workspace: 'topic', repo: request.repo })
  expect([released.released, released.rescue, existsSync(opened.path)]).toEqual([true, null, false])
  expect(world.sh(request.repo, 'worktree', 'list', '--porcelain')).not.toContain(opened.path)
  return { opened, files, actions: opened.actions.filter(({ name }) => name !== 'created').map(({ name, status }) => `${name} ${status}`) }
}

it('a bare repository', async () => {
  await using world = openGitWorld()
  const bare = world.remote(world.repository('source', { 'a/b': 'b\n' }))
  const { files } = await wholeLife(world, world.context(), { repo: bare })
  expect(files).toEqual(['.git', 'a', 'a/b'])
})

it('a repository with SHA-256', async () => {
  await using world = openGitWorld()
  const repo = world.path('sha256')
  mkdirSync(repo)
  world.sh(repo, 'init', '--quiet', '--initial-branch=main', '--object-format=sha256')
  world.commit(repo, { 'a/b': 'b\n' })
  const { opened } = await wholeLife(world, world.context(), { repo })
  expect(opened.base.sha).toHaveLength(64)
})

it('a shallow clone', async () => {
  await using world = openGitWorld()
  const origin = world.repository('deep')
  world.commit(origin, { 'README.md': 'two\n' })
  world.sh(world.folder, 'clone', '--quiet', '--depth=1', `file://${origin}`, 'shallow')
  const { actions } = await wholeLife(world, world.context(), { repo: world.path('shallow') })
  expect(actions).toEqual(['shallow done'])
  expect(world.sh(world.path('shallow'), 'rev-parse', '--is-shallow-repository')).toBe('true')
})

it('a linked worktree as the source', async () => {
  await using world = openGitWorld()
  world.sh(world.repository('source'), 'worktree', 'add', '--quiet', '-b', 'other', '../linked')
  const { files } = await wholeLife(world, world.context(), { repo: world.path('linked') })
  expect(files).toEqual(['.git', 'README.md'])
})

it('a repository with a required filter that is not there, a sparse checkout, submodules and files to carry over', async () => {
  await using world = openGitWorld()
  const library = world.repository('library', { l: 'l\n' })
  const repo = world.repository('app', { '.gitattributes': '*.bin filter=own\n', 'src/a.bin': 'a\n', 'assets/b': 'b\n', '.gitignore': 'cache/\n' })
  world.sh(repo, 'submodule', '--quiet', 'add', library, 'src/lib')
  world.commit(repo, {}, 'with a library')
  world.sh(repo, 'sparse-checkout', 'set', 'src')
  for (const [name, value] of [
    ['process', 'no-such-program'],
    ['clean', 'no-such-program'],
    ['required', 'true'],
  ]) {
    world.sh(repo, 'config', `filter.own.${name}`, value as string)
  }
  mkdirSync(join(repo, 'cache'))
  writeFileSync(join(repo, 'cache/c'), 'c\n')
  const { files, actions } = await wholeLife(world, world.context(), { repo, carry: ['cache'] })
  expect(files.filter((name) => !name.startsWith('.'))).toEqual(['cache', 'cache/c', 'src', 'src/a.bin', 'src/lib', 'src/lib/.git', 'src/lib/l'])
  expect(actions).toEqual(['filters skipped', 'sparse done', 'submodules done', 'carried-over done'])
})

it('a folder that is carried over brings no secret into a tree, whether it is copied or a layer of a copy-on-write tree', async () => {
  await using world = openGitWorld()
  const repo = world.repository('app', { '.gitignore': 'node_modules/\nconf/\n' })
  for (const name of ['node_modules/a', 'conf/deep']) mkdirSync(join(repo, name), { recursive: true })
  for (const name of ['node_modules/a/index.js', 'conf/plain', 'conf/deep/.env']) writeFileSync(join(repo, name), name)
  for (const copyOnWrite of [false, true]) {
    const opened = await openWorkspace(world.context(), { repo, branch: `topic-${copyOnWrite}`, copyOnWrite, carry: ['node_modules', 'conf'] })
    const has = (name: string): boolean => existsSync(join(opened.path, name))
    expect([has('node_modules/a/index.js'), has('conf/plain'), has('conf/deep/.env')]).toEqual([true, true, false])
    expect(opened.actions.filter(({ name }) => name === 'carried-over').map(({ status, detail }) => [status, detail])).toEqual([
      ['done', expect.stringMatching(/^node_modules\/, conf\/ \(/)],
      ['skipped', expect.stringContaining('conf/deep/.env')],
    ])
    await releaseWorkspace(world.context(), { workspace: opened.id, repo })
  }
})

it('a partial clone whose remote is gone is refused, and no branch, no tree and no record is left', async () => {
  await using world = openGitWorld()
  const origin = world.repository('origin', { 'a/one': '1\n' })
  world.sh(origin, 'config', 'uploadpack.allowFilter', 'true')
  world.sh(world.folder, 'clone', '--quiet', '--no-checkout', '--filter=blob:none', `file://${origin}`, 'partial')
  const repo = world.path('partial')
  rmSync(origin, { recursive: true })
  await expect(openWorkspace(world.context(), { repo, branch: 'topic' })).rejects.toMatchObject({ details: { reason: 'promisor_unreachable' } })
  expect([world.sh(repo, 'branch', '--list', 'topic'), world.sh(repo, 'worktree', 'list').split('\n').length, listRecords(join(repo, '.git'))]).toEqual([
    '',
    1,
    [],
  ])
})

it('files in Git LFS that are to be pulled and cannot be are a refusal, and nothing is left', async () => {
  await using world = openGitWorld()
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5\n`
  const repo = world.repository('large', { '.gitattributes': '*.bin filter=lfs\n', 'a.bin': pointer })
  const refused = openWorkspace(world.context(), { repo, branch: 'topic', lfs: 'pull' })
  await expect(refused).rejects.toMatchObject({ details: { reason: expect.stringMatching(/^(?:lfs_unavailable|feature_failed)$/) } })
  expect([world.sh(repo, 'branch', '--list', 'topic'), world.sh(repo, 'worktree', 'list').split('\n').length, listRecords(join(repo, '.git'))]).toEqual([
    '',
    1,
    [],
  ])
  const { actions } = await wholeLife(world, world.context(), { repo, lfs: 'auto' })
  expect(actions).toEqual([expect.stringMatching(/^lfs (?:skipped|failed)$/)])
})

it('submodules that are required and cannot be had are a refusal that names one, and nothing is left; else that is told', async () => {
  await using world = openGitWorld()
  const library = world.repository('library', { l: 'l\n' })
  const source = world.repository('source')
  for (const path of ['here', 'vendor/gone']) world.sh(source, 'submodule', '--quiet', 'add', library, path)
  world.commit(source, {}, 'with a library')
  world.sh(world.folder, 'clone', '--quiet', source, 'app')
  const repo = world.path('app')
  world.sh(repo, 'submodule', '--quiet', 'update', '--init', 'here')
  rmSync(library, { recursive: true })
  await expect(openWorkspace(world.context(), { repo, branch: 'topic', submodules: 'require' })).rejects.toMatchObject({
    details: { reason: 'feature_failed', why: expect.stringMatching(/^vendor\/gone is empty: /) },
  })
  expect([world.sh(repo, 'branch', '--list', 'topic'), world.sh(repo, 'worktree', 'list').split('\n').length, listRecords(join(repo, '.git'))]).toEqual([
    '',
    1,
    [],
  ])
  expect(readdirSync(world.path('workspaces'), { recursive: true, encoding: 'utf8' }).filter((name) => /topic/.test(name) && !name.startsWith('.'))).toEqual([])
  const { actions } = await wholeLife(world, world.context(), { repo, submodules: 'init' })
  expect(actions).toEqual(['submodules done', 'submodules failed'])
})

it('a setup runs when the workspace is ready, its failure leaves the tree and the branch, and opened again it is tried again', async () => {
  await using world = openGitWorld()
  const repo = world.repository('app')
  const setups: string[] = []
  let works = false
  const commands: WorkspaceContext['commands'] = {
    ...noCommands,
    async setup(record, script, { onBegin }) {
      setups.push(`${script} ${record.state}`)
      onBegin(`run${setups.length}`)
      return { run: `run${setups.length}`, ok: works, ended: works ? 'exit 0' : 'exit 1' }
    },
  }
  const context = world.context({ commands })
  const request = { repo, branch: 'topic', setup: 'make deps' }
  await expect(openWorkspace(context, request)).rejects.toMatchObject({ details: { reason: 'setup_failed', run: 'run1', attempt: 1 } })
  const [{ record } = { record: undefined }] = listRecords(join(repo, '.git'))
  expect([record?.state, record?.setup?.state, existsSync(join(record?.path ?? '', 'README.md'))]).toEqual(['ready', 'failed', true])
  works = true
  const opened = await openWorkspace(context, { repo, branch: 'topic' })
  expect([opened.setup?.state, opened.setup?.attempt, opened.created, setups]).toEqual(['done', 2, false, ['make deps ready', 'make deps ready']])
  await openWorkspace(context, { repo, branch: 'topic' })
  expect(setups).toHaveLength(2)

  // A tree that is gone is made again, and set up again.
  rmSync(opened.path, { recursive: true })
  expect((await openWorkspace(context, { repo, branch: 'topic' })).setup).toMatchObject({ state: 'done', attempt: 1, run: 'run3' })
  expect((await rerunSetup(context, { workspace: 'topic', repo })).setup).toMatchObject({ attempt: 2, run: 'run4' })
  expect(readFileSync(join(opened.path, 'README.md'), 'utf8')).toBe('one\n')
})

it('of two that open a workspace at once the second waits for the setup of the first, and shares its failure', async () => {
  await using world = openGitWorld()
  const repo = world.repository('app')
  let setups = 0
  let fail = (): void => {}
  const commands: WorkspaceContext['commands'] = {
    ...noCommands,
    async setup(_record, _script, { onBegin }) {
      onBegin(`run${++setups}`)
      await new Promise<void>((resolve) => {
        fail = resolve
      })
      return { run: `run${setups}`, ok: false, ended: 'exit 1' }
    },
  }
  const context = world.context({ commands })
  const request = { repo, branch: 'topic', setup: 'make deps' }
  const first = openWorkspace(context, request)
  first.catch(() => {})
  while (setups === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  let waits = (): void => {}
  const waiting = new Promise<void>((resolve) => {
    waits = resolve
  })
  const second = openWorkspace(context, request, { onProgress: (what) => what === 'setup' && waits() })
  second.catch(() => {})
  await waiting
  fail()
  const both = await Promise.allSettled([first, second])
  expect(both).toMatchObject([
    { status: 'rejected', reason: { details: { reason: 'setup_failed', attempt: 1 } } },
    { status: 'rejected', reason: { details: { reason: 'setup_failed', attempt: 1 } } },
  ])
  expect(setups).toBe(1)
})
