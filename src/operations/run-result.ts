import { array, boolean, description, type InferOutput, nullable, number, optional, picklist, pipe, record, strictObject, string, unknown } from 'valibot'
import type { RunResult } from '../app/api.ts'
import { backendNames } from '../core/backend.ts'
import { errorCodes } from '../core/errors.ts'
import { outcomeKinds } from '../core/outcome.ts'
import { runStates } from '../core/run.ts'

/** What programs read: the answer of exec, wait, show and stop, and the answer of anything that failed. Published as a JSON Schema. */

const said = (about: string) => description<string, string>(about)

const outcome = strictObject({
  kind: pipe(picklist(outcomeKinds), description('How the command ended; lost: contact was lost and it may still run.')),
  exitCode: pipe(nullable(number()), description('Its own exit code; 128 + n where signal n ended it; null where none is known.')),
  signal: pipe(nullable(string()), description('The signal that ended it, such as SIGKILL.')),
  limit: pipe(nullable(picklist(['wall', 'idle'])), description('Which limit cut a timed_out run: total time, or time without output.')),
})

const gap = strictObject({
  offset: pipe(number(), description('Offset in the stream of the first byte left out.')),
  bytes: number(),
  lines: pipe(number(), description('Line feeds among the bytes left out.')),
  markerBytes: pipe(number(), description('Length of the line in the log file that states the gap; it stands at offset.')),
})

const stream = strictObject({
  bytes: pipe(number(), description('Bytes that the command printed, kept or not.')),
  lines: pipe(number(), description('Line feeds, plus one where the last line is unfinished.')),
  droppedBytes: pipe(number(), description('Bytes that are not in the log because it reached its limit.')),
  gap: nullable(gap),
  path: pipe(string(), said('The log on disk.')),
})

const difference = strictObject({
  run: pipe(string(), said('The earlier run.')),
  added: pipe(number(), description('Lines that are new apart from times, hashes and the like, each counted once with all that are like it.')),
  gone: pipe(number(), description('Lines of the earlier run that are gone.')),
  mended: pipe(number(), description('Of these, lines of a failed run that looked like errors.')),
})

export const errorSchema = strictObject({
  code: pipe(picklist(errorCodes), description('What programs act on.')),
  message: string(),
  details: record(string(), unknown()),
})

export const runResultSchema = strictObject({
  id: string(),
  state: pipe(
    picklist(runStates),
    description('failed: it never started, see error. interrupted: the process that held it died, and what the command did next is unknown.'),
  ),
  outcome: pipe(nullable(outcome), description('null until the run has ended.')),
  durationMs: nullable(number()),
  stdout: stream,
  stderr: stream,
  digest: pipe(string(), said('The block of text that a model reads.')),
  comparison: pipe(
    nullable(strictObject({ passing: nullable(difference), failing: nullable(difference) })),
    description('With the last runs of the same command that passed and that failed; null where there was nothing to compare.'),
  ),
  leftovers: pipe(array(strictObject({ pid: number(), name: string() })), description('Processes that outlived a normal end.')),
  usage: pipe(
    nullable(
      strictObject({
        userMs: number(),
        systemMs: number(),
        peakMemoryBytes: pipe(number(), description('The most memory that one of these processes held.')),
        oomKills: optional(pipe(number(), description('Processes that were killed because memory ran out, where that is known.'))),
      }),
    ),
    description('What its first process, and what that waited for, took of the machine; null where that is not known.'),
  ),
  command: pipe(string(), said('The command as a person would type it; of a script, its text.')),
  runtime: pipe(nullable(string()), description('What ran the script; null for a program with arguments.')),
  cwd: string(),
  branch: nullable(string()),
  target: pipe(nullable(strictObject({ backend: picklist(backendNames), name: string() })), description('Where it ran; null on this machine.')),
  workspace: pipe(nullable(string()), description('The id of the workspace that it ran in; null where that was none.')),
  purpose: nullable(string()),
  startedAt: pipe(string(), said('ISO 8601, UTC.')),
  endedAt: nullable(string()),
  pinned: boolean(),
  pty: pipe(
    nullable(strictObject({ rows: number(), columns: number() })),
    description('The pseudo-terminal that it ran on: digest and output count the lines that stand there.'),
  ),
  error: nullable(errorSchema),
  warnings: pipe(array(string()), description('What the caller should know besides: a clamped limit, a store that could not be written.')),
})

export const failureSchema = strictObject({ error: errorSchema })

// Fails to compile when the type that the code uses and the schema that is published part ways.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type DeepReadonly<T> = T extends (infer E)[] ? readonly DeepReadonly<E>[] : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T
export const schemaMatchesType: Same<DeepReadonly<InferOutput<typeof runResultSchema>>, RunResult> = true
