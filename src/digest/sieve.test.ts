import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { type ByteSource, sourceOf } from '../core/byte-source.ts'
import type { LineRef } from './log.ts'
import { lineAfter, lineFrom, lineToJudge, textSection } from './log.ts'
import { lineShape } from './noise.ts'
import { judge, severities } from './severity.ts'
import { type Sifted, sift, siftDistinct, siftShapes } from './sieve.ts'
import { sieveSources } from './sieve-program.ts'
import { troubleWordStarts, troubleWords } from './trouble-words.ts'

const found = (text: string | ByteSource): Sifted[] => {
  const lines: Sifted[] = []
  sift(typeof text === 'string' ? sourceOf(Buffer.from(text)) : text, (line) => lines.push({ ...line }))
  return lines
}
const numbersIn = (text: string): number[] => found(text).map(({ feeds }) => feeds + 1)
const shapeOf = (line: string): number => {
  const lines: Sifted[] = []
  siftShapes(sourceOf(Buffer.from(line)), 0, Buffer.byteLength(line), (sifted) => lines.push({ ...sifted }))
  return lines[0]?.shape ?? 0
}
const judgedShapeOf = (line: string): number => found(line)[0]?.shape ?? 0

function refsOf(text: string): LineRef[] {
  const section = textSection(text)
  const refs: LineRef[] = []
  for (let ref = lineFrom(section, 0, 1); ref; ref = lineAfter(ref)) refs.push(ref)
  return refs
}

/** Lines that count for something, by their numbers. */
const judged = (text: string): number[] =>
  refsOf(text)
    .filter((ref) => judge(lineToJudge(ref)).severity !== severities.none)
    .map(({ number }) => number)

