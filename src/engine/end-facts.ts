import { type StreamName, streamNames } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { type ExitStatus, toOutcome } from '../core/outcome.ts'
import type { Leftover, StreamTotals } from '../core/run.ts'
import { linuxSignals } from '../core/signals.ts'
import type { Executed } from './execute.ts'

/** What the end record of a supervisor says, as the engine says it of any run. */
export function factsOf(end: EndRecord): Executed & { readonly endedAt: string } {
  const leftovers = end.leftovers.map(({ pid, name }) => ({ pid, name }))
  return {
    state: 'ended',
    outcome: toOutcome(end.cut ?? undefined, statusOf(end)),
    durationMs: end.durationMs,
    endedAt: end.endedAt,
    stdout: end.stdout,
    stderr: end.stderr,
    leftovers,
    usage: { userMs: end.userMs, systemMs: end.systemMs, peakMemoryBytes: end.peakMemoryBytes, ...(end.oomKills ? { oomKills: end.oomKills } : {}) },
    notes: [
      ...(end.oomKills ? [outOfMemory(end.oomKills)] : []),
      ...(end.confirmed ? [] : [unconfirmed(leftovers)]),
      ...end.failures.map(({ stream, errno }) => logFailure(stream, errno, end[stream])),
    ],
    unsaved: Object.fromEntries(
      streamNames.flatMap((stream) => {
        const text = end.unsaved?.[stream]
        return text === undefined ? [] : [[stream, Buffer.from(text, 'base64')]]
      }),
    ),
  }
}

function statusOf({ exitCode, signal }: EndRecord): ExitStatus | undefined {
  if (signal !== null) return { signal: signalName(signal), number: signal }
  return exitCode === null ? undefined : { exitCode }
}

/** The first real-time signal that the C library leaves to programs, and the last one (signal(7)). */
const realTime = { first: 34, last: 64 }

export function signalName(number: number): string {
  const known = Object.entries(linuxSignals).find(([, value]) => value === number)
  if (known) return known[0]
  if (number < realTime.first || number > realTime.last) return `signal ${number}`
  return number === realTime.first ? 'SIGRTMIN' : `SIGRTMIN+${number - realTime.first}`
}

export function unconfirmed(left: readonly Leftover[]): string {
  return `the end of ${left.length > 0 ? `process ${left.map(({ pid }) => pid).join(', ')}` : 'the command'} could not be confirmed after SIGKILL`
}

/** The kernel counts by control group: of what ran at the same time in the same container it is not known whose process it was. */
export function outOfMemory(kills: number): string {
  return `memory ran out while it ran: the kernel killed ${kills === 1 ? 'a process' : `${kills} processes`} of its container or control group`
}

export function logFailure(stream: StreamName, errno: string, { droppedBytes }: StreamTotals): string {
  return `the log of ${stream} could not be written to its end (${errno}); ${droppedBytes} bytes are missing`
}
