import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { factsOf } from '../../context/session-facts.ts'
import type { Activity } from '../../core/activity.ts'
import { openTranscript } from './transcript.ts'

const sample = (name: string): string => readFileSync(join(import.meta.dirname, 'samples', `${name}-transcript.jsonl`), 'utf8')

function activitiesOf(text: string): Activity[] {
  const reader = openTranscript((text) => text)
  return text.split('\n').flatMap((line) => {
    try {
      return reader.read(JSON.parse(line))
    } catch {
      return []
    }
  })
}

const told = ['claude-code', 'codex', 'gemini-cli', 'cursor', 'vscode'] as const

describe('the transcript of each host', () => {
  it.each(told)('%s tells the same story', (host) => {
    const facts = factsOf(activitiesOf(sample(host)))
    expect(facts).toMatchObject({
      task: 'make the upload test pass',
      requests: ['then run the linter too'],
      decisions: ['I decided to keep the retry in the client.'],
      todos: [
        { text: 'find the cause', state: 'done' },
        { text: 'mend the upload', state: 'doing' },
      ],
    })
    expect(facts.files.map(({ path, edits }) => [path.replace('/srv/app/', ''), edits])).toEqual([['src/upload.ts', 1]])
    // Cursor keeps no results of tools in its transcripts.
    if (host === 'cursor') return
    expect(facts.errors).toEqual([{ what: 'npm test', message: expect.stringContaining('AssertionError: expected 200 to be 500') }])
    expect(facts.results).toEqual([{ command: 'npm test', text: 'Tests: 1 failed, 12 passed', failed: true }])
  })

  it.each(['claude-code', 'codex'] as const)('%s names shells that go on in the background', (host) => {
    expect(factsOf(activitiesOf(sample(host))).background).toEqual([{ id: host === 'codex' ? '4242' : 'b7k2', command: 'npm run dev' }])
  })
})

describe('a transcript', () => {
  const user = (content: unknown, more: object = {}) => ({ type: 'user', message: { role: 'user', content }, ...more })
  const call = (id: string, name: string, input: object) => ({ type: 'assistant', message: { content: [{ type: 'tool_use', id, name, input }] } })
  const result = (id: string, content: unknown, failed = false) => user([{ type: 'tool_result', tool_use_id: id, content, is_error: failed }])
  const factsFrom = (...entries: unknown[]) => factsOf(activitiesOf(entries.map((entry) => JSON.stringify(entry)).join('\n')))

  it('takes an error back when the same command passes', () => {
    const failed = [call('1', 'Bash', { command: 'make' }), result('1', 'Exit code 2\nmake: *** no rule', true)]
    const passed = [call('2', 'Bash', { command: 'make' }), result('2', 'ok')]
    expect(factsFrom(...failed).errors).toEqual([{ what: 'make', message: 'exit 2: make: *** no rule' }])
    expect(factsFrom(...failed, ...passed).errors).toEqual([])
    expect(factsFrom(...passed, ...failed).errors).toHaveLength(1)
  })

  it('counts nothing that a person kept from happening', () => {
    const facts = factsFrom(call('1', 'Edit', { file_path: '/a' }), result('1', "The user doesn't want to proceed with this tool use.", true))
    expect([facts.errors, facts.files]).toEqual([[], []])
  })

  it.each([
    ['what a host wrote', '<local-command-stdout>Compacted</local-command-stdout>'],
    ['an interruption', '[Request interrupted by user]'],
    ['a summary', 'This session is being continued from a previous conversation that ran out of context.'],
    ['only a reminder', '<system-reminder>todo list is empty</system-reminder>'],
    ['our own page', '# Context snapshot, 2026-01-02T03:04:05.678Z\n- project /srv/app'],
  ])('takes %s for no request', (_what, text) => {
    expect(factsFrom(user(text), user([{ type: 'text', text }]))).toMatchObject({ task: null, requests: [] })
  })

  it('lets a background shell go when it is over', () => {
    const begun = [call('1', 'Bash', { command: 'npm run dev', run_in_background: true }), result('1', 'Command running in background with ID: b1')]
    expect(factsFrom(...begun).background).toEqual([{ id: 'b1', command: 'npm run dev' }])
    expect(factsFrom(...begun, call('2', 'KillShell', { shell_id: 'b1' }), result('2', 'killed')).background).toEqual([])
    const notice = '<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>'
    expect(factsFrom(...begun, user(notice))).toMatchObject({ background: [], task: null })
    const output = [call('3', 'BashOutput', { bash_id: 'b1' }), result('3', '<status>completed</status>\n<stdout></stdout>')]
    expect(factsFrom(...begun, ...output).background).toEqual([])
    expect(factsFrom(...begun, call('3', 'BashOutput', { bash_id: 'b1' }), result('3', '<status>running</status>')).background).toHaveLength(1)
  })

  it('keeps a list of single tasks', () => {
    const facts = factsFrom(
      call('1', 'TaskCreate', { subject: 'write it', description: 'all of it' }),
      result('1', 'Task #1 created successfully: write it'),
      call('2', 'TaskCreate', { subject: 'drop it' }),
      result('2', 'Task #2 created successfully: drop it'),
      call('3', 'TaskUpdate', { taskId: '1', status: 'in_progress' }),
      result('3', 'Updated task #1'),
      call('4', 'TaskUpdate', { taskId: '2', status: 'deleted' }),
      result('4', 'Updated task #2'),
    )
    expect(facts.todos).toEqual([{ id: '1', text: 'write it', state: 'doing' }])
  })

  it.each([null, 7, 'text', [], {}, { type: 'user' }, { type: 'assistant', message: null }, { type: 'event_msg', payload: null }, { role: 'user' }])(
    'passes over %j',
    (entry) => {
      expect(openTranscript((text) => text).read(entry)).toEqual([])
    },
  )
})
