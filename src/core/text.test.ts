import { describe, expect, it } from 'vitest'
import {
  byteLength,
  clampLine,
  cleanLine,
  formatCount,
  headBytes,
  lastFrame,
  oneLine,
  plural,
  splitLines,
  stripControls,
  tailBytes,
  withoutControls,
} from './text.ts'

const sample = 'a你€🔥é👩‍💻ß\n'

describe('headBytes and tailBytes', () => {
  it('keep as many whole characters as fit, from either end', () => {
    for (let most = 0; most <= byteLength(sample) + 2; most += 1) {
      const head = headBytes(sample, most)
      const tail = tailBytes(sample, most)
      expect(sample.startsWith(head) && sample.endsWith(tail)).toBe(true)
      for (const part of [head, tail]) {
        expect(byteLength(part)).toBeLessThanOrEqual(most)
        expect(Buffer.from(part).toString()).toBe(part)
      }
      // No further character would fit.
      const next = [...sample.slice(head.length)][0]
      if (next) expect(byteLength(head + next)).toBeGreaterThan(most)
    }
  })

  it('count a lone half of a character as the three bytes that it is written with', () => {
    expect(headBytes('\ud800\ud800', 5)).toBe('\ud800')
    expect(tailBytes('\udc00\udc00', 5)).toBe('\udc00')
  })
})

describe('clampLine', () => {
  it('keeps both ends of a long line and says what is missing', () => {
    const line = `start${'x'.repeat(1_000)}end`
    const short = clampLine(line, 100)
    expect(byteLength(short)).toBeLessThanOrEqual(100)
    const [, left] = /^start(?:x+) \[(\d+) bytes left out\] x+end$/.exec(short) ?? []
    expect(byteLength(short.replace(/ \[.*\] /, '')) + Number(left)).toBe(byteLength(line))
  })

  it('leaves a short line alone and never exceeds any limit', () => {
    expect(clampLine('short', 5)).toBe('short')
    for (let most = 0; most < 200; most += 1) expect(byteLength(clampLine('🔥'.repeat(100), most))).toBeLessThanOrEqual(most)
  })
})

describe('stripControls', () => {
  it.each([
    ['colours', '\u001b[1;31mred\u001b[0m plain', 'red plain'],
    ['a link', '\u001b]8;;http://x\u0007link\u001b]8;;\u0007', 'link'],
    ['the clipboard', 'a\u001b]52;c;Zm9v\u001b\\b', 'ab'],
    ['cursor movements', '\u001b[3A\u001b[5Cnew', 'new'],
    ['nothing of an erased line but where it begins again', 'old\u001b[2K\u001b[1Gnew', 'old\r\rnew'],
    ['single-byte forms', '\u009b31mred\u009d0;title\u009cend', 'redend'],
    ['a sequence that is never ended', 'before\u001b]0;title without end\nnext line', 'before\nnext line'],
    ['an escape at the very end', 'end\u001b', 'end'],
    ['a NUL', 'a\u0000b', 'a\ufffdb'],
    ['a bell and a delete', 'a\u0007\u007fb', 'ab'],
    ['nothing where there is nothing', 'tab\tand\r\nlines', 'tab\tand\r\nlines'],
  ])('removes %s', (_, text, clean) => {
    expect(stripControls(text)).toBe(clean)
  })
})

describe('lastFrame', () => {
  it.each([
    ['10%\r50%\r100%, done.', '100%, done.'],
    ['10%\r100%\r', '100%'],
    ['crlf line\r', 'crlf line'],
    ['A long old text\rNew', 'New'],
    ['\r\r', ''],
  ])('%j ends as %j', (line, last) => {
    expect(lastFrame(line)).toBe(last)
  })
})

describe('cleanLine', () => {
  it('shows a line as it looks once printing is over', () => {
    expect(cleanLine('\u001b[32m10%\r\u001b[32m100%\u001b[0m  ')).toBe('100%')
  })
})

describe('oneLine', () => {
  it('leaves nothing that could begin another line', () => {
    expect(oneLine(' a\n## b\r\nc\u2028d\u0085e\u001b[1mf\tg ')).toBe('a ## b c d ef g')
  })
})

describe('splitLines', () => {
  it('counts no line after the last line feed', () => {
    expect(splitLines('')).toEqual([])
    expect(splitLines('a\n\nb')).toEqual(['a', '', 'b'])
    expect(splitLines('a\n')).toEqual(['a'])
  })
})

describe('numbers in sentences', () => {
  it('are grouped and agree with their word', () => {
    expect(formatCount(1_234_567)).toBe('1,234,567')
    expect([plural(1, 'line'), plural(0, 'line'), plural(1_024, 'byte')]).toEqual(['1 line', '0 lines', '1,024 bytes'])
  })
})

describe('withoutControls', () => {
  it('gives the text of stripControls, but for NUL, and where each character came from', () => {
    const texts = [
      '\u001b[31mred\u001b[0m plain',
      'a\u001b[2Kb\rc',
      '\u009b1mx\u0008y\u0007',
      '\u001b]0;title\u0007é😀\u001b(Bz',
      'bad\u001b',
      '\u001b',
      'a\u0000b\u001b[m',
    ]
    for (const text of texts) {
      const shown = withoutControls(text)
      expect(shown?.text).toBe(stripControls(text).replaceAll('\ufffd', '\r'))
      for (let at = 0; at < (shown?.text.length ?? 0); at += 1) {
        const origin = text[shown?.originOf(at) ?? -1]
        if (shown?.text[at] !== '\r') expect(origin).toBe(shown?.text[at])
      }
    }
  })

  it('makes one border of many NUL characters in a row', () => {
    const text = `a${'\u0000'.repeat(1000)}b\u0000c`
    const shown = withoutControls(text)
    expect(shown?.text).toBe('a\rb\rc')
    expect([0, 2, 4].map((at) => shown?.originOf(at))).toEqual([0, 1001, 1003])
  })

  it('gives nothing for text that is shown as it is', () => {
    expect(withoutControls('plain\ttext\n')).toBeUndefined()
  })
})