describe('the sieve', () => {
  it('is made of its sources: after a change of the words or of wasm/sieve.ts, node scripts/build-sieve.mjs makes it anew', async () => {
    const { hashOfSources } = (await import(new URL('../../scripts/build-sieve.mjs', import.meta.url).href)) as { hashOfSources: () => string }
    expect(sieveSources).toBe(hashOfSources())
  })

  it('finds every word of trouble, in any case, wherever in a line and in a block it stands', () => {
    for (const word of [...troubleWords, ...troubleWordStarts]) {
      for (let at = 0; at < 35; at += 1) {
        const before = at === 0 ? '' : `${'-'.repeat(at - 1)} `
        const written = at % 3 === 0 ? word.toUpperCase() : at % 3 === 1 ? word : word.replace(/^\w/, (letter) => letter.toUpperCase())
        expect(numbersIn(`plain\n${before}${written}\nplain`), `${word} at ${at}`).toEqual([2])
        expect(numbersIn(`${before}${written}`), `${word} at ${at}, at the end`).toEqual([1])
      }
    }
  })

  it.each(
    ['plain text', 'e rror', 'fai\nled', 'ERRO\nR', 'terror-free is not', 'ne   x'].map((text) => [text, text === 'terror-free is not' ? [1] : []] as const),
  )('in "%s" finds %j', (text, numbers) => {
    expect(numbersIn(text)).toEqual(numbers)
  })

  it('gives the place and the number of a line exactly, and how many there are', () => {
    const draw = random(5)
    for (let round = 0; round < 60; round += 1) {
      const lines = Array.from({ length: draw.int(1, 400) }, (_, i) => (draw.int(0, 9) === 0 ? `error ${i}` : 'x'.repeat(draw.int(0, 90))))
      const text = lines.join('\n')
      const wanted = lines.flatMap((line, i) => (line.startsWith('error') ? [{ line, i }] : []))
      const bytes = Buffer.from(text)
      expect(found(text).map(({ start, end, feeds }) => ({ line: bytes.toString('utf8', start, end), i: feeds }))).toEqual(wanted)
      expect(sift(sourceOf(bytes), () => {})).toBe(lines.length - 1)
    }
  })

  it('loses nothing at the borders of what it reads at once, nor in lines that are longer than that', () => {
    const block = 256 * 1024
    for (let shift = -40; shift <= 40; shift += 1) {
      const text = `${'y'.repeat(99)}\n`.repeat(Math.floor((block + shift) / 100)) + 'y'.repeat((((block + shift) % 100) + 100) % 100)
      expect(numbersIn(`${text} Error: x\nplain\nError: y`), String(shift)).toEqual([
        Math.floor((block + shift) / 100) + 1,
        Math.floor((block + shift) / 100) + 3,
      ])
    }
    expect(numbersIn(`a\n${'z'.repeat(3 * block)}\nb\nerror\n`)).toEqual([2, 4])
    expect(numbersIn('z'.repeat(block * 2))).toEqual([1])
    expect(numbersIn(`error\n${'z'.repeat(block - 1)}\nerror`)).toContain(3)
  })

  it('reads no more than 256 KiB at once, and stops where a source has become shorter', () => {
    const bytes = Buffer.from('error\n'.repeat(200_000))
    let most = 0
    const source: ByteSource = {
      length: bytes.length,
      read(target, from) {
        most = Math.max(most, target.length)
        return from > 600_000 ? 0 : sourceOf(bytes).read(target, from)
      },
    }
    expect(found(source).length).toBeGreaterThan(100_000)
    expect(most).toBe(256 * 1024)
  })

  it('never drops a line that says something: random lines, with colours, frames and what else terminals are told', () => {
    const pieces = [
      ...[
        'a',
        ' ',
        '\t',
        'error: ',
        'ERROR ',
        'warning: x',
        'not ',
        'found',
        'FAILED',
        'E   assert',
        '× ',
        '✗',
        'could ',
        'not',
        '***',
        'exit code 1',
        '42',
        '0 ',
      ],
      ...['\u001b[31m', '\u001b[0m', '\u001b[2K', '\u001b[1G', '\u001b]0;t\u0007', '\u001b]8;;x\u001b\\', '\u001b(B', '\u001b', '\r', '\n', '\r\n'],
      ...['err', 'or: x', 'fat', 'al: y', 'é', '你好', '🔥', '\u001b[31;1mer\u001b[0mror: ', 'src/a.c:1:2: '],
    ]
    const draw = random(23)
    let seen = 0
    for (let round = 0; round < 400; round += 1) {
      const text = Array.from({ length: draw.int(1, 300) }, () => draw.pick(pieces)).join('')
      const wanted = judged(text)
      seen += wanted.length
      const kept = new Set(numbersIn(text))
      expect(
        wanted.filter((number) => !kept.has(number)),
        JSON.stringify(text),
      ).toEqual([])
    }
    expect(seen).toBeGreaterThan(1000)
  })

  const cases = new URL('../../../shared/digest-cases/', import.meta.url)
  const known = existsSync(cases)
  if (!known) console.log('skipped: real build logs for the sieve (../shared/digest-cases is not there)')
  it.skipIf(!known)('never drops a line that says something: real logs; and lines of one shape are judged alike', () => {
    let lines = 0
    let unlike = 0
    for (const name of readdirSync(cases).filter((entry) => entry.endsWith('.json.gz'))) {
      const { log } = JSON.parse(gunzipSync(readFileSync(new URL(name, cases))).toString('utf8')) as { log: string }
      const sifted = new Map(found(log).map((line) => [line.feeds + 1, line.shape]))
      const first = new Map<number, number>()
      for (const ref of refsOf(log)) {
        const { severity } = judge(lineToJudge(ref))
        const shape = sifted.get(ref.number)
        if (severity !== severities.none) expect(shape, `${name}:${ref.number}`).toBeDefined()
        if (!shape) continue
        lines += 1
        if (!first.has(shape)) first.set(shape, severity)
        else if (first.get(shape) !== severity) unlike += 1
      }
    }
    expect(unlike / lines).toBeLessThan(0.001)
  })
})

