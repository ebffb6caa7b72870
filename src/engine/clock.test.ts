import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { handClock } from '../../test/support/clock.ts'
import { atDeadline, pause, systemClock, whenIdle } from './clock.ts'

it('reaches a deadline further away than one timer can', async () => {
  const clock = handClock()
  const far = 5 * 2 ** 31 + 7
  const calls: number[] = []
  atDeadline(clock, far, () => calls.push(clock.now()))
  await clock.advance(far - 1)
  expect(calls).toEqual([])
  await clock.advance(1)
  expect(calls).toEqual([far])
  expect(clock.pending()).toBe(0)
})

it('forgets a deadline that was canceled, also after it was armed again', async () => {
  const clock = handClock()
  let calls = 0
  const cancel = atDeadline(clock, 3 * 2 ** 31, () => {
    calls += 1
  })
  await clock.advance(2 ** 31)
  cancel()
  expect(clock.pending()).toBe(0)
  await clock.advance(4 * 2 ** 31)
  expect(calls).toBe(0)
})

it('calls after a full silence, counted from the last touch, and once', async () => {
  const clock = handClock()
  const calls: [number, number][] = []
  const idle = whenIdle(clock, 100, (silentMs) => calls.push([clock.now(), silentMs]))
  for (let i = 0; i < 10; i += 1) {
    await clock.advance(60)
    idle.touch()
  }
  expect(calls).toEqual([])
  await clock.advance(99)
  expect(calls).toEqual([])
  await clock.advance(1_000)
  expect(calls).toEqual([[700, 100]])
  expect(clock.pending()).toBe(0)
})

it('arms no timer for a touch', () => {
  const clock = handClock()
  const idle = whenIdle(clock, 100, () => {})
  for (let i = 0; i < 1_000; i += 1) idle.touch()
  expect(clock.pending()).toBe(1)
  idle.cancel()
  expect(clock.pending()).toBe(0)
})

it('ends a pause with any of its signals and leaves no listener and no timer', async () => {
  const clock = handClock()
  const [a, b] = [new AbortController(), new AbortController()]
  const paused = pause(clock, 1_000, a.signal, undefined, b.signal)
  b.abort()
  await paused
  expect(clock.pending()).toBe(0)
  await pause(clock, 1_000, a.signal, b.signal)
  expect(clock.pending()).toBe(0)
})

it('lets bytes that came while the loop was busy in before it calls', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sending = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [[receiving]] = (await Promise.all([once(server, 'connection'), once(sending, 'connect')])) as [[Socket], unknown]
  const order: string[] = []
  const heard = once(receiving, 'data').then(() => order.push('bytes'))
  // From here the loop goes on to its timers first and asks for bytes after that.
  await new Promise<void>((resolve) => setImmediate(resolve))
  const called = new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      order.push('call')
      resolve()
    })
  })
  sending.write('still here')
  for (const until = performance.now() + 50; performance.now() < until; );
  await Promise.all([heard, called])
  expect(order).toEqual(['bytes', 'call'])
  sending.destroy()
  receiving.destroy()
  server.close()
})

it('does not look at the wall clock', () => {
  const before = systemClock.now()
  const now = Date.now
  try {
    Date.now = () => now() + 8 * 3_600_000
    expect(systemClock.now() - before).toBeLessThan(3_600_000)
    expect(systemClock.now()).toBeGreaterThanOrEqual(before)
  } finally {
    Date.now = now
  }
})
