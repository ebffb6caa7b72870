import { expect } from 'vitest'
import { end, until } from '../cases/place.ts'
import type { Random } from '../support/random.ts'
import type { Controller, ControllerFault, FaultyPlace, StartOptions, StepsKind } from './faulty-place.ts'
import { describeFaults } from './rounds.ts'
import { expectNothingLeft, expectTruth, itsOwnEnd, type Truth } from './truth.ts'

/*
 * Whoever asked for a run is killed at a step of it. From the moment in which the supervisor was asked, the run does not notice: it comes
 * to its own end, with each byte, and anybody who looks gets the true exit code.
 */

interface ControllerCase {
  readonly when: string
  readonly how: 'cli' | 'library' | 'mcp'
  readonly kind?: StepsKind
  readonly options?: (random: Random) => StartOptions
  /** Where it kills itself; absent: it is killed from outside, in `meanwhile`. */
  readonly fault?: ControllerFault | ((random: Random) => ControllerFault)
  readonly meanwhile?: (place: FaultyPlace, controller: Controller) => Promise<void>
  /** `no-record`: nobody ever hears of it. */
  readonly truth: Truth | 'no-record'
}

const canceledByTerm = { state: 'ended', kind: 'canceled', exitCode: 143 } as const

const frames = { start: '2', input: '5', stop: '8', welcome: '128', started: '129', status: '131', output: '132', ended: '133' } as const
const send = (frame: keyof typeof frames, when: 'before' | 'after'): ControllerFault => ({ step: 'send', what: frames[frame], when })
const receive = (frame: keyof typeof frames, when: 'before' | 'after', count = 1): ControllerFault => ({ step: 'receive', what: frames[frame], when, count })

const nothing = async (): Promise<void> => {}
const goOn = async (place: FaultyPlace): Promise<void> => {
  await place.waiting()
  place.open()
}
/** Killed from outside while the command waits in the middle of its output. */
const killedHalfWay = async (place: FaultyPlace, { pid }: Controller): Promise<void> => {
  await place.waiting()
  end(pid)
}

const feed = async (place: FaultyPlace, controller: Controller): Promise<void> => {
  await place.waiting()
  controller.write('word\n')
}

const fed = (): StartOptions => ({ flags: ['--stdin', '-'] })
const live = (): StartOptions => ({ input: { live: true } })
const ephemeral = (): StartOptions => ({ mcpFlags: ['--ephemeral'] })
const someOutput = (random: Random): ControllerFault => receive('output', random.pick(['before', 'after']), random.int(1, 2))

const beforeTheRecord = { how: 'cli', meanwhile: nothing, truth: 'no-record' } as const
const beforeTheStart = { how: 'cli', meanwhile: nothing, truth: 'nothing-ran' } as const

const faults: readonly ControllerCase[] = [
  { when: 'the command line has started a supervisor', fault: { step: 'spawn', what: `linux-${process.arch}`, when: 'after' }, ...beforeTheRecord },
  { when: 'the command line was greeted', fault: receive('welcome', 'before'), ...beforeTheRecord },
  { when: 'the command line has no record yet', fault: { step: 'writeFileSync', what: 'run.json', when: 'before' }, ...beforeTheRecord },
  { when: 'the command line has written the record', fault: { step: 'writeFileSync', what: 'run.json', when: 'after' }, ...beforeTheStart },
  { when: 'the command line is about to ask for the start', fault: send('start', 'before'), ...beforeTheStart },
  { when: 'the command line has asked for the start', how: 'cli', fault: send('start', 'after'), truth: itsOwnEnd },
  { when: 'the command line hears of the start', how: 'cli', fault: receive('started', 'before'), truth: itsOwnEnd },
  { when: 'the command line has heard of the start', how: 'cli', fault: receive('started', 'after'), truth: itsOwnEnd },
  { when: 'the command line waits', how: 'cli', meanwhile: killedHalfWay, truth: itsOwnEnd },
  { when: 'the command line hears of the end', how: 'cli', fault: receive('ended', 'before'), truth: itsOwnEnd },
  { when: 'the command line has heard of the end', how: 'cli', fault: receive('ended', 'after'), truth: itsOwnEnd },
  { when: 'the command line is about to answer', how: 'cli', fault: { step: 'print', what: 'outcome', when: 'before' }, truth: itsOwnEnd },
  { when: 'the command line has answered', how: 'cli', fault: { step: 'print', what: 'outcome', when: 'after' }, truth: itsOwnEnd },
  {
    when: 'the command line has fed a part of the input',
    how: 'cli',
    kind: 'reading',
    options: fed,
    fault: send('input', 'after'),
    meanwhile: feed,
    truth: itsOwnEnd,
  },
  { when: 'the library has asked for the start', how: 'library', fault: send('start', 'after'), truth: itsOwnEnd },
  { when: 'the library gets live output', how: 'library', options: live, fault: someOutput, truth: itsOwnEnd },
  { when: 'the library waits', how: 'library', meanwhile: killedHalfWay, truth: itsOwnEnd },
  { when: 'the library hears of the end', how: 'library', fault: receive('ended', 'before'), truth: itsOwnEnd },
  { when: 'the MCP server has asked for the start', how: 'mcp', fault: send('start', 'after'), truth: itsOwnEnd },
  { when: 'the MCP server waits', how: 'mcp', meanwhile: killedHalfWay, truth: itsOwnEnd },
  { when: 'the MCP server hears of the end', how: 'mcp', fault: receive('ended', 'before'), truth: itsOwnEnd },
  { when: 'the MCP server waits and its runs end with it', how: 'mcp', options: ephemeral, meanwhile: killedHalfWay, truth: canceledByTerm },
]

