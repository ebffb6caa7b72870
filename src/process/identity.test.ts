import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { openWorld } from '../../test/support/world.ts'
import { identify, identifyChild, isAlive, readStat, signalProcess } from './identity.ts'

const children: ReturnType<typeof spawn>[] = []

function start(program: string, ...args: string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  return { child, pid: child.pid as number, exited: once(child, 'exit') }
}

afterEach(async () => {
  for (const child of children.splice(0)) {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
    child.kill('SIGKILL')
    await exited
  }
})

const onLinux = process.platform === 'linux'

describe('the identity of a process', () => {
  it('stays the same as long as the process lives', () => {
    const self = identify(process.pid)
    expect(self).toMatchObject({ pid: process.pid })
    expect(identify(process.pid)).toEqual(self)
    expect(self && isAlive(self)).toBe(true)
  })

  it('is not alive once the process has ended', async () => {
    const { child, pid, exited } = start('sleep', '300')
    const identity = identifyChild(pid)
    expect(isAlive(identity)).toBe(true)
    child.kill('SIGKILL')
    await exited
    expect([isAlive(identity), identify(pid), signalProcess(identity, 'SIGTERM')]).toEqual([false, undefined, false])
  })

  it('does not pass to another process with the same pid, nor to one of another boot, and no signal reaches that one', async () => {
    const { child, pid, exited } = start('sleep', '300')
    const { startTime } = identifyChild(pid)
    const [boot, ticks] = startTime.split(':')
    const strangers = onLinux ? [`${boot}:${Number(ticks) - 1}`, `${boot}:${Number(ticks) + 1}`, `ffffffff:${ticks}`, ':0', ''] : ['another time', '']
    for (const stranger of strangers) {
      expect(isAlive({ pid, startTime: stranger })).toBe(false)
      expect(signalProcess({ pid, startTime: stranger }, 'SIGKILL')).toBe(false)
    }
    expect(isAlive({ pid, startTime })).toBe(true)
    expect(signalProcess({ pid, startTime }, 'SIGTERM')).toBe(true)
    await exited
    expect(child.signalCode).toBe('SIGTERM')
  })

  it.runIf(onLinux)('is not alive for a process that has ended and was not waited for', async () => {
    // It ends only once its parent is a program that waits for nobody.
    const { child } = start('sh', '-c', '(until [ "$(cat /proc/$$/comm)" = sleep ]; do :; done) & echo $!; exec sleep 300')
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const pid = Number(line.toString())
    await until(() => readStat(pid)?.zombie === true)
    expect(identify(pid)).toBeUndefined()
    expect(isAlive(identifyChild(pid))).toBe(false)
  })

  it.runIf(onLinux)('is read rightly whatever the name of the program', async () => {
    await using world = openWorld()
    copyFileSync('/bin/sleep', world.path('x) Z 1 (€'))
    const { pid } = start(world.path('x) Z 1 (€'), '300')
    await until(() => readStat(pid)?.name === 'x) Z 1 (€')
    expect(readStat(pid)).toMatchObject({ pid, zombie: false, group: readStat(process.pid)?.group })
    expect(isAlive(identifyChild(pid))).toBe(true)
  })

  it('is none where there is no such process', () => {
    expect(identify(2 ** 31 - 1)).toBeUndefined()
    expect(isAlive({ pid: 2 ** 31 - 1, startTime: 'x' })).toBe(false)
  })
})
