import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sourceOf } from '../core/byte-source.ts'
import { digestLog } from '../digest/digest.ts'
import { lineAfter, lineFrom, lineHead } from '../digest/log.ts'
import { findPieces } from '../engine/log-reader.ts'
import { createMasker } from '../engine/redact.ts'
import { endsOf, streamOf } from './log-streams.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-log-streams-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const mask = createMasker({ secrets: ['hunter2-correct-horse'] })
const filler = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i + 1} of many\n`).join('')

describe('a log that was kept whole and is too long to be looked through', () => {
  it.each(['', 'unfinished'])('has its ends, with the numbers that its lines have, and what is in between is stated (%j)', (rest) => {
    const text = `${filler(5000)}${rest}`
    const path = join(folder, 'stdout.log')
    writeFileSync(path, text)
    const lines = 5000 + (rest === '' ? 0 : 1)
    const totals = { bytes: text.length, lines, droppedBytes: 0, gap: null }
    expect(endsOf(findPieces(path, totals), mask, totals, text.length)).toBeUndefined()
    const ends = endsOf(findPieces(path, totals), mask, totals, 20_000)!
    expect(ends.unreadBytes).toBe(text.length - 20_000)
    const [head, tail] = ends.sections
    expect(lineHead(lineFrom(head!, 0, head!.firstLine)!)).toBe('line 1 of many')
    let last = lineFrom(tail!, 0, tail!.firstLine)!
    for (let next = lineAfter(last); next; next = lineAfter(next)) {
      last = next
      if (last.number <= 5000) expect(lineHead(last)).toBe(`line ${last.number} of many`)
    }
    expect(last.number).toBe(lines)
    const digest = digestLog([{ name: 'stdout', ...totals, ...ends }], { budget: 1000, failed: true })
    expect(digest).toContain(`of which ${(text.length - 20_000).toLocaleString('en')} bytes in the middle were not looked through`)
  })
})

describe('a log that is given to be digested', () => {
  it.each<[string, Parameters<typeof streamOf>[0]]>([
    ['text', 'one\ntwo hunter2-correct-horse\nthree'],
    ['bytes', Buffer.from('one\ntwo hunter2-correct-horse\nthree')],
    ['a place to read from', sourceOf(Buffer.from('one\ntwo hunter2-correct-horse\nthree'))],
  ])('may be %s', (_, log) => {
    const stream = streamOf(log, mask)
    expect([stream.bytes, stream.lines]).toEqual([35, 3])
    expect(digestLog([stream], { budget: 1000, failed: true })).toBe('stdout 35 bytes, 3 lines:\none\ntwo [masked]\nthree')
  })

  it('may be empty', () => {
    const stream = streamOf('', mask)
    expect([stream.bytes, stream.lines, stream.sections.length]).toEqual([0, 0, 0])
  })
})
