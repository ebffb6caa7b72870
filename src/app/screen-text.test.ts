import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyTotals, type RunRecord } from '../core/run.ts'
import { readBlocks } from '../engine/log-reader.ts'
import { countLineFeeds } from '../engine/output.ts'
import { makeRunFolder, type RunFolder, runFolder } from './run-folder.ts'
import { prepareText, textOf } from './screen-text.ts'

const esc = '\u001b'
let base: string
let folder: RunFolder
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-screen-'))
  folder = runFolder(base, 'k7m2qx9d4tra')
  makeRunFolder(folder)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

/** A record of a run whose log is what was printed. */
function printed(output: string | Buffer, part: Partial<RunRecord> = {}): RunRecord {
  const bytes = Buffer.from(output)
  writeFileSync(folder.stdout, bytes)
  const stdout = { ...emptyTotals, bytes: bytes.length, lines: countLineFeeds(bytes) }
  return { state: 'ended', stdout, stderr: emptyTotals, pty: { rows: 24, columns: 80 }, ...part } as RunRecord
}

async function linesOf(record: RunRecord): Promise<{ lines: string[]; total: number; note: string | null }> {
  await prepareText(folder, record)
  const { pieces, lines: total, note } = textOf(folder, record, 'stdout')
  const blocks = [...readBlocks(pieces)]
  if (blocks.length > 0) expect(blocks[0]?.firstLine).toBe(1)
  return { lines: blocks.flatMap(({ text }) => text.split('\n')), total, note }
}

const drawn = `1 of 3\r${esc}[K2 of 3\r${esc}[K3 of 3\r\nfirst\r\nsecond\r\n${esc}[1A${esc}[2Klast\r\n`

describe('the text of a run on a pseudo-terminal', () => {
  it('has the lines that stand on it, counted', async () => {
    expect(await linesOf(printed(drawn))).toEqual({ lines: ['3 of 3', 'first', 'last'], total: 3, note: null })
  })

  it('is made once for a log that no longer grows, and is readable by its owner alone', async () => {
    const record = printed(drawn)
    await prepareText(folder, record)
    const before = statSync(folder.screen)
    expect(before.mode & 0o777).toBe(0o600)
    await prepareText(folder, record)
    expect(statSync(folder.screen)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs })
  })

  it('is made anew when the log has grown', async () => {
    expect((await linesOf(printed('50 %', { state: 'running' }))).lines).toEqual(['50 %'])
    const later = printed('50 %\r100 %\r\n', { state: 'running' })
    expect((await linesOf(later)).lines).toEqual(['100 %'])
    const growing = { ...later }
    writeFileSync(folder.stdout, '50 %\r100 %\r\nmore')
    expect(textOf(folder, growing, 'stdout').lines).toBe(1)
  })

  it('is never the text of another state of an ended run', async () => {
    await prepareText(folder, printed('half', { state: 'running' }))
    const ended = printed('half and whole\r\n')
    expect([...readBlocks(textOf(folder, ended, 'stdout').pieces)].map(({ text }) => text)).toEqual(['half and whole\r'])
    expect((await linesOf(ended)).lines).toEqual(['half and whole'])
  })

  it('is the log itself where there was no terminal', async () => {
    expect(await linesOf(printed('a\rb\n', { pty: undefined }))).toEqual({ lines: ['a\rb'], total: 1, note: null })
    expect(existsSync(folder.screen)).toBe(false)
  })

  it('is the log, and says so, past 16 MiB', async () => {
    const record = printed(Buffer.alloc(16 * 1024 * 1024 + 1, 'line\n'))
    const { total, note } = await linesOf(record)
    expect(total).toBe(record.stdout.lines)
    expect(note).toContain('its lines are those of the log')
    expect(existsSync(folder.screen)).toBe(false)
  })

  it('is the log, and says so, where few bytes would make very much text; that is found out once', async () => {
    const record = printed(`${esc}[499Cx\r\n`.repeat(250_000), { pty: { rows: 24, columns: 500 } })
    expect(await linesOf(record)).toMatchObject({ total: 250_000, note: expect.stringContaining('too much') })
    expect(readFileSync(folder.screen, 'utf8')).toBe(`{"end":${record.stdout.bytes},"kept":${record.stdout.bytes},"lines":null}\n`)
  })

  it('says where the log left something out', async () => {
    const marker = '\n[holdfast: 90 bytes with 0 line ends left out from offset 5]\n'
    const record = printed(`head:${marker}tail\r\n`)
    const stdout = { bytes: 101, lines: 1, droppedBytes: 90, gap: { offset: 5, bytes: 90, lines: 0, markerBytes: marker.length } }
    expect((await linesOf({ ...record, stdout })).lines).toEqual(['head:', '[holdfast: 90 bytes left out]', 'tail'])
  })
})
