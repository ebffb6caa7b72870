import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { until } from '../../test/support/clock.ts'
import { signalArgv } from './plain-script.ts'

const stateOf = (pid: number): string | undefined => /^State:\t(.)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]

function send(shell: readonly [string, ...string[]], name: string, pid: number): string {
  const [, ...args] = signalArgv('0123', name, pid)
  return execFileSync(shell[0], [...shell.slice(1), ...args], { encoding: 'utf8' }).trim()
}

for (const shell of [
  ['/bin/dash', []],
  ['/bin/bash', ['--posix']],
  ['/bin/busybox', ['sh']],
] as const)
  it.skipIf(!existsSync('/proc/self/stat') || !existsSync(shell[0]))(`a signal to what is dead already is not said to be sent, in ${shell[0]}`, async () => {
    // The program that the shell becomes does not take notice of the child's end.
    const parent = spawn('sh', ['-c', 'setsid sh -c "read -r line" <&3 & echo $!; exec sleep 100'], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
    try {
      let said = ''
      parent.stdout?.on('data', (bytes: Buffer) => {
        said += bytes.toString()
      })
      await until(() => said.endsWith('\n'))
      const pid = Number(said)
      await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(`) S ${parent.pid} ${pid} `))
      expect(send([shell[0], ...shell[1]], 'CONT', pid)).toMatch(/sent$/)
      expect(send([shell[0], ...shell[1]], 'TERM', pid)).toMatch(/sent$/)
      await until(() => stateOf(pid) === 'Z')
      expect(send([shell[0], ...shell[1]], 'TERM', pid)).toMatch(/nobody$/)
    } finally {
      parent.kill('SIGKILL')
    }
  })