describeFaults('kill -9 of whoever asked, when', faults, async (place, fault, random) => {
  const { how, kind = 'plain', options = () => ({}), meanwhile = goOn } = fault
  const step = typeof fault.fault === 'function' ? fault.fault(random) : fault.fault
  const controller = place.start(how, kind, { ...options(random), ...(step && { fault: step }) })
  await meanwhile(place, controller)
  if (step) await place.controllerHit()
  expect((await controller.ended).signal).toBe('SIGKILL')
  // The run goes on only after the death.
  if (!step && fault.truth === itsOwnEnd) place.open()
  if (fault.truth === 'no-record') await expectNoRecord(place)
  else await expectTruth(place, await place.run(), { truth: fault.truth, kept: 'all' })
})

async function expectNoRecord(place: FaultyPlace): Promise<void> {
  expect(place.passed()).toBe('')
  const listed = await place.cli(['runs', '--json']).ended
  expect(JSON.parse(listed.stdout)).toMatchObject({ runs: [], total: 0, warnings: [] })
  const next = await place.cli(['exec', '--json', '--', 'echo', 'next']).ended
  expect(JSON.parse(next.stdout)).toMatchObject({ outcome: { kind: 'exited', exitCode: 0 }, warnings: [] })
  await expectNothingLeft(place)
}

interface HelperCase {
  readonly when: string
  readonly kind?: StepsKind
  readonly flags?: readonly string[]
  /** What it does with the run that somebody else began. */
  readonly args: (id: string) => readonly string[]
  /** Absent: it is killed from outside, a moment after the answer to its WATCH. */
  readonly fault?: ControllerFault
  readonly afterwards?: (place: FaultyPlace) => void
  readonly truth: Truth
  readonly printed?: string
}

const helpers: readonly HelperCase[] = [
  { when: 'waits for the run', args: (id) => ['wait', id], fault: receive('status', 'after'), truth: itsOwnEnd },
  { when: 'follows its output', args: (id) => ['output', id, '--follow'], truth: itsOwnEnd },
  { when: 'hears of the end that it waits for', args: (id) => ['wait', id], fault: receive('ended', 'before'), truth: itsOwnEnd },
  {
    when: 'has asked for a stop',
    args: (id) => ['stop', id],
    fault: send('stop', 'after'),
    truth: canceledByTerm,
  },
  {
    when: 'has sent input',
    kind: 'reading',
    flags: ['--interactive'],
    args: (id) => ['input', id, 'word', '--enter'],
    fault: send('input', 'after'),
    printed: 'read-word',
    truth: itsOwnEnd,
  },
]

describeFaults('kill -9 of somebody else who', helpers, async (place, fault) => {
  const { kind = 'plain', flags = [] } = fault
  const owner = place.start('cli', kind, { flags: ['--detach', ...flags] })
  const id = await place.run()
  expect((await owner.ended).status).toBe(0)
  await place.waiting()
  const helper = place.cli(fault.args(id), fault.fault)
  if (fault.fault?.what === frames.ended) {
    await place.controllerHit(frames.status)
    place.open()
  }
  if (fault.fault) await place.controllerHit()
  else {
    await helper.printed()
    end(helper.pid)
  }
  expect((await helper.ended).signal).toBe('SIGKILL')
  if (kind === 'reading') {
    await until('the input arrived', () => Object.values(place.printed()).some((bytes) => bytes.includes(fault.printed ?? '')))
    expect((await place.cli(['input', id, '--end']).ended).status).toBe(0)
  } else if (fault.truth === itsOwnEnd) place.open()
  const { shown } = await expectTruth(place, id, { truth: fault.truth, kept: 'all' })
  expect(shown.state).toBe('ended')
})
