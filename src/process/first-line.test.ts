import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { firstLineOf } from './first-line.ts'

const start = (script: string): ChildProcess => spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })

it('the first line is what a program prints before its first line feed', async () => {
  expect(await firstLineOf(start('printf "rea"; echo dy; echo more'), 10_000)).toBe('ready')
})

it('a program that ends before it has said a line is told with what it complained of', async () => {
  await expect(firstLineOf(start('echo "no room" >&2; exit 3'), 10_000)).rejects.toThrow('it ended at once (no room)')
  await expect(firstLineOf(start('exit 3'), 10_000)).rejects.toThrow('it ended at once (exit 3)')
})

it('a program that says nothing is not waited for without bound', async () => {
  const child = start('exec sleep 60')
  await expect(firstLineOf(child, 50)).rejects.toThrow('no answer within 50 ms')
  child.kill('SIGKILL')
})

it('a program that could not be started for want of descriptors, for which Node makes no pipes, is told with that', async () => {
  const child = Object.assign(new EventEmitter(), { unref() {} })
  const line = firstLineOf(child as unknown as ChildProcess, 10_000)
  child.emit('error', new Error('spawn EMFILE'))
  await expect(line).rejects.toThrow('spawn EMFILE')
})
