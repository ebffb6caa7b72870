import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { markVariable } from '../core/command.ts'
import { identify, isAlive, readStat } from './identity.ts'
import { type Launched, launch } from './launch.ts'
import { findTree, signalTree, type TreeKey, toLeftovers } from './tree.ts'

const begun: { launched: Launched; key: TreeKey }[] = []

const freshMark = (): string => `tree-${randomBytes(6).toString('hex')}`

interface Started {
  readonly key: TreeKey
  readonly launched: Launched
  /** What the script printed first, as many pids as were asked for. */
  readonly pids: readonly number[]
}

async function start(
  script: string,
  prints: number,
  { mark = freshMark(), value = mark, env = {} }: { mark?: string; value?: string; env?: Record<string, string> } = {},
): Promise<Started> {
  const launched = await launch({
    argv: ['sh', '-c', script],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', [markVariable]: value, ...env },
    stdin: 'none',
  })
  const key = { leader: launched.identity, mark }
  begun.push({ launched, key })
  let text = ''
  launched.stderr.resume()
  while (text.split('\n').length <= prints) text += String((await once(launched.stdout, 'data'))[0])
  return { key, launched, pids: text.trim().split('\n').map(Number) }
}

afterEach(async () => {
  for (const { launched, key } of begun.splice(0)) {
    await until(async () => {
      await signalTree(key, 'SIGKILL', launched.unreaped())
      return (await findTree(key)).length === 0
    })
    await launched.exit
    launched.stdout.destroy()
    launched.stderr.destroy()
  }
})

const pidsOf = async (key: TreeKey): Promise<number[]> => (await findTree(key)).map(({ pid }) => pid).sort((a, b) => a - b)
const sorted = (...pids: (number | undefined)[]): number[] => pids.map(Number).sort((a, b) => a - b)

const holds = 'echo $$; exec sleep 300'
const onLinux = process.platform === 'linux'

describe('the tree of a run', () => {
  it('is the group of its first process, with its children', async () => {
    const { key, launched, pids } = await start('echo $$; sleep 300 & echo $!; wait', 2)
    expect(pids[0]).toBe(launched.identity.pid)
    expect(await pidsOf(key)).toEqual(sorted(...pids))
  })

  it.runIf(onLinux)('has what left the group, the session and its parent, by its mark', async () => {
    const { key, pids } = await start(`echo $$; setsid sh -c '${holds}' & ( ( setsid sh -c '${holds}' & ) & ) ; wait; sleep 300`, 3)
    expect(new Set(pids).size).toBe(3)
    for (const pid of pids) expect(await pidsOf(key)).toContain(pid)
    const escaped = pids.filter((pid) => readStat(pid)?.group !== key.leader.pid)
    expect(escaped.length).toBe(2)
  })

  it.runIf(onLinux)('has a member of the group that cleared its environment', async () => {
    const { key, pids } = await start(`echo $$; env -i sh -c '${holds}' & wait`, 2)
    for (const pid of pids) expect(await pidsOf(key)).toContain(pid)
  })

  it.runIf(onLinux)('has what cleared its environment and left the group, as a member of its session or the child of one', async () => {
    const groups = await start(`exec bash -c 'set -m; echo $$; env -i sh -c "echo \\$\\$; exec sleep 300" & wait'`, 2)
    const sessions = await start(`echo $$; env -i setsid sh -c '${holds}' & wait`, 2)
    const deep = await start(`echo $$; env -i setsid sh -c 'echo $$; env -i setsid sh -c "echo \\$\\$; exec sleep 300"; true' & wait`, 3)
    for (const { key, pids } of [groups, sessions, deep]) {
      expect(pids.slice(1).every((pid) => readStat(pid)?.group !== key.leader.pid)).toBe(true)
      expect(await pidsOf(key)).toEqual(sorted(...pids))
    }
  })

  it.runIf(onLinux)('has what was found once, also when its parent is gone', async () => {
    const { key, launched, pids } = await start(`echo $$; env -i setsid sh -c '${holds}' & wait`, 2)
    const looking: TreeKey = { ...key, seen: new Map() }
    expect(await pidsOf(looking)).toEqual(sorted(...pids))
    process.kill(key.leader.pid, 'SIGKILL')
    await launched.exit
    expect(await pidsOf(looking)).toEqual([pids[1]])
    expect(await signalTree(looking, 'SIGKILL', false)).toBe(true)
    await until(async () => (await findTree(looking)).length === 0)
  })

  it.runIf(onLinux)('tells who is about to go on by itself from who waits for something', async () => {
    const { key, pids } = await start('echo $$; sleep 300 & echo $!; (while :; do :; done) & echo $!; wait', 3)
    // One that has only just begun to wait may still be on its way to it.
    await until(async () => {
      const busy = new Map((await findTree(key)).map((member) => [member.pid, member.busy]))
      return (
        pids
          .slice(1)
          .map((pid) => busy.get(pid))
          .join() === 'false,true'
      )
    })
  })

  it.runIf(onLinux)('lives on without its first process', async () => {
    const { key, launched, pids } = await start(`setsid sh -c '${holds}' & sleep 300 & echo $!`, 2)
    await launched.exit
    // In the middle of its exec a program has no environment to be known by.
    await until(async () => isDeepStrictEqual(await pidsOf(key), sorted(...pids)))
    await until(async () => toLeftovers(await findTree(key)).every(({ name }) => name === 'sleep'))
  })

  it.runIf(onLinux)('never has a stranger, however alike', async () => {
    const mark = freshMark()
    const alike = [
      { value: `${mark}x` },
      { value: `x${mark}` },
      { value: `outer/${mark}x/inner` },
      { value: '', env: { OTHER: mark } },
      { value: '', env: { [`X${markVariable}`]: mark } },
      { value: '', env: { TEXT: `line\n${markVariable}=${mark}` } },
    ]
    const { key } = await start(holds, 1, { mark })
    for (const { value, env } of alike) await start(holds, 1, { value, ...(env ? { env } : {}) })
    expect(await pidsOf(key)).toEqual([key.leader.pid])
  })

  it.runIf(onLinux)('has the runs inside of it, and they do not have it', async () => {
    const [outer, inner] = [freshMark(), freshMark()]
    const around = await start(holds, 1, { mark: outer })
    const within = await start(holds, 1, { mark: inner, value: `${outer}/${inner}` })
    expect(await pidsOf(around.key)).toEqual(sorted(...around.pids, ...within.pids))
    expect(await pidsOf(within.key)).toEqual(sorted(...within.pids))
  })

  it.runIf(onLinux)('does not have a group that took over the pid of its first process', async () => {
    const stranger = await start('sleep 300 & echo $!; wait', 1)
    const [boot, ticks] = stranger.key.leader.startTime.split(':')
    const gone: TreeKey = { leader: { pid: stranger.key.leader.pid, startTime: `${boot}:${Number(ticks) - 5_000}` }, mark: freshMark() }
    expect(await findTree(gone)).toEqual([])
    expect(await signalTree(gone, 'SIGKILL', false)).toBe(false)
    expect(isAlive(stranger.key.leader)).toBe(true)
  })

  it.runIf(onLinux)('does not have what was there before its first process', async () => {
    const mark = freshMark()
    const before = await start(holds, 1, { mark })
    const [boot, ticks] = before.key.leader.startTime.split(':')
    const after = await start(holds, 1)
    const key: TreeKey = { leader: { pid: after.key.leader.pid, startTime: `${boot}:${Number(ticks) + 1_000}` }, mark }
    expect(await findTree(key)).toEqual([])
  })
})

