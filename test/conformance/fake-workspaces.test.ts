import { expect, it } from 'vitest'
import { failure } from '../../src/core/errors.ts'
import { createFakeWorkspaces, fakeRepository } from '../support/fake-workspaces.ts'
import { describeWorkspaceProvider, type WorkspaceHarness } from './workspace.ts'

async function openHarness(): Promise<WorkspaceHarness> {
  const fake = createFakeWorkspaces()
  return {
    provider: fake.provider,
    another: fake.another,
    repo: fakeRepository,
    base: 'main',
    baseSha: fake.branch('main') as string,
    file: { path: 'README.md', text: 'one\n' },
    read: async (path, file) => fake.read(path, file),
    write: async (path, file, text) => fake.write(path, file, text),
    commit: async (path) => fake.commit(path),
    head: async (path) => fake.head(path),
    branch: async (name) => fake.branch(name),
    advanceBase: async () => fake.advanceBase(),
    removeTree: async (path) => fake.removeTree(path),
    async [Symbol.asyncDispose]() {},
  }
}

describeWorkspaceProvider('the fake', openHarness)

it('the fake fails once where it is told to, before anything is done or after all of it', async () => {
  const fake = createFakeWorkspaces()
  const request = { repo: fakeRepository, branch: 'work' }
  fake.fail('open', failure('lock_timeout', { what: 'it', afterMs: 1, holder: null }))
  await expect(fake.provider.open(request)).rejects.toMatchObject({ details: { reason: 'lock_timeout' } })
  expect(fake.branch('work')).toBeUndefined()
  fake.fail('open', new Error('the answer was lost'), 'after')
  await expect(fake.provider.open(request)).rejects.toThrow('the answer was lost')
  expect(fake.branch('work')).toBeDefined()
  expect(await fake.provider.open(request)).toMatchObject({ created: false, actions: [] })
  expect(fake.calls.map(({ method }) => method)).toEqual(['open', 'open', 'open'])
})
