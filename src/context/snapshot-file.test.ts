import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { readSnapshot, writeSnapshot } from './snapshot-file.ts'

describe('the snapshot file', () => {
  it('is replaced whole, private, with nothing beside it', async () => {
    await using world = openWorld()
    const path = world.path('snapshot.md')
    writeFileSync(path, 'a longer text that was there before', { mode: 0o644 })
    writeSnapshot(path, 'new 日本\n')
    expect(readSnapshot(path)).toBe('new 日本\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(world.folder).sort()).toEqual(['home', 'root', 'snapshot.md', 'tmp'])
  })

  it('leaves no temporary file when it cannot be replaced', async () => {
    await using world = openWorld()
    mkdirSync(world.path('snapshot.md', 'in-the-way'), { recursive: true })
    expect(() => writeSnapshot(world.path('snapshot.md'), 'x\n')).toThrow(/cannot be used/)
    expect(readdirSync(world.folder).sort()).toEqual(['home', 'root', 'snapshot.md', 'tmp'])
    expect(() => writeSnapshot(world.path('nowhere', 'snapshot.md'), 'x\n')).toThrow(/ENOENT/)
  })

  it('reads as nothing when it is missing or a folder', async () => {
    await using world = openWorld()
    expect(readSnapshot(world.path('none'))).toBeUndefined()
    expect(readSnapshot(world.root)).toBeUndefined()
  })
})
