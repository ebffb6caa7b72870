import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { expect } from 'vitest'
import { findPieces } from '../../src/engine/log-reader.ts'
import type { RunResult, StreamName } from '../../src/index.ts'
import { until } from '../cases/place.ts'
import { boundMs, type Ended, type FaultyPlace, type FreshLook, idleMs, isAlive, type Living } from './faulty-place.ts'

/** What a record may say of a run. */
export type Truth =
  | { readonly state: 'ended'; readonly kind: 'exited' | 'signaled' | 'canceled'; readonly exitCode: number }
  /** What it did next is not known; nothing of it is left. */
  | 'interrupted'
  /** It never came to a process. */
  | 'nothing-ran'

/** The command of steps.sh came to its end. */
export const itsOwnEnd: Truth = { state: 'ended', kind: 'exited', exitCode: 7 }

/**
 * `all`: each byte that the command wrote. `read`: each byte that the supervisor had handed to the logs when it was killed: what still
 * was in a pipe is thrown away by the kernel together with its reader.
 */
export type Kept = 'all' | 'read'

export interface Expected {
  readonly truth: Truth
  readonly kept: Kept
  /** Bytes of both streams that are in the logs for sure. */
  readonly atLeast?: number
  /** What was left behind has printed since the end was recorded, and nobody could count that. */
  readonly late?: boolean
}

/** Everything that has to hold of a run after whatever happened to it. */
export async function expectTruth(place: FaultyPlace, id: string, expected: Expected): Promise<FreshLook> {
  const found = await place.look(id)
  expectRecord(found, id, expected.truth)
  if (expected.truth === 'nothing-ran') expect(place.passed()).toBe('')
  let kept = 0
  for (const stream of ['stdout', 'stderr'] as const) kept += expectKept(place, id, found.shown, stream, expected)
  if (expected.atLeast !== undefined) expect(kept).toBeGreaterThanOrEqual(expected.atLeast)
  await expectNothingLeft(place)
  return found
}

function expectRecord(found: FreshLook, id: string, truth: Truth): void {
  const { first, waited, shown, listed, next, timesMs } = found
  for (const run of [waited, shown, listed.find((run) => run.id === id)]) {
    if (truth === 'interrupted') expect(run).toMatchObject({ state: 'interrupted', outcome: { kind: 'lost', exitCode: null } })
    else if (truth === 'nothing-ran') expect(['interrupted', 'failed']).toContain(run?.state)
    else expect(run).toMatchObject({ state: truth.state, outcome: { kind: truth.kind, exitCode: truth.exitCode } })
  }
  // Whoever looks first may still see it go on, but nothing else than what is said later.
  if (first.state !== 'running') expect(whatWasSaid(first)).toEqual(whatWasSaid(shown))
  expect(next).toMatchObject({ state: 'ended', outcome: { kind: 'exited', exitCode: 0 }, stdout: { bytes: 5 }, warnings: [] })
  // Usually a few milliseconds; nothing may wait for somebody who is dead.
  expect(Math.max(...Object.values(timesMs))).toBeLessThan(boundMs)
}

const whatWasSaid = ({ state, outcome, stdout, stderr, endedAt }: RunResult) => ({ state, outcome, stdout, stderr, endedAt })

/** What is kept of a stream is what the command wrote there, at its offsets. Returns how far it goes. */
function expectKept(place: FaultyPlace, id: string, run: RunResult, stream: StreamName, { kept, late }: Expected): number {
  const written = place.printed()[stream]
  const pieces = findPieces(`${place.runFolder(id)}/${stream}.log`, run.state === 'ended' ? run[stream] : undefined)
  let end = 0
  let missing = 0
  for (const { path, position, length, offset } of pieces) {
    const bytes = readFileSync(path).subarray(position, position + length)
    const noted = written.subarray(offset, offset + length)
    expect(bytes.subarray(0, noted.length).equals(noted), `${stream} from ${offset} on`).toBe(true)
    // The last line may be written and not noted yet.
    expect(bytes.length - noted.length).toBeLessThanOrEqual(place.lineBytes)
    missing += offset - end
    end = offset + length
  }
  if (late) expect(run[stream].bytes).toBeLessThanOrEqual(end)
  else expect({ bytes: run[stream].bytes, droppedBytes: run[stream].droppedBytes }, stream).toEqual({ bytes: end, droppedBytes: missing })
  if (kept === 'all') expect(end).toBeGreaterThanOrEqual(written.length)
  return end
}

/** What a controller that lived on said of the run is what everybody says. */
export function expectAnswer({ stdout, stderr, signal }: Ended, shown: RunResult): void {
  expect([signal, stderr]).toEqual([null, ''])
  const said = JSON.parse(stdout) as RunResult | { readonly error: { readonly code: string } }
  if ('error' in said && said.error) expect(shown.outcome?.kind).toBe('lost')
  else expect(said).toMatchObject({ id: shown.id, state: shown.state, outcome: shown.outcome })
}

/** No process of the place is there, and of the supervisor at most one that is about to have nothing to do; nothing waits to be indexed. */
export async function expectNothingLeft(place: FaultyPlace): Promise<void> {
  const pending = place.world.path('root', '.holdfast', 'pending')
  // An empty file says nothing; the next one who begins a run clears it away.
  const names = existsSync(pending) ? readdirSync(pending) : []
  expect(names.filter((name) => statSync(`${pending}/${name}`).size > 0)).toEqual([])
  await expectGone(() => place.processes())
  // An outer and an inner one.
  expect(place.supervisors().length).toBeLessThanOrEqual(2)
  await expectGone(() => place.supervisors())
}

/** Looks through all processes before and after, and in between, which costs far less, at those that were found. */
export async function expectGone(find: () => readonly Living[]): Promise<void> {
  const found = find()
  await until('they have ended', () => !found.some(isAlive), idleMs + boundMs).catch(() => {})
  const left = find()
  expect(left, JSON.stringify(left)).toEqual([])
}
