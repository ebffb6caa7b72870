import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { chunksOf, expectExact, lineCount, someText } from '../../test/support/logs.ts'
import { random } from '../../test/support/random.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { findPieces, measureLog, readBlocks } from './log-reader.ts'
import { gapMarker, openLogWriter } from './output.ts'

// What the writer does to the disk goes through here, so that a test can look after every single step, and can be a full disk.
const disk = vi.hoisted(() => ({
  changed: (): void => {},
  roomFor: (_bytes: number): number => Number.POSITIVE_INFINITY,
}))

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>()
  return {
    ...fs,
    openSync(...args: Parameters<typeof fs.openSync>) {
      const descriptor = fs.openSync(...args)
      if (args[1] !== 'r') disk.changed()
      return descriptor
    },
    writeSync(descriptor: number, bytes: Uint8Array, offset: number, length: number) {
      const room = disk.roomFor(length)
      if (room <= 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      const written = fs.writeSync(descriptor, bytes, offset, Math.min(length, room))
      disk.changed()
      return written
    },
    unlinkSync(path: string) {
      fs.unlinkSync(path)
      disk.changed()
    },
  }
})

let world: World
let folder: string
let log: string

beforeEach(() => {
  world = openWorld()
  folder = world.path('logs')
  log = join(folder, 'stdout.log')
  mkdirSync(folder)
})

afterEach(async () => {
  disk.changed = () => {}
  disk.roomFor = () => Number.POSITIVE_INFINITY
  await world[Symbol.asyncDispose]()
})

function freshFolder(): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
}

const bytesOnDisk = (): number => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

