import { describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { askProgram } from './ask-program.ts'
import { readStat } from './identity.ts'

const ask = (script: string, more: { timeoutMs?: number; maxBytes?: number; signal?: AbortSignal } = {}) =>
  askProgram({ argv: ['sh', '-c', script], cwd: '/', env: { PATH: process.env.PATH ?? '' }, timeoutMs: 20_000, maxBytes: 1000, ...more })

describe('asking a program', () => {
  it('gives what it said and its exit code', async () => {
    expect(await ask('cat; echo out; echo err >&2; exit 3')).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n', cut: undefined })
  })

  it('ends it with all it started when its time is over', async () => {
    const answer = await ask('sleep 600 & echo $!; sleep 600', { timeoutMs: 300 })
    expect(answer.cut).toBe('time')
    await until(() => {
      const stat = readStat(Number(answer.stdout))
      return !stat || stat.zombie
    })
  })

  it('ends it when it says too much', async () => {
    const answer = await ask('while :; do echo yes; done')
    expect(answer.cut).toBe('size')
    expect(answer.stdout.length).toBeLessThanOrEqual(1000)
  })

  it('waits for nobody who was left behind with its streams', async () => {
    const answer = await ask('sleep 600 & echo $!; exit 0')
    expect(answer.code).toBe(0)
    await until(() => {
      const stat = readStat(Number(answer.stdout))
      return !stat || stat.zombie
    })
  })

  it('ends it when nobody waits any more', async () => {
    const waiting = new AbortController()
    const asked = ask('sleep 600', { signal: waiting.signal })
    waiting.abort()
    expect((await asked).cut).toBe('canceled')
  })

  it('tells by the error of the system that there is no such program', async () => {
    await expect(askProgram({ argv: ['no-such-program'], cwd: '/', env: { PATH: '/usr/bin' }, timeoutMs: 1000, maxBytes: 10 })).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })
})
