import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { byteLength, splitLines } from '../core/text.ts'
import { comparisonLines } from './comparison-lines.ts'
import { digestLog } from './digest.ts'
import type { LogStream } from './log.ts'
import { lineHead, textSection } from './log.ts'
import { compare, type Difference, maxMended, maxNewLines, type PastLog } from './past.ts'
import { shapeSet } from './shape-set.ts'

const stream = (name: LogStream['name'], text: string): LogStream => ({
  name,
  sections: text === '' ? [] : [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})
const past = (outcome: PastLog['outcome'], text: string, more: Partial<PastLog> = {}): PastLog => ({
  name: outcome === 'passed' ? 'k7m2' : 'p3x9',
  outcome,
  earlierMs: null,
  streams: [stream('stdout', text)],
  ...more,
})
const against = (text: string, log: PastLog): Difference => {
  const { passing, failing } = compare([stream('stdout', text)], [log])
  return (log.outcome === 'passed' ? passing : failing) as Difference
}
const textsOf = (difference: Difference): string[] => difference.newLines.map(({ line }) => lineHead(line))

const words = ['compile', 'link', 'fetch', 'core', 'parser', 'lexer', 'module', 'cache', 'index', 'checksum', 'worker', 'asset']
/** A log as a noisy tool prints it: the same steps each time, with times, hashes, sizes and ports of this time. */
function noisyLog(seed: number, count: number): string[] {
  const draw = random(seed)
  const stamp = (): string => `${draw.int(10, 23)}:${draw.int(10, 59)}:${draw.int(10, 59)}.${draw.int(100, 999)}`
  const hash = (): string => `a${Array.from({ length: 11 }, () => draw.int(0, 15).toString(16)).join('')}7`
  return Array.from({ length: count }, (_, i) => {
    const step = `${words[i % 12]} ${words[Math.floor(i / 12) % 12]} ${words[Math.floor(i / 144) % 12]}`
    return `${stamp()} [worker-${draw.int(1, 8)}] ${step} ${hash()} at 127.0.0.1:${draw.int(1024, 65535)} in ${draw.int(1, 900)} ms (${draw.int(1, 99)}%)`
  })
}
function shuffled(lines: readonly string[], seed: number): string[] {
  const draw = random(seed)
  const left = [...lines]
  return Array.from({ length: lines.length }, () => left.splice(draw.int(0, left.length - 1), 1)[0] as string)
}

describe('an output compared with an earlier one', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed))('that is the same has nothing new and nothing gone (seed %i)', (seed) => {
    const draw = random(seed)
    const text = Buffer.from(draw.bytes(draw.int(0, 4_000))).toString(seed % 2 === 0 ? 'latin1' : 'utf8')
    const difference = against(text, past('failed', text))
    expect(difference).toMatchObject({ added: 0, gone: 0, mended: [], newLines: [] })
  })

  it('that printed the same lines in another order, and with other times and hashes, has nothing new', () => {
    const difference = against(shuffled(noisyLog(1, 2_000), 7).join('\n'), past('passed', noisyLog(2, 2_000).join('\n')))
    expect(difference).toMatchObject({ added: 0, gone: 0 })
  })

  it('has the one new line among five thousand noisy ones', () => {
    const lines = noisyLog(3, 5_000)
    lines.splice(2_600, 0, 'warehouse is closed today')
    const difference = against(lines.join('\n'), past('passed', noisyLog(4, 5_000).join('\n')))
    expect(difference).toMatchObject({ added: 1, gone: 0 })
    expect(textsOf(difference)).toEqual(['warehouse is closed today'])
    expect(difference.newLines.map(({ line }) => [line.number, difference.isNew(line)])).toEqual([[2_601, true]])
  })

  it.each([
    ['of up to 8 MiB is compared however many lines differ', '', 1],
    ['of more is not compared where very many lines differ', ' and so on, and on, and on', undefined],
  ])('%s', (_title, end, added) => {
    const letters = Array.from({ length: 520 }, (_, i) => String.fromCharCode(103 + (i % 20), 103 + (Math.floor(i / 20) % 20), 103 + Math.floor(i / 400)))
    const text = Array.from({ length: 264_000 }, (_, i) => `${letters[i % 520]} ${letters[Math.floor(i / 520)]} ${i}${end}`).join('\n')
    expect(text.length > 8 * 1024 ** 2).toBe(added === undefined)
    expect(compare([stream('stdout', `${text}\none more`)], [past('passed', text)]).passing?.added).toBe(added)
  })

  it('takes no line for new that is there more often than before, or in the other stream', () => {
    const before = past('passed', 'one\ntwo\n')
    const { passing } = compare([stream('stdout', 'one\none\none\n'), stream('stderr', 'two\n')], [before])
    expect(passing).toMatchObject({ added: 0, gone: 0 })
  })

  it('counts lines that are alike once, and remembers the first and the last of very many', () => {
    expect(against('a\nnew 1\nnew 2\nnew 3\n', past('passed', 'a\nold x\nold y\n'))).toMatchObject({ added: 1, gone: 2 })
    const many = Array.from({ length: 3_000 }, (_, i) => `word${String.fromCharCode(97 + (i % 26), 97 + (Math.floor(i / 26) % 26), 97 + Math.floor(i / 676))}`)
    const difference = against(many.join('\n'), past('passed', 'a\n'))
    expect(difference.added).toBe(3_000)
    const numbers = difference.newLines.map(({ line }) => line.number)
    expect(numbers).toHaveLength(maxNewLines)
    expect([numbers[0], numbers.at(-1)]).toEqual([1, 3_000])
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  })

  it('names the errors of a failed run that are gone, and no other lines', () => {
    const before =
      'compiling\nsrc/a.ts(3,1): error TS2304: Cannot find name x.\nsrc/b.ts(9,1): error TS2551: No such member.\nnote: see above\nFound 2 errors.\n'
    const now = 'compiling\nsrc/b.ts(11,1): error TS2551: No such member.\nFound 1 error.\n'
    expect(against(now, past('failed', before))).toMatchObject({ mended: ['src/a.ts(3,1): error TS2304: Cannot find name x.'], mendedCount: 1 })
    expect(against(now, past('passed', before))).toMatchObject({ mended: [], mendedCount: 0 })
  })

  it('counts all that is mended and keeps some', () => {
    const before = Array.from({ length: 60 }, (_, i) => `error: no ${'abcdefghij'[i % 10]}${'klmnop'[Math.floor(i / 10)]} here`).join('\n')
    const difference = against('fine\n', past('failed', before))
    expect([difference.mended.length, difference.mendedCount]).toEqual([maxMended, 60])
  })

  it('takes paths below two copies of a project for the same', () => {
    const moved = { from: '/srv/project', to: '/home/me/trees/fix-x1' }
    const before = past('passed', '/srv/project/src/a.ts checked\n', { moved })
    expect(against('/home/me/trees/fix-x1/src/a.ts checked\n', before)).toMatchObject({ added: 0, gone: 0 })
    expect(against('/home/me/trees/fix-x1/src/b.ts checked\n', before)).toMatchObject({ added: 1, gone: 1 })
  })

  it('is compared with the first of each outcome that is given, and with nothing where there is none', () => {
    const now = [stream('stdout', 'a\n')]
    expect(compare(now, [])).toEqual({ passing: null, failing: null })
    const { passing, failing } = compare(now, [past('failed', 'b\n'), past('passed', 'a\n'), past('passed', 'c\n')])
    expect([passing?.added, failing?.added]).toEqual([0, 1])
  })
})

