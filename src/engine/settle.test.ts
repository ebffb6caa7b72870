import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { handClock } from '../../test/support/clock.ts'
import { random } from '../../test/support/random.ts'
import { type ScriptedRunning, scriptedRunning } from '../../test/support/scripted-running.ts'
import type { Limits } from '../core/limits.ts'
import { type Ending, watch } from './settle.ts'

const limits: Limits = { timeoutMs: 10_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 1_024 }

const ended = (_name: NodeJS.Signals, running: ScriptedRunning): void => running.exit({ signal: 'SIGTERM', number: 15 })

function begin(running: ScriptedRunning, options: { limits?: Partial<Limits>; leftovers?: 'report' | 'kill'; hurry?: AbortSignal; held?: boolean } = {}) {
  const clock = handClock()
  const cancel = new AbortController()
  let closed = (): void => {}
  const outputEnded = new Promise<void>((resolve) => {
    closed = resolve
  })
  // By default the streams close with the first process.
  if (!options.held) {
    running.ended.then(
      () => closed(),
      () => closed(),
    )
  }
  const watching = watch({
    running,
    limits: { ...limits, ...options.limits },
    leftovers: options.leftovers ?? 'report',
    signal: cancel.signal,
    hurry: options.hurry,
    clock,
    outputEnded,
  })
  const endings: Ending[] = []
  void watching.settled.then((ending) => endings.push(ending))
  return { clock, cancel, watching, endings, closed }
}

