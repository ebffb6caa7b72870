import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { factsOf } from '../../context/session-facts.ts'
import { eventNames, moments } from '../events.ts'
import { type HostName, hostNames } from '../host.ts'
import { answerOf, takesContext } from './answers.ts'
import { type HookEvent, readHookEvent } from './event.ts'

interface Sample {
  readonly event: string
  readonly input: Record<string, unknown>
}

const plain = (text: string): string => text
const samples = (host: HostName): Sample[] => JSON.parse(readFileSync(join(import.meta.dirname, 'samples', `${host}.json`), 'utf8'))
const eventsOf = (host: HostName): HookEvent[] => samples(host).flatMap(({ event, input }) => readHookEvent(host, event, input) ?? [])

describe.each(hostNames)('the inputs of %s', (host) => {
  it('are of moments that are known, with their session and folder', () => {
    for (const { event, input } of samples(host)) {
      const read = readHookEvent(host, event, input)
      expect(read, event).toMatchObject({ host, cwd: '/srv/app', session: expect.stringMatching(/^[\w-]{5,40}$/) })
      // The input names its event too.
      expect(readHookEvent(host, undefined, input)?.moment).toBe(read?.moment)
    }
    expect(new Set(eventsOf(host).map(({ session }) => session)).size).toBe(1)
  })

  it('tell what is asked, what fails and what is edited', () => {
    const facts = factsOf(eventsOf(host).flatMap((event) => (event.fromSubagent ? [] : event.activities(plain))))
    expect(facts).toMatchObject({
      task: 'make the upload test pass',
      results: [{ command: 'npm test', text: 'Tests: 1 failed, 12 passed', failed: true }],
    })
    expect(facts.errors.find(({ what }) => what === 'npm test')?.message).toContain('AssertionError: expected 200 to be 500')
    if (host === 'opencode' || host === 'pi') return
    expect(facts.files.map(({ path }) => path.replace('/srv/app/', ''))).toContain('src/upload.ts')
  })
})

describe('an input', () => {
  it('of a plugin carries the whole session', () => {
    for (const host of ['opencode', 'pi'] as const) {
      const event = eventsOf(host).find(({ moment }) => moment === 'before-compaction')
      const facts = factsOf(event?.conversation(plain) ?? [])
      expect(facts).toMatchObject({ task: 'make the upload test pass', decisions: ['I decided to keep the retry in the client.'] })
      expect(facts.files).toEqual([{ path: '/srv/app/src/upload.ts', edits: 1, reads: 0 }])
      expect(facts.todos).toEqual(host === 'opencode' ? [{ id: '1', text: 'mend the upload', state: 'doing' }] : [])
    }
  })

  it('of a patch names all its files', () => {
    const facts = factsOf(eventsOf('codex').flatMap((event) => event.activities(plain)))
    expect(facts.files.map(({ path }) => path).sort()).toEqual(['src/retry.ts', 'src/upload.ts'])
  })

  it('of a subagent is known as one', () => {
    expect(eventsOf('claude-code').filter(({ fromSubagent }) => fromSubagent)).toHaveLength(1)
  })

  it.each([
    ['startup', 'startup'],
    ['new', 'startup'],
    ['resume', 'resume'],
    ['fork', 'resume'],
    ['compact', 'compact'],
    ['clear', 'clear'],
    ['reload', 'reload'],
    ['constructor', 'startup'],
    [7, 'startup'],
  ])('that says %j starts as %s', (source, expected) => {
    expect(readHookEvent('claude-code', 'SessionStart', { source })?.source).toBe(expected)
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', []],
    ['a text', 'x'],
    ['wrong types', { session_id: 7, cwd: {}, tool_name: [], tool_input: 'x', tool_response: 9, prompt: false, messages: 'x', todos: {} }],
    ['an empty object', {}],
    ['depth', { tool_name: 'Bash', tool_input: { command: ['a', ['b']] }, tool_response: [[[[[['deep']]]]]] }],
  ])('of %s is survived at every moment', (_what, input) => {
    for (const host of hostNames) {
      for (const moment of moments) {
        const event = readHookEvent(host, moment, input)
        expect([...(event?.activities(plain) ?? []), ...(event?.conversation(plain) ?? [])].every((activity) => activity.kind === 'tool')).toBe(true)
      }
    }
  })

  it('of an event that is not known is none', () => {
    expect(readHookEvent('claude-code', 'Setup', {})).toBeUndefined()
    expect(readHookEvent('claude-code', undefined, {})).toBeUndefined()
    expect(readHookEvent('codex', 'PreToolUse', { hook_event_name: 'PreToolUse' })).toBeUndefined()
  })

  it('of our own tools tells nothing', () => {
    const input = { tool_name: 'mcp__holdfast__exec', tool_input: { argv: ['npm', 'test'] }, tool_response: 'exit 1' }
    expect(readHookEvent('claude-code', 'PostToolUse', input)?.activities(plain)).toEqual([])
  })

  it('masks an output whole, before a line is taken out of it', () => {
    const tool = { tool_name: 'Bash', tool_input: { command: 'cat key' }, error: 'Exit code 1\nBEGIN\nerror secret\nEND' }
    const event = readHookEvent('claude-code', 'PostToolUseFailure', tool)
    const mask = (text: string): string => text.replace(/BEGIN[\s\S]*END/, '[masked]')
    expect(JSON.stringify(event?.activities(mask))).not.toContain('secret')
  })
})

describe('an answer', () => {
  const hook = (name: string) => ({ hookSpecificOutput: { hookEventName: name, additionalContext: 'page' } })
  const expected: Record<HostName, Partial<Record<(typeof moments)[number], unknown>>> = {
    'claude-code': {
      'session-start': hook('SessionStart'),
      prompt: hook('UserPromptSubmit'),
      'after-tool': hook('PostToolUse'),
      'after-failed-tool': hook('PostToolUseFailure'),
    },
    codex: { 'session-start': hook('SessionStart'), prompt: hook('UserPromptSubmit'), 'after-tool': hook('PostToolUse') },
    'gemini-cli': { 'session-start': hook('SessionStart'), prompt: hook('BeforeAgent'), 'after-tool': hook('AfterTool') },
    opencode: {
      'session-start': { context: 'page' },
      prompt: { context: 'page' },
      'after-tool': { context: 'page' },
      'before-compaction': { context: 'page' },
    },
    cursor: { 'session-start': { additional_context: 'page' }, 'after-tool': { additional_context: 'page' } },
    vscode: { 'session-start': hook('SessionStart'), prompt: hook('UserPromptSubmit'), 'after-tool': hook('PostToolUse') },
    pi: { 'session-start': { context: 'page' }, prompt: { context: 'page' }, 'after-tool': { context: 'page' }, 'after-compaction': { context: 'page' } },
  }

  it.each(hostNames)('of %s has its format where it takes one, and says nothing elsewhere', (host) => {
    const silence = host === 'cursor' ? '{}\n' : ''
    for (const moment of moments) {
      const answer = expected[host][moment]
      expect(answerOf(host, moment, 'page'), moment).toBe(answer === undefined ? silence : `${JSON.stringify(answer)}\n`)
      expect(takesContext(host, moment)).toBe(answer !== undefined)
      for (const nothing of [undefined, '']) expect(answerOf(host, moment, nothing)).toBe(silence)
    }
    expect(answerOf(host, undefined, 'page')).toBe(silence)
  })

  it.each(hostNames)('of %s is only given at moments that it has a name for', (host) => {
    for (const moment of moments) if (takesContext(host, moment)) expect(eventNames[host][moment], moment).toBeDefined()
  })
})