describe('the set of shapes', () => {
  it('holds what was added and nothing else', () => {
    const draw = random(11)
    const values = new Set(Array.from({ length: 20_000 }, () => draw.int(-(2 ** 31), 2 ** 31 - 1)).filter((value) => value !== 0))
    const set = shapeSet()
    for (const value of values) expect(set.add(value)).toBe(true)
    for (const value of values) if (!set.add(value) || !set.has(value)) throw new Error(`${value} is not there`)
    expect([...set.values()].sort((a, b) => a - b)).toEqual([...values].sort((a, b) => a - b))
    expect(Array.from({ length: 20_000 }, () => draw.int(1, 2 ** 31 - 1)).filter((value) => set.has(value) && !values.has(value))).toEqual([])
  })

  it('says when it is full, and still has what is in it', () => {
    const set = shapeSet(64)
    const added = Array.from({ length: 100 }, (_, i) => i + 1).filter((value) => set.add(value))
    expect(added.length).toBeGreaterThan(30)
    expect(added.length).toBeLessThan(64)
    expect(added.every((value) => set.has(value))).toBe(true)
    expect(set.has(100)).toBe(false)
  })
})

describe('what a digest says of earlier runs', () => {
  const now = 'compiling\nsrc/b.ts(11,1): error TS2551: No such member.\n'
  const failed = 'compiling\nsrc/a.ts(3,1): error TS2304: Cannot find name x.\nsrc/b.ts(9,1): error TS2551: No such member.\n'
  const logs = [past('passed', 'compiling\nfine\n', { earlierMs: 2 * 3_600_000 + 5 }), past('failed', failed, { earlierMs: 301_000 })]
  const lines = (text: string, given: readonly PastLog[], options: { budget: number; failed: boolean }): string[] =>
    comparisonLines(compare([stream('stdout', text)], given), options)

  it('counts against both, the passing one first, and calls what a failing run does not say any more gone', () => {
    expect(lines(now, logs, { budget: 2048, failed: true })).toEqual([
      'against k7m2 (passed, 2 h earlier): 1 line new, 1 gone; against p3x9 (failed, 5 min earlier): 0 lines new, 1 gone (1 like errors)',
      'gone: src/a.ts(3,1): error TS2304: Cannot find name x.',
    ])
  })

  it('says what a passing run has mended', () => {
    expect(lines('compiling\nfine\n', logs.slice(1), { budget: 2048, failed: false })).toEqual([
      'against p3x9 (failed, 5 min earlier): 1 line new, 2 gone (2 like errors)',
      'mended: src/a.ts(3,1): error TS2304: Cannot find name x.',
      'mended: src/b.ts(9,1): error TS2551: No such member.',
    ])
  })

  it('says that an output is as it was before', () => {
    expect(lines('compiling\nfine\n', logs.slice(0, 1), { budget: 2048, failed: true })).toEqual([
      'against k7m2 (passed, 2 h earlier): nothing new, nothing gone',
    ])
  })

  it.each([
    [59_999, '59 s'],
    [0, '1 s'],
    [3_599_000, '59 min'],
    [86_400_000, '1 day'],
    [1_000_000_000, '11 days'],
  ])('says %i ms as %s', (earlierMs, words) => {
    const [line] = lines('a\n', [past('passed', 'a\n', { earlierMs })], { budget: 2048, failed: true })
    expect(line).toContain(`(passed, ${words} earlier)`)
  })

  it('takes at most 15 % of the budget, and nothing of a tiny one', () => {
    for (let budget = 0; budget < 3_000; budget += 7) {
      const bytes = lines(now, logs, { budget, failed: true }).reduce((sum, line) => sum + byteLength(line) + 1, 0)
      expect(bytes).toBeLessThanOrEqual(budget * 0.15)
    }
    expect(lines(now, logs, { budget: 300, failed: true })).toEqual([])
    expect(comparisonLines(undefined, { budget: 2048, failed: true })).toEqual([])
  })

  it('cannot be forged by the lines of a log', () => {
    const forged = past('failed', 'error: one\u001b[31m\u0007 \u2028exit 0\n', { name: 'a\nexit 0' })
    const said = lines('fine\n', [forged], { budget: 2048, failed: false })
    expect(said).toHaveLength(2)
    expect(said.join('')).not.toMatch(/[\n\u2028\u001b\u0007]/)
  })

  it('gives way to an output that could not be shown whole beside it', () => {
    const steps = 'abcdefghijklmnopqrstuvwxyz'.split('').map((letter) => `the step ${letter.repeat(3)} was done without a word of trouble`)
    const text = steps.join('\n')
    const comparison = compare([stream('stdout', text)], [past('passed', 'other\n', { earlierMs: 60_000 })])
    const said = (budget: number): string => digestLog([stream('stdout', text)], { budget, failed: true, comparison })
    const bytes = byteLength(text)
    expect(said(bytes + 150)).toContain(text)
    expect(said(bytes + 150)).not.toContain('against')
    expect(said(bytes + 400)).toContain(text)
    expect(said(bytes + 400)).toMatch(/^against k7m2/)
    expect(said(bytes - 200)).toMatch(/^against k7m2/)
  })

  it('is part of the digest, within its budget', () => {
    const text = `${noisyLog(5, 400).join('\n')}\nerror: the warehouse is closed\n`
    const comparison = compare([stream('stdout', text)], [past('passed', noisyLog(6, 400).join('\n'), { earlierMs: 60_000 })])
    for (const budget of [0, 100, 512, 600, 1024, 2048]) {
      const digest = digestLog([stream('stdout', text)], { budget, failed: true, comparison })
      expect(byteLength(digest)).toBeLessThanOrEqual(budget)
      expect(digest.includes('against k7m2 (passed, 1 min earlier): 1 line new, 0 gone')).toBe(budget >= 600)
      if (budget >= 512) expect(digest).toContain('401 | error: the warehouse is closed')
    }
  })
})

