import { appendFileSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { expectPieces } from '../../test/support/logs.ts'
import { type Random, random } from '../../test/support/random.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { StreamTotals } from '../core/run.ts'
import { splitLines } from '../core/text.ts'
import { findPieces, type LineBlock, type LogPiece, measureLog, openStretches, type ReadBytes, readBlocks, readRange, sectionsOf } from './log-reader.ts'
import { countLineFeeds, openLogWriter } from './output.ts'

let world: World
let log: string

beforeEach(() => {
  world = openWorld()
  log = world.path('logs', 'stdout.log')
  mkdirSync(world.path('logs'))
})

afterEach(() => world[Symbol.asyncDispose]())

const alphabets = ['a\n', 'abcdefghij\n', 'é€🔥a\n', '你', '🔥🔥🔥🔥\n', 'x'] as const

function someText(draw: Random, atLeast: number): Buffer {
  const letters = [...draw.pick(alphabets)]
  const parts: string[] = []
  for (let bytes = 0; bytes < atLeast; ) {
    const letter = draw.pick(letters)
    parts.push(letter)
    bytes += Buffer.byteLength(letter)
  }
  return Buffer.from(parts.join(''))
}

/** Writes a stream as it would come; `finished` false leaves it as it is while a command runs. */
function keep(stream: Buffer, limit: number, draw: Random, finished: boolean): StreamTotals {
  for (const name of readdirSync(world.path('logs'))) rmSync(world.path('logs', name))
  const writer = openLogWriter(log, limit)
  for (let at = 0; at < stream.length; ) {
    const size = draw.int(1, Math.ceil(limit / 3))
    writer.write(stream.subarray(at, at + size))
    at += size
  }
  const totals = writer.totals()
  return finished ? writer.finish() : totals
}

type Line = [number: number, text: string]

/** Lines in the order in which they come; parts of the same line are one. */
function joinParts(lines: readonly Line[]): Line[] {
  const joined: Line[] = []
  for (const [number, text] of lines) {
    const last = joined.at(-1)
    if (last?.[0] === number) last[1] += text
    else joined.push([number, text])
  }
  return joined
}

function numbered(firstLine: number, text: string): Line[] {
  return text.split('\n').map((line, i) => [firstLine + i, line])
}

const linesOf = (blocks: Iterable<LineBlock>): Line[] => joinParts([...blocks].flatMap(({ firstLine, text }) => numbered(firstLine, text)))

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** What must be readable of a stream with this gap. */
function expectedParts(stream: Buffer, totals: StreamTotals): { from: number; to: number }[] {
  const { gap } = totals
  if (!gap) return [{ from: 0, to: stream.length }]
  let headEnd = gap.offset
  while (isInside(stream[headEnd])) headEnd -= 1
  let tailStart = gap.offset + gap.bytes
  while (isInside(stream[tailStart])) tailStart += 1
  return [
    { from: 0, to: headEnd },
    { from: tailStart, to: stream.length },
  ]
}

const expectedLines = (stream: Buffer, totals: StreamTotals): Line[] =>
  joinParts(
    expectedParts(stream, totals).flatMap(({ from, to }) =>
      splitLines(stream.subarray(from, to).toString()).map((text, i): Line => [countLineFeeds(stream, 0, from) + 1 + i, text]),
    ),
  )

function eachKind(seeds: number, check: (stream: Buffer, totals: StreamTotals, known: StreamTotals | undefined, draw: Random, label: string) => void): void {
  for (let seed = 0; seed < seeds; seed += 1) {
    for (const kind of ['ended', 'running', 'killed'] as const) {
      const draw = random(seed)
      const limit = draw.pick([1_024, 1_500, 4_096, 20_000])
      const stream = someText(draw, draw.int(0, Math.floor(limit * draw.pick([0.6, 1, 3]))))
      const totals = keep(stream, limit, draw, kind === 'ended')
      const known = kind === 'ended' ? totals : kind === 'running' ? undefined : measureLog(log)
      if (kind === 'killed') expect(known, `seed ${seed}`).toMatchObject({ bytes: totals.bytes, lines: totals.lines, droppedBytes: totals.droppedBytes })
      check(stream, totals, known, draw, `seed ${seed}, ${kind}`)
    }
  }
}

const readSections = (path: string, known: StreamTotals | undefined, bytes: ReadBytes) => sectionsOf(findPieces(path, known), bytes, known)

describe('reading a log', () => {
  it('gives every kept line with its number, across the gap, while it is written and after a kill, and never half a character', () => {
    eachKind(60, (stream, totals, known, _draw, label) => {
      const lines = linesOf(readBlocks(findPieces(log, known)))
      expect(lines, label).toEqual(expectedLines(stream, totals))
      expect(
        lines.some(([, text]) => text.includes('\ufffd')),
        label,
      ).toBe(false)
    })
  })

  it('begins with the block that has the line that was asked for', () => {
    eachKind(40, (stream, totals, known, draw, label) => {
      const from = draw.int(1, totals.lines + 2)
      const lines = linesOf(readBlocks(findPieces(log, known), from))
      const expected = expectedLines(stream, totals).filter(([number]) => number >= from)
      expect(
        lines.filter(([number]) => number >= from),
        label,
      ).toEqual(expected)
      if (expected.length === 0) expect(lines, label).toEqual([])
    })
  })

  it('gives any range of bytes that is there, and no more of it than was asked for', () => {
    eachKind(40, (stream, totals, known, draw, label) => {
      const gap = totals.gap ?? { offset: stream.length, bytes: 0 }
      const pieces = findPieces(log, known)
      for (let i = 0; i < 10; i += 1) {
        const from = draw.int(0, stream.length)
        const to = draw.int(from, stream.length + 10)
        const most = draw.int(0, 3_000)
        const before = stream.subarray(from, Math.min(to, gap.offset))
        const after = stream.subarray(Math.max(from, gap.offset + gap.bytes), to)
        const there = Buffer.concat([from < gap.offset ? before : Buffer.alloc(0), after])
        expect(readRange(pieces, from, to, most).equals(there.subarray(0, most)), `${label}: ${from} to ${to}`).toBe(true)
      }
    })
  })

  it('gives a small log to the digest whole, a section for each side of the gap', () => {
    eachKind(40, (stream, totals, known, _draw, label) => {
      const read = openStretches(findPieces(log, known)).map(({ length, read, linesBefore }) => {
        const bytes = Buffer.alloc(length + 1)
        return { firstLine: linesBefore() + 1, text: bytes.toString('utf8', 0, read(bytes, 0)) }
      })
      expect(
        read.filter(({ text }) => text !== ''),
        label,
      ).toEqual(readSections(log, known, { whole: 100_000, ofLonger: 100_000 }).filter(({ text }) => text !== ''))
      expect(readSections(log, known, { whole: 100_000, ofLonger: 100_000 }), label).toEqual(
        expectedParts(stream, totals)
          .filter(({ from, to }) => to > from)
          .map(({ from, to }) => ({ firstLine: countLineFeeds(stream, 0, from) + 1, text: stream.subarray(from, to).toString() })),
      )
    })
  })

  it('gives the first and the last part of a large log to the digest, with the right line numbers', () => {
    eachKind(60, (stream, totals, known, draw, label) => {
      const kept = totals.bytes - totals.droppedBytes
      if (kept < 600) return
      const most = draw.int(300, Math.floor(kept / 2))
      const sections = readSections(log, known, { whole: most, ofLonger: most })
      expect(sections.length, label).toBe(2)
      const [head, tail] = sections.map(({ text }) => Buffer.from(text)) as [Buffer, Buffer]
      expect(head.length + tail.length, label).toBeLessThanOrEqual(most)
      expect(stream.subarray(0, head.length).equals(head), label).toBe(true)
      expect(stream.subarray(stream.length - tail.length).equals(tail), label).toBe(true)
      expect(sections[1]?.firstLine, label).toBe(countLineFeeds(stream, 0, stream.length - tail.length) + 1)
      expect([head.length > 0, tail.length > 0], label).toEqual([true, true])
    })
  })

  it('reads nothing but these parts where the totals are known', () => {
    const bytes = 64 * 1024 ** 3
    writeFileSync(log, 'first\n')
    truncateSync(log, bytes - 14)
    appendFileSync(log, '\nlast one\nlast')
    const sections = readSections(log, { bytes, lines: 4, droppedBytes: 0, gap: null }, { whole: 8_000, ofLonger: 1_000 })
    expect(sections.map(({ firstLine }) => firstLine)).toEqual([1, 3])
    expect(sections[0]?.text).toBe('first\n')
    expect(sections[1]?.text).toBe('last one\nlast')
  })

  it('shows the end of a last line that is longer than all there is room for', () => {
    writeFileSync(log, `first\n${'x'.repeat(10_000)}END\n`)
    const [, tail] = readSections(log, undefined, { whole: 300, ofLonger: 300 })
    expect(tail).toEqual({ firstLine: 2, text: `${'x'.repeat(196)}END\n` })
  })

  it('gives a line of a hundred megabytes in blocks of its one number', () => {
    writeFileSync(log, '')
    truncateSync(log, 100 * 1024 * 1024)
    let bytes = 0
    for (const { firstLine, text, startsInside } of readBlocks(findPieces(log, undefined))) {
      expect([firstLine, startsInside]).toEqual([1, bytes > 0])
      expect(text.length).toBeLessThan(2 * 1024 * 1024)
      bytes += text.length
    }
    expect(bytes).toBe(100 * 1024 * 1024)
  })

  it('cuts no character where it cuts a line that is too long', () => {
    for (const lead of ['', 'x', 'xx', 'xxx']) {
      writeFileSync(log, `${lead}${'🔥'.repeat(700_000)}\nnext`)
      const lines = linesOf(readBlocks(findPieces(log, undefined)))
      expect(lines.map(([number, text]) => [number, text.length])).toEqual([
        [1, lead.length + 1_400_000],
        [2, 4],
      ])
      expect(lines[0]?.[1].includes('\ufffd')).toBe(false)
    }
  })

  it('shows bytes that are no text as replacement characters and loses none after them', () => {
    writeFileSync(log, Buffer.concat([Buffer.from([0x80, 0xff, 0xc3]), Buffer.from('\nword\n'), Buffer.from([0xc3])]))
    expect(linesOf(readBlocks(findPieces(log, undefined)))).toEqual([
      [1, '\ufffd\ufffd\ufffd'],
      [2, 'word'],
      [3, '\ufffd'],
    ])
  })

  it('finds nothing where there is no log', () => {
    const missing = world.path('logs', 'none.log')
    expect(findPieces(missing, undefined)).toEqual([])
    expect([...readBlocks([])]).toEqual([])
    expect(readSections(missing, undefined, { whole: 1_000, ofLonger: 1_000 })).toEqual([])
    expect(measureLog(missing)).toEqual({ bytes: 0, lines: 0, droppedBytes: 0, gap: null })
  })

  it('goes on where a segment is dropped while it reads', () => {
    const stream = Buffer.from(Array.from({ length: 300 }, (_, i) => `line ${i}\n`).join(''))
    const totals = keep(stream, 1_024, random(1), false)
    const pieces: LogPiece[] = findPieces(log, undefined)
    const [, oldest] = pieces
    rmSync(oldest?.path ?? '')
    const lines = linesOf(readBlocks(pieces))
    expect(lines[0]).toEqual([1, 'line 0'])
    expect(lines.at(-1)).toEqual([300, 'line 299'])
    expect(totals.lines).toBe(300)
  })

  it('takes no other file for a segment', () => {
    for (const name of ['stdout.log.1', 'stdout.log.1.2.3', 'stdout.log.x.1', 'xstdout.log.6.1', 'stdout.logs.6.1'])
      writeFileSync(join(world.path('logs'), name), 'no')
    writeFileSync(log, 'one\n')
    expect(linesOf(readBlocks(findPieces(log, undefined)))).toEqual([[1, 'one']])
  })
})

describe('a log that grew after its totals were recorded', () => {
  /** By old totals, for each state in which what was left behind may leave it. */
  function eachLate(seeds: number, check: (stream: Buffer, totals: StreamTotals, old: StreamTotals, label: string) => void): Record<string, number> {
    const seen: Record<string, number> = {}
    for (let seed = 0; seed < seeds; seed += 1) {
      const draw = random(5_000 + seed)
      const limit = draw.pick([1_024, 1_500, 4_096])
      const stream = someText(draw, draw.int(2, Math.floor(limit * draw.pick([0.4, 0.9, 3]))))
      const recordedAt = draw.int(0, stream.length - 1)
      for (const name of readdirSync(world.path('logs'))) rmSync(world.path('logs', name))
      const writer = openLogWriter(log, limit)
      let old = writer.totals()
      for (let at = 0; at < stream.length; ) {
        const size = draw.int(1, Math.ceil(limit / 3))
        if (at <= recordedAt) old = writer.totals()
        writer.write(stream.subarray(at, at + size))
        at += size
      }
      const totals = writer.totals()
      const gaps = `${old.gap ? 'gap' : 'none'} to ${totals.gap ? 'gap' : 'none'}`
      check(stream, totals, old, `seed ${seed}, still held, ${gaps}`)
      expect(writer.finish()).toEqual(totals)
      check(stream, totals, old, `seed ${seed}, joined and not recorded yet, ${gaps}`)
      writer.recorded()
      check(stream, totals, totals, `seed ${seed}, recorded, ${gaps}`)
      seen[gaps] = (seen[gaps] ?? 0) + 1
    }
    return seen
  }

  it('gives every kept line with its number, with and without a gap, held open and joined', () => {
    const seen = eachLate(120, (stream, totals, old, label) => {
      expect(linesOf(readBlocks(findPieces(log, old))), label).toEqual(expectedLines(stream, totals))
    })
    expect(seen).toEqual({ 'none to none': expect.any(Number), 'none to gap': expect.any(Number), 'gap to gap': expect.any(Number) })
  })

  it('gives every kept byte, and the digest the right numbers of lines', () => {
    eachLate(60, (stream, totals, old, label) => {
      expectPieces(stream, old, log)
      const sections = readSections(log, old, { whole: 300, ofLonger: 300 })
      for (const { firstLine, text } of sections.slice(1)) expect(firstLine, label).toBe(countLineFeeds(stream, 0, stream.length - Buffer.byteLength(text)) + 1)
      expect(readRange(findPieces(log, old), totals.bytes - 50, totals.bytes, 50).equals(stream.subarray(-50)), label).toBe(true)
    })
  })
})
