import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { swappedCalls, swapper } from '../../test/support/swapped-links.ts'
import { openWorld } from '../../test/support/world.ts'
import { HoldfastError } from '../core/errors.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { type DirectoryOpener, directoryOpener, directoryOpeners } from './directory.ts'
import { createHostFiles } from './host-files.ts'

const machine = { self: identifySelf(), isAlive }

const rounds = 4_000
/** So long it tries at least, where the rounds are not done before. */
const leastMs = 10_000
/** What is not met by then is not there to be met. */
const mostMs = 100_000

it.runIf(directoryOpener().way === 'handles')(
  'links that are swapped in between look and use lead nothing out, in any of many tries',
  async () => {
    await using world = openWorld()
    const root = world.path('ws')
    for (const folder of ['ws/d', 'outside/precious']) mkdirSync(world.path(folder), { recursive: true })
    writeFileSync(world.path('ws/f'), 'inside')
    writeFileSync(world.path('ws/d/victim'), 'inside')
    writeFileSync(world.path('outside/victim'), 'secret')
    writeFileSync(world.path('outside/precious/file'), 'secret')
    const outside = (): string[] =>
      ['', 'victim', 'precious', 'precious/file'].map((name) => {
        const { mtimeMs, ctimeMs, ino } = lstatSync(join(world.path('outside'), name))
        return `${name} ${ino} ${mtimeMs} ${ctimeMs}`
      })
    const before = outside()
    const child = spawn(process.execPath, ['--input-type=module', '-e', swapper], { cwd: root, env: world.env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    try {
      await once(child.stdout, 'data')
      const files = createHostFiles({ root, machine })
      const ends = new Map<string, number>()
      const open = readdirSync('/proc/self/fd').length
      const isMetOften = (): boolean => ['done', 'file_outside'].every((end) => (ends.get(end) ?? 0) > 100)
      const begun = performance.now()
      // How many calls there are in a second, and how many of them a swap falls into, is up to the scheduler.
      const isEnough = (round: number): boolean => {
        const ms = performance.now() - begun
        return ms > mostMs || (isMetOften() && (round >= rounds || ms > leastMs))
      }
      for (let round = 0; !isEnough(round); round += 1) {
        const call = swappedCalls[round % swappedCalls.length]!
        const end = await call(files, round).then(
          (value) => {
            expect(JSON.stringify(value)).not.toMatch(/secret|precious/)
            return 'done'
          },
          (error: unknown) => {
            // Every refusal has a word of ours.
            if (!(error instanceof HoldfastError) || error.code === 'internal') throw error
            return error.details.reason
          },
        )
        ends.set(end, (ends.get(end) ?? 0) + 1)
      }
      expect(readdirSync('/proc/self/fd')).toHaveLength(open)
      expect(outside()).toEqual(before)
      expect(readdirSync(world.path('outside')).sort()).toEqual(['precious', 'victim'])
      expect([readFileSync(world.path('outside/victim'), 'utf8'), readFileSync(world.path('outside/precious/file'), 'utf8')]).toEqual(['secret', 'secret'])
      // Both sides of the swap were met, else nothing was tried.
      expect(isMetOften(), JSON.stringify([...ends])).toBe(true)
    } finally {
      child.stdin.end()
      await ended
    }
  },
  mostMs + 30_000,
)

it.each(['handles', 'paths'] as const)('a directory that is swapped just before it is opened leads nothing out, by %s', async (way) => {
  for (const call of swappedCalls) {
    await using world = openWorld()
    for (const folder of ['ws/d', 'outside']) mkdirSync(world.path(folder), { recursive: true })
    writeFileSync(world.path('outside/victim'), 'secret')
    const before = lstatSync(world.path('outside')).ctimeMs
    const { open, below } = directoryOpeners[way]
    const opener: DirectoryOpener = {
      way,
      open,
      below(directory, name) {
        if (name === 'd') {
          renameSync(world.path('ws/d'), world.path('ws/kept'))
          symlinkSync('../outside', world.path('ws/d'))
        }
        return below(directory, name)
      },
    }
    const end = await call(createHostFiles({ root: world.path('ws'), machine, opener }), 1).catch((error: HoldfastError) => error.details.reason)
    // Two of the calls are about a file at the top, which nobody swaps here.
    expect(JSON.stringify(end)).toMatch(/^"file_outside"$|"path":"f"|file_missing/)
    expect(readdirSync(world.path('outside'))).toEqual(['victim'])
    expect(lstatSync(world.path('outside')).ctimeMs).toBe(before)
  }
})
