import { expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { takeMarkedLines } from './marked-lines.ts'

function takeApart(text: string, cut: (length: number) => number): { readonly out: string; readonly lines: string[] } {
  let out = ''
  const lines: string[] = []
  const marked = takeMarkedLines('n0', {
    bytes(bytes) {
      out += bytes.toString('latin1')
    },
    line(line) {
      lines.push(`${out.length}:${line}`)
      return undefined
    },
  })
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; ) {
    const next = at + cut(bytes.length - at)
    marked.push(bytes.subarray(at, next))
    at = next
  }
  marked.end()
  return { out, lines }
}

it.each([
  ['one line alone', '\n@n0 begun 7\n', '', ['0:begun 7']],
  ['between others', 'a\n\n@n0 x\nb', 'a\nb', ['2:x']],
  ['right behind an unfinished line', 'half\n@n0 x\nline', 'halfline', ['4:x']],
  ['what only looks like one', 'a\n@n1 x\n@n\n', 'a\n@n1 x\n@n\n', []],
  ['one that is not finished', 'a\n@n0 x', 'a\n@n0 x', []],
  ['two in a row', '\n@n0 x\n\n@n0 y\n', '', ['0:x', '0:y']],
])('%s is told wherever the pieces are cut', (_, text, out, lines) => {
  const { int } = random(7)
  for (const cut of [(length: number) => length, () => 1, () => 2, (length: number) => int(1, length)]) expect(takeApart(text, cut)).toEqual({ out, lines })
})

it('behind the last line of ours nothing waits, and nothing is a line of ours any more', () => {
  const given: string[] = []
  const marked = takeMarkedLines('n0', { bytes: (bytes) => void given.push(bytes.toString()), line: (line) => line === 'last' })
  marked.push(Buffer.from('noise\n@n0 last\nready\n'))
  expect(given).toEqual(['noise', 'ready\n'])
  marked.push(Buffer.from('\n@n0 x\n'))
  expect(given.join('')).toBe('noiseready\n\n@n0 x\n')
})

it('what begins like a line of ours and never ends is not kept for ever', () => {
  const text = `a\n@n0 ${'x'.repeat(10_000)}`
  let given = 0
  const bytes = ({ length }: Buffer): void => {
    given += length
  }
  const marked = takeMarkedLines('n0', { bytes, line: () => undefined })
  marked.push(Buffer.from(text))
  expect(given).toBe(text.length)
})
