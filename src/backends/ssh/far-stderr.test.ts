import { describe, expect, it } from 'vitest'
import { FarStderr } from './far-stderr.ts'
import { marksOf } from './shell-line.ts'

const marks = marksOf('0a1b2c')
const record = (status: number): string => `\u001e${marks.end} ${status}\u001e`

function parts(chunks: readonly Buffer[]) {
  const far = new FarStderr(marks)
  const program = Buffer.concat([...chunks.map((chunk) => far.push(chunk)), far.finish()])
  return { program: program.toString('latin1'), status: far.status, said: far.said }
}

describe('the standard error of a channel', () => {
  const text = `motd: \u001e hello\n${marks.begin}one\u001e two \u001e${marks.end}x${record(255)} late`

  it('is parted the same wherever it is cut', () => {
    const whole = { program: `one\u001e two \u001e${marks.end}x late`, status: 255, said: 'motd: \u001e hello\n' }
    expect(parts([Buffer.from(text)])).toEqual(whole)
    expect(parts([...text].map((c) => Buffer.from(c)))).toEqual(whole)
    for (let at = 1; at < text.length; at += 1) expect(parts([Buffer.from(text.slice(0, at)), Buffer.from(text.slice(at))])).toEqual(whole)
  })

  it('has no status where the record was cut, and the bytes of that are the program’s', () => {
    const cut = record(7).slice(0, -1)
    expect(parts([Buffer.from(`${marks.begin}x${cut}`)])).toEqual({ program: `x${cut}`, status: undefined, said: '' })
  })

  it('is no record where the number is none, or the mark is that of another channel', () => {
    for (const other of [`\u001e${marks.end} 12345\u001e`, `\u001e${marks.end} 1\n\u001e`, `\u001e${marksOf('ffff').end} 1\u001e`]) {
      expect(parts([Buffer.from(`${marks.begin}${other}`)])).toMatchObject({ program: other, status: undefined })
    }
  })

  it('keeps the newest of what was said where no program began', () => {
    const { program, said } = parts([Buffer.from('x'.repeat(10_000)), Buffer.from('the last words')])
    expect([program, said.length < 5_000, said.endsWith('the last words')]).toEqual(['', true, true])
  })
})