describe('the log of a stream', () => {
  it('is the stream, byte for byte, up to its limit', () => {
    const draw = random(1)
    for (const limit of [1_024, 1_025, 4_096, 100_000]) {
      for (const length of [0, 1, limit / 2, limit - 1, limit]) {
        freshFolder()
        const stream = someText(draw, Math.floor(length))
        const writer = openLogWriter(log, limit)
        for (const chunk of chunksOf(draw, stream, 700)) writer.write(chunk)
        expect(writer.finish()).toEqual({ bytes: stream.length, lines: lineCount(stream), droppedBytes: 0, gap: null })
        writer.recorded()
        // A stream without a byte needs no file.
        expect(readdirSync(folder)).toEqual(length === 0 ? [] : ['stdout.log'])
        if (length > 0) expect(readFileSync(log).equals(stream)).toBe(true)
      }
    }
  })

  it('keeps exact slices of head and tail past its limit and never takes a tenth more of the disk, whatever comes', () => {
    for (let seed = 0; seed < 120; seed += 1) {
      const draw = random(seed)
      freshFolder()
      const limit = draw.pick([1_024, 1_025, 1_100, 2_000, 4_096, 10_007, 65_536])
      const stream = someText(draw, draw.int(0, limit * draw.pick([1, 2, 6])))
      let most = 0
      disk.changed = () => {
        most = Math.max(most, bytesOnDisk())
      }
      const writer = openLogWriter(log, limit)
      let written = 0
      for (const chunk of chunksOf(draw, stream, draw.pick([limit / 64, limit / 8, limit, 70_000]))) {
        writer.write(chunk)
        written += chunk.length
        if (draw.int(0, 29) === 0) expectExact(stream.subarray(0, written), writer.totals(), log)
      }
      const before = writer.totals()
      const after = writer.finish()
      writer.recorded()
      disk.changed = () => {}
      expect(after, `seed ${seed}`).toEqual(before)
      expectExact(stream, after, log)
      expect(most, `seed ${seed}, limit ${limit}`).toBeLessThanOrEqual(limit * 1.1)
      if (stream.length > limit) expect(stream.length - after.droppedBytes, `seed ${seed}`).toBeGreaterThan(limit * 0.8)
      expect(readdirSync(folder)).toEqual(['stdout.log'])
    }
  })

  it('states the gap in a line of its own between head and tail', () => {
    const writer = openLogWriter(log, 1_024)
    for (let i = 0; i < 1_000; i += 1) writer.write(Buffer.from(`line ${i}\n`))
    const { gap } = writer.finish()
    const { offset, bytes, lines, markerBytes } = gap as NonNullable<typeof gap>
    expect(
      readFileSync(log)
        .subarray(offset, offset + markerBytes)
        .toString(),
    ).toBe(gapMarker(bytes, lines, offset))
    expect(gapMarker(1_234_567, 8, 512)).toBe('\n[holdfast: 1,234,567 bytes with 8 line ends left out from offset 512]\n')
  })

  it('can be read after a kill at any moment until its totals are on record, also while head and tail are being joined', () => {
    for (let seed = 0; seed < 8; seed += 1) {
      const draw = random(1_000 + seed)
      freshFolder()
      const limit = draw.pick([1_024, 2_000])
      const stream = someText(draw, draw.int(limit / 2, limit * 3))
      const copies = world.path('copies')
      let moments = 0
      const snapshot = (): void => {
        cpSync(folder, join(copies, String(moments)), { recursive: true })
        moments += 1
      }
      const writer = openLogWriter(log, limit)
      for (const chunk of chunksOf(draw, stream, 300)) writer.write(chunk)
      snapshot()
      disk.changed = snapshot
      const { droppedBytes } = writer.finish()
      disk.changed = () => {}
      for (let i = 0; i < moments; i += 1) {
        const copy = join(copies, String(i), 'stdout.log')
        const totals = measureLog(copy)
        expect(totals.droppedBytes, `seed ${seed}, moment ${i}`).toBe(droppedBytes)
        expectExact(stream, totals, copy)
      }
      rmSync(copies, { recursive: true })
    }
  })

  it('keeps and tells exactly what a disk took that became full, at any moment', () => {
    for (let seed = 0; seed < 120; seed += 1) {
      const draw = random(2_000 + seed)
      freshFolder()
      const limit = draw.pick([1_024, 4_096, 10_007])
      const stream = someText(draw, draw.int(limit / 4, limit * 4))
      const room = draw.int(0, limit + 60)
      disk.roomFor = () => room - bytesOnDisk()
      const writer = openLogWriter(log, limit)
      for (const chunk of chunksOf(draw, stream, draw.pick([100, 3_000]))) writer.write(chunk)
      const totals = writer.finish()
      writer.recorded()
      disk.roomFor = () => Number.POSITIVE_INFINITY
      expectExact(stream, totals, log)
      if (totals.droppedBytes > 0 && stream.length <= limit) expect(writer.failure(), `seed ${seed}`).toBe('ENOSPC')
      if (writer.failure() === undefined) expect(readdirSync(folder)).toEqual(['stdout.log'])
    }
  })

  it('keeps the tail in its segments where a full disk has no room to join them', () => {
    const writer = openLogWriter(log, 1_024)
    const stream = someText(random(5), 5_000)
    writer.write(stream)
    disk.roomFor = () => 0
    const totals = writer.finish()
    disk.roomFor = () => Number.POSITIVE_INFINITY
    expect(writer.failure()).toBe('ENOSPC')
    expectExact(stream, totals, log)
    expect(stream.length - totals.droppedBytes).toBeGreaterThan(800)
  })

  it('keeps what fits on a disk that is really full', (test) => {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
    if (mounted.status !== 0) return test.skip(`no small disk can be mounted here: ${String(mounted.stderr).trim()}`)
    try {
      for (const limit of [1_000_000, 80_000]) {
        const stream = someText(random(6), 400_000)
        const writer = openLogWriter(log, limit)
        for (const chunk of chunksOf(random(7), stream, 5_000)) writer.write(chunk)
        const totals = writer.finish()
        expect(writer.failure()).toBe('ENOSPC')
        expectExact(stream, totals, log)
        expect(stream.length - totals.droppedBytes).toBeGreaterThan(30_000)
        for (const name of readdirSync(folder)) rmSync(join(folder, name))
      }
    } finally {
      spawnSync('umount', ['-l', folder])
    }
  })

  it('counts what a device takes nothing of', (test) => {
    if (!existsSync('/dev/full')) return test.skip('no /dev/full here')
    const writer = openLogWriter('/dev/full', 1_024)
    writer.write(Buffer.from('one\ntwo'))
    expect(writer.finish()).toMatchObject({ bytes: 7, lines: 2, droppedBytes: 7, gap: { offset: 0, bytes: 7, lines: 1, markerBytes: 0 } })
    expect([writer.failure(), Buffer.from(writer.recent()).toString()]).toEqual(['ENOSPC', 'one\ntwo'])
  })

  it('counts and remembers where it cannot be made at all', () => {
    const writer = openLogWriter(join(folder, 'gone', 'stdout.log'), 1_024)
    writer.write(Buffer.from('one\n'))
    expect(writer.finish()).toEqual({ bytes: 4, lines: 1, droppedBytes: 4, gap: { offset: 0, bytes: 4, lines: 1, markerBytes: 0 } })
    expect([writer.failure(), Buffer.from(writer.recent()).toString()]).toEqual(['ENOENT', 'one\n'])
  })

  it('says that everything is gone where its folder was removed while it was written', () => {
    for (const length of [100, 900, 20_000]) {
      freshFolder()
      const stream = someText(random(length), length)
      const writer = openLogWriter(log, 1_024)
      writer.write(stream.subarray(0, length / 2))
      rmSync(folder, { recursive: true })
      writer.write(stream.subarray(length / 2))
      expect(writer.finish()).toMatchObject({ bytes: length, lines: lineCount(stream), droppedBytes: length })
      expect(writer.failure()).toBe('ENOENT')
    }
  })

  it('finishes once and takes nothing after that', () => {
    const writer = openLogWriter(log, 1_024)
    writer.write(Buffer.from('one\n'))
    const totals = writer.finish()
    writer.write(Buffer.from('two\n'))
    expect(writer.finish()).toEqual(totals)
    expect(readFileSync(log, 'utf8')).toBe('one\n')
  })

  it('is for its owner alone', () => {
    const writer = openLogWriter(log, 1_024)
    writer.write(Buffer.alloc(3_000, 'x'))
    expect(readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual(readdirSync(folder).map(() => 0o600))
    writer.finish()
  })

  it('remembers the last eight kilobytes, in however many chunks they came', () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const draw = random(3_000 + seed)
      const stream = someText(draw, draw.int(0, 100_000))
      const writer = openLogWriter(log, 1_024)
      for (const chunk of chunksOf(draw, stream, draw.pick([50, 500, 9_000, 80_000]))) writer.write(chunk)
      expect(Buffer.from(writer.recent()).equals(stream.subarray(-8_192))).toBe(true)
      writer.finish()
    }
  })

  it('keeps a hundred megabytes without a line feed within its limit', () => {
    const writer = openLogWriter(log, 1024 * 1024)
    const chunk = Buffer.alloc(64 * 1024, 'x')
    for (let i = 0; i < 1_600; i += 1) writer.write(chunk)
    const totals = writer.finish()
    expect(totals).toMatchObject({ bytes: 1_600 * 64 * 1024, lines: 1 })
    expect(bytesOnDisk()).toBeLessThanOrEqual(1024 * 1024 * 1.1)
    let read = 0
    for (const { text, firstLine } of readBlocks(findPieces(log, totals))) {
      expect(firstLine).toBe(1)
      read += text.length
    }
    expect(read).toBe(totals.bytes - totals.droppedBytes)
  })
})
