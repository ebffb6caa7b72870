import { expect } from 'vitest'
import type { Random } from '../support/random.ts'
import type { Controller, FaultyPlace, StartOptions, StepsKind } from './faulty-place.ts'
import { describeFaults } from './rounds.ts'
import { type Expected, expectAnswer, expectGone, expectTruth, itsOwnEnd } from './truth.ts'

/*
 * The supervisor kills itself in the middle of a step (native/fault.h). Where it does is known exactly, so what has to be kept is, too:
 * what it had read and handed to the logs. What was still in a pipe is thrown away by the kernel together with its reader.
 */

interface SupervisorFault extends Expected {
  readonly when: string
  readonly point: string
  readonly kind?: StepsKind
  readonly options?: StartOptions
  /** Which pass of the point it is, from being armed on; default the first. */
  readonly pass?: (random: Random) => number
  /** Armed before anything starts, once the first half was printed, or once the end was recorded. */
  readonly armed: 'at once' | 'half-way' | 'ended'
  /** What makes it come to the pass. Default: the command is let print its second half. */
  readonly meanwhile?: (place: FaultyPlace, controller: Controller) => void | Promise<void>
  /** Whether the supervisor tells there how many bytes are in the logs. */
  readonly counts?: boolean
}

const goOn = async (place: FaultyPlace): Promise<void> => {
  await Promise.race([place.waiting(), place.hit()])
  place.open()
}
const nothing = (): void => {}
const stop = async (place: FaultyPlace): Promise<void> => void place.cli(['stop', '--json', await place.run()])
const stopHurriedly = async (place: FaultyPlace): Promise<void> => void place.cli(['stop', '--json', '--signal', 'KILL', await place.run()])
const feed = async (place: FaultyPlace, controller: Controller): Promise<void> => {
  await place.waiting()
  controller.write('word\n')
}

/** So little is kept that the logs have segments, and a gap. */
const small: StartOptions = { flags: ['--max-output', '1KiB'], lines: 80 }
const fed: StartOptions = { flags: ['--stdin', '-'] }
const oneOf = (most: number) => (random: Random) => random.int(1, most)

const beforeTheProcess = { armed: 'at once', meanwhile: nothing, truth: 'nothing-ran', kept: 'all' } as const
const aroundTheStart = { armed: 'at once', meanwhile: nothing, truth: 'interrupted', kept: 'read' } as const
const inTheOutput = { armed: 'at once', pass: oneOf(2), counts: true, truth: 'interrupted', kept: 'read' } as const
const afterTheOutput = { armed: 'half-way', truth: 'interrupted', kept: 'all' } as const
const whileEnding = { kind: 'stubborn', armed: 'half-way', truth: 'interrupted', kept: 'read' } as const
const withTheRecord = { armed: 'half-way', truth: itsOwnEnd, kept: 'all' } as const

const faults: readonly SupervisorFault[] = [
  // Nothing was asked for yet: whoever wanted to starts another one.
  { when: 'it has greeted a controller', point: 'hello-answered', armed: 'at once', truth: itsOwnEnd, kept: 'all' },
  { when: 'it has understood what to start', point: 'start-parsed', ...beforeTheProcess },
  { when: 'the pipes are there and no process', point: 'pipes-made', ...beforeTheProcess },
  { when: 'the process is there and nobody knows', point: 'child-started', ...aroundTheStart },
  { when: 'the process is half noted', point: 'process-drafted', ...aroundTheStart },
  { when: 'the process is noted and nobody was told', point: 'process-noted', ...aroundTheStart },
  { when: 'the start is told and not sent', point: 'started-told', ...aroundTheStart },
  { when: 'it has read and not written', point: 'output-read', ...inTheOutput },
  { when: 'it has written and not told', point: 'output-logged', ...inTheOutput },
  { when: 'it has told listeners', point: 'output-told', ...inTheOutput },
  { when: 'a segment was just begun', point: 'segment-made', ...inTheOutput, pass: oneOf(8), options: small, counts: false },
  { when: 'a segment was just dropped', point: 'segment-dropped', ...inTheOutput, pass: oneOf(4), options: small, counts: false },
  { when: 'input waits for the command', point: 'input-queued', kind: 'reading', options: fed, ...aroundTheStart, meanwhile: feed },
  { when: 'the command has taken input', point: 'input-taken', kind: 'reading', options: fed, ...aroundTheStart, meanwhile: feed },
  { when: 'it saw the exit and has not drained', point: 'exit-seen', armed: 'half-way', truth: 'interrupted', kept: 'read' },
  { when: 'all output is read', point: 'drained', ...afterTheOutput },
  { when: 'segments are being joined', point: 'joining', pass: oneOf(4), options: small, ...afterTheOutput },
  { when: 'the gap was just stated', point: 'gap-stated', options: small, ...afterTheOutput },
  { when: 'the logs are joined', point: 'joined', options: small, ...afterTheOutput },
  { when: 'the end record has no name yet', point: 'end-drafted', ...afterTheOutput },
  { when: 'the end record has its name', point: 'end-written', ...withTheRecord },
  { when: 'the end is told and not sent', point: 'end-told', ...withTheRecord },
  { when: 'a stop was asked for', point: 'stop-asked', ...whileEnding, meanwhile: stop },
  { when: 'it has sent TERM', point: 'term-sent', ...whileEnding, meanwhile: stop },
  { when: 'it has sent KILL', point: 'kill-sent', ...whileEnding, meanwhile: stopHurriedly },
  { when: 'the tree is ended', point: 'tree-gone', ...whileEnding, meanwhile: stopHurriedly },
  {
    when: 'what was left behind prints',
    point: 'late-output',
    kind: 'leaving',
    armed: 'ended',
    pass: oneOf(2),
    counts: true,
    truth: itsOwnEnd,
    kept: 'read',
    late: true,
  },
  { when: 'what was left behind has let go', point: 'late-joined', kind: 'leaving', armed: 'ended', truth: itsOwnEnd, kept: 'all', late: true },
]

