import { describe, expect, it } from 'vitest'
import { type HandClock, handClock, turn } from '../../test/support/clock.ts'
import { type RetryPolicy, type RetryState, retry } from './retry.ts'

const start = Date.parse('2026-11-30T12:00:00Z')
const failing = { overloaded: { status: 529, body: 'Overloaded' }, key: { status: 401, body: 'invalid x-api-key' } }

interface Played {
  readonly clock: HandClock
  readonly calls: number[]
  readonly waits: number[]
  readonly states: RetryState[]
  readonly result: Promise<unknown>
  settled: 'no' | 'resolved' | 'rejected'
}

/** Plays `retry` on a clock that stands still; the errors are thrown one after the other, then it resolves. */
function play(errors: readonly unknown[], policy: RetryPolicy = {}, clock = handClock(start)): Played {
  const calls: number[] = []
  const waits: number[] = []
  const states: RetryState[] = []
  const result = retry(
    ({ attempt }) => {
      calls.push(attempt)
      const error = errors[calls.length - 1]
      if (error !== undefined) throw error
      return 'done'
    },
    { clock, jitter: 'none', onWait: ({ delayMs }) => waits.push(delayMs), onState: (state) => void states.push(state), ...policy },
  )
  const played: Played = { clock, calls, waits, states, result, settled: 'no' }
  result.then(
    () => {
      played.settled = 'resolved'
    },
    () => {
      played.settled = 'rejected'
    },
  )
  return played
}

const repeat = (error: unknown, times: number): unknown[] => Array.from({ length: times }, () => error)

