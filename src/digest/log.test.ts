import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { type ByteSource, sourceOf } from '../core/byte-source.ts'
import { byteLength, cleanLine, splitLines } from '../core/text.ts'
import { createMasker } from '../engine/redact.ts'
import { digestLog } from './digest.ts'
import { linesToRead } from './lines-to-read.ts'
import type { LineRef, LogSection, LogStream, Mask } from './log.ts'
import { lineAfter, lineBefore, lineFrom, lineHead, lineToJudge, shownLine, textSection } from './log.ts'
import { suspectsIn } from './suspects.ts'
import { tailGroups } from './tail-groups.ts'

const refsOf = (section: LogSection): LineRef[] => {
  const refs: LineRef[] = []
  for (let ref = lineFrom(section, 0, section.firstLine); ref; ref = lineAfter(ref)) refs.push(ref)
  return refs
}
const streamOf = (section: LogSection, lines = 0): LogStream => ({ name: 'stdout', sections: [section], bytes: section.source.length, lines, droppedBytes: 0 })
const masked = (text: string, mask: Mask): LogSection => ({ ...textSection(text), mask })
const filler = (count: number): string =>
  Array.from({ length: count }, (_, i) => `${i} ${'abcdefghij'[i % 10]} is built and ${'klmnopqrst'[Math.floor(i / 10) % 10]} is copied\n`).join('')

describe('the lines of a section', () => {
  it('are those of its text, forward and backward, whatever stands at the borders of what is read at once', () => {
    const draw = random(9)
    for (let round = 0; round < 12; round += 1) {
      const lines = Array.from({ length: 3000 }, (_, i) => `${i} ${draw.pick(['', 'é', '你好', 'x'])}${'-'.repeat(draw.int(0, draw.pick([3, 100, 400])))}|`)
      const section = { ...textSection(`${lines.join('\n')}\n`), firstLine: 7 }
      const refs = refsOf(section)
      expect(refs.map((ref) => lineHead(ref))).toEqual(lines)
      expect(refs.map((ref) => ref.number)).toEqual(lines.map((_, i) => i + 7))
      const order = Array.from({ length: 200 }, () => draw.int(0, lines.length - 1))
      for (const i of order) {
        expect(lineHead(refs[i]!)).toBe(lines[i])
        expect(lineToJudge(refs[i]!)).toBe(lines[i])
        expect(lineBefore(refs[i]!)).toEqual(refs[i - 1])
      }
    }
  })

  it.each([9_000, 40_000, 300_000, 3_000_000])('of %d bytes are shown by both ends, with what is left out', (length) => {
    const line = `begin ${'x'.repeat(length - 10)} end`
    const ref = refsOf(textSection(`${filler(3000)}${line}\nafter\n`))[3000]!
    expect(lineHead(ref)).toBe(line.slice(0, 4096))
    const shown = shownLine(ref, 300)
    const left = Number(/^begin x+ \[(\d+) bytes left out\] x+ end$/.exec(shown)?.[1])
    expect(left + shown.replace(/ \[.*\] /, '').length).toBe(line.length)
    expect(byteLength(shown)).toBeLessThanOrEqual(300)
    expect(lineHead(lineAfter(ref)!)).toBe('after')
  })

  it.each([100, 2_000, 200_000])('that are %d frames end with the last one that shows something', (count) => {
    const frames = Array.from({ length: count }, (_, i) => `${i} of ${count}\u001b[K`).join('\r')
    const ref = refsOf(textSection(`first\n${frames}\r   \r\u001b[0m\r\nlast\n`))[1]!
    expect(lineHead(ref)).toBe(`${count - 1} of ${count}`)
    expect(lineToJudge(ref)).toBe(`${count - 1} of ${count}`)
    expect(shownLine(ref, 200)).toBe(`${count - 1} of ${count}`)
  })

  it('are what they were where the source has become shorter', () => {
    const bytes = Buffer.from(filler(20_000))
    let end = bytes.length
    const source: ByteSource = { length: bytes.length, read: (target, from) => sourceOf(bytes.subarray(0, end)).read(target, from) }
    const section: LogSection = { firstLine: 1, source }
    const ref = refsOf(section)[15_000]!
    end = 1000
    expect(['', splitLines(bytes.toString())[15_000]]).toContain(lineHead(ref))
  })
})