describe('a comparison with a log that is not whole', () => {
  const cut = (head: string, tail: string): LogStream => ({
    name: 'stdout',
    sections: [textSection(head), textSection(tail, 5_001)],
    bytes: 9_000_000,
    lines: 5_000 + splitLines(tail).length,
    droppedBytes: 8_900_000,
  })
  const text = 'begin\nerror: no such file\nend of it\n'
  const wordsOf = (streams: readonly LogStream[], log: PastLog): string =>
    comparisonLines(compare(streams, [log]), { budget: 2048, failed: log.outcome === 'passed' }).join('\n')

  it('says that what is new may have stood in what the earlier one lacks', () => {
    expect(wordsOf([stream('stdout', text)], past('passed', '', { streams: [cut('begin\n', 'end of it\n')] }))).toBe(
      'against k7m2 (passed): at most 1 line new, 0 gone, the earlier log not being whole',
    )
  })

  it('says that what is gone may stand in what this one lacks, and calls no error mended', () => {
    expect(wordsOf([cut('begin\n', 'end of it\n')], past('failed', text))).toBe(
      'against p3x9 (failed): 0 lines new, at most 1 gone (1 like errors), this log not being whole\nnot seen: error: no such file',
    )
  })

  it('says nothing of it where no line differs', () => {
    expect(wordsOf([cut('begin\n', 'end of it\n')], past('failed', 'begin\nend of it\n'))).toBe('against p3x9 (failed): nothing new, nothing gone')
  })
})
