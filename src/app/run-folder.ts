import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { StreamName } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { errnoOf } from '../core/errors.ts'
import { emptyTotals, type ProcessIdentity, type RunRecord, runStates } from '../core/run.ts'
import { factsOf } from '../engine/end-facts.ts'
import { readEnd, readProcess } from '../engine/end-files.ts'

/** The files of one run. Paths are always made from the id: nothing that a file says of paths is believed. */
export interface RunFolder {
  readonly path: string
  readonly record: string
  /** The first process of the command, as long as the record does not say it. */
  readonly process: string
  /** What the supervisor recorded of the end; docs/supervisor-protocol.md. */
  readonly end: string
  readonly stdout: string
  readonly stderr: string
  /** In which order the bytes of both came; only where both streams had some. */
  readonly order: string
  /** The text on the pseudo-terminal of the run; see screen-text. */
  readonly screen: string
  /** A request to stop the run, written by another process: the name of a signal. */
  readonly stop: string
  /** Secret values that occur in the logs, so that they are masked also where their variables are not known. */
  readonly masked: string
  /** What the holder of a detached run has to say. */
  readonly errors: string
}

export const isRunId = (text: string): boolean => /^[0-9a-hjkmnp-tv-z]{12}$/.test(text)

/** The log of a stream, below the folder of all runs. */
export const logBelowRuns = (id: string, stream: StreamName): string => `${id}/${stream}.log`

export function runFolder(runs: string, id: string): RunFolder {
  // Made again and again for each run, so without a look at what is absolute already.
  const path = `${runs}/${id}`
  return {
    path,
    record: `${path}/run.json`,
    process: `${path}/process.json`,
    end: `${path}/end.json`,
    stdout: `${runs}/${logBelowRuns(id, 'stdout')}`,
    stderr: `${runs}/${logBelowRuns(id, 'stderr')}`,
    order: `${path}/order.log`,
    screen: `${path}/screen.txt`,
    stop: `${path}/stop`,
    masked: `${path}/masked.json`,
    errors: `${path}/holder.log`,
  }
}

/** Throws where there is one already: it is somebody else's. */
export function makeRunFolder(folder: RunFolder): void {
  try {
    mkdirSync(folder.path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    mkdirSync(dirname(folder.path), { recursive: true, mode: 0o700 })
    mkdirSync(folder.path, { mode: 0o700 })
  }
}

/**
 * The first record of a run, in a folder that was just made. A part of it is all that can be left by whoever is killed here, and of a
 * run that has not begun.
 */
export function createRecord(folder: RunFolder, text: string): void {
  writeFileSync(folder.record, text, { mode: 0o600, flag: 'wx' })
}

export const recordText = (record: RunRecord): string => `${JSON.stringify(record)}\n`

/** Replaces the record in one step: a reader sees the old one or the new one, never a part. */
export function writeRecord(folder: RunFolder, record: RunRecord): void {
  const temporary = join(folder.path, `.run.json.${process.pid}`)
  try {
    writeFileSync(temporary, recordText(record), { mode: 0o600 })
    renameSync(temporary, folder.record)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/**
 * Writes down the first process of a command. It has a file of its own, because a record that is replaced twice within a
 * moment waits for the disk: ext4 writes a file out before another one takes its place.
 */
export function writeProcess(folder: RunFolder, process: ProcessIdentity): void {
  writeFileSync(folder.process, `${JSON.stringify(process)}\n`, { mode: 0o600 })
}

/** The record of a run folder; undefined where there is none that can be read. Missing parts get harmless values. */
export function readRecord(folder: RunFolder, id: string): RunRecord | undefined {
  let found: Partial<RunRecord>
  try {
    found = JSON.parse(readFileSync(folder.record, 'utf8')) as Partial<RunRecord>
  } catch {
    return undefined
  }
  if (typeof found !== 'object' || found === null || found.id !== id) return undefined
  if (!found.state || !runStates.includes(found.state) || typeof found.startedAt !== 'string') return undefined
  const record: RunRecord = {
    ...found,
    id,
    state: found.state,
    startedAt: found.startedAt,
    command: typeof found.command === 'string' ? found.command : '',
    runtime: found.runtime ?? null,
    purpose: found.purpose ?? null,
    cwd: typeof found.cwd === 'string' ? found.cwd : '',
    branch: found.branch ?? null,
    endedAt: found.endedAt ?? null,
    durationMs: typeof found.durationMs === 'number' ? found.durationMs : null,
    outcome: found.outcome ?? null,
    error: found.error ?? null,
    stdout: { ...emptyTotals, ...found.stdout },
    stderr: { ...emptyTotals, ...found.stderr },
    leftovers: Array.isArray(found.leftovers) ? found.leftovers : [],
    warnings: Array.isArray(found.warnings) ? found.warnings : [],
    holder: found.holder ?? { pid: 0, startTime: '' },
    process: found.process ?? (found.state === 'running' ? readProcess(folder.process) : null),
    pinned: found.pinned === true,
  }
  // A run that never started has no end, and one of plain mode says it in its record.
  const end = record.state === 'failed' || record.holder.socket === undefined ? undefined : readEnd(folder.end, id)
  return end ? withEnd(record, end) : record
}

/** What its supervisor saw a run leave behind, by pid and start time: some of it nothing else tells any more. */
export const leftBehind = (folder: RunFolder, id: string): readonly ProcessIdentity[] => readEnd(folder.end, id)?.leftovers ?? []

/** The record with what the supervisor says of the end: the truth, also where somebody took the run for interrupted. */
export function withEnd(record: RunRecord, end: EndRecord): RunRecord {
  const facts = factsOf(end)
  return {
    ...record,
    state: 'ended',
    outcome: facts.outcome,
    durationMs: Math.round(facts.durationMs),
    endedAt: facts.endedAt,
    stdout: facts.stdout,
    stderr: facts.stderr,
    // What was left behind may have been ended since.
    leftovers: record.state === 'ended' ? record.leftovers : facts.leftovers,
    warnings: [...new Set([...record.warnings, ...facts.notes])],
    usage: facts.usage,
  }
}

/** Removes a folder; one that cannot be removed is passed over by whoever lists them, because nothing in it says that it counts. */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // It stays.
  }
}

/** The ids of all run folders, in no order. */
export function listRunIds(runs: string): string[] {
  try {
    return readdirSync(runs).filter(isRunId)
  } catch {
    return []
  }
}