describe('settling a run', () => {
  it('lets the first cause win, whatever else happens, and leaves nothing behind', async () => {
    for (let seed = 0; seed < 10_000; seed += 1) {
      const draw = random(seed)
      const at = { exit: draw.int(1, 12), abort: draw.int(1, 12), timeoutMs: draw.int(1, 12), idleTimeoutMs: draw.int(1, 12) }
      const prints = Array.from({ length: draw.int(0, 4) }, () => draw.int(1, 12)).sort((a, b) => a - b)
      const clock = handClock()
      const cancel = new AbortController()
      const running = scriptedRunning({ onSignal: ended })
      // Armed first: of what falls into the same moment, these come first, in this order.
      for (const time of prints) clock.after(time, () => watching.touch())
      clock.after(at.exit, () => running.exit({ exitCode: 0 }))
      clock.after(at.abort, () => cancel.abort())
      const watching = watch({
        running,
        limits: { ...limits, timeoutMs: at.timeoutMs, idleTimeoutMs: at.idleTimeoutMs },
        leftovers: 'report',
        signal: cancel.signal,
        clock,
        outputEnded: running.ended.then(() => {}),
      })
      let times = 0
      let ending: Ending | undefined
      void watching.settled.then((value) => {
        times += 1
        ending = value
      })
      await clock.advance(30)

      let last = 0
      for (const time of prints) if (time <= last + at.idleTimeoutMs) last = time
      const moments = [at.exit, at.abort, at.timeoutMs, last + at.idleTimeoutMs]
      const winner = (['exit', 'canceled', 'wall', 'idle'] as const)[moments.indexOf(Math.min(...moments))]
      const actual = ending?.cut?.kind === 'timed_out' ? ending.cut.limit : (ending?.cut?.kind ?? 'exit')
      expect([times, actual], `seed ${seed}: ${JSON.stringify({ ...at, prints })}`).toEqual([1, winner])
      expect(running.signals, `seed ${seed}`).toEqual(winner === 'exit' ? [] : ['SIGTERM'])
      expect([clock.pending(), getEventListeners(cancel.signal, 'abort').length, running.released()], `seed ${seed}`).toEqual([0, 0, true])
    }
  }, 120_000)

  it('sticks to one cause where several come in the same moment', async () => {
    const running = scriptedRunning()
    const { clock, cancel, watching, endings } = begin(running)
    cancel.abort()
    running.exit({ exitCode: 0 })
    expect(watching.cut()).toBe(true)
    await clock.advance(5_000)
    expect(watching.cut()).toBe(true)
    expect(endings).toEqual([{ cut: { kind: 'canceled' }, status: { exitCode: 0 }, leftovers: [], notes: [] }])
  })

  it('ignores a cut that comes after the exit, while the output is still drained', async () => {
    const running = scriptedRunning()
    const { clock, cancel, endings } = begin(running, { held: true })
    running.exit({ exitCode: 3 })
    await clock.advance(20)
    expect(endings).toEqual([])
    cancel.abort()
    await clock.advance(10_000)
    expect(endings).toEqual([{ cut: undefined, status: { exitCode: 3 }, leftovers: [], notes: [] }])
    expect(running.signals).toEqual([])
  })

  it('waits after the exit for what the pipe still holds, as long as bytes come, and no longer than a second', async () => {
    const running = scriptedRunning()
    const { clock, watching, endings } = begin(running, { held: true })
    running.exit({ exitCode: 0 })
    for (let i = 0; i < 50; i += 1) {
      await clock.advance(19)
      watching.touch()
    }
    expect(endings).toEqual([])
    for (let i = 0; i < 10; i += 1) {
      await clock.advance(19)
      watching.touch()
    }
    expect(endings.length).toBe(1)
    expect(clock.pending()).toBe(0)
  })

  it('waits after the exit for a process that did not have its turn yet, and no longer than a second', async () => {
    let busy = true
    const running = scriptedRunning({ busy: () => busy })
    const { clock, watching, endings } = begin(running, { held: true })
    running.exit({ exitCode: 0 })
    await clock.advance(500)
    expect(endings).toEqual([])
    watching.touch()
    busy = false
    await clock.advance(39)
    expect(endings).toEqual([])
    await clock.advance(60)
    expect(endings.length).toBe(1)
    const other = scriptedRunning({ busy: () => true })
    const waiting = begin(other, { held: true })
    other.exit({ exitCode: 0 })
    await waiting.clock.advance(1_100)
    expect(waiting.endings.length).toBe(1)
  })

  it('takes an answer that comes late for as true as one that comes at once', async () => {
    const running = scriptedRunning({})
    const { clock, endings } = begin(running, { held: true })
    let asked = 0
    const busy = async (): Promise<boolean> => {
      asked += 1
      await new Promise<void>((resolve) => void clock.after(2_000, resolve))
      return asked === 1
    }
    Object.assign(running, { busy })
    running.exit({ exitCode: 0 })
    await clock.advance(2_500)
    expect([asked, endings]).toEqual([2, []])
    await clock.advance(2_100)
    expect(endings.length).toBe(1)
  })

  it('goes from the polite signal to the one that cannot be refused only after the grace', async () => {
    const running = scriptedRunning({ onSignal: (name, self) => (name === 'SIGKILL' ? self.exit({ signal: 'SIGKILL', number: 9 }) : undefined) })
    const { clock, endings } = begin(running, { limits: { timeoutMs: 100, graceMs: 700 } })
    await clock.advance(799)
    expect(running.signals).toEqual(['SIGTERM'])
    await clock.advance(1)
    expect(running.signals).toEqual(['SIGTERM', 'SIGKILL'])
    expect(endings).toMatchObject([{ cut: { kind: 'timed_out', limit: 'wall', afterMs: 100 }, status: { signal: 'SIGKILL' }, leftovers: [], notes: [] }])
  })

  it('begins with the signal that whoever cancels names', async () => {
    for (const [reason, first] of [
      [{ signal: 'SIGINT' }, 'SIGINT'],
      [undefined, 'SIGTERM'],
      [null, 'SIGTERM'],
      ['a text', 'SIGTERM'],
    ] as const) {
      const running = scriptedRunning({ onSignal: ended })
      const { clock, cancel } = begin(running)
      cancel.abort(reason)
      await clock.advance(100)
      expect(running.signals).toEqual([first])
    }
  })

  it('cuts the grace short for whoever has to go', async () => {
    const hurry = new AbortController()
    const running = scriptedRunning({ onSignal: (name, self) => (name === 'SIGKILL' ? self.exit({ signal: 'SIGKILL', number: 9 }) : undefined) })
    const { clock, cancel, endings } = begin(running, { limits: { graceMs: 60_000 }, hurry: hurry.signal })
    cancel.abort()
    await clock.advance(100)
    expect(running.signals).toEqual(['SIGTERM'])
    hurry.abort()
    await clock.advance(1)
    expect(endings.length).toBe(1)
    expect([running.signals, clock.pending(), getEventListeners(hurry.signal, 'abort').length]).toEqual([['SIGTERM', 'SIGKILL'], 0, 0])
  })

  it('settles within its bounds where a tree never goes away, names what is left and says that its end is not confirmed', async () => {
    const running = scriptedRunning({ onSignal: ended, tree: () => [{ pid: 4_711, name: 'stubborn' }] })
    const { clock, endings } = begin(running, { limits: { timeoutMs: 100 } })
    await clock.advance(100 + 2_000 + 2_000 + 1_000 + 100)
    expect(endings).toMatchObject([
      {
        cut: { kind: 'timed_out' },
        leftovers: [{ pid: 4_711, name: 'stubborn' }],
        notes: ['the end of process 4711 could not be confirmed after SIGKILL'],
      },
    ])
    expect(clock.pending()).toBe(0)
  })

  it('settles within its bounds where the first process itself never ends, and invents no exit code', async () => {
    const running = scriptedRunning()
    const { clock, cancel, endings } = begin(running)
    cancel.abort()
    await clock.advance(2_000 + 2_000 + 2_000 + 1_000 + 100)
    expect(endings).toEqual([
      { cut: { kind: 'canceled' }, status: undefined, leftovers: [], notes: ['the end of the command could not be confirmed after SIGKILL'] },
    ])
    expect(clock.pending()).toBe(0)
  })

  it('does not take a tree for gone that cannot be looked at', async () => {
    const running = scriptedRunning({ onSignal: ended, tree: () => undefined })
    const { clock, cancel, endings } = begin(running)
    cancel.abort()
    await clock.advance(10_000)
    expect(running.signals[1]).toBe('SIGKILL')
    expect(endings).toMatchObject([{ leftovers: [], notes: ['the end of the command could not be confirmed after SIGKILL'] }])
  })

  it('goes on with the ladder where a signal or a look fails, and tells it once', async () => {
    let looks = 0
    const running = scriptedRunning({
      onSignal(name, self) {
        if (name === 'SIGTERM') throw new Error('EMFILE')
        self.exit({ signal: 'SIGKILL', number: 9 })
      },
      tree() {
        looks += 1
        if (looks < 3) throw new Error('EMFILE')
        return []
      },
    })
    const { clock, cancel, endings } = begin(running)
    cancel.abort()
    await clock.advance(10_000)
    expect(running.signals.slice(0, 2)).toEqual(['SIGTERM', 'SIGKILL'])
    expect(endings).toEqual([
      {
        cut: { kind: 'canceled' },
        status: { signal: 'SIGKILL', number: 9 },
        leftovers: [],
        notes: ['SIGTERM could not be sent: EMFILE', 'the processes of the command could not be listed: EMFILE'],
      },
    ])
  })

  it('settles without a status where contact is lost', async () => {
    const running = scriptedRunning()
    const { clock, endings } = begin(running)
    running.loseContact()
    await clock.advance(2_000)
    expect(endings).toEqual([{ cut: undefined, status: undefined, leftovers: [], notes: [] }])
    expect(running.signals).toEqual([])
  })

  it('settles where letting go fails', async () => {
    const running = scriptedRunning()
    running.release = () => {
      throw new Error('no')
    }
    const { clock, endings } = begin(running)
    running.exit({ exitCode: 0 })
    await clock.advance(2_000)
    expect(endings).toMatchObject([{ status: { exitCode: 0 }, notes: ['the command could not be let go of: no'] }])
  })

  it('reports what outlives a normal end, or ends it, as asked', async () => {
    for (const leftovers of ['report', 'kill'] as const) {
      let alive = true
      const running = scriptedRunning({
        onSignal: () => {
          alive = false
        },
        tree: () => (alive ? [{ pid: 7, name: 'server' }] : []),
      })
      const { clock, endings } = begin(running, { leftovers })
      running.exit({ exitCode: 0 })
      await clock.advance(5_000)
      expect(endings).toEqual([{ cut: undefined, status: { exitCode: 0 }, leftovers: leftovers === 'kill' ? [] : [{ pid: 7, name: 'server' }], notes: [] }])
      expect(running.signals).toEqual(leftovers === 'kill' ? ['SIGTERM'] : [])
    }
  })

  it('keeps limits that are longer than a timer can be', async () => {
    const day = 24 * 3_600_000
    const running = scriptedRunning({ onSignal: ended })
    const { clock, endings } = begin(running, { limits: { timeoutMs: 90 * day, idleTimeoutMs: 60 * day } })
    await clock.advance(60 * day - 1)
    expect(endings).toEqual([])
    await clock.advance(1_000)
    expect(endings).toMatchObject([{ cut: { kind: 'timed_out', limit: 'idle' } }])
    expect(clock.pending()).toBe(0)
  })
})
