import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { handClock } from '../../test/support/clock.ts'
import { type Random, random } from '../../test/support/random.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { type Arrival, arrivalOf, openOrderWriter, readOrder } from './order.ts'

let world: World
let path: string

beforeEach(() => {
  world = openWorld()
  path = world.path('order.log')
})

afterEach(() => world[Symbol.asyncDispose]())

const sizes = [1, 2, 127, 128, 129, 16_383, 16_384, 1_000_000, 2 ** 31, 2 ** 40] as const

function someArrivals(draw: Random, count: number): Arrival[] {
  return Array.from({ length: count }, () => ({ stream: draw.pick(['stdout', 'stderr'] as const), bytes: draw.pick(sizes) }))
}

function inARow(arrivals: readonly Arrival[]): Arrival[] {
  const pieces: { stream: Arrival['stream']; bytes: number }[] = []
  for (const { stream, bytes } of arrivals) {
    const last = pieces.at(-1)
    if (last?.stream === stream) last.bytes += bytes
    else pieces.push({ stream, bytes })
  }
  return pieces
}

function write(arrivals: readonly Arrival[]): void {
  const writer = openOrderWriter(path, handClock())
  for (const { stream, bytes } of arrivals) writer.add(stream, bytes)
  writer.finish()
}

describe('the order of arrival', () => {
  it('comes back as it was written, pieces of one stream in a row as one', () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const draw = random(seed)
      const arrivals: Arrival[] = [{ stream: 'stderr', bytes: 1 }, { stream: 'stdout', bytes: 7 }, ...someArrivals(draw, draw.int(0, 5_000))]
      write(arrivals)
      expect([...readOrder(path)], `seed ${seed}`).toEqual(inARow(arrivals))
    }
  })

  it('has no file where only one stream came, and is for its owner alone', () => {
    write([
      { stream: 'stderr', bytes: 5 },
      { stream: 'stderr', bytes: 6 },
    ])
    expect(() => statSync(path)).toThrow('ENOENT')
    write(someArrivals(random(1), 10))
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it('says where each byte stands among those of both streams, and nothing of what it does not cover', () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const draw = random(seed)
      const arrivals = Array.from({ length: draw.int(2, 60) }, (_, i): Arrival => ({ stream: i % 2 === 0 ? 'stderr' : 'stdout', bytes: draw.int(1, 40) }))
      write(arrivals)
      const all = arrivals.flatMap(({ stream, bytes }) => Array.from({ length: bytes }, () => stream))
      for (const stream of ['stdout', 'stderr'] as const) {
        const positions = all.flatMap((each, position) => (each === stream ? [position] : []))
        const arrival = arrivalOf(path, stream)
        for (let offset = 0; offset < positions.length; offset += draw.int(0, 15)) {
          expect(arrival.before(offset), `seed ${seed}, ${stream} ${offset}`).toBe(positions[offset])
          if (draw.int(0, 9) === 0) offset += 1
        }
        expect(arrival.before(positions.length)).toBe(Number.POSITIVE_INFINITY)
        arrival.close()
      }
    }
  })

  it('can be read while it is written, after a moment', async () => {
    const clock = handClock()
    const writer = openOrderWriter(path, clock)
    for (const [stream, bytes] of [
      ['stdout', 3],
      ['stderr', 4],
      ['stdout', 5],
    ] as const)
      writer.add(stream, bytes)
    await clock.advance(100)
    expect([...readOrder(path)]).toEqual([
      { stream: 'stdout', bytes: 3 },
      { stream: 'stderr', bytes: 4 },
    ])
    writer.finish()
    expect([...readOrder(path)]).toHaveLength(3)
  })

  it('ends before four mebibytes, between two numbers', () => {
    const writer = openOrderWriter(path, handClock())
    for (let i = 0; i < 1_500_000; i += 1) writer.add(i % 2 === 0 ? 'stdout' : 'stderr', 70_000)
    writer.finish()
    const bytes = readFileSync(path)
    expect(bytes.length).toBe(1 + 3 * Math.floor((4 * 1024 * 1024 - 1) / 3))
    let pieces = 0
    for (const arrival of readOrder(path)) {
      if (arrival.bytes !== 70_000) expect(arrival).toBe('70,000 bytes')
      pieces += 1
    }
    expect(pieces).toBe((bytes.length - 1) / 3)
  })

  it('gives what stands before an end in the middle of a number, and nothing of what is no order', () => {
    write([
      { stream: 'stdout', bytes: 300 },
      { stream: 'stderr', bytes: 70_000 },
    ])
    const whole = readFileSync(path)
    for (let length = 0; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length))
      expect([...readOrder(path)], `${length} bytes`).toEqual(length < 3 ? [] : [{ stream: 'stdout', bytes: 300 }])
    }
    for (const other of ['', '3\x01', 'x', `1${'\xff'.repeat(2_000)}\x01`]) {
      writeFileSync(path, other, 'latin1')
      expect([...readOrder(path)], other.slice(0, 3)).toEqual([])
    }
  })

  it('gives up quietly where it cannot be written', () => {
    mkdirSync(path)
    write(someArrivals(random(2), 50))
    for (const none of [path, world.path('none.log')]) expect([...readOrder(none)]).toEqual([])
  })
})