describe('the shape of a line', () => {
  it.each([
    ['took 12 s', 'took 7 s'],
    ['commit 3f9a1c7be0', 'commit 00ffab12c9'],
    ['a   b', 'a b'],
    ['  indented', 'indented'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['10 %\r20 %\rdone', 'done'],
    ['done\r', 'done'],
  ])('of "%s" is that of "%s"', (a, b) => {
    expect(shapeOf(a)).toBe(shapeOf(b))
    expect(shapeOf(a)).not.toBe(0)
  })

  it.each([
    ['took 12 s', 'took twelve s'],
    ['a b', 'ab'],
    ['Abc', 'abc'],
  ])('of "%s" is not that of "%s"', (a, b) => {
    expect(shapeOf(a)).not.toBe(shapeOf(b))
  })

  it('is that of another line with other numbers and hashes, wherever in it they stand', () => {
    for (let at = 0; at < 70; at += 1) {
      const before = `${'/path/of'.repeat(9).slice(0, at)} `
      for (const [one, other] of [
        ['7', '123'],
        ['deadbee1', '0123456789abcdef0123456789abcdef01234567'],
        ['abcdefabcdefab1', 'f00ba12'],
      ])
        expect(shapeOf(`${before}${one}, and so on`), `${one} behind ${at}`).toBe(shapeOf(`${before}${other}, and so on`))
      expect(shapeOf(`${before}deadbeef, and so on`)).not.toBe(shapeOf(`${before}deadbee1, and so on`))
    }
  })

  it.each(['', '   ', '\t\r', '\u001b[0m'])('is not told of the blank line %j', (line) => {
    const bytes = Buffer.from(`${line}\nx\n${line}`)
    const told: Sifted[] = []
    expect(siftShapes(sourceOf(bytes), 0, bytes.length, (sifted) => told.push({ ...sifted }))).toBe(2)
    expect(told.map(({ feeds }) => feeds)).toEqual([1])
  })

  it('of a line to be judged tells a count of nothing from others', () => {
    expect(judgedShapeOf('3 errors')).toBe(judgedShapeOf('12 errors'))
    expect(judgedShapeOf('0 errors')).not.toBe(judgedShapeOf('3 errors'))
  })
})

describe('the lines of a log without those that are like an earlier one', () => {
  const distinct = (text: string, withNumbers = false): Sifted[] => {
    const lines: Sifted[] = []
    siftDistinct(sourceOf(Buffer.from(text)), withNumbers, (line) => lines.push({ ...line }))
    return lines
  }

  it('are of one shape only where nothing is told apart that a comparison tells apart: random lines', () => {
    const pieces = [
      ...['0', '1', '7', '12', '345', '12345', 'a', 'ms', 's', 'm', 'h', 'd', 'T', 'Z', 'x', '_', 'step', 'v', 'deadbeef', 'test_3', 'TS2304'],
      ...[' ', '  ', '\t', '.', ',', ':', '-', '/', '%', '@', '+', '/tmp/', '(', '\r', '\u001b[1m', '\u001b[2K', '\u001b[1G', 'é', 'µs', 'μs', '✓', '\u009b2K'],
    ]
    const draw = random(41)
    const shapes = new Map<number, number>()
    let alike = 0
    const unlike: string[] = []
    for (let round = 0; round < 60_000; round += 1) {
      const line = Array.from({ length: draw.int(1, 7) }, () => draw.pick(pieces)).join('')
      const key = distinct(line)[0]?.shape as number
      const shape = lineShape(lineToJudge(refsOf(line)[0] as LineRef))
      if (shapes.has(key)) alike += 1
      if ((shapes.get(key) ?? shape) !== shape) unlike.push(JSON.stringify(line))
      shapes.set(key, shape)
    }
    expect(unlike).toEqual([])
    expect(alike).toBeGreaterThan(10_000)
  })

  it('are few in a log that repeats itself, and have their places', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `2026-01-02T03:04:${10 + (i % 49)}.${i}Z step ${i + 1} took ${i}ms, ${words[i % 5]}`).join('\n')
    expect(distinct(text).map(({ feeds }) => feeds)).toEqual([0, 1, 2, 3, 4])
    expect(distinct(text)).toEqual(distinct(text))
    expect(distinct(text, true)).toHaveLength(20_000)
  })

  it('hold every text that is there, in whatever order, and where there are more than are remembered', () => {
    const draw = random(3)
    const lines = Array.from({ length: 200_000 }, () => `line x${draw.int(0, 100_000)}`)
    const all = lines.join('\n')
    const handed = new Set(distinct(all).map(({ start, end }) => all.slice(start, end)))
    expect(lines.filter((line) => !handed.has(line))).toEqual([])
  })

  const words = ['one', 'two', 'three', 'four', 'five']
})
