import { describe, expect, it } from 'vitest'
import { resolveProgram } from './command.ts'
import { commandKey, type KeyedCommand } from './command-key.ts'

const keyOf = (given: { argv?: string[]; script?: string; runtime?: string }, place: Partial<KeyedCommand> = {}): string => {
  const program = resolveProgram(given, {})
  return commandKey({ program, command: program.display, cwd: '/srv/project', top: '/srv/project', ...place })
}
const long = (end: string): string => `${'# a comment\n'.repeat(1_000)}${end}`

describe('the key of a command', () => {
  it('is short and the same each time', () => {
    expect(keyOf({ argv: ['npm', 'test'] })).toMatch(/^[\w-]{16}$/)
    expect(keyOf({ argv: ['npm', 'test'] })).toBe(keyOf({ argv: ['npm', 'test'] }))
  })

  it('is the same in another copy of the project', () => {
    const tree = { cwd: '/home/me/trees/fix/packages/a', top: '/home/me/trees/fix' }
    expect(keyOf({ argv: ['npm', 'test'] }, tree)).toBe(keyOf({ argv: ['npm', 'test'] }, { cwd: '/srv/project/packages/a' }))
  })

  it.each<[string, string, string]>([
    ['arguments', keyOf({ argv: ['npm', 'test'] }), keyOf({ argv: ['npm', 'run', 'test'] })],
    ['the folder in the project', keyOf({ argv: ['npm', 'test'] }), keyOf({ argv: ['npm', 'test'] }, { cwd: '/srv/project/packages' })],
    ['a script and a program', keyOf({ script: 'npm test' }), keyOf({ argv: ['npm', 'test'] })],
    ['the runtime', keyOf({ script: 'print(1)', runtime: 'python' }), keyOf({ script: 'print(1)', runtime: 'node' })],
    ['the end of a long script', keyOf({ script: long('one') }), keyOf({ script: long('two') })],
  ])('differs by %s', (_, a, b) => {
    expect(a).not.toBe(b)
  })
})
