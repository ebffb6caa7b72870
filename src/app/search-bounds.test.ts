import { describe, expect, it, vi } from 'vitest'
import type { RunRecord } from '../core/run.ts'
import { openBounds } from './search-bounds.ts'

const totals = (bytes: number): RunRecord['stdout'] => ({ bytes, lines: 1, droppedBytes: 0, gap: null })
const record = (id: string, bytes: number): RunRecord =>
  ({ id, startedAt: '2026-11-30T08:00:00.000Z', stdout: totals(bytes), stderr: totals(1) }) as unknown as RunRecord

describe('the bounds of a search', () => {
  it('say nothing where everything was looked through', () => {
    const bounds = openBounds({ maxMs: 60_000, maxReadBytes: 1_000 })
    bounds.count(1_000)
    expect([bounds.reached, bounds.readBytes, bounds.warnings()]).toEqual([false, 1_000, []])
  })

  it('say what was not there, and what could not be used, once each', () => {
    const bounds = openBounds({ maxMs: 60_000, maxReadBytes: 1_000 })
    for (const id of ['k3f9a2', 'k3f9a2', 'z81mmq']) bounds.missing(record(id, 5))
    bounds.readHere('ripgrep was ended by SIGSEGV')
    bounds.readHere('ripgrep ended with 101')
    expect(bounds.warnings()).toEqual([
      'ripgrep was ended by SIGSEGV; the logs were read without it, which takes longer',
      'not there any more, or not readable: what 2 runs printed, the newest k3f9a2',
    ])
  })

  it('are reached past so many bytes; then it is said which runs were not looked through, and how to go on', () => {
    const bounds = openBounds({ maxMs: 60_000, maxReadBytes: 1_000 })
    bounds.count(1_001)
    expect(bounds.reached).toBe(true)
    bounds.leaveOut(record('newer', 5_000))
    bounds.leaveOut(record('older', 2_000))
    bounds.leaveOutOlder()
    expect(bounds.warnings()).toEqual([
      'not looked through, after 1,000 bytes: 2 runs of 7,002 bytes and older ones, the newest newer of 2026-11-30T08:00:00.000Z; ' +
        'go on with a rarer word, or with run (one of them), since, failing or workspace',
    ])
  })

  it('are reached when the time is over, and say so', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0)
    try {
      const bounds = openBounds({ maxMs: 10_000, maxReadBytes: 1_000 })
      now.mockReturnValue(9_999)
      expect([bounds.leftMs, bounds.reached]).toEqual([1, false])
      now.mockReturnValue(12_000)
      expect([bounds.leftMs, bounds.reached]).toEqual([0, true])
      bounds.leaveOut(record('k3f9a2', 10))
      expect(bounds.warnings()).toEqual([expect.stringMatching(/^not looked through, after 10 seconds: 1 run of 11 bytes, the newest k3f9a2 /)])
    } finally {
      now.mockRestore()
    }
  })
})