// In parts, so that this file holds no key itself.
const keyLabel = ['PRIVATE', 'KEY'].join(' ')
const pemKey = (draw: ReturnType<typeof random>, lines: number): string => {
  const body = Array.from({ length: lines }, () => Buffer.from(draw.bytes(48)).toString('base64'))
  return [`-----BEGIN RSA ${keyLabel}-----`, ...body, `-----END RSA ${keyLabel}-----`].join('\n')
}

describe('secrets in a long log', () => {
  const value = 'hunter2-correct-horse'
  const note = 'line one of a note\nline two\nline three is longer than others'
  const mask = createMasker({ secrets: [value, note] })

  it('are masked wherever they stand, also across the borders of what is read at once', () => {
    for (let shift = 0; shift < 40; shift += 1) {
      const text = `${filler(300)}${'p'.repeat(shift)}\nsay ${value} aloud\n`.repeat(30)
      const section = masked(text, mask)
      expect(section.source.length).toBeGreaterThan(200 * 1024)
      const shown = refsOf(section).map((ref) => lineHead(ref))
      expect(shown.join('\n')).toBe(
        splitLines(text)
          .map((line) => cleanLine(line).replace(value, '[masked]'))
          .join('\n'),
      )
    }
  })

  it('of several lines are masked line by line, wherever a reader begins', () => {
    for (let at = 150; at < 260; at += 1) {
      const text = `${filler(at)}${note}\n${filler(8000)}`
      const refs = refsOf(masked(text, mask))
      for (const i of [2, 1, 0]) expect(lineHead(refs[at + i]!)).toBe('[masked]')
      expect(lineHead(refs[at + 3]!)).toBe('0 a is built and k is copied')
    }
  })

  it.each([20, 300, 900])('that are a private key of %d lines in the middle of 20 MB are masked, whichever of its lines is asked for', (lines) => {
    const draw = random(lines)
    const before = filler(280_000)
    const key = pemKey(draw, lines)
    const text = `${before}${key}\n${before}`
    const refs = refsOf(masked(text, mask))
    for (const i of [0, 1, Math.floor(lines / 2), lines, lines + 1]) expect(lineHead(refs[280_000 + i]!), `line ${i}`).toBe('[masked]')
    expect(lineHead(refs[280_000 + lines + 2]!)).toBe('0 a is built and k is copied')
  })

  it('that stand in lines like errors are in no digest, in no line of it and in no order of reading', () => {
    const draw = random(3)
    const key = pemKey(draw, 40)
      .split('\n')
      .map((line) => `${line} `)
      .join('\n')
    const token = ['ghp', 'abcdefghijklmnopqrstuvwxyz0123456789'].join('_')
    const text = `${filler(60_000)}error: the key ${value} was refused\n${key}\nfatal: password=${value} for ${token}\n${filler(60_000)}failed with ${value}\n`
    for (const budget of [300, 1000, 2048, 8000, 60_000]) {
      const digest = digestLog([streamOf(masked(text, mask), 120_050)], { budget, failed: true })
      expect(digest).not.toContain(value)
      expect(digest).not.toContain(token)
      for (const line of key.split('\n').slice(1, -1)) expect(digest).not.toContain(line.trim())
      expect(digest).toContain('[masked]')
    }
  })

  it('at either end of a very long line are masked', () => {
    const text = `${filler(5000)}${value} ${'y'.repeat(400_000)} password=${value}\n`
    const ref = refsOf(masked(text, mask)).at(-1)!
    expect(shownLine(ref, 2000)).toMatch(/^\[masked\] y+ \[\d+ bytes left out\] y+ password=\[masked\]$/)
  })
})