describe('a signal to a tree', () => {
  it.runIf(onLinux)('reaches every process of it and nothing else', async () => {
    const { key, launched, pids } = await start(`setsid sh -c '${holds}' & sleep 300 & echo $!; wait`, 2)
    const other = await start(holds, 1)
    expect(await signalTree(key, 'SIGTERM', launched.unreaped())).toBe(true)
    await until(async () => (await findTree(key)).length === 0)
    expect(pids.map(identify)).toEqual([undefined, undefined])
    expect(isAlive(other.key.leader)).toBe(true)
  })

  it.runIf(onLinux)('reaches what cleared its environment and left the session, though its parent dies of it first', async () => {
    const { key, launched, pids } = await start(`echo $$; env -i setsid sh -c '${holds}' & wait`, 2)
    expect(await signalTree(key, 'SIGTERM', launched.unreaped())).toBe(true)
    await until(async () => pids.every((pid) => identify(pid) === undefined))
  })

  it.runIf(onLinux)('lets what is stopped act on it', async () => {
    const { key, launched, pids } = await start(`trap 'exit 7' TERM; sh -c 'echo $$; kill -STOP $$' & echo $$; wait; kill -STOP $$`, 2)
    for (const pid of pids.filter((each) => each !== key.leader.pid)) await until(async () => readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') T '))
    await signalTree(key, 'SIGTERM', launched.unreaped())
    expect(await launched.exit).toEqual({ code: 7, signal: null })
    await until(async () => (await findTree(key)).length === 0)
  })

  it.runIf(onLinux)('reaches what the first process left behind', async () => {
    const { key, launched } = await start(`setsid sh -c '${holds}' & sleep 300 & echo $!`, 2)
    await launched.exit
    expect(launched.unreaped()).toBe(false)
    expect(await signalTree(key, 'SIGKILL', false)).toBe(true)
    await until(async () => (await findTree(key)).length === 0)
    expect(await signalTree(key, 'SIGKILL', false)).toBe(false)
  })
})
