import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../../test/support/world.ts'
import { lockFile } from './lock.ts'

const asked = (timeoutMs: number) => ({ what: 'the repository', timeoutMs })

/** Another process that takes the lock, says so and holds it until it is killed. */
async function holderOf(file: string) {
  const bundle = fileURLToPath(new URL('../../../node_modules/libsql/index.js', import.meta.url))
  const script = `const D = require(${JSON.stringify(bundle)}); const d = new D(${JSON.stringify(file)}); d.exec('begin exclusive'); console.log('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return {
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

describe('a lock between processes', () => {
  it('is held by one at a time, also within one process', async () => {
    await using world = openWorld()
    const file = world.path('lock')
    let inside = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const unlock = await lockFile(file, asked(10_000))
        inside += 1
        most = Math.max(most, inside)
        await new Promise((resolve) => setTimeout(resolve, 5))
        inside -= 1
        unlock()
      }),
    )
    expect(most).toBe(1)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('is refused after its time, naming the holder, and never taken', async () => {
    await using world = openWorld()
    const file = world.path('lock')
    const unlock = await lockFile(file, asked(1_000))
    await expect(lockFile(file, asked(50))).rejects.toMatchObject({
      code: 'unavailable',
      message: `the repository was in use for 50 ms by process ${process.pid}`,
      details: { reason: 'lock_timeout', retryable: true },
    })
    unlock()
    unlock()
    ;(await lockFile(file, asked(50)))()
  })

  it('of another process ends when that is killed', async () => {
    await using world = openWorld()
    const file = world.path('lock')
    const holder = await holderOf(file)
    await expect(lockFile(file, asked(50))).rejects.toMatchObject({ details: { reason: 'lock_timeout' } })
    const waiting = lockFile(file, asked(20_000))
    await holder.kill()
    ;(await waiting)()
  })

  it('is not waited for by a caller that was canceled', async () => {
    await using world = openWorld()
    const file = world.path('lock')
    const unlock = await lockFile(file, asked(1_000))
    const stop = new AbortController()
    const waiting = lockFile(file, { ...asked(60_000), signal: stop.signal })
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ details: { reason: 'canceled' } })
    unlock()
  })

  it('in a folder that is not there is refused by name', async () => {
    await using world = openWorld()
    const file = join(world.path('nowhere'), 'lock')
    await expect(lockFile(file, asked(50))).rejects.toMatchObject({ details: { reason: 'store_unusable', path: file } })
  })

  it('neither opens nor writes what was put in the place of its files', async () => {
    await using world = openWorld()
    const file = world.path('lock')
    const victim = world.path('victim')
    writeFileSync(victim, 'precious')
    symlinkSync(victim, `${file}.holder`)
    ;(await lockFile(file, asked(50)))()
    rmSync(`${file}.holder`)
    execFileSync('mkfifo', [`${file}.holder`])
    ;(await lockFile(file, asked(50)))()
    expect(readFileSync(victim, 'utf8')).toBe('precious')
    linkSync(victim, `${file}-journal`)
    await expect(lockFile(file, asked(50))).rejects.toMatchObject({ details: { reason: 'store_unusable' } })
    rmSync(`${file}-journal`)
    for (const put of [() => symlinkSync(victim, file), () => writeFileSync(file, 'SQLite format 3'), () => execFileSync('mkfifo', [file])]) {
      rmSync(file)
      put()
      await expect(lockFile(file, asked(50))).rejects.toMatchObject({ message: expect.stringContaining('in the place of the lock') })
    }
  })
})
