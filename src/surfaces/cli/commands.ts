import type { ConfigResult, DoctorResult, GcResult, RunResult, RunsResult, SearchResult, SnapshotResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import type { Note } from '../../core/store.ts'
import * as ops from '../../operations/index.ts'
import { type Command, commandFor, perform } from './command.ts'
import { execCommand } from './exec-command.ts'
import { exitOfRun } from './exit-codes.ts'
import { openLiveLine } from './live-line.ts'
import { outputCommand } from './output-command.ts'
import { presentConfig, presentDoctor, presentGc, presentNote, presentNotes, presentSnapshot } from './present-house.ts'
import { presentRuns, presentSearch } from './present-runs.ts'
import { type At, print } from './print.ts'
import { readInput, readLog } from './read-input.ts'

type Present = (result: unknown, at: At) => string

/** Ties a presentation to the type of its operation's result; the table of commands knows the results as unknown. */
const shown =
  <T>(present: (result: T, at: At) => string): Present =>
  (result, at) =>
    present(result as T, at)

const digestOf = shown<RunResult>((run) => run.digest)
const textOf = shown<SnapshotResult>(presentSnapshot)

const waitCommand = commandFor(ops.wait, 'wait', 'Run commands', {
  details: [ops.wait.description, 'The exit status is that of exec; 0 while the run goes on.'],
  async run(invocation) {
    const { stderr, parsed } = invocation
    // What the run prints goes to its holder, so that the line tells the time alone.
    const live = stderr.isTerminal ? openLiveLine(stderr, `waiting for ${parsed.input.run ?? 'a run'}`) : undefined
    let run: RunResult
    try {
      run = await perform(ops.wait, invocation, parsed.input)
    } finally {
      live?.close()
    }
    print(invocation, run, digestOf)
    return exitOfRun(run)
  },
})

const digestCommand = commandFor(ops.digest, 'digest', 'Read what they printed', {
  usage: ['digest [options] [FILE]'],
  positional: 'file',
  positionalIsOwn: true,
  async run(invocation) {
    const { file } = invocation.parsed.own
    const text = await readLog(invocation.io, typeof file === 'string' ? file : '-')
    const result = await perform(ops.digest, invocation, { ...invocation.parsed.input, text })
    print(
      invocation,
      result,
      shown<{ digest: string }>((made) => made.digest),
    )
    return 0
  },
})

const snapshotCommand = commandFor(ops.snapshot, 'snapshot', 'Carry on later', {
  async run(invocation) {
    const { io, parsed } = invocation
    const fromInput = parsed.input.context === '-' ? { context: Buffer.from(await readInput(io, '--context', '-')).toString('utf8') } : {}
    print(invocation, await perform(ops.snapshot, invocation, { ...parsed.input, ...fromInput }), textOf)
    return 0
  },
})

const searchCommand = commandFor(ops.search, 'search', 'Read what they printed', {
  async run(invocation) {
    const { query, regex } = invocation.parsed.input
    const asked = { query: String(query), regex: regex === true }
    print(
      invocation,
      await perform(ops.search, invocation, invocation.parsed.input),
      shown<SearchResult>((result, at) => presentSearch(result, at, asked)),
    )
    return 0
  },
})

/** The server is started before commands are looked up; it stands here for its help. */
const mcpCommand: Command = {
  words: 'mcp',
  group: 'Run commands',
  usage: ['mcp'],
  summary: 'Serve a coding agent over stdio with the Model Context Protocol.',
  details: ['Commands that come this way end after 2m unless they say otherwise.'],
  options: [],
  examples: ['claude mcp add holdfast -- holdfast mcp'],
  withoutJson: true,
  run: () => Promise.reject(failure('invalid', { field: 'the argument', value: '--', accepted: 'holdfast mcp' })),
}

/** Every command, in the order of help. */
export const commands: readonly Command[] = [
  execCommand,
  waitCommand,
  commandFor(ops.stop, 'stop', 'Run commands', { present: digestOf }),
  mcpCommand,
  commandFor(ops.runs, 'runs', 'Read what they printed', { present: shown<RunsResult>(presentRuns) }),
  commandFor(ops.show, 'show', 'Read what they printed', { present: digestOf }),
  outputCommand,
  searchCommand,
  digestCommand,
  snapshotCommand,
  commandFor(ops.resume, 'resume', 'Carry on later', { present: textOf }),
  commandFor(ops.noteAdd, 'note add', 'Carry on later', { present: shown<Note>(presentNote) }),
  commandFor(ops.noteList, 'note list', 'Carry on later', { present: shown<{ notes: readonly Note[] }>(presentNotes) }),
  commandFor(ops.noteRemove, 'note remove', 'Carry on later', { present: shown<{ removed: string }>(({ removed }) => `Removed note ${removed}.`) }),
  commandFor(ops.pin, 'pin', 'Look after it', { present: shown<RunResult>((run) => `Pinned ${run.id}.`) }),
  commandFor(ops.unpin, 'unpin', 'Look after it', { present: shown<RunResult>((run) => `Unpinned ${run.id}.`) }),
  commandFor(ops.gc, 'gc', 'Look after it', { present: shown<GcResult>(presentGc) }),
  commandFor(ops.doctor, 'doctor', 'Look after it', {
    present: shown<DoctorResult>(presentDoctor),
    exit: (result) => ((result as DoctorResult).ok ? 0 : 1),
  }),
  commandFor(ops.config, 'config', 'Look after it', { present: shown<ConfigResult>(presentConfig) }),
]