describe('retry', () => {
  it('waits twice as long after each failure, and resolves to what the function does', async () => {
    const played = play(repeat(failing.overloaded, 3))
    await played.clock.advance(1_000)
    await played.clock.advance(1_999)
    expect(played.calls).toEqual([1, 2])
    await played.clock.advance(1)
    await played.clock.advance(4_000)
    expect(await played.result).toBe('done')
    expect(played.waits).toEqual([1_000, 2_000, 4_000])
  })

  it('throws at once, and as it came, what waiting does not help', async () => {
    const played = play([failing.key])
    await expect(played.result).rejects.toBe(failing.key)
    expect([played.calls, played.waits]).toEqual([[1], []])
    expect(played.states).toEqual([{ attempts: 1, waitedMs: 0, nextAtMs: null }])
  })

  it('waits as long as the provider says', async () => {
    const played = play([{ status: 429, headers: { 'retry-after': '90' } }])
    await played.clock.advance(89_999)
    expect(played.calls).toEqual([1])
    await played.clock.advance(1)
    expect(await played.result).toBe('done')
  })

  it('gives up where the stated wait is longer than a wait may be, and leaves when to come back', async () => {
    const error = { status: 429, headers: { 'retry-after': '3600' } }
    const played = play([error])
    await expect(played.result).rejects.toBe(error)
    expect(played.states).toEqual([{ attempts: 1, waitedMs: 0, nextAtMs: start + 3_600_000 }])
  })

  it('calls no more often than it may', async () => {
    const played = play(repeat(failing.overloaded, 9), { maxAttempts: 3 })
    await played.clock.advance(60_000)
    await expect(played.result).rejects.toBe(failing.overloaded)
    expect(played.calls).toEqual([1, 2, 3])
  })

  it('begins no wait that would end after the total time', async () => {
    const played = play(repeat(failing.overloaded, 9), { maxAttempts: 99, maxTotalMs: 7_000 })
    await played.clock.advance(60_000)
    expect(played.settled).toBe('rejected')
    expect(played.waits).toEqual([1_000, 2_000, 4_000])
  })

  it('makes no wait of its own longer than a wait may be', async () => {
    const played = play(repeat(failing.overloaded, 5), { maxAttempts: 9, maxDelayMs: 3_000 })
    await played.clock.advance(60_000)
    expect(played.waits).toEqual([1_000, 2_000, 3_000, 3_000, 3_000])
  })

  it.each([
    ['full', 0, [0, 0, 0]],
    ['full', 0.5, [500, 1_000, 2_000]],
    ['decorrelated', 0, [1_000, 1_000, 1_000]],
    ['decorrelated', 0.5, [1_000, 2_000, 3_500]],
  ] as const)('draws its waits with %s jitter at %d', async (jitter, drawn, waits) => {
    const played = play(repeat(failing.overloaded, 3), { jitter, random: () => drawn })
    for (let i = 0; i < 4; i += 1) await played.clock.advance(5_000)
    expect(await played.result).toBe('done')
    expect(played.waits).toEqual(waits)
  })

  it('adds a little to a stated wait and takes nothing from it', async () => {
    const played = play(
      [
        { status: 429, headers: { 'retry-after': '60' } },
        { status: 429, headers: { 'retry-after': '2' } },
      ],
      { jitter: 'full', random: () => 0.5 },
    )
    await played.clock.advance(60_500)
    await played.clock.advance(2_100)
    expect(await played.result).toBe('done')
    expect(played.waits).toEqual([60_500, 2_100])
  })

  it('ends a wait with the reason of the signal, and leaves no timer', async () => {
    const controller = new AbortController()
    const played = play(repeat(failing.overloaded, 2), { signal: controller.signal })
    await turn()
    expect(played.clock.pending()).toBe(1)
    controller.abort(new Error('no longer wanted'))
    await expect(played.result).rejects.toThrow('no longer wanted')
    expect([played.calls, played.clock.pending()]).toEqual([[1], 0])
  })

  it('calls nothing where the signal was aborted before', async () => {
    const played = play([], { signal: AbortSignal.abort(new Error('too late')) })
    await expect(played.result).rejects.toThrow('too late')
    expect(played.calls).toEqual([])
  })

  it('goes on from a stored state: the calls and waits before count, and the next call comes when it is due', async () => {
    const first = play(repeat(failing.overloaded, 9), { maxAttempts: 4 })
    await first.clock.advance(1_000)
    const stored = JSON.parse(JSON.stringify(first.states.at(-1))) as RetryState
    expect(stored).toEqual({ attempts: 2, waitedMs: 1_000, nextAtMs: start + 3_000 })
    const second = play(repeat(failing.overloaded, 9), { maxAttempts: 4, state: stored }, handClock(start + 1_500))
    await second.clock.advance(1_499)
    expect(second.calls).toEqual([])
    await second.clock.advance(1)
    expect(second.calls).toEqual([3])
    await second.clock.advance(60_000)
    await expect(second.result).rejects.toBe(failing.overloaded)
    expect(second.calls).toEqual([3, 4])
    expect(second.states.at(-1)).toEqual({ attempts: 4, waitedMs: 6_500, nextAtMs: null })
  })

  it('is not held by a state whose next call lies in a far future', async () => {
    const played = play([], { maxDelayMs: 10_000, state: { attempts: 1, waitedMs: 0, nextAtMs: start + 1e10 } })
    await played.clock.advance(10_000)
    expect(await played.result).toBe('done')
  })

  it('goes on where the state cannot be stored and the listener throws', async () => {
    const fail = (): never => {
      throw new Error('disk full')
    }
    const played = play([failing.overloaded], { onState: fail, onWait: fail })
    await played.clock.advance(1_000)
    expect(await played.result).toBe('done')
  })

  it('waits longer than one timer can', async () => {
    const month = 30 * 86_400_000
    const played = play([{ status: 429, headers: { 'retry-after': String(month / 1_000) } }], { maxDelayMs: month, maxTotalMs: month })
    await played.clock.advance(month - 1)
    expect(played.calls).toEqual([1])
    await played.clock.advance(1)
    expect(await played.result).toBe('done')
  })

  it.each([
    [{ maxAttempts: 0 }, 'maxAttempts'],
    [{ maxTotalMs: Number.NaN }, 'maxTotalMs'],
    [{ baseDelayMs: -1 }, 'baseDelayMs'],
    [{ state: { attempts: 5, waitedMs: 0, nextAtMs: null } }, 'state.attempts'],
    [{ state: { attempts: 0, waitedMs: Number.NaN, nextAtMs: null } }, 'state.waitedMs'],
  ] as const)('refuses the policy %j', async (policy, field) => {
    await expect(retry(() => 'done', policy)).rejects.toMatchObject({ code: 'invalid_argument', details: { field } })
  })
})
