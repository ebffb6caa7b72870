import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isPlain, isPlainFile } from './plain-log.ts'

const folder = mkdtempSync(join(tmpdir(), 'plain-log-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('a plain log', () => {
  it('holds printable ASCII, tabs and line ends only, wherever a byte stands', () => {
    for (let length = 1; length <= 9; length += 1) {
      for (let at = 0; at < length; at += 1) {
        for (let byte = 0; byte < 256; byte += 1) {
          for (const around of [0x20, 0x7e, 0x0a]) {
            const buffer = Buffer.from(new ArrayBuffer(16)).fill(around, 0, length)
            buffer[at] = byte
            const plain = (byte >= 0x20 && byte <= 0x7e) || [9, 10, 13].includes(byte)
            if (isPlain(buffer, length) !== plain) expect.fail(`${byte} at ${at} of ${length}`)
          }
        }
      }
    }
  })

  it('is told by its file, and one that is not there is not plain', async () => {
    const path = join(folder, 'log')
    writeFileSync(path, `${'line\n'.repeat(400_000)}é`)
    expect(await isPlainFile(path)).toBe(false)
    writeFileSync(path, 'line\r\n\tnext\n'.repeat(200_000))
    expect(await isPlainFile(path)).toBe(true)
    expect(await isPlainFile(join(folder, 'none'))).toBe(false)
  })
})
