import { describe, expect, it } from 'vitest'
import { isSuccess, toOutcome } from './outcome.ts'

describe('toOutcome', () => {
  it.each([
    ['an exit', undefined, { exitCode: 3 }, { kind: 'exited', exitCode: 3, signal: null, limit: null }],
    ['a signal', undefined, { signal: 'SIGSEGV', number: 11 }, { kind: 'signaled', exitCode: 139, signal: 'SIGSEGV', limit: null }],
    ['a signal without a number', undefined, { signal: 'SIGX', number: undefined }, { kind: 'signaled', exitCode: null, signal: 'SIGX', limit: null }],
    ['lost contact', undefined, undefined, { kind: 'lost', exitCode: null, signal: null, limit: null }],
    [
      'a time-out',
      { kind: 'timed_out', limit: 'idle', afterMs: 5 },
      { signal: 'SIGTERM', number: 15 },
      { kind: 'timed_out', exitCode: 143, signal: 'SIGTERM', limit: 'idle' },
    ],
    [
      'a time-out that exits by itself',
      { kind: 'timed_out', limit: 'wall', afterMs: 5 },
      { exitCode: 0 },
      { kind: 'timed_out', exitCode: 0, signal: null, limit: 'wall' },
    ],
    ['a cancellation without a confirmed end', { kind: 'canceled' }, undefined, { kind: 'canceled', exitCode: null, signal: null, limit: null }],
  ] as const)('tells %s', (_, cut, status, outcome) => {
    expect(toOutcome(cut, status)).toEqual(outcome)
  })

  it('is a success only for an exit with 0 by itself', () => {
    expect(isSuccess(toOutcome(undefined, { exitCode: 0 }))).toBe(true)
    expect(isSuccess(toOutcome(undefined, { exitCode: 1 }))).toBe(false)
    expect(isSuccess(toOutcome({ kind: 'canceled' }, { exitCode: 0 }))).toBe(false)
    expect(isSuccess(null)).toBe(false)
  })
})
