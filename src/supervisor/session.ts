import type { ResolvedCommand } from '../core/command.ts'
import { failure, type HoldfastError } from '../core/errors.ts'
import type { Listening, SupervisedSession, SupervisionTerms } from '../core/supervised.ts'
import type { Inherited } from '../process/inherited.ts'
import { readFailed, readRuns, readStarted, readStatus, type StartRefusal } from './answers.ts'
import { type Connection, openConnection } from './connection.ts'
import { type FrameWriter, requests } from './frames.ts'
import { Run } from './run.ts'

/** What the place of the commands knows and the protocol does not. */
export interface CommandRules {
  /** Throws where the command cannot be handed over as it is. */
  check(command: ResolvedCommand): void
  /** What to reject with where nothing was started. */
  refusal(refusal: StartRefusal, command: ResolvedCommand, terms: SupervisionTerms): HoldfastError
  /** What commands take over from this process, as if they were its children; absent where they run on another machine. */
  inherited?(): Inherited
  /** What to reject with where the command does not fit into a frame. */
  tooLarge(command: ResolvedCommand): HoldfastError
}

export interface SessionTerms {
  readonly rules: CommandRules
  /** A further connection to the same supervisor. */
  dial(): Promise<Connection>
}

/** A session whose runs are those of its connection. */
export interface ConnectedSession extends SupervisedSession {
  start(command: ResolvedCommand, terms: SupervisionTerms): Promise<Run>
  attach(run: string, listen: Listening): Promise<Run | undefined>
}

const stdinKinds = { none: 0, fed: 1, open: 2 } as const
const dialMs = 5_000
/** The protocol has no negative numbers. */
const niceZero = 20

/** The session of a supervisor whose socket is on this machine. It owns the connection. */
export function openSupervisedSession(connection: Connection, rules: CommandRules): SupervisedSession {
  return openConnectedSession(connection, {
    rules,
    async dial() {
      const other = await openConnection(connection.path, dialMs)
      if (typeof other === 'string') throw failure('supervisor_unavailable', { why: `${connection.path}: it takes no further connection` })
      return other
    },
  })
}

/** The session owns the connection. */
export function openConnectedSession(connection: Connection, { rules, dial }: SessionTerms): ConnectedSession {
  /** Runs that are told over `connection`. Each connection tells a run to one listener. */
  const told = new Set<string>()
  /** One for each further listener of a run. */
  const others = new Set<Connection>()

  async function watch(run: string, listen: Listening, listening: Connection, whenDone: () => void): Promise<Run | undefined> {
    const watched = await listening
      .ask<{ run: Run | undefined }>({
        request: 'WATCH',
        write: (writer, tag) => writeListening(writer.begin(requests.watch, tag).text(1, run), listen),
        read(frame) {
          const status = readStatus(frame)
          // What comes right behind this answer is for the run already.
          return status && { run: status.state === 'ended' ? undefined : new Run({ id: run, process: status.process, connection, listening, whenDone }) }
        },
        refused: (code) => (code === 'no_such_run' ? { run: undefined } : undefined),
      })
      .catch((error: unknown) => {
        whenDone()
        throw error
      })
    if (!watched.run) whenDone()
    return watched.run
  }

  return {
    logs: 'written',
    handle: connection.path,
    supervisor: connection.supervisor,
    build: connection.build,
    runs: () => connection.ask({ request: 'RUNS', write: (writer, tag) => writer.begin(requests.runs, tag), read: readRuns }),
    get open() {
      return connection.open
    },
    async start(command, terms) {
      rules.check(command)
      return connection.ask<Run>({
        request: 'START',
        write: (writer, tag) => writeStart(writer.begin(requests.start, tag), command, terms, rules.inherited?.()),
        read(frame) {
          const process = readStarted(frame)
          if (process) {
            told.add(terms.id)
            return new Run({ id: terms.id, process, connection, whenDone: () => told.delete(terms.id) })
          }
          const refusal = readFailed(frame)
          if (refusal) throw rules.refusal(refusal, command, terms)
          return undefined
        },
        tooLarge: () => rules.tooLarge(command),
      })
    },
    async attach(run, listen) {
      if (!told.has(run)) {
        told.add(run)
        return watch(run, listen, connection, () => told.delete(run))
      }
      const other = await dial()
      others.add(other)
      if (!connection.open) await other.close()
      return watch(run, listen, other, () => {
        others.delete(other)
        void other.close()
      })
    },
    async close() {
      await Promise.all([connection, ...others].map((each) => each.close()))
    },
  }
}

function writeStart(writer: FrameWriter, command: ResolvedCommand, terms: SupervisionTerms, inherited: Inherited | undefined): void {
  writer.text(1, terms.id)
  for (const argument of command.argv) writer.text(2, argument)
  for (const name in command.env) writer.pair(3, name, command.env[name] as string)
  writer.text(4, command.cwd).text(5, terms.folder).number(6, stdinKinds[command.stdin])
  if (terms.input) writer.raw(7, terms.input)
  if (terms.inputEnds) writer.number(8, 1)
  if (command.pty) writer.number(9, command.pty.rows).number(10, command.pty.columns)
  const { timeoutMs, idleTimeoutMs, graceMs, maxOutputBytes } = terms.limits
  writer.number(11, Math.ceil(timeoutMs))
  if (idleTimeoutMs !== null) writer.number(12, Math.ceil(idleTimeoutMs))
  writer.number(13, Math.ceil(graceMs)).number(14, maxOutputBytes)
  if (terms.leftovers === 'kill') writer.number(15, 1)
  if (terms.bound) writer.number(16, 1)
  writeListening(writer, terms.listen)
  if (command.mark !== terms.id) writer.text(22, command.mark)
  if (terms.making) {
    writer.number(26, 1)
    for (const { name, bytes } of terms.making.files) writer.text(27, name).raw(28, bytes)
  }
  if (!inherited) return
  writer.number(23, inherited.mask).number(25, inherited.nice + niceZero)
  for (const limit of inherited.limits) writer.text(24, limit)
}

const listeningKinds = { nothing: 0, everything: 1, tail: 2 } as const

function writeListening(writer: FrameWriter, listen: Listening): void {
  if (listen.kind === 'nothing') return
  writer.number(18, listeningKinds[listen.kind])
  if (listen.kind === 'tail') writer.number(20, Math.ceil(listen.everyMs))
  else if (listen.from) writer.number(21, listen.from.stdout).number(21, listen.from.stderr)
}
