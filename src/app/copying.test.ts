import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import type { Files } from '../core/files.ts'
import { createHostFiles } from '../files/host-files.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { copyBetween } from './copying.ts'

const machine = { self: identifySelf(), isAlive }

function ends(world: ReturnType<typeof openWorld>): { from: Files; to: Files; here: string; there: string } {
  const [here, there] = [world.path('here'), world.path('there')]
  for (const folder of [here, there]) mkdirSync(folder)
  return { from: createHostFiles({ root: here, machine }), to: createHostFiles({ root: there, machine }), here, there }
}

describe('a copy', () => {
  it('of a file has its bytes and its mode, and goes into a folder that is there', async () => {
    await using world = openWorld()
    const { from, to, here, there } = ends(world)
    writeFileSync(join(here, 'run.sh'), randomBytes(3_000_000))
    chmodSync(join(here, 'run.sh'), 0o755)
    mkdirSync(join(there, 'bin'))
    const copied = await copyBetween({ files: from, path: 'run.sh' }, { files: to, path: 'bin' })
    expect(copied).toMatchObject({ from: 'run.sh', path: 'bin/run.sh', files: 1, bytes: 3_000_000, skipped: [] })
    expect(copied.sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(readFileSync(join(there, 'bin/run.sh')).equals(readFileSync(join(here, 'run.sh')))).toBe(true)
    expect(statSync(join(there, 'bin/run.sh')).mode & 0o777).toBe(0o755)
  })

  it('of a folder is merged into one that is there, and says what it left out', async () => {
    await using world = openWorld()
    const { from, to, here, there } = ends(world)
    mkdirSync(join(here, 'src/deep'), { recursive: true })
    mkdirSync(join(here, 'src/.git'))
    for (const [name, text] of Object.entries({ 'src/a': '1', 'src/deep/b': '22', 'src/.git/HEAD': 'ref' })) writeFileSync(join(here, name), text)
    symlinkSync('a', join(here, 'src/link'))
    mkdirSync(join(there, 'src'))
    writeFileSync(join(there, 'src/own'), 'stays')
    const copied = await copyBetween({ files: from, path: 'src' }, { files: to, path: 'src' })
    expect(copied).toMatchObject({ path: 'src', files: 2, directories: 2, bytes: 3, sha256: null })
    expect([...copied.skipped].sort()).toEqual(['src/.git', 'src/link'])
    expect(readFileSync(join(there, 'src/deep/b'), 'utf8')).toBe('22')
    expect(readFileSync(join(there, 'src/own'), 'utf8')).toBe('stays')
  })

  it('that would lead out of either side is refused, and nothing is written', async () => {
    await using world = openWorld()
    const { from, to, here } = ends(world)
    writeFileSync(join(here, 'a'), '1')
    await expect(copyBetween({ files: from, path: 'a' }, { files: to, path: '../b' })).rejects.toMatchObject({ details: { reason: 'file_outside' } })
    await expect(copyBetween({ files: from, path: '/etc/passwd' }, { files: to, path: 'b' })).rejects.toMatchObject({ details: { reason: 'file_outside' } })
    expect(await to.exists('b')).toBe(false)
  })

  it('whose bytes are not those that were sent changes nothing', async () => {
    await using world = openWorld()
    const { from, to, here } = ends(world)
    writeFileSync(join(here, 'a'), '1')
    const lying: Files = {
      ...from,
      download: async (path) => {
        const download = await from.download(path)
        return { ...download, sha256: Promise.resolve('0'.repeat(64)) }
      },
    }
    await expect(copyBetween({ files: lying, path: 'a' }, { files: to, path: 'b' })).rejects.toMatchObject({ details: { reason: 'file_changed' } })
    expect(await to.exists('b')).toBe(false)
  })
})
