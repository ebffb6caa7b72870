import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import type { Mark } from '../core/scan.ts'
import { type LineBlock, type LogPiece, readBlocks } from './log-reader.ts'
import { readMarked } from './marked-blocks.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-marked-'))
afterAll(() => rmSync(folder, { recursive: true }))

const chunk = 256 * 1024
const path = join(folder, 'log')

function written(text: string): LogPiece[] {
  writeFileSync(path, text)
  return [{ path, position: 0, offset: 0, length: Buffer.byteLength(text), linesBefore: 0 }]
}

/** A mark for each place in the file where the word stands, as a scan gives them. */
function marksOf(file: string, word: string): Mark[] {
  const bytes = Buffer.from(file)
  const marks: Mark[] = []
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1))
    marks.push({ offset: at, line: bytes.subarray(0, at).toString().split('\n').length })
  return marks
}

const plain = ({ firstLine, text, offset, end }: LineBlock) => ({ firstLine, text, offset, end })
const lines = (count: number, line = (i: number): string => `line ${i} of a log that is long`): string =>
  `${Array.from({ length: count }, (_, i) => line(i)).join('\n')}\n`

describe('the marked blocks of a log', () => {
  it('are those of a whole reading in which something was marked, with the numbers of the marked lines', () => {
    const text = lines(40_000, (i) => (i % 13_000 === 12_999 ? `line ${i} has the needle` : `line ${i} of a log that is long`))
    const pieces = written(text)
    const found = readMarked(pieces, marksOf(text, 'needle')) ?? []
    const whole = [...readBlocks(pieces)]
    expect(found.length).toBeGreaterThan(1)
    expect(found.length).toBeLessThan(whole.length)
    expect(found.map(plain)).toEqual(whole.filter(({ text }) => text.includes('needle')).map(plain))
    expect(found.flatMap(({ marked }) => marked)).toEqual([13_000, 26_000, 39_000])
  })

  it.each<[string, string]>([
    ['on the first line', `needle\n${lines(20_000)}`],
    ['on a last line without an end', `${lines(20_000)}needle`],
    ['on the line that lies across the border of two blocks', `${'x'.repeat(chunk - 3)}\nneedle\n${lines(100)}`.replace(/^x{9}/, 'x\nx\nx\nx\nx')],
    ['as the very last line before a border', `${lines(1)}${'y'.repeat(chunk - 60)}\nneedle\n${lines(20_000)}`],
    ['in a short log', 'needle\n'],
    ['beside bytes of several characters', `${lines(9_000, () => 'größe 日本語 🔥')}needle 日本\n${lines(9_000, () => 'größe 日本語 🔥')}`],
  ])('are found %s', (_, text) => {
    const pieces = written(text)
    const found = readMarked(pieces, marksOf(text, 'needle')) ?? []
    expect(found.map(plain)).toEqual([...readBlocks(pieces)].filter(({ text }) => text.includes('needle')).map(plain))
    const block = found[0] as (typeof found)[number]
    expect(block.text.split('\n')[(block.marked[0] as number) - block.firstLine]).toContain('needle')
  })

  it('behind a gap have the numbers of the stream, not those of the file', () => {
    const head = lines(9_000)
    const note = '\n[a gap]\n'
    const tail = lines(30_000, (i) => (i === 20_000 ? 'the needle' : `tail ${i} of what was printed later`))
    const [headBytes, noteBytes, tailBytes] = [head, note, tail].map((part) => Buffer.byteLength(part)) as [number, number, number]
    writeFileSync(path, head + note + tail)
    const pieces: LogPiece[] = [
      { path, position: 0, offset: 0, length: headBytes, linesBefore: 0 },
      { path, position: headBytes + noteBytes, offset: 1_000_000, length: tailBytes, linesBefore: 50_000 },
    ]
    const found = readMarked(pieces, marksOf(head + note + tail, 'needle')) ?? []
    expect(found.map(plain)).toEqual([...readBlocks(pieces)].filter(({ text }) => text.includes('needle')).map(plain))
    expect(found[0]?.marked).toEqual([70_001])
  })

  it('come with those beside them where that is asked for', () => {
    const text = lines(60_000, (i) => (i === 30_000 ? 'the needle' : `line ${i} of a log that is long`))
    const pieces = written(text)
    const whole = [...readBlocks(pieces)].map(plain)
    const at = whole.findIndex(({ text }) => text.includes('needle'))
    expect(readMarked(pieces, marksOf(text, 'needle'), 1)?.map(plain)).toEqual(whole.slice(at - 1, at + 2))
  })

  it.each<[string, () => LogPiece[]]>([
    ['lines are longer than a block', () => written(`${'x'.repeat(2 * chunk)}needle\n`)],
    ['the log is in several files', () => [...written('needle\n'), { path: join(folder, 'other'), position: 0, offset: 7, length: 1, linesBefore: 1 }]],
    ['there is no log', () => []],
  ])('cannot be told where %s', (_, piecesOf) => {
    expect(readMarked(piecesOf(), [{ offset: 0, line: 1 }])).toBeUndefined()
  })

  it('are right for logs of any shape', () => {
    const { int, pick } = random(3)
    for (let round = 0; round < 12; round += 1) {
      let text = ''
      while (text.length < 700_000) text += `${'-'.repeat(pick([0, 1, 30, 300, 90_000]))}${int(0, 900) === 0 ? 'needle' : ''}${pick(['\n', '\n', 'é\n', ''])}`
      const pieces = written(text)
      const found = readMarked(pieces, marksOf(text, 'needle'))
      const whole = [...readBlocks(pieces)].filter(({ text }) => text.includes('needle'))
      if (found) expect(found.map(plain)).toEqual(whole.map(plain))
      else
        expect(
          text.split('\n').some((line) => line.length > chunk / 2),
          `round ${round}`,
        ).toBe(true)
    }
  })
})
