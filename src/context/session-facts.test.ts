import { describe, expect, it } from 'vitest'
import type { Activity, ToolUse } from '../core/activity.ts'
import { byteLength } from '../core/text.ts'
import { decisionsIn } from './decisions.ts'
import { combineFacts, factsOf, noFacts, parseFacts, saysSomething } from './session-facts.ts'

const tool = (part: Partial<ToolUse>): Activity => ({
  kind: 'tool',
  tool: { name: 'Bash', action: 'shell', command: null, paths: [], failed: false, message: null, result: null, background: null, ...part },
})
const edit = (...paths: string[]): Activity => tool({ name: 'Edit', action: 'edit', paths })
const read = (...paths: string[]): Activity => tool({ name: 'Read', action: 'read', paths })
const ran = (command: string, failed = false): Activity => tool({ command, failed, message: failed ? 'exit 1' : null })
const asked = (text: string): Activity => ({ kind: 'request', text })

describe('the facts of a session', () => {
  it('put edited files before read ones, and those edited often first', () => {
    const facts = factsOf([read('r'), edit('a'), read('b'), edit('c'), edit('c'), tool({ name: 'Edit', action: 'edit', paths: ['never'], failed: true })])
    expect(facts.files.map(({ path }) => path)).toEqual(['c', 'a', 'b', 'r'])
  })

  it('say each error once, the latest first, until its command passes', () => {
    expect(factsOf([ran('a', true), ran('b', true), ran('a', true)]).errors.map(({ what }) => what)).toEqual(['a', 'b'])
    expect(factsOf([ran('a', true), ran('b', true), ran('a')])).toMatchObject({ errors: [{ what: 'b' }], passed: ['a'] })
  })

  it('have bounds, whatever happened', () => {
    const long = '長'.repeat(5_000)
    const many = Array.from({ length: 500 }, (_, i) => [
      asked(`${i} ${long}`),
      edit(`/p/${i}/${long}`),
      ran(`${i} ${long}`, true),
      tool({ command: `${i}`, background: `${i}` }),
    ])
    const facts = factsOf(many.flat())
    expect(facts.requests).toHaveLength(4)
    expect(facts.files.length).toBeLessThanOrEqual(40)
    expect([facts.errors.length, facts.background.length]).toEqual([10, 10])
    expect(byteLength(JSON.stringify(facts))).toBeLessThan(40_000)
  })

  it('mask each text before anything of it is cut', () => {
    const secret = `start ${'x'.repeat(690)}SECRET-VALUE`
    const masked = factsOf([asked(secret)], (text) => text.replaceAll('SECRET-VALUE', '[masked]'))
    expect(masked.task).not.toContain('SECRET')
  })

  it('of two accounts count what both tell once', () => {
    const recorded = factsOf([asked('first'), asked('second'), edit('a'), edit('a'), ran('x', true), ran('y', true)])
    const transcript = factsOf([asked('first'), asked('second'), asked('third'), edit('a'), edit('a'), ran('x')])
    expect(combineFacts(recorded, transcript)).toMatchObject({
      task: 'first',
      requests: ['third', 'second'],
      files: [{ path: 'a', edits: 2 }],
      errors: [{ what: 'y' }],
    })
    const later = factsOf([asked('second'), asked('fourth')])
    expect(combineFacts(transcript, later)).toMatchObject({ task: 'first', requests: ['fourth', 'second', 'third'] })
    expect(combineFacts(later, transcript)).toMatchObject({ task: 'first', requests: ['third', 'second', 'fourth'] })
    expect(combineFacts(noFacts, recorded)).toEqual(recorded)
    expect(combineFacts(recorded, noFacts)).toEqual(recorded)
  })

  it('are read from JSON, and refused in any other form', () => {
    const facts = factsOf([asked('first'), edit('a'), ran('x', true), { kind: 'todos', todos: [{ id: null, text: 't', state: 'open' }], merge: false }])
    expect(parseFacts(JSON.parse(JSON.stringify(facts)))).toEqual(facts)
    for (const wrong of [null, 7, [], {}, { ...facts, files: [{ path: 7 }] }, { ...facts, task: 7 }, { ...facts, errors: 'x' }, { ...facts, todos: [null] }]) {
      expect(parseFacts(wrong)).toBeUndefined()
    }
  })

  it('say something only when the next session would want to know', () => {
    expect(saysSomething(noFacts)).toBe(false)
    expect(saysSomething(factsOf([ran('ls')]))).toBe(false)
    expect(saysSomething(factsOf([asked('x')]))).toBe(true)
  })
})

it.each([
  ['I decided to keep the retry in the client. It is simpler.', ['I decided to keep the retry in the client.']],
  ['Decision: SQLite, not Postgres.\nMore.', ['Decision: SQLite, not Postgres.']],
  ["**Decision:** use ports from 4000.\n- We've settled on pnpm.", ['Decision: use ports from 4000.', "We've settled on pnpm."]],
  ["Let's go with the second variant.", ["Let's go with the second variant."]],
  ["I'll use grep to find it. Let me look at the file.", []],
  ['You decided to keep it. They chose red.', []],
  [`I decided ${'x'.repeat(500)}`, []],
  ['', []],
])('of %j it is decided: %j', (text, decisions) => {
  expect(decisionsIn(text)).toEqual(decisions)
})
