import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { handClock } from '../../test/support/clock.ts'
import { type Random, random } from '../../test/support/random.ts'
import { type StreamName, streamNames } from '../core/command.ts'
import type { RunRecord, StreamTotals } from '../core/run.ts'
import { measureLog } from '../engine/log-reader.ts'
import { openOrderWriter, readOrder } from '../engine/order.ts'
import { countLineFeeds, openLogWriter } from '../engine/output.ts'
import type { OutputInput, OutputLine } from './api.ts'
import type { AppContext } from './context.ts'
import { createMasking } from './masking.ts'
import { parseLines, parseSpan, readOutput } from './reading.ts'
import { type RunFolder, runFolder } from './run-folder.ts'

describe('parseSpan', () => {
  it.each([
    ['120', { from: 120, to: 120 }],
    ['100-150', { from: 100, to: 150 }],
    ['100-', { from: 100, to: Number.POSITIVE_INFINITY }],
    ['-20', { from: 181, to: 200 }],
    ['-500', { from: 1, to: 200 }],
  ])('reads the lines %s of 200', (text, span) => {
    expect(parseSpan('lines', text, 200, 1)).toEqual(span)
  })

  it('reads offsets from 0 and the last bytes', () => {
    expect(parseSpan('bytes', '0-1023', 5000, 0)).toEqual({ from: 0, to: 1023 })
    expect(parseSpan('bytes', '-512', 5000, 0)).toEqual({ from: 4488, to: 5000 })
  })

  it.each([[''], ['-'], ['0'], ['5-4'], ['a'], ['1-2-3'], ['1.5']])('refuses %j', (text) => {
    expect(() => parseSpan('lines', text, 200, 1)).toThrow(/^lines is .*; accepted: /)
  })
})

describe('parseLines', () => {
  const totalOf = (stream: StreamName): number => (stream === 'stdout' ? 100 : 10)
  const all = { from: 1, to: Number.POSITIVE_INFINITY }

  it.each([
    [undefined, { stdout: all, stderr: all }],
    ['5-7', { stdout: { from: 5, to: 7 }, stderr: { from: 5, to: 7 } }],
    ['-4', { stdout: { from: 97, to: 100 }, stderr: { from: 7, to: 10 } }],
    ['stdout:5-,stderr:7', { stdout: { from: 5, to: Number.POSITIVE_INFINITY }, stderr: { from: 7, to: 7 } }],
    [' stderr:-2', { stderr: { from: 9, to: 10 } }],
  ])('reads %j for both streams', (lines, spans) => {
    expect(parseLines(lines, streamNames, totalOf)).toEqual(spans)
  })

  it('takes what is said of the one stream that is read', () => {
    expect(parseLines('stdout:5-,stderr:7-', ['stderr'], totalOf)).toEqual({ stderr: { from: 7, to: Number.POSITIVE_INFINITY } })
    expect(parseLines('stdout:5-', ['stderr'], totalOf)).toEqual({})
  })

  it.each([['stdout:'], ['stdout:5-,7-'], ['other:5-'], ['stdout:5-;stderr:2']])('refuses %j', (lines) => {
    expect(() => parseLines(lines, streamNames, totalOf)).toThrow(/^lines is .*; accepted: /)
  })
})

type Chunk = readonly [StreamName, string]

let base: string
let folder: RunFolder
let context: AppContext

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-reading-'))
  folder = runFolder(base, 'k7m2qx9d4tra')
  const masking = createMasking({ secrets: [], patterns: [] })
  context = { records: { folder: () => folder }, masking } as unknown as AppContext
})

afterEach(() => rmSync(base, { recursive: true, force: true }))

