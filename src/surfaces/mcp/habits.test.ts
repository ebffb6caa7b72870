import { describe, expect, it } from 'vitest'
import { readCall } from './tools.ts'

const inputOf = (tool: string, args: Record<string, unknown>): Record<string, unknown> => {
  const { waitMs: _, ...input } = readCall(tool, args).input
  return input
}

describe('what models send that know other tools', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['exec', { command: 'npm test' }, { script: 'npm test' }],
    ['exec', { command: ['npm', 'test'] }, { argv: ['npm', 'test'] }],
    ['exec', { cmd: 'npm test', description: 'see what fails' }, { script: 'npm test', purpose: 'see what fails' }],
    ['exec', { argv: 'npm test', working_directory: 'web' }, { script: 'npm test', cwd: 'web' }],
    ['exec', { script: 'x', timeout_ms: '60000', run_in_background: 'true' }, { script: 'x', timeoutMs: 60_000, detach: true }],
    ['exec', { script: 'x', target: 'box' }, { script: 'x', target: 'box' }],
    ['exec', { script: 'x', target: '{"backend":"ssh","host":"box"}' }, { script: 'x', target: { backend: 'ssh', host: 'box' } }],
    ['exec', { script: 'x', target: { backend: 'ssh', host: 'box' } }, { script: 'x', target: { backend: 'ssh', host: 'box' } }],
    ['exec', { script: '{"a":1}', target: '{no' }, { script: '{"a":1}', target: '{no' }],
    ['wait', { run_id: 'abc' }, { run: 'abc' }],
    ['stop', { id: 'abc' }, { run: 'abc' }],
    ['output', { run_id: 'abc', lines: '5' }, { run: 'abc', lines: '5' }],
    ['search', { pattern: '4711', limit: '3', regex: 'false' }, { query: '4711', limit: 3, regex: false }],
  ])('is understood by %s: %j', (tool, args, input) => {
    expect(inputOf(tool, args)).toEqual(input)
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['exec', { script: 'x', timeout: 60 }, 'did you mean timeout_ms?'],
    ['exec', { script: 'x', command: 'y' }, 'exec has no option command'],
    ['wait', { run: 'a', run_id: 'b' }, 'wait has no option run_id'],
    ['note', { action: 'list', id: 'x' }, 'note list has no option id'],
  ])('is refused by %s where it could mean two things: %j', (tool, args, sentence) => {
    expect(() => readCall(tool, args)).toThrow(sentence)
  })

  it('that is text where a number is due stays as it is, for the refusal to show', () => {
    for (const value of ['5s', '-5', '0x10', '1e3', '']) expect(inputOf('exec', { script: 'x', timeout_ms: value })).toMatchObject({ timeoutMs: value })
    expect(inputOf('exec', { script: 'x', detach: 'yes' })).toMatchObject({ detach: 'yes' })
  })
})
