import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import type { Note } from '../core/note.ts'
import { readNotes, readUses, removeNote, stampOf, writeNote, writeUses } from './note-files.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'holdfast-notes-')), 'notes')
})
afterEach(() => rmSync(join(folder, '..'), { recursive: true }))

const put = (name: string, content: string): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), content)
}

describe('files of notes', () => {
  it('give notes back as they were, privately kept', () => {
    const note = storedNote('n1', 'text 日本', {
      scope: 'workspace',
      workspace: 'w1',
      tags: ['a'],
      supersedes: ['n0'],
      updatedAt: '2026-03-15T10:00:00.000Z',
      retired: { at: '2026-03-16T10:00:00.000Z', why: 'released', by: null },
    })
    writeNote(folder, { ...note, uses: 7, usedAt: '2026-03-16T10:00:00.000Z' })
    expect(readNotes(folder)).toEqual([note])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readdirSync(folder)).toEqual(['n1.json'])
    expect(statSync(join(folder, 'n1.json')).mode & 0o777).toBe(0o600)
    removeNote(folder, 'n1')
    removeNote(folder, 'n1')
    expect(readNotes(folder)).toEqual([])
  })

  it('of the first version, as it wrote them, are notes of the project', () => {
    const written =
      '{"id":"dy70jvv54s8f","category":"architecture","text":"Durations are written by formatDuration","confidence":0.8,"createdAt":"2026-11-30T14:20:51.922Z"}\n'
    put('dy70jvv54s8f.json', written)
    const note = storedNote('dy70jvv54s8f', 'Durations are written by formatDuration', { category: 'architecture', createdAt: '2026-11-30T14:20:51.922Z' })
    expect(readNotes(folder)).toEqual([note])
    expect(readFileSync(join(folder, 'dy70jvv54s8f.json'), 'utf8')).toBe(written)
  })

  it('that are damaged or strange cost no other note', () => {
    writeNote(folder, storedNote('ok', 'kept'))
    const strange = {
      id: 'odd',
      text: 'odd',
      createdAt: 'x',
      scope: 'team',
      category: 7,
      tags: ['a b', 5, 'fine'],
      supersedes: 'x',
      retired: { why: 'mood' },
      confidence: '1',
    }
    put('odd.json', JSON.stringify(strange))
    for (const [name, content] of [
      ['cut.json', '{"id":"cu'],
      ['list.json', '[]'],
      ['null.json', 'null'],
      ['.ok.1', ''],
      ['README', ''],
      ['UP.json', '{}'],
    ]) {
      put(name as string, content as string)
    }
    mkdirSync(join(folder, 'folder.json'))
    const odd: Note = storedNote('odd', 'odd', {
      category: 'convention',
      confidence: 0.5,
      createdAt: 'x',
      tags: ['fine'],
      retired: { at: '', why: 'superseded', by: null },
    })
    expect(readNotes(folder).sort((a, b) => (a.id < b.id ? 1 : -1))).toEqual([storedNote('ok', 'kept'), odd].sort((a, b) => (a.id < b.id ? 1 : -1)))
  })

  it('are not read from a pipe, nor waited for there', () => {
    writeNote(folder, storedNote('n1', 'a'))
    execFileSync('mkfifo', [join(folder, 'n2.json'), `${folder}.uses`])
    // Whoever did read would not wait for ever.
    const script = 'cat "$0/n1.json" > "$0/n2.json" & echo "{}" > "$0.uses" & wait'
    const writer = spawn('sh', ['-c', script, folder], { stdio: 'ignore', detached: true })
    expect(readNotes(folder).map(({ id }) => id)).toEqual(['n1'])
    process.kill(-(writer.pid as number), 'SIGKILL')
  })

  it('of uses are beside the folder, and forget notes that are gone', () => {
    writeNote(folder, storedNote('n1', 'a'))
    writeUses(folder, { n1: [3, '2026-03-16T10:00:00.000Z'], gone: [1, '2026-03-16T10:00:00.000Z'] })
    expect(readNotes(folder)).toEqual([storedNote('n1', 'a', { uses: 3, usedAt: '2026-03-16T10:00:00.000Z' })])
    expect(Object.keys(readUses(folder))).toEqual(['n1'])
    for (const content of ['', '[1', 'null', '{"n1":5}', '{"n1":["x","y"]}', '{"n1":[1]}']) {
      writeFileSync(`${folder}.uses`, content)
      expect(readNotes(folder), content).toEqual([storedNote('n1', 'a')])
    }
  })

  it('have a stamp that is another after each change, and none while one more may come unseen', () => {
    expect(stampOf(folder)).toBe('none')
    writeNote(folder, storedNote('n1', 'a'))
    expect(stampOf(folder)).toBeUndefined()
  })
})
