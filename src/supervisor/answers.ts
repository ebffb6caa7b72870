import type { ProcessIdentity } from '../core/run.ts'
import type { RunStatus } from '../core/supervised.ts'
import { answers, type Frame } from './frames.ts'

/** Readers of answers, one per type. Undefined where the frame is of another type, or lacks what it must have. */

export function readOk(frame: Frame): true | undefined {
  return frame.type === answers.ok ? true : undefined
}

export function readTaken(frame: Frame): true | undefined {
  return frame.type === answers.taken ? true : undefined
}

export function readDone(frame: Frame): number | undefined {
  if (frame.type !== answers.done) return undefined
  let count: number | undefined
  while (frame.next()) if (frame.key === 2) count = frame.number()
  return count
}

export interface WelcomeAnswer extends ProcessIdentity {
  readonly version: number
  readonly build: string
  /** Empty where it has none. */
  readonly home: string
}

export function readWelcome(frame: Frame): WelcomeAnswer | undefined {
  if (frame.type !== answers.welcome) return undefined
  let version: number | undefined
  let pid: number | undefined
  let startTime: string | undefined
  let build: string | undefined
  let home = ''
  while (frame.next()) {
    if (frame.key === 1) version = frame.number()
    else if (frame.key === 2) pid = frame.number()
    else if (frame.key === 3) startTime = frame.text()
    else if (frame.key === 4) build = frame.text()
    else if (frame.key === 5) home = frame.text()
  }
  if (version === undefined || pid === undefined || startTime === undefined || build === undefined) return undefined
  return { version, pid, startTime, build, home }
}

export function readStarted(frame: Frame): ProcessIdentity | undefined {
  if (frame.type !== answers.started) return undefined
  let pid: number | undefined
  let startTime: string | undefined
  while (frame.next()) {
    if (frame.key === 2) pid = frame.number()
    else if (frame.key === 3) startTime = frame.text()
  }
  return pid === undefined || startTime === undefined ? undefined : { pid, startTime }
}

/** Why nothing was started. */
export interface StartRefusal {
  readonly stage: string
  /** The name of the system's error. */
  readonly errno: string
}

export function readFailed(frame: Frame): StartRefusal | undefined {
  if (frame.type !== answers.failed) return undefined
  let stage: string | undefined
  let errno: string | undefined
  while (frame.next()) {
    if (frame.key === 2) stage = frame.text()
    else if (frame.key === 4) errno = frame.text()
  }
  return stage === undefined || errno === undefined ? undefined : { stage, errno }
}

const states = [undefined, 'running', 'ending', 'ended'] as const

export function readStatus(frame: Frame): (RunStatus & { readonly process: ProcessIdentity }) | undefined {
  if (frame.type !== answers.status) return undefined
  const numbers: (number | undefined)[] = []
  let startTime: string | undefined
  while (frame.next()) {
    if (frame.key === 4) startTime = frame.text()
    else if (frame.key <= 11) numbers[frame.key] = frame.number()
  }
  const [, , stateNumber, pid, , elapsedMs, outBytes, outLines, errBytes, errLines, silentMs, input] = numbers
  const state = states[stateNumber ?? 0]
  if (!state || pid === undefined || startTime === undefined || elapsedMs === undefined || silentMs === undefined || input === undefined) return undefined
  if (outBytes === undefined || outLines === undefined || errBytes === undefined || errLines === undefined) return undefined
  return {
    state,
    process: { pid, startTime },
    elapsedMs,
    stdout: { bytes: outBytes, lines: outLines },
    stderr: { bytes: errBytes, lines: errLines },
    silentMs,
    takesInput: input === 1,
  }
}

export interface ListedProcess extends ProcessIdentity {
  readonly ageMs: number
  readonly busy: boolean
  readonly name: string
}

export function readProcesses(frame: Frame): readonly ListedProcess[] | undefined {
  if (frame.type !== answers.processes) return undefined
  const found: ListedProcess[] = []
  while (frame.next()) {
    if (frame.key !== 2) continue
    const [, pid, startTime, ageMs, busy, name] = /^(\d+) (\S+) (\d+) ([01]) (.*)$/s.exec(frame.text()) ?? []
    if (pid === undefined || startTime === undefined || name === undefined) return undefined
    found.push({ pid: Number(pid), startTime, ageMs: Number(ageMs), busy: busy === '1', name })
  }
  return found
}

export function readRuns(frame: Frame): readonly string[] | undefined {
  if (frame.type !== answers.runs) return undefined
  const found: string[] = []
  while (frame.next()) if (frame.key === 1) found.push(frame.text())
  return found
}
