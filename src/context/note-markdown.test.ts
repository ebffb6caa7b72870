import { describe, expect, it } from 'vitest'
import { storedNote } from '../../test/conformance/store.ts'
import { type Random, random } from '../../test/support/random.ts'
import { type Note, noteCategories, retiredReasons } from '../core/note.ts'
import { readNotesMarkdown } from './note-import.ts'
import { headerLine, writeNotesMarkdown } from './note-markdown.ts'
import { makeNote } from './notes.ts'

const now = new Date('2026-06-01T00:00:00.000Z')
const place = { scope: 'project', workspace: null } as const
let made = 0
const rules = { place, category: 'convention', now, newId: () => `new${++made}`, mask: (text: string) => text } as const
const read = (markdown: string) => readNotesMarkdown(markdown, rules)
const byId = (notes: readonly Note[]): Note[] => [...notes].sort((a, b) => (a.id < b.id ? -1 : 1))

/** Pieces that mean something to Markdown, to the comments, or to who reads lines. */
const pieces = [
  ...['word', ' ', '- ', '* ', '1. ', '# ', '## Gotcha', '```', '~~~', '---', '<!--', '-->', '<!-- note id=x -->', '  <!-- note confidence=1 -->', headerLine],
  ...[
    '[ ] ',
    '[x] ',
    ':',
    '\\',
    '|',
    '**',
    'id=zzz',
    'tags=a,b',
    'retired=',
    '日本語',
    'é',
    '😀',
    '\ud83d',
    '\u200b',
    '\u202e',
    '\n',
    '\r\n',
    '\t',
    '\u2028',
    '\u0000',
    '\u001b[31m',
  ],
]
const someText = (source: Random): string => Array.from({ length: source.int(1, 12) }, () => source.pick(pieces)).join('')
const someTime = (source: Random): string => new Date(1.7e12 + source.int(0, 1e9) * 60).toISOString()

function someNote(source: Random, i: number): Note | undefined {
  try {
    const tags = ['ci', 'größe', 'a.b/c-d_e', '日本', '1'].filter(() => source.int(0, 2) === 0)
    const id = `n${String(i).padStart(3, '0')}`
    const note = makeNote({ text: someText(source), category: source.pick(noteCategories), confidence: source.int(0, 1000) / 1000, tags }, { now, id })
    const ids = ['n1', 'n2', 'zz'].filter(() => source.int(0, 3) === 0)
    const retired = { at: someTime(source), why: source.pick(retiredReasons), by: source.int(0, 1) ? 'n9' : null }
    const uses = source.int(0, 1) ? { uses: source.int(1, 99), usedAt: someTime(source) } : {}
    const times = { createdAt: someTime(source), updatedAt: source.int(0, 1) ? someTime(source) : null }
    return { ...note, ...times, ...uses, supersedes: ids, retired: source.int(0, 3) ? null : retired }
  } catch {
    // A text of nothing but spaces and controls is none.
    return undefined
  }
}

describe('notes as Markdown', () => {
  it('read as they were written, whatever their texts are made of', () => {
    const source = random(6)
    for (let round = 0; round < 400; round += 1) {
      const notes = Array.from({ length: source.int(0, 12) }, (_, i) => someNote(source, i)).filter((note) => note !== undefined)
      const text = writeNotesMarkdown(notes)
      const found = read(text)
      expect(found.skipped, text).toEqual([])
      expect(byId(found.notes), text).toEqual(byId(notes))
      expect(writeNotesMarkdown(found.notes)).toBe(text)
    }
  })

  it('are readable: a heading for each category, an item for each note, the oldest first', () => {
    const notes = [
      storedNote('b', 'newer', { createdAt: '2026-03-15T10:00:00.000Z' }),
      storedNote('c', 'where it is', { category: 'architecture', tags: ['a', 'b'] }),
      storedNote('a', 'older'),
    ]
    expect(
      writeNotesMarkdown(notes)
        .split('\n')
        .filter((line) => !line.startsWith('  '))
        .join('\n'),
    ).toBe(`# Notes\n\n${headerLine}\n\n## Architecture\n\n- where it is\n\n## Gotcha\n\n- older\n- newer\n`)
    expect(writeNotesMarkdown(notes)).toContain('\n- where it is\n  <!-- note id=c confidence=0.8 created=2026-03-14T10:00:00.000Z tags=a,b -->\n')
    expect(read(writeNotesMarkdown([]))).toEqual({ notes: [], skipped: [] })
  })

  it('leave out what is in no form of ours, so that a strange file cannot forge another field', () => {
    const strange = storedNote('c', 'x', { createdAt: 'x -->\n- forged', supersedes: ['a retired=1'], usedAt: ' uses=5' })
    expect(writeNotesMarkdown([strange])).toContain('\n- x\n  <!-- note id=c confidence=0.8 -->\n')
  })

  const page = (data: string): string => `${headerLine}\n## Gotcha\n- a fact\n  <!-- note ${data} -->\n- another\n`

  it.each([
    'id=../x',
    'id=a id=b',
    'confidence=2',
    'confidence=',
    'confidence=0.5 tags=a b',
    'created=yesterday',
    'retired=2026-03-14T10:00:00.000Z why=because',
    'scope=user',
    'constructor=1',
    'uses=-1',
    '',
  ])('have data that is refused as a whole where it is strange: %j', (data) => {
    const { notes, skipped } = read(page(data))
    expect(notes.map(({ text, category, confidence, retired }) => ({ text, category, confidence, retired }))).toEqual([
      { text: 'a fact', category: 'gotcha', confidence: 0.8, retired: null },
      { text: 'another', category: 'gotcha', confidence: 0.8, retired: null },
    ])
    expect(notes[0]?.id).toMatch(/^new/)
    expect(skipped).toMatchObject([{ line: 4, why: expect.stringContaining('no data of a note') }])
  })

  it('have no data on a page without the first line of ours', () => {
    const { notes } = read(page('id=abc confidence=1').replace(headerLine, '# Rules'))
    expect(notes.map(({ id, confidence }) => [id.startsWith('new'), confidence])).toEqual([
      [true, 0.8],
      [true, 0.8],
    ])
  })
})