/** What plain mode keeps of chunks that come in this order; `finished` false leaves it as it is while the command runs. */
function keep(chunks: readonly Chunk[], maxBytes = 2 ** 20, finished = true): RunRecord {
  rmSync(folder.path, { recursive: true, force: true })
  mkdirSync(folder.path)
  const writers = { stdout: openLogWriter(folder.stdout, maxBytes), stderr: openLogWriter(folder.stderr, maxBytes) }
  const order = openOrderWriter(folder.order, handClock())
  for (const [stream, text] of chunks) {
    writers[stream].write(Buffer.from(text))
    order.add(stream, Buffer.byteLength(text))
  }
  const totalsOf = (stream: StreamName): StreamTotals => (finished ? writers[stream].finish() : writers[stream].totals())
  if (finished) order.finish()
  return {
    id: 'k7m2qx9d4tra',
    state: finished ? 'ended' : 'running',
    stdout: totalsOf('stdout'),
    stderr: totalsOf('stderr'),
    pty: null,
  } as unknown as RunRecord
}

const read = async (record: RunRecord, input: Partial<OutputInput> = {}): Promise<OutputLine[]> =>
  (await readOutput(context, record, { run: record.id, maxBytes: 2 ** 30, ...input })).lines as OutputLine[]

const shown = (lines: readonly OutputLine[]): string[] => lines.map(({ stream, line, text }) => `${stream === 'stdout' ? '' : 'e:'}${line} ${text}`)

/** Everything in memory: the lines of what was kept, and of the notes of ours, each where its last byte came. */
function model(chunks: readonly Chunk[], record: RunRecord): string[] {
  const places: Record<StreamName, number[]> = { stdout: [], stderr: [] }
  const streams: Record<StreamName, string> = { stdout: '', stderr: '' }
  let all = 0
  for (const [stream, text] of chunks) {
    for (let i = 0; i < text.length; i += 1) places[stream].push(all + i)
    all += text.length
    streams[stream] += text
  }
  const covered: Record<StreamName, number> = { stdout: 0, stderr: 0 }
  for (const { stream, bytes } of readOrder(folder.order)) covered[stream] += bytes
  const found: { place: number; text: string }[] = []
  for (const name of streamNames) {
    const place = (offset: number): number => (offset < covered[name] ? (places[name][offset] as number) : Number.POSITIVE_INFINITY)
    const { gap } = record[name]
    const text = streams[name]
    const parts = gap
      ? [
          { from: 0, to: gap.offset },
          { from: gap.offset + gap.bytes, to: text.length },
        ]
      : [{ from: 0, to: text.length }]
    const add = (offset: number, line: number, shownText: string): void => {
      found.push({ place: place(offset), text: shown([{ stream: name, line, text: shownText }]).join() })
    }
    let expected = 1
    for (const { from, to } of parts) {
      let number = countLineFeeds(Buffer.from(text.slice(0, from))) + 1
      if (number > expected) add(from - 1, 0, `[lines ${expected} to ${number - 1} were left out: the log reached its limit]`)
      for (let at = from; at < to; number += 1) {
        const feed = text.indexOf('\n', at)
        const end = feed === -1 || feed >= to ? to : feed
        add(Math.min(end, to - 1), number, text.slice(at, end))
        at = end + 1
      }
      expected = number
    }
  }
  return found
    .map((each, i) => ({ ...each, i }))
    .sort((a, b) => (a.place === b.place ? a.i - b.i : a.place - b.place))
    .map(({ text }) => text)
}

function someChunks(draw: Random, bytes: number): Chunk[] {
  const chunks: Chunk[] = []
  const lineEnds = draw.pick([0.02, 0.1, 0.5])
  for (let left = bytes; left > 0; ) {
    const length = draw.int(1, draw.pick([1, 10, 200]))
    chunks.push([draw.pick(streamNames), Array.from({ length }, () => (draw.int(0, 999) < lineEnds * 1_000 ? '\n' : draw.pick([...'abcdef']))).join('')])
    left -= length
  }
  return chunks
}

