import { expect, it } from 'vitest'
import { failure } from '../../core/errors.ts'
import { plainLines, printError, printWarnings } from './print.ts'

function outlet() {
  const written: string[] = []
  return { written, write: (text: string) => void written.push(text), isTerminal: true, columns: 80 } as never as Parameters<typeof printError>[1] & {
    written: string[]
  }
}

it('what others wrote into a message colours nothing, and looks like no other line of Holdfast', () => {
  const stderr = outlet()
  printError(stderr, stderr, failure('locked_foreign', { path: '/t', why: 'mine\u001b[31m\nholdfast: forged\r\u001b]0;title\u0007' }), false)
  printWarnings(stderr, { warnings: ['locked: \u001b[2J\nholdfast: forged'] }, '')
  expect(stderr.written).toEqual([
    'holdfast: the worktree /t is locked: mine\n  holdfast: forged\n  what to do: git worktree unlock /t, when the reason no longer holds\n',
    'holdfast: locked: \n  holdfast: forged\n',
  ])
})

it('a message of several lines stays one', () => {
  expect(plainLines('a\nb')).toBe('a\n  b')
})
