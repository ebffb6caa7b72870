import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { openWorld } from '../../../test/support/world.ts'
import { execute } from '../../engine/execute.ts'
import { openHostSession } from './session.ts'

// What would keep this process from ending: an open pipe, or a write that nobody takes.
const pipesInUse = (): string[] => process.getActiveResourcesInfo().filter((name) => /Pipe|Write|Shutdown/.test(name))

it('keeps nothing open for a run that is over, also where a child holds its input without reading it', async () => {
  await using world = openWorld()
  mkdirSync(world.path('logs'))
  const logs = { stdout: world.path('logs', 'stdout.log'), stderr: world.path('logs', 'stderr.log'), maxBytes: 4_096 }
  const mark = `session-${randomBytes(6).toString('hex')}`
  const before = pipesInUse()
  for (const pipes of [true, false]) {
    const { finished, running } = await execute({
      session: openHostSession(world.root, { pipes }),
      plan: {
        command: {
          argv: ['sh', '-c', 'exec 3<&0; sleep 300 & exit 0'],
          cwd: world.root,
          env: { ...world.env, HOLDFAST_RUN: mark },
          stdin: 'fed',
          mark,
        },
        limits: { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 1_000, maxOutputBytes: 4_096 },
        stdin: Buffer.alloc(1024 * 1024, 'x'),
        leftovers: 'report',
      },
      logs,
    })
    try {
      const { outcome, leftovers } = await finished
      expect([outcome.exitCode, leftovers.map(({ name }) => name)]).toEqual([0, ['sleep']])
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(pipesInUse()).toEqual(before)
    } finally {
      await running.signal('SIGKILL')
      await until(async () => (await running.tree())?.length === 0)
    }
  }
})
