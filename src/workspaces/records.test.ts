import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { readEvents, tell } from './events.ts'
import { keyOf, repositoryFiles } from './layout.ts'
import { openWorkspace } from './open.ts'
import { listRecords, readRecord, writeRecord } from './records.ts'
import { releaseWorkspace } from './release.ts'

type Fields = Record<string, unknown>

async function planted(changes: Fields, name: { branch: string } | { operator: string } = { branch: 'a' }) {
  const world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context({ base: repository })
  const opened = await openWorkspace(context, name)
  const commonDir = join(repository, '.git')
  const key = keyOf(name)
  const file = repositoryFiles(commonDir).record(key)
  const record = JSON.parse(readFileSync(file, 'utf8')) as Fields
  writeFileSync(file, JSON.stringify({ ...record, ...changes }))
  return { world, context, commonDir, key, file, record, opened }
}

it.each<readonly [string, Fields]>([
  ['a nonce that leads up', { nonce: '../../../../victim', state: 'creating' }],
  ['a commit that is an option', { base: { source: 'local', ref: 'main', sha: '--output=/tmp/x', behind: null, remoteError: null } }],
  ['no base', { base: null }],
  ['no options', { options: {} }],
  ['a path that leads up', { path: '/tmp/../etc' }],
  ['a path that is relative', { path: 'etc' }],
  ['a branch with a line break', { branch: 'a\nb' }],
  ['another branch', { branch: 'b' }],
  ['a branch and an operator', { operator: 'bob' }],
  ['ports that are none', { ports: ['1 2'] }],
  ['a time that is none', { usedAt: '\u001b[31m' }],
  ['a setup that is none', { setup: {} }],
  ['a holder that is none', { holder: {} }],
  ['layers that are none', { overlay: {} }],
])('a record with %s is none', async (_, changes) => {
  const { world, commonDir, key, file, record } = await planted(changes)
  await using _world = world
  expect([readRecord(commonDir, key), listRecords(commonDir)]).toEqual([undefined, []])
  writeFileSync(file, JSON.stringify(record))
  expect(readRecord(commonDir, key)).toEqual(record)
})

it('a sandbox whose record says that it is none has no record, so that nothing runs in it with the environment of others', async () => {
  const { world, commonDir, key } = await planted({ kind: 'branch' }, { operator: 'bob' })
  await using _world = world
  expect(readRecord(commonDir, key)).toBeUndefined()
})

it('a planted record of a workspace that is being made moves no folder from outside of the root', async () => {
  const { world, context, opened } = await planted({ state: 'creating', nonce: 'x/../../../victim' })
  await using _world = world
  const victim = world.path('victim')
  mkdirSync(victim)
  mkdirSync(join(context.root, '.overlays', `${opened.id}-x`), { recursive: true })
  await releaseWorkspace(context, { workspace: opened.path }).catch(() => {})
  expect(existsSync(victim)).toBe(true)
})

it('a pipe in the place of a record is told and not waited for', async () => {
  const { world, commonDir, key, file } = await planted({})
  await using _world = world
  rmSync(file)
  execFileSync('mkfifo', [file])
  expect(() => readRecord(commonDir, key)).toThrow(/is a pipe, a socket or a device, not a file/)
  expect(listRecords(commonDir)).toEqual([])
})

it('records and events are never written through links', async () => {
  const { world, commonDir, key, file, record } = await planted({})
  await using _world = world
  const victim = world.path('victim')
  writeFileSync(victim, 'precious')
  const events = repositoryFiles(commonDir).events(key)
  rmSync(events)
  symlinkSync(victim, events)
  symlinkSync(victim, `${file}.${process.pid}.new`)
  const event = { at: '2026-01-01T00:00:00.000Z', workspace: 'x', name: 'told', durationMs: null, facts: {} }
  tell(commonDir, key, event)
  writeRecord(commonDir, key, record as never)
  expect(readFileSync(victim, 'utf8')).toBe('precious')
  rmSync(events)
  tell(commonDir, key, event)
  expect(readEvents(commonDir, key)).toEqual([event])
})
