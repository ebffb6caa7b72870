import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { end, until } from '../cases/place.ts'
import type { FaultyPlace, StepsKind } from './faulty-place.ts'
import { describeFaults } from './rounds.ts'
import { expectAnswer, expectTruth, itsOwnEnd, type Truth } from './truth.ts'

/* A command, or a part of it, is killed from outside. Supervisor and controller live, so each byte that was written is there. */

interface CommandCase {
  readonly when: string
  readonly kind?: StepsKind
  readonly flags?: readonly string[]
  readonly kill: (place: FaultyPlace, id: string) => void | Promise<void>
  readonly truth: Truth
  /** Afterwards something of it lives on and is ended by `stop`. */
  readonly leaves?: boolean
}

const first = (place: FaultyPlace, id: string): void => void process.kill(place.firstProcess(id), 'SIGKILL')
const stop = async (place: FaultyPlace, id: string): Promise<void> => {
  place.cli(['stop', '--json', id])
  await until('the command got TERM', () => place.passed().includes('term'))
}
const killed = { state: 'ended', kind: 'signaled', exitCode: 137 } as const
const canceled = { state: 'ended', kind: 'canceled', exitCode: 137 } as const

const faults: readonly CommandCase[] = [
  { when: 'its first process has printed nothing yet', kind: 'silent', kill: first, truth: killed },
  { when: 'its first process waits after a half', kill: first, truth: killed },
  { when: 'its first process is in the middle of a line', kind: 'mid-line', kill: first, truth: killed },
  { when: 'its first process prints', kind: 'endless', kill: first, truth: killed },
  {
    when: 'its first process gets TERM',
    kill: (place, id) => void process.kill(place.firstProcess(id), 'SIGTERM'),
    truth: { state: 'ended', kind: 'signaled', exitCode: 143 },
  },
  {
    when: 'its first process is in its grace',
    kind: 'stubborn',
    flags: ['--grace', '30s'],
    async kill(place, id) {
      await stop(place, id)
      first(place, id)
    },
    truth: canceled,
  },
  {
    when: 'its first process is stopped and then asked to end',
    async kill(place, id) {
      process.kill(place.firstProcess(id), 'SIGSTOP')
      expect((await place.cli(['stop', '--json', id]).ended).status).toBe(0)
    },
    truth: { state: 'ended', kind: 'canceled', exitCode: 143 },
  },
  {
    when: 'its whole group goes at once',
    kind: 'nested',
    kill: (place, id) => void process.kill(-place.firstProcess(id), 'SIGKILL'),
    truth: killed,
  },
  {
    when: 'a shell in the middle goes, and its child goes on',
    kind: 'nested',
    kill: (place) => void process.kill(Number(readFileSync(place.world.path('steps', 'middle'), 'utf8')), 'SIGKILL'),
    truth: { state: 'ended', kind: 'exited', exitCode: 137 },
    leaves: true,
  },
  {
    when: 'what it left behind goes',
    kind: 'leaving',
    async kill(place, id) {
      await place.ended(id)
      for (const { pid } of place.processes()) if (/steps\.sh/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) end(pid)
    },
    truth: itsOwnEnd,
  },
]

describeFaults('kill -9 of the command when', faults, async (place, fault) => {
  const controller = place.start('cli', fault.kind ?? 'plain', { flags: fault.flags ?? [] })
  await place.waiting()
  const id = await place.run()
  await until('the first process is noted', () => place.firstProcess(id) > 0)
  await fault.kill(place, id)
  const answer = await controller.ended
  if (fault.leaves) {
    const left = JSON.parse(answer.stdout).leftovers
    expect(left.length).toBeGreaterThan(0)
    expect((await place.cli(['stop', '--json', id]).ended).status).toBe(0)
  }
  const { shown } = await expectTruth(place, id, { truth: fault.truth, kept: 'all' })
  expectAnswer(answer, shown)
})
