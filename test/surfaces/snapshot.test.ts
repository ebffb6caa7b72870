import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Holdfast, openHoldfast } from '../../src/index.ts'

let root: string
let holdfast: Holdfast

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'snapshot-story-'))
  holdfast = await openHoldfast({ root })
})
afterEach(async () => {
  await holdfast.close()
  rmSync(root, { recursive: true })
})

describe('snapshot and resume', () => {
  it('give back the very page as long as nothing has happened since', async () => {
    await holdfast.exec({ argv: ['false'], purpose: 'fail' })
    const { text, path } = await holdfast.snapshot({ context: 'mending the door' })
    expect(await holdfast.resume()).toEqual({ text, bytes: Buffer.byteLength(text), path, warnings: [] })
    expect(readFileSync(path as string, 'utf8')).toBe(text)
    expect(statSync(path as string).mode & 0o777).toBe(0o600)
  })

  it('give the same context with what came since', async () => {
    await holdfast.snapshot({ context: 'mending the door' })
    await holdfast.exec({ argv: ['false'], purpose: 'try the door' })
    await holdfast.addNote({ text: 'the door opens inwards' })
    const { text } = await holdfast.resume()
    for (const part of ['> mending the door', 'try the door', 'the door opens inwards']) expect(text).toContain(part)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048)
  })

  it('keep the context until another one is given', async () => {
    await holdfast.snapshot({ context: 'mending the door' })
    expect((await holdfast.snapshot({})).text).toContain('> mending the door')
    expect((await holdfast.snapshot({ context: 'painting it' })).text).not.toContain('mending')
    expect((await holdfast.snapshot({ context: '' })).text).not.toContain('Active context')
  })

  it('have at most the bytes that were asked for, also when they are made again', async () => {
    for (const limit of [0, 1, 40, 200]) {
      expect((await holdfast.snapshot({ context: 'x'.repeat(500), limit })).bytes).toBeLessThanOrEqual(limit)
      await holdfast.exec({ argv: ['true'] })
      expect((await holdfast.resume()).bytes).toBeLessThanOrEqual(limit)
    }
    const { bytes, warnings } = await holdfast.snapshot({ limit: 5_000 })
    expect(bytes).toBeLessThanOrEqual(2048)
    expect(warnings).toEqual(['limit 5000 is above 2048 bytes and was set to it'])
    await expect(holdfast.snapshot({ limit: -1 })).rejects.toMatchObject({ code: 'invalid_argument' })
  })
})

describe('search', () => {
  it('shows lines of a run also where its command has the whole query', async () => {
    await holdfast.exec({ script: 'echo "tests begin"; echo "run 7"', purpose: 'run tests' })
    const { hits } = await holdfast.search({ query: 'run tests' })
    expect(hits.map(({ stream }) => stream)).toEqual(expect.arrayContaining(['purpose', 'stdout']))
  })
})
