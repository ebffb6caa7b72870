import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openWorld } from '../../test/support/world.ts'
import type { WorkspaceEvent } from '../core/workspace.ts'
import { readEvents, tell } from './events.ts'
import { repositoryFiles } from './layout.ts'

const event = (name: string, facts: WorkspaceEvent['facts'] = {}): WorkspaceEvent => ({
  at: '2026-01-01T00:00:00.000Z',
  workspace: '0123456789',
  name,
  durationMs: 1,
  facts,
})
const key = '0123456789abcdef'

it('a history is read in the order in which it was told, and only its owner may read it', async () => {
  await using world = openWorld()
  for (const name of ['requested', 'fetched', 'created']) tell(world.root, key, event(name, { sha: 'abc', behind: 0, clean: true, rescue: null }))
  expect(readEvents(world.root, key)).toEqual(
    ['requested', 'fetched', 'created'].map((name) => event(name, { sha: 'abc', behind: 0, clean: true, rescue: null })),
  )
  expect(statSync(repositoryFiles(world.root).events(key)).mode & 0o777).toBe(0o600)
  expect(readEvents(world.root, 'fedcba9876543210')).toEqual([])
})

it('lines that were cut off or are no events are passed over', async () => {
  await using world = openWorld()
  tell(world.root, key, event('first'))
  appendFileSync(repositoryFiles(world.root).events(key), 'null\n{"at":1}\n{"at":"2026"\n\n')
  for (const odd of [{ facts: null }, { facts: { a: {} } }, { at: '2026 (\u001b[31m)' }, { durationMs: '1' }, { name: 1 }, { workspace: null }]) {
    appendFileSync(repositoryFiles(world.root).events(key), `${JSON.stringify({ ...event('odd'), ...odd })}\n`)
  }
  tell(world.root, key, event('second'))
  expect(readEvents(world.root, key).map(({ name }) => name)).toEqual(['first', 'second'])
})

it('what several processes tell at the same time is whole, and in order for each of them', async () => {
  await using world = openWorld()
  const module = JSON.stringify(join(import.meta.dirname, 'events.ts'))
  const program = await bundle(
    `import { tell } from ${module}
     const [commonDir, key, who] = process.argv.slice(2)
     for (let n = 0; n < 200; n++)
       tell(commonDir!, key!, { at: '2026', workspace: who!, name: 'told', durationMs: null, facts: { n, long: who!.repeat(2000) } })`,
    world.path('teller.mjs'),
  )
  const run = promisify(execFile)
  await Promise.all(['a', 'b', 'c', 'd'].map((who) => run(process.execPath, [program, world.root, key, who], { env: world.env })))
  const events = readEvents(world.root, key)
  expect(events).toHaveLength(800)
  for (const who of ['a', 'b', 'c', 'd']) {
    const own = events.filter(({ workspace }) => workspace === who)
    expect(own.map(({ facts }) => facts.n)).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect(own.every(({ facts }) => facts.long === who.repeat(2000))).toBe(true)
  }
})

it('secrets in addresses are left out of what is written', async () => {
  await using world = openWorld()
  tell(world.root, key, event('fetch-failed', { remote: 'https://me:t0ken@example.org/r.git', said: 'fatal: ssh://git:pa55@host/x?access_token=s3cret', n: 1 }))
  const text = readFileSync(repositoryFiles(world.root).events(key), 'utf8')
  for (const secret of ['t0ken', 'pa55', 's3cret']) expect(text).not.toContain(secret)
  expect(readEvents(world.root, key)[0]?.facts).toMatchObject({ remote: expect.stringContaining('example.org/r.git'), n: 1 })
})

it('telling never fails, whatever is in the way', async () => {
  await using world = openWorld()
  writeFileSync(join(world.root, 'holdfast'), 'a file in the place of the folder')
  tell(world.root, key, event('x'))
  mkdirSync(join(world.folder, 'other', 'holdfast', 'events', `${key}.jsonl`), { recursive: true })
  tell(join(world.folder, 'other'), key, event('x'))
  expect(readEvents(world.root, key)).toEqual([])
  expect(readEvents(join(world.folder, 'other'), key)).toEqual([])
})
