import { describe, expect, it } from 'vitest'
import { fakeRun } from '../../../test/support/fake-cli.ts'
import { failure } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import { exitOfError, exitOfRun, exitOfSignal } from './exit-codes.ts'

const ended = (outcome: Partial<Outcome>) => fakeRun({ outcome: { kind: 'exited', exitCode: null, signal: null, limit: null, ...outcome } })

describe('the exit status', () => {
  it.each([
    ['a clean end', ended({ exitCode: 0 }), 0],
    ['an exit code of its own', ended({ exitCode: 7 }), 7],
    ['an end by a signal', ended({ kind: 'signaled', exitCode: 137, signal: 'SIGKILL' }), 137],
    ['an end by a signal whose number is not told', ended({ kind: 'signaled', signal: 'SIGSEGV' }), 139],
    ['a time-out', ended({ kind: 'timed_out', exitCode: 0, limit: 'wall' }), 124],
    ['a canceled command that ended with 0', ended({ kind: 'canceled', exitCode: 0 }), 143],
    ['a canceled command', ended({ kind: 'canceled', exitCode: 130, signal: 'SIGINT' }), 130],
    ['lost contact', ended({ kind: 'lost' }), 125],
    ['a run that goes on', fakeRun({ state: 'running', outcome: null }), 0],
    ['an interrupted run', fakeRun({ state: 'interrupted', outcome: null }), 125],
    ['a run that never started', fakeRun({ state: 'failed', outcome: null, error: failure('program_missing', { program: 'x' }).toJSON() }), 127],
  ])('of %s', (_, run, code) => {
    expect(exitOfRun(run)).toBe(code)
  })

  it('of an error is 125, besides 126 and 127 as shells have them', () => {
    expect(exitOfError(failure('run_not_found', { run: 'x' }))).toBe(125)
    expect(exitOfError(failure('program_not_executable', { program: 'x' }))).toBe(126)
    expect(exitOfError(failure('program_missing', { program: 'x' }))).toBe(127)
    expect(exitOfError(failure('runtime_missing', { runtime: 'x', program: 'x' }))).toBe(127)
  })

  it('of a signal is 128 and its number', () => {
    expect(exitOfSignal('SIGINT')).toBe(130)
  })
})