describeFaults('kill -9 of the supervisor when', faults, async (place, fault, random) => {
  const { kind = 'plain', options, pass = () => 1, meanwhile = goOn } = fault
  const arm = (): void => place.arm(fault.point, pass(random))
  if (fault.armed === 'at once') arm()
  const controller = place.start('cli', kind, options)
  if (fault.armed !== 'at once') {
    await place.waiting()
    if (fault.armed === 'ended') await place.ended(await place.run())
    arm()
  }
  await meanwhile(place, controller)
  const hit = await place.hit()
  expect(hit.point).toBe(fault.point)
  controller.endInput()
  const answer = await controller.ended
  const id = await place.run()
  const found = await expectTruth(place, id, { ...fault, ...(fault.counts && { atLeast: hit.number }) })
  expectAnswer(answer, found.shown)
})

interface SignalFromOutside extends Expected {
  readonly when: string
  readonly kind?: StepsKind
  /** Whether nobody waits for the run. */
  readonly alone?: boolean
  /** Happens while the command waits in the middle of its output. */
  readonly act: (place: FaultyPlace, id: string) => void | Promise<void>
}

const outer = ({ supervisors }: FaultyPlace): number => supervisors()[0]?.pid ?? 0
const inner = ({ supervisors }: FaultyPlace): number => supervisors()[1]?.pid ?? 0
const signal = (pid: number, name: NodeJS.Signals): void => {
  expect(pid).toBeGreaterThan(0)
  process.kill(pid, name)
}
const canceled = { state: 'ended', kind: 'canceled', exitCode: 143 } as const

const fromOutside: readonly SignalFromOutside[] = [
  { when: 'KILL to the inner one', act: (place) => signal(inner(place), 'SIGKILL'), truth: 'interrupted', kept: 'read' },
  {
    // Whoever asked is gone, and nobody looks: the outer one ends what the inner one had started.
    when: 'KILL to the inner one while nobody waits',
    alone: true,
    kind: 'stubborn',
    async act(place) {
      signal(inner(place), 'SIGKILL')
      await expectGone(() => place.processes())
    },
    truth: 'interrupted',
    kept: 'read',
  },
  {
    when: 'KILL to the outer one: it was only the reserve',
    act(place) {
      signal(outer(place), 'SIGKILL')
      place.open()
    },
    truth: itsOwnEnd,
    kept: 'all',
  },
  {
    // Nobody of us is left then; the first one who looks ends what the command left.
    when: 'KILL to both',
    act(place) {
      const both = [outer(place), inner(place)]
      for (const pid of both) signal(pid, 'SIGKILL')
    },
    truth: 'interrupted',
    kept: 'read',
  },
  { when: 'TERM to the outer one', act: (place) => signal(outer(place), 'SIGTERM'), truth: canceled, kept: 'all' },
  { when: 'TERM to the inner one', act: (place) => signal(inner(place), 'SIGTERM'), truth: canceled, kept: 'all' },
  {
    when: 'KILL right behind TERM',
    async act(place) {
      place.arm('asked-to-end')
      signal(inner(place), 'SIGTERM')
      await place.hit()
    },
    truth: 'interrupted',
    kept: 'read',
  },
  {
    when: 'STOP: whoever looks is answered, and the run goes on with CONT',
    async act(place, id) {
      const pid = inner(place)
      signal(pid, 'SIGSTOP')
      const looks = [['show'], ['output'], ['wait', '--timeout', '300ms']].map(async ([word, ...flags]) => {
        const { stdout, signal } = await place.cli([word as string, ...flags, '--json', id]).ended
        expect([signal, JSON.parse(stdout)]).toMatchObject([null, { id, state: 'running' }])
      })
      await Promise.all(looks).finally(() => signal(pid, 'SIGCONT'))
      place.open()
    },
    truth: itsOwnEnd,
    kept: 'all',
  },
  {
    when: 'KILL while it ends because it is idle',
    async act(place, id) {
      place.arm('idle-over')
      place.open()
      await place.ended(id)
      await place.hit()
    },
    truth: itsOwnEnd,
    kept: 'all',
  },
]

describeFaults('a signal to the supervisor:', fromOutside, async (place, fault) => {
  const controller = place.start('cli', fault.kind ?? 'plain', { flags: fault.alone ? ['--detach'] : [] })
  await place.waiting()
  const id = await place.run()
  if (fault.alone) expect((await controller.ended).status).toBe(0)
  await fault.act(place, id)
  const answer = await controller.ended
  const { shown } = await expectTruth(place, id, fault)
  if (!fault.alone) expectAnswer(answer, shown)
})