describe('what may matter in a log', () => {
  const flood = (i: number): string => `ERROR: ${(i * 7919).toString(36)} could not ${(i * 104_729).toString(36)} it\n`

  it('is bounded where every line looks like an error and is unlike all others, and the one that is otherwise is among it', () => {
    const lines = Array.from({ length: 120_000 }, (_, i) => (i === 60_000 ? 'src/app/main.ts(12,3): error TS2304: Cannot find name "frob".\n' : flood(i)))
    const section = textSection(lines.join(''))
    const { suspects, feeds, passedOver } = suspectsIn(section)
    expect(feeds).toBe(120_000)
    expect(suspects.length).toBeLessThan(18_000)
    expect(suspects.reduce((sum, { count }) => sum + count, passedOver)).toBe(120_000)
    expect(suspects.find(({ members }) => members[0]?.number === 60_001)).toMatchObject({ count: 1, lastNumber: 60_001 })
    expect(digestLog([streamOf(section, 120_000)], { budget: 2048, failed: true })).toContain('60001 | src/app/main.ts(12,3): error TS2304')
  })

  it('is counted however often it is repeated, and its first places are kept', () => {
    const section = textSection(`${filler(10)}${Array.from({ length: 50_000 }, (_, i) => `worker ${i} failed\n`).join('')}${filler(10)}`)
    const { suspects } = suspectsIn(section)
    const all = suspects.flatMap(({ members }) => members.map(({ number }) => number))
    expect(suspects.reduce((sum, { count }) => sum + count, 0)).toBe(50_000)
    expect(Math.max(...suspects.map(({ lastNumber }) => lastNumber))).toBe(50_010)
    expect(all).toContain(11)
  })

  it('is read by who reads lines: all of a short log, the ends and the neighbourhoods of a long one', () => {
    const short = textSection(filler(1000))
    expect(linesToRead(streamOf(short)).map(({ number }) => number)).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1))
    const long = textSection(`${filler(60_000)}error: no luck\n${filler(60_000)}`)
    const numbers = linesToRead(streamOf(long)).map(({ number }) => number)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(numbers).toEqual(expect.arrayContaining([1, 2500, 59_995, 60_001, 60_020, 118_001, 120_001]))
    expect(numbers.length).toBeLessThan(20_000)
    for (const ref of linesToRead(streamOf(long)).slice(-3))
      expect(lineHead(ref)).toBe(
        `${ref.number - 60_002} ${'abcdefghij'[(ref.number - 2) % 10]} is built and ${'klmnopqrst'[Math.floor((ref.number - 60_002) / 10) % 10]} is copied`,
      )
  })

  it('at the end of a log are its last groups of lines that differ in numbers alone', () => {
    const section = textSection(`start\n${'\n'}${Array.from({ length: 30_000 }, (_, i) => `row ${i}\n`).join('')}\n  \nend 1\nend 2\nother\n`)
    const groups = tailGroups(streamOf(section)).map(({ first, last, count }) => [first.number, last.number, count])
    expect(groups).toEqual([
      [1, 1, 1],
      [3, 30_002, 30_000],
      [30_005, 30_006, 2],
      [30_007, 30_007, 1],
    ])
  })

  it('are looked through once for trouble, under whatever mask, and shown through their own', () => {
    const bytes = sourceOf(Buffer.from(`fine\nerror: no ${'luck'}\nfine\n`))
    let reads = 0
    const source: ByteSource = {
      length: bytes.length,
      read(target, from) {
        reads += 1
        return bytes.read(target, from)
      },
    }
    const mask: Mask = { reach: 0, mask: (text) => text.replaceAll('luck', '[masked]') }
    expect(suspectsIn({ firstLine: 1, source }).suspects).toHaveLength(1)
    const before = reads
    const { feeds, suspects } = suspectsIn({ firstLine: 11, source, mask })
    expect([feeds, reads]).toEqual([3, before])
    expect(suspects.map(({ members, lastNumber }) => [members.map((line) => [line.number, shownLine(line, 100)]), lastNumber])).toEqual([
      [[[12, 'error: no [masked]']], 12],
    ])
  })

  it.each<[string, Buffer]>([
    ['nothing but NUL', Buffer.alloc(3_000_000)],
    ['one line of errors', Buffer.from('error '.repeat(500_000))],
    ['lines of two letters', Buffer.from('x\n'.repeat(1_000_000))],
    ['carriage returns alone', Buffer.from('error 1\r'.repeat(300_000))],
    ['UTF-16', Buffer.from('error: no luck\n'.repeat(100_000), 'utf16le')],
    ['random bytes', Buffer.from(random(1).bytes(2_000_000))],
    ['broken escapes', Buffer.from('\u001b[31merr\u001b]0;or\n'.repeat(100_000))],
    ['blank lines', Buffer.from('\n'.repeat(2_000_000))],
  ])('is told within the budget of %s', (_, bytes) => {
    const section: LogSection = { firstLine: 1, source: sourceOf(bytes), mask: createMasker({ secrets: ['hunter2-correct-horse'] }) }
    const digest = digestLog([streamOf(section, suspectsIn(section).feeds)], { budget: 1000, failed: true })
    expect(byteLength(digest)).toBeLessThanOrEqual(1000)
    expect(digest).not.toBe('')
  })
})
