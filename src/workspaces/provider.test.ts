import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describeWorkspaceProvider, type WorkspaceHarness } from '../../test/conformance/workspace.ts'
import { openGitWorld } from '../../test/support/git-world.ts'
import { createWorkspaceProvider } from './provider.ts'

async function openHarness(): Promise<WorkspaceHarness> {
  const world = openGitWorld()
  const repo = world.repository('repo', { 'README.md': 'one\n' })
  const remote = world.remote(repo)
  const create = () => createWorkspaceProvider(world.context())
  const tryOut = <T>(work: () => T): T | undefined => {
    try {
      return work()
    } catch {
      return undefined
    }
  }
  return {
    provider: create(),
    another: create,
    repo,
    base: 'main',
    baseSha: world.sh(repo, 'rev-parse', 'main'),
    file: { path: 'README.md', text: 'one\n' },
    read: async (path, file) => tryOut(() => readFileSync(join(path, file), 'utf8')),
    async write(path, file, text) {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), text)
    },
    commit: async (path, message) => world.commit(path, {}, message),
    head: async (path) => ({
      branch: tryOut(() => world.sh(path, 'symbolic-ref', '--quiet', '--short', 'HEAD')) ?? null,
      sha: world.sh(path, 'rev-parse', 'HEAD'),
    }),
    branch: async (name) => tryOut(() => world.sh(repo, 'rev-parse', '--verify', '--quiet', `refs/heads/${name}`)),
    async advanceBase() {
      const other = world.path('other')
      world.sh(world.folder, 'clone', '-q', remote, other)
      const sha = world.commit(other, { 'README.md': 'two\n' })
      world.sh(other, 'push', '-q', 'origin', 'main')
      return sha
    },
    removeTree: async (path) => rmSync(path, { recursive: true }),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describeWorkspaceProvider('git-worktree', openHarness)