describe('the output of both streams', () => {
  it('stands in the order in which the last byte of each line came', async () => {
    const record = keep([
      ['stdout', 'one\ntw'],
      ['stderr', 'E1\nE'],
      ['stdout', 'o\nthree'],
      ['stderr', '2\n'],
      ['stdout', '!'],
      ['stderr', 'E3'],
    ])
    expect(shown(await read(record))).toEqual(['1 one', 'e:1 E1', '2 two', 'e:2 E2', '3 three!', 'e:3 E3'])
  })

  it('equals what a simple model in memory says, with gaps, with an order that ends early or is not there', async () => {
    let gaps = 0
    for (let seed = 0; seed < 150; seed += 1) {
      const draw = random(seed)
      const chunks = someChunks(draw, draw.int(0, draw.pick([100, 6_000, 9_000])))
      const record = keep(chunks, draw.pick([1_024, 2_000, 2 ** 20]))
      const fate = draw.pick(['whole', 'whole', 'cut', 'none'])
      if (fate === 'none') rmSync(folder.order, { force: true })
      if (fate === 'cut') cutOrder(draw)
      expect(shown(await read(record)), `seed ${seed}`).toEqual(model(chunks, record))
      gaps += record.stdout.gap || record.stderr.gap ? 1 : 0
    }
    expect(gaps).toBeGreaterThan(30)
  })

  function cutOrder(draw: Random): void {
    try {
      truncateSync(folder.order, draw.int(0, readFileSync(folder.order).length))
    } catch {
      // Only one stream came.
    }
  }

  it('comes page by page, each line once, in the same order, however small the pages, also where lines are picked', async () => {
    for (let seed = 0; seed < 40; seed += 1) {
      const draw = random(900 + seed)
      const chunks = someChunks(draw, draw.int(0, 3_000))
      const record = keep(chunks, draw.pick([1_024, 2 ** 20]))
      const input: Partial<OutputInput> = draw.pick([
        {},
        { lines: '3-40' },
        { lines: '-15' },
        { grep: '^[ab]' },
        { lines: 'stderr:2-30' },
        { stream: 'stderr' },
        { stream: 'stdout', lines: '5-60' },
      ])
      const whole = await read(record, input)
      const longest = Math.max(80, ...whole.map(({ text }) => text.length))
      const pages: OutputLine[] = []
      let lines = input.lines
      for (let count = 0; ; count += 1) {
        expect(count, `seed ${seed}`).toBeLessThan(3_000)
        const page = await readOutput(context, record, { run: record.id, ...input, lines, maxBytes: longest + 1 + draw.int(0, 100) })
        pages.push(...page.lines)
        expect(page.truncated).toBe(page.next !== null)
        if (page.next === null) break
        lines = page.next
      }
      // A note of what was left out may be repeated on the page that goes on behind it.
      const numbered = (all: readonly OutputLine[]): string[] => shown(all.filter(({ line }) => line > 0))
      expect(numbered(pages), `seed ${seed}`).toEqual(numbered(whole))
      expect(new Set(shown(pages)), `seed ${seed}`).toEqual(new Set(shown(whole)))
    }
  })

  it('says for each stream where to go on', async () => {
    const record = keep([
      ['stdout', '1\n2\n'],
      ['stderr', 'e\n'],
      ['stdout', '3\n4\n'],
    ])
    const page = await readOutput(context, record, { run: 'r', maxBytes: 8 })
    expect([shown(page.lines), page.next]).toEqual([['1 1', '2 2', 'e:1 e', '3 3'], 'stdout:4-,stderr:2-'])
    expect((await readOutput(context, record, { run: 'r', lines: '1-3', maxBytes: 4 })).next).toBe('stdout:3-3,stderr:1-3')
    expect((await readOutput(context, record, { run: 'r', lines: 'stdout:2-', maxBytes: 2 })).next).toBe('stdout:3-')
    expect((await readOutput(context, record, { run: 'r', stream: 'stdout', maxBytes: 2 })).next).toBe('2-')
    expect((await readOutput(context, record, { run: 'r', stream: 'stdout', lines: '-3', maxBytes: 2 })).next).toBe('3-4')
  })

  it('picks the same lines of each stream, and its last ones', async () => {
    const record = keep(Array.from({ length: 50 }, (_, i): Chunk => [i % 5 === 0 ? 'stderr' : 'stdout', `${i}\n`]))
    expect(shown(await read(record, { lines: '2-3' }))).toEqual(['2 2', '3 3', 'e:2 5', 'e:3 10'])
    expect(shown(await read(record, { lines: '-1' }))).toEqual(['e:10 45', '40 49'])
  })

  it('stands in the order that is known while the command runs, what is not known yet at its end', async () => {
    const record = keep(
      [
        ['stderr', 'e1\n'],
        ['stdout', 'o1\n'],
      ],
      2 ** 20,
      false,
    )
    expect(shown(await read(record))).toEqual(['1 o1', 'e:1 e1'])
    writeFileSync(folder.order, '2\x03')
    expect(shown(await read(record))).toEqual(['e:1 e1', '1 o1'])
  })

  it('puts a line of more than a mebibyte where it ends', async () => {
    const record = keep(
      [
        ['stdout', 'x'.repeat(1_500_000)],
        ['stderr', 'between\n'],
        ['stdout', `${'x'.repeat(1_500_000)}\nlast\n`],
      ],
      2 ** 24,
    )
    expect((await read(record)).map(({ stream, line, text }) => [stream, line, text.length])).toEqual([
      ['stderr', 1, 7],
      ['stdout', 1, expect.any(Number)],
      ['stdout', 2, 4],
    ])
  })

  it('comes a stream after the other where bytes are asked for', async () => {
    const record = keep([
      ['stderr', 'err'],
      ['stdout', 'out'],
      ['stderr', 'or'],
    ])
    expect((await read(record, { bytes: '1-' })).map(({ text }) => text)).toEqual(['ut', 'rror'])
  })

  it('holds a few blocks of what is read at a time, however much that is', async () => {
    const chunk = `${'m'.repeat(99)}\n`.repeat(5_000)
    const record = keep(
      Array.from({ length: 160 }, (_, i): Chunk => [i % 2 === 0 ? 'stdout' : 'stderr', chunk]),
      2 ** 30,
    )
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const held = (): number => {
      collect()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const masker = context.masking.forRun(folder)
    const seen: number[] = []
    let read = 0
    const mask = (text: string): string => {
      read += text.length
      if (Math.floor(read / 2 ** 23) > seen.length) seen.push(held())
      return masker.mask(text)
    }
    const watched = { ...context, masking: { forRun: () => ({ ...masker, mask }) } } as unknown as AppContext
    expect((await readOutput(watched, record, { run: 'r', grep: 'nothing of this kind' })).lines).toEqual([])
    expect(read).toBeGreaterThan(75 * 2 ** 20)
    expect(seen.length).toBeGreaterThan(7)
    // What was there before may go meanwhile.
    const growth = seen.map((bytes, i) => bytes - Math.min(...seen.slice(0, i + 1)))
    expect(Math.max(...growth)).toBeLessThan(24 * 2 ** 20)
  }, 60_000)
})

describe('the output of what a run left behind', () => {
  it('is there, and counted from the end, as soon as it comes', async () => {
    const record = keep([['stdout', 'one\ntwo\n']])
    writeFileSync(folder.stdout, 'one\ntwo\nlate\nlater\n')
    expect(shown(await read(record, { stream: 'stdout' }))).toEqual(['1 one', '2 two', '3 late', '4 later'])
    expect(shown(await read(record, { lines: '-2' }))).toEqual(['3 late', '4 later'])
    expect((await read(record, { bytes: '-7' })).map(({ text }) => text)).toEqual(['', 'later'])
    expect(measureLog(folder.stdout).lines).toBe(4)
  })
})
