import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OutputChunk } from '../../src/core/backend.ts'
import type { ResolvedCommand, StreamName } from '../../src/core/command.ts'
import type { EndRecord } from '../../src/core/end-record.ts'
import { failure } from '../../src/core/errors.ts'
import { emptyTotals } from '../../src/core/run.ts'
import type { Listening, RunStatus, SupervisedRun, SupervisedSession, SupervisionTerms } from '../../src/core/supervised.ts'
import { scriptedOutput } from './scripted-output.ts'

/** A supervisor that does what a test says, when it says so. It writes logs and records like the real one, and starts nothing. */
export interface ScriptedSupervisor {
  /** A connection to it. */
  connect(): SupervisedSession
  readonly started: readonly { readonly command: ResolvedCommand; readonly terms: SupervisionTerms }[]
  /** Everything that was asked for besides the start, in order: `stop SIGTERM`, `listen everything 0 0`. */
  readonly asked: readonly string[]
  readonly input: () => Buffer
  /** To the log, and to whoever listens unless `heard` is false. */
  print(text: string, options?: { stream?: StreamName; heard?: boolean }): void
  /** Writes the end record and tells everybody. */
  end(part?: Partial<EndRecord>): void
  /** Writes the end record and tells nobody. */
  record(part?: Partial<EndRecord>): void
  /** All connections are gone. The run goes on. */
  loseContact(): void
  /** What the next start does instead of starting. */
  failStart(error: Error): void
  /** No request is answered any more. */
  fallSilent(): void
}

export function endRecord(run: string, part: Partial<EndRecord> = {}): EndRecord {
  return {
    version: 1,
    run,
    cut: null,
    exitCode: 0,
    signal: null,
    durationMs: 12,
    userMs: 1,
    systemMs: 2,
    peakMemoryBytes: 4096,
    endedAt: '2026-01-01T00:00:00.012Z',
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    confirmed: true,
    failures: [],
    late: false,
    ...part,
  }
}

export const scriptedIdentity = { pid: 4711, startTime: 'scripted:1' }

export function scriptedSupervisor(onAsk: (request: string, supervisor: ScriptedSupervisor) => void = () => {}): ScriptedSupervisor {
  const started: { command: ResolvedCommand; terms: SupervisionTerms }[] = []
  const asked: string[] = []
  const input: Uint8Array[] = []
  const listeners = new Set<Listener>()
  const totals = { stdout: { ...emptyTotals }, stderr: { ...emptyTotals } }
  let refusal: Error | undefined
  let silent = false
  let isOver = false
  let sessions: { open: boolean }[] = []

  interface Listener {
    hear(chunk: OutputChunk): void
    end(record: EndRecord): void
    lose(error: Error): void
  }

  const terms = (): SupervisionTerms => {
    const last = started.at(-1)
    if (!last) throw new Error('nothing was started')
    return last.terms
  }

  async function ask<T>(request: string, answer: T): Promise<T> {
    asked.push(request)
    if (silent) return new Promise<T>(() => {})
    onAsk(request, supervisor)
    return answer
  }

  function listen(listening: Listening): SupervisedRun {
    const program = scriptedOutput<EndRecord>()
    const close = (): void => {
      listeners.delete(listener)
      program.close()
    }
    const listener: Listener = {
      hear(chunk) {
        if (listening.kind !== 'nothing') program.push(chunk)
      },
      end(record) {
        program.end(record)
        close()
      },
      lose(error) {
        program.lose(error)
        close()
      },
    }
    listeners.add(listener)
    const from = listening.kind === 'everything' && listening.from ? ` ${listening.from.stdout} ${listening.from.stderr}` : ''
    asked.push(`listen ${listening.kind}${from}`)
    const status = (): RunStatus => ({
      state: 'running',
      elapsedMs: 7,
      stdout: { bytes: totals.stdout.bytes, lines: totals.stdout.lines },
      stderr: { bytes: totals.stderr.bytes, lines: totals.stderr.lines },
      silentMs: 0,
      takesInput: true,
    })
    return {
      id: terms().id,
      process: { pid: 42, startTime: 'scripted:2' },
      output: program.output,
      ended: program.ended,
      write: async (bytes) => {
        input.push(Uint8Array.from(bytes))
        await ask(`write ${bytes.length}`, undefined)
      },
      endInput: () => ask('end input', undefined),
      resize: (rows, columns) => ask(`resize ${rows} ${columns}`, undefined),
      signal: (name) => ask(`signal ${name}`, { delivered: true }),
      stop: ({ signal = 'SIGTERM' }) => ask(`stop ${signal}`, { left: 0 }),
      tree: () => ask('tree', []),
      status: () => ask('status', undefined).then(status),
      release() {
        asked.push('release')
        listener.lose(failure('supervisor_lost', { why: 'released' }))
      },
    }
  }

  function write(part: Partial<EndRecord>): EndRecord {
    const record = endRecord(terms().id, { stdout: totals.stdout, stderr: totals.stderr, ...part })
    writeFileSync(join(terms().folder, 'end.json'), JSON.stringify(record))
    isOver = true
    return record
  }

  const supervisor: ScriptedSupervisor = {
    connect() {
      const state = { open: true }
      sessions.push(state)
      return {
        logs: 'written',
        handle: '/scripted.sock',
        supervisor: scriptedIdentity,
        build: '0123abcd',
        runs: () => ask('runs', isOver ? [] : started.map(({ terms: { id } }) => id)),
        get open() {
          return state.open
        },
        async start(command, given) {
          const error = refusal
          refusal = undefined
          if (error) throw error
          started.push({ command, terms: given })
          mkdirSync(given.folder, { recursive: true })
          writeFileSync(join(given.folder, 'process.json'), JSON.stringify({ pid: 42, startTime: 'scripted:2' }))
          return listen(given.listen)
        },
        async attach(run, listening) {
          if (silent) return new Promise(() => {})
          if (!state.open) throw failure('supervisor_lost', { why: 'the connection is gone' })
          return !isOver && started.some(({ terms: { id } }) => id === run) ? listen(listening) : undefined
        },
        async close() {
          state.open = false
        },
      }
    },
    started,
    asked,
    input: () => Buffer.concat(input),
    print(text, { stream = 'stdout', heard = true } = {}) {
      const bytes = Buffer.from(text)
      const before = totals[stream]
      writeFileSync(join(terms().folder, `${stream}.log`), bytes, { flag: 'a' })
      totals[stream] = { ...before, bytes: before.bytes + bytes.length, lines: before.lines + text.split('\n').length - 1 }
      if (heard) for (const listener of listeners) listener.hear({ stream, offset: before.bytes, bytes })
    },
    end(part = {}) {
      const record = write(part)
      for (const listener of [...listeners]) listener.end(record)
    },
    record: (part = {}) => void write(part),
    loseContact() {
      for (const state of sessions) state.open = false
      sessions = []
      for (const listener of [...listeners]) listener.lose(failure('supervisor_lost', { why: 'the connection broke' }))
    },
    failStart(error) {
      refusal = error
    },
    fallSilent() {
      silent = true
    },
  }
  return supervisor
}
