import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import { failure } from '../core/errors.ts'
import { lockFile } from '../stores/sqlite/lock.ts'
import type { AppContext } from './context.ts'
import { describeHome } from './home.ts'
import { openNoteShelf } from './note-shelf.ts'
import { notesOfRepository, retireCollected, withRetiredNotes } from './workspace-notes.ts'

let top: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'holdfast-workspace-notes-'))
})
afterEach(() => rmSync(top, { recursive: true }))

function contextOf(project: string): AppContext {
  const homePlace = { override: undefined, project: join(top, project), state: join(top, 'state'), temporary: join(top, 'tmp') }
  const shared = { openLock: async () => lockFile, now: () => new Date('2026-06-01T00:00:00.000Z') }
  for (const name of ['a', 'b']) mkdirSync(join(top, name, '.git'), { recursive: true })
  const home = describeHome(homePlace)
  return { ...shared, homePlace, home, records: { notes: openNoteShelf({ folder: home.notes, ...shared }) } } as unknown as AppContext
}

const ofWorkspace = (id: string, workspace: string) => storedNote(id, id, { scope: 'workspace', workspace })

it('notes of workspaces that were collected are retired in each of the projects that were looked at', async () => {
  const [a, b] = [contextOf('a'), contextOf('b')]
  await a.records.notes.change(() => ({ write: [ofWorkspace('n1', 'w1'), ofWorkspace('n2', 'w2'), storedNote('n3', 'x')] }))
  await b.records.notes.change(() => ({ write: [ofWorkspace('n4', 'w3'), ofWorkspace('n5', 'w4')] }))
  await retireCollected(
    a,
    ['w1', 'w3'],
    ['a', 'b'].map((name) => join(top, name, '.git')),
  )
  const left = [...(await a.records.notes.list()), ...(await b.records.notes.list())].map(({ id }) => id)
  expect(left.sort()).toEqual(['n2', 'n3', 'n5'])
  expect(await notesOfRepository(a, join(top, 'b', '.git')).list({ retired: 'only' })).toMatchObject([{ id: 'n4', retired: { why: 'released', by: null } }])
})

it('a release whose notes cannot be retired is one all the same, with a warning', async () => {
  const released = { id: 'w1', released: true, rescue: null, branch: 'x', stopped: [], actions: [], warnings: ['before'] }
  const shelf = { list: async () => [ofWorkspace('n1', 'w1')], change: async () => Promise.reject(failure('home_unusable', { path: '/x', why: 'full' })) }
  const told = await withRetiredNotes(contextOf('a'), released, { ...shelf, use: async () => {} })
  expect(told).toEqual({
    ...released,
    warnings: ['before', expect.stringContaining('the notes of the workspace could not be retired: the folder /x cannot be used: full')],
  })
})
