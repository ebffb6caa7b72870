import { describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import type { Note } from '../core/note.ts'
import { addToBook, changeInBook, importIntoBook, releaseInBook } from './note-book.ts'

const now = new Date('2026-06-01T00:00:00.000Z')
const at = now.toISOString()
const rules = { cap: 3, now }
const note = (id: string, text = id, changes: Partial<Note> = {}): Note => storedNote(id, text, { createdAt: at, ...changes })
const retired = (by: string | null = null) => ({ at, why: 'superseded', by }) as const
const ids = (notes: readonly Note[]): string[] => notes.map(({ id }) => id)

describe('a note that is added', () => {
  it('is written, and nothing else', () => {
    expect(addToBook([note('a')], note('b'), rules)).toEqual({ note: note('b'), saved: 'added', write: [note('b')], retires: [] })
  })

  it('confirms the one that says the same, which keeps its words, gets the tags and counts for more', () => {
    const old = note('a', 'Use npm ci.', { confidence: 0.6, tags: ['npm'] })
    const made = addToBook([old], note('b', 'use NPM ci', { tags: ['ci', 'npm'], category: 'pattern' }), rules)
    expect(made).toEqual({
      note: { ...old, confidence: 0.7, tags: ['npm', 'ci'], updatedAt: at, uses: 1, usedAt: at },
      saved: 'confirmed',
      write: [made.note],
      retires: [],
    })
    expect(addToBook([old], note('b', 'use npm ci'), rules, { text: '', confidence: 0.95 }).note.confidence).toBe(0.95)
    expect(addToBook([old], note('b', 'use npm ci'), rules, { text: '', confidence: 0.1 }).note.confidence).toBe(0.7)
  })

  it('is another one in another scope or workspace', () => {
    const places = [{ scope: 'user' }, { scope: 'workspace', workspace: 'w1' }, { scope: 'workspace', workspace: 'w2' }] as const
    const notes = [note('a', 'x'), ...places.map((place, i) => note(`p${i}`, 'x', place))]
    expect(addToBook(notes, note('b', 'x', { scope: 'workspace', workspace: 'w3' }), rules).saved).toBe('added')
    expect(addToBook(notes, note('b', 'x', { scope: 'workspace', workspace: 'w2' }), rules).note.id).toBe('p2')
  })

  it('brings back a retired one that says the same, and one in use comes first', () => {
    const gone = note('a', 'x', { retired: retired('z') })
    expect(addToBook([gone], note('b', 'x'), rules)).toMatchObject({ saved: 'restored', note: { id: 'a', retired: null } })
    expect(addToBook([gone, note('c', 'x')], note('b', 'x'), rules)).toMatchObject({ saved: 'confirmed', note: { id: 'c' } })
  })

  it('retires what it supersedes, after it is written itself', () => {
    const made = addToBook([note('a'), note('b')], note('c', 'c', { supersedes: ['a'] }), rules)
    expect(made.write).toEqual([note('c', 'c', { supersedes: ['a'] }), note('a', 'a', { retired: retired('c') })])
    expect(made.retires).toEqual(made.write.slice(1))
  })

  it.each([
    ['unknown', 'x', 'there is no note "x"'],
    ['of another scope', 'u', 'ids of notes of the scope project'],
  ])('is refused with a successor of an %s note', (_, id, message) => {
    expect(() => addToBook([note('u', 'u', { scope: 'user' })], note('b', 'b', { supersedes: [id] }), rules)).toThrow(message)
  })

  it('retires the least useful of its place beyond the cap, and never itself', () => {
    const notes = [
      note('used', 'used', { uses: 9, confidence: 0.5 }),
      note('weak', 'weak', { confidence: 0.1 }),
      note('sure', 'sure', { confidence: 1 }),
      note('gone', 'gone', { retired: retired() }),
      note('other', 'other', { scope: 'user', confidence: 0 }),
    ]
    const made = addToBook(notes, note('new', 'new', { confidence: 0 }), rules)
    expect(made.retires).toEqual([note('weak', 'weak', { confidence: 0.1, retired: { at, why: 'least-useful', by: null } })])
    expect(ids(addToBook(notes, note('new', 'new', { supersedes: ['used'] }), rules).retires)).toEqual(['used'])
    expect(ids(addToBook(notes, note('new'), { ...rules, cap: 1 }).retires).sort()).toEqual(['sure', 'used', 'weak'])
  })
})

describe('a note that is changed', () => {
  it('keeps its id and its other facts', () => {
    expect(changeInBook([note('a'), note('b')], 'a', { text: 'new words' }, rules)).toEqual({
      note: note('a', 'new words', { updatedAt: at }),
      saved: 'updated',
      write: [note('a', 'new words', { updatedAt: at })],
      retires: [],
    })
    expect(changeInBook([note('a')], 'x', { text: 'y' }, rules)).toBeUndefined()
  })

  it('may not say what another one says already', () => {
    const notes = [note('a'), note('b', 'Taken.'), note('c', 'gone', { retired: retired() })]
    expect(() => changeInBook(notes, 'a', { text: 'taken' }, rules)).toThrow('note b says the same already; nothing was changed')
    expect(() => changeInBook(notes, 'a', { text: 'gone' }, rules)).toThrow('and is retired: it can be restored')
    expect(changeInBook(notes, 'b', { text: 'TAKEN' }, rules)?.note.text).toBe('TAKEN')
  })

  it('comes back where it was retired, and another one goes past the cap', () => {
    const notes = [note('a', 'a', { retired: retired() }), note('b', 'b', { confidence: 0.3 }), note('c'), note('d')]
    expect(changeInBook(notes, 'a', { restore: true }, rules)).toMatchObject({ note: note('a'), saved: 'restored', retires: [{ id: 'b' }] })
    expect(changeInBook([note('a')], 'a', { restore: true }, rules)).toMatchObject({ note: note('a'), saved: 'updated' })
  })

  it('takes the place of others, but not its own', () => {
    expect(changeInBook([note('a'), note('b')], 'a', { supersedes: ['b'] }, rules)?.retires).toEqual([note('b', 'b', { retired: retired('a') })])
    expect(() => changeInBook([note('a')], 'a', { supersedes: ['a'] }, rules)).toThrow('ids of other notes')
  })
})

describe('notes that are imported', () => {
  const read = (notes: readonly Note[], ...incoming: Note[]) => importIntoBook(notes, incoming, { ...rules, cap: 10 }, () => 'made')

  it('are added where they are new, and leave alone what is there', () => {
    const notes = [note('a', 'Here.'), note('b', 'gone', { retired: retired() })]
    const made = read(notes, note('x', 'here'), note('y', 'GONE'), note('z', 'new'), note('q', 'New!'))
    expect(made).toEqual({ added: [note('z', 'new')], known: ['a', 'b'], retires: [], write: [note('z', 'new')] })
    expect(read([...notes, ...made.added], note('z', 'new'))).toMatchObject({ added: [], write: [] })
  })

  it('take another id where theirs is taken, and never the place of a note', () => {
    expect(read([note('a', 'mine')], note('a', 'theirs')).added).toEqual([note('made', 'theirs')])
    expect(read([note('a', 'mine', { scope: 'user' })], note('a', 'mine')).added).toEqual([note('made', 'mine')])
  })

  it('retire nothing by what they supersede, and the least useful past the cap', () => {
    const incoming = [note('x', 'x', { supersedes: ['a'] }), note('y', 'y', { confidence: 0.1 })]
    const made = importIntoBook([note('a'), note('b', 'b', { confidence: 0.2 })], incoming, { ...rules, cap: 2 }, () => 'made')
    expect(ids(made.retires).sort()).toEqual(['b', 'y'])
    expect(made.write.map(({ id, retired: gone }) => `${id} ${gone?.why ?? 'in use'}`)).toEqual(['x in use', 'y least-useful', 'b least-useful'])
  })
})

it('the notes of a released workspace are retired, and no others', () => {
  const notes = [
    note('a', 'a', { scope: 'workspace', workspace: 'w1' }),
    note('b', 'b', { scope: 'workspace', workspace: 'w2' }),
    note('c', 'c', { scope: 'workspace', workspace: 'w1', retired: retired() }),
    note('d'),
  ]
  expect(releaseInBook(notes, 'w1', now).write).toEqual([{ ...notes[0], retired: { at, why: 'released', by: null } }])
})
