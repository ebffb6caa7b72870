import { describe, expect, it } from 'vitest'
import { readNotesMarkdown } from './note-import.ts'

const now = new Date('2026-06-01T00:00:00.000Z')
const rules = {
  place: { scope: 'user', workspace: null },
  category: 'pattern',
  now,
  newId: () => 'new',
  mask: (text: string) => text.replaceAll('hunter2', '[masked]'),
} as const
const read = (...lines: string[]) => readNotesMarkdown(lines.join('\n'), rules)
const textsOf = (...lines: string[]): string[] => read(...lines).notes.map(({ text }) => text)

describe('a page that a person wrote', () => {
  it.each([
    ['bullets and numbers', ['- a', '* b', '+ c', '1. d', '2) e'], ['a', 'b', 'c', 'd', 'e']],
    ['boxes to tick', ['- [ ] a', '- [x] b'], ['a', 'b']],
    ['items of several lines', ['- a', '  goes on', '', '  and on', '- b'], ['a goes on and on', 'b']],
    ['items below an item', ['- a', '  - b', '    - c', '- d'], ['a', 'b', 'c', 'd']],
    [
      'items below one that only says what they are about',
      ['- Tests:', '  - run with npm test', '  - need: a server', '- d:'],
      ['Tests: run with npm test', 'Tests: need: a server', 'd:'],
    ],
    ['two levels of those', ['- A:', '  - B:', '    - c', '  - d', '- e'], ['A: B: c', 'A: d', 'e']],
    ['line ends of Windows', ['- a\r', '- b\r'], ['a', 'b']],
    ['a mark of the order of bytes', ['\ufeff- a'], ['a']],
    ['front matter', ['---', '- no', '---', '- a'], ['a']],
    ['comments', ['<!-- - no -->', '- a', '<!--', '- no', '-->', '- b'], ['a', 'b']],
    ['rules between items', ['- a', '---', '* * *', '- b'], ['a', 'b']],
  ])('gives the items of %s', (_, lines, texts) => {
    expect(textsOf(...lines)).toEqual(texts)
  })

  it('says what it did not take, with the line', () => {
    const { notes, skipped } = read('Some words.', '', '```sh', '- npm ci', '```', `- ${'x'.repeat(2_001)}`, '- a', '| a | b |', 'and hunter2')
    expect(notes.map(({ text }) => text)).toEqual(['a'])
    expect(skipped.map(({ line, text, why }) => `${line} ${text.slice(0, 12)}: ${why}`)).toEqual([
      '1 Some words.: no item of a list',
      '3 ```sh: no item of a list',
      '4 - npm ci: no item of a list',
      '5 ```: no item of a list',
      `6 xxxxxxxxxxxx: no note: accepted is a text of 1 to 2,000 bytes; this one has 2,001`,
      '8 | a | b |: no item of a list',
      '9 and [masked]: no item of a list',
    ])
  })

  it.each([
    ['## Architecture', 'architecture'],
    ['# Gotchas and pitfalls', 'gotcha'],
    ['### Code style', 'convention'],
    ['## Setup', 'environment'],
    ['## Build commands', 'environment'],
    ['## My preferences', 'preference'],
    ['## Patterns', 'pattern'],
    ['## Pattern', 'pattern'],
    ['## Anything else', 'pattern'],
  ])('takes its categories from headings: %s', (heading, category) => {
    expect(read(heading, '- a').notes.map((note) => note.category)).toEqual([category])
  })

  it('gives notes as they are made otherwise: in their place, masked, on one line', () => {
    expect(read('- the password\tis hunter2 \u001b[31m').notes).toMatchObject([
      { id: 'new', scope: 'user', workspace: null, text: 'the password is [masked]', confidence: 0.8, createdAt: now.toISOString(), retired: null, uses: 0 },
    ])
  })

  it('is refused where it is too large', () => {
    expect(() => readNotesMarkdown('x'.repeat(4 * 1024 * 1024 + 1), rules)).toThrow('at most 4,194,304 bytes')
    expect(() => readNotesMarkdown('- a\n'.repeat(5_001), rules)).toThrow('at most 5,000 items')
  })

  it('of many kinds is read in time that grows with its length', () => {
    for (const part of ['- a:\n  ', '<!--', '```\n', '#'.repeat(50), ' ', '- [ ] '.repeat(20), '1'.repeat(30), '\t- x\n']) {
      const started = performance.now()
      try {
        readNotesMarkdown(part.repeat(20_000), rules)
      } catch (error) {
        expect(String(error)).toContain('items')
      }
      expect(performance.now() - started).toBeLessThan(5_000)
    }
  })
})
