import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readSnapshot, writeSnapshot } from './snapshot-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'snapshot-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('writeSnapshot', () => {
  it('replaces the file privately and leaves nothing else', () => {
    const path = join(folder, 'snapshot.md')
    writeSnapshot(path, 'one\n')
    writeSnapshot(path, 'two\n')
    expect(readSnapshot(path)).toBe('two\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['snapshot.md'])
  })

  it('leaves no temporary file where it cannot replace', () => {
    const before = readdirSync(folder)
    expect(() => writeSnapshot(join(folder, 'snapshot.md', 'below'), 'x')).toThrow()
    expect(readdirSync(folder)).toEqual(before)
  })
})

describe('readSnapshot', () => {
  it('is undefined where there is none', () => {
    expect(readSnapshot(join(folder, 'none'))).toBeUndefined()
  })
})
