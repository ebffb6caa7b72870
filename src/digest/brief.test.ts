import { describe, expect, it } from 'vitest'
import { byteLength } from '../core/text.ts'
import { briefOutcome } from './brief.ts'

describe('how a run ended, in few bytes', () => {
  it.each([
    ['exit 1 (failed)', 15, 'exit 1 (failed)'],
    ['exit 1 (failed)', 14, 'exit 1'],
    ['exit 1 (failed)', 7, 'exit 1'],
    ['exit 1 (failed)', 5, '1'],
    ['exit 137 (failed)', 7, '137'],
    ['exit 137 (failed)', 2, ''],
    ['exit 0', 3, '0'],
    ['exit code unknown (failed)', 20, 'exit code unknown'],
    ['ended by SIGSEGV (exit 139)', 26, 'ended by SIGSEGV'],
    ['ended by SIGSEGV (exit 139)', 12, 'SIGSEGV'],
    ['ended by SIGSEGV (exit 139)', 3, 'SIG'],
    ['timed out after 30 s, ended by SIGTERM', 30, 'timed out after 30 s'],
    ['timed out after 30 s, ended by SIGTERM', 18, 'timed out'],
    ['timed out after 2.3 s (no output for 5 s)', 12, 'timed out'],
    ['lost contact with the command; it may still run', 30, 'lost contact with the command'],
    ['lost contact with the command; it may still run', 14, 'lost contact'],
    ['still running after 2.3 s', 14, 'still running'],
    ['failed to start: there is no program', 15, 'failed to start'],
  ])('of "%s" in %i bytes is "%s"', (words, bytes, expected) => {
    expect(briefOutcome(words, bytes)).toBe(expected)
  })

  it('is never longer than asked, and never half a number', () => {
    for (let bytes = 0; bytes < 30; bytes += 1) {
      const brief = briefOutcome('exit 101 (failed)', bytes)
      expect(byteLength(brief)).toBeLessThanOrEqual(bytes)
      expect(brief === '' || brief.includes('101')).toBe(true)
    }
  })
})
