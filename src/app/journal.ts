import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import type { ProcessIdentity } from '../core/run.ts'
import { isRunId } from './run-folder.ts'

/*
 * What the index has yet to be told of. It is told late, so that no command waits for it, and it may be locked or gone; so each
 * process keeps a journal: a file in `pending`, named by the process, with a line for each run that the index is behind with. The
 * line is there before the run is. Who reads the index takes in first what journals say, so that it sees the runs of others too;
 * and the journal of a process that died is removed once it was taken in. A line too many costs a look, one too few a run.
 */

/** In place of an id: all runs there are. No id looks like this. */
export const everyRun = 'all-runs'
/** The last line of a journal whose process goes on without it. */
const closed = 'closed'

/** The journal of this process. Nothing here throws: what cannot be noted is told to the index at once. */
export interface Journal {
  readonly name: string
  /** Adds a line; false where it could not be written. */
  note(line: string): boolean
  /** The index knows all that was noted. */
  clear(): void
  /** `clean`: the index knows everything, so the file goes. */
  close(clean: boolean): void
}

/** What another process noted, or this one. */
export interface Noted {
  readonly name: string
  /** Whether nobody writes to it any more. */
  readonly abandoned: boolean
  readonly text: string
  /** In the order in which they were noted. */
  readonly ids: readonly string[]
  readonly everyRun: boolean
}

export function openJournal(folder: string, self: ProcessIdentity): Journal {
  let name = ''
  let descriptor: number | undefined
  let lines = 0
  /** The last line was cut short by a full disk. */
  let torn = false

  function open(): number {
    // Several may be open in one process, also by two copies of this module, so a name that is taken is passed over.
    for (let n = 0; ; n += 1) {
      name = nameOf(self, n)
      try {
        return openSync(join(folder, name), 'ax', 0o600)
      } catch (error) {
        if (errnoOf(error) === 'EEXIST' && n < maxJournals) continue
        if (errnoOf(error) !== 'ENOENT') throw error
        // Not with the folders above: a home that is gone is not made again from here.
        makeFolder(folder)
        n -= 1
      }
    }
  }

  function note(line: string): boolean {
    try {
      // The home may have been removed, and made again, since. Of lines that come close together the first one finds it out.
      if (descriptor !== undefined && lines === 0 && fstatSync(descriptor).nlink === 0) {
        closeSync(descriptor)
        descriptor = undefined
      }
      descriptor ??= open()
      const text = `${torn ? '\n' : ''}${line}\n`
      torn = writeSync(descriptor, text) !== text.length
      lines += 1
      return !torn
    } catch {
      return false
    }
  }

  return {
    get name() {
      return name
    },
    note,
    clear() {
      if (lines === 0 || descriptor === undefined) return
      try {
        ftruncateSync(descriptor, 0)
        lines = 0
        torn = false
      } catch {
        // Then what is known already is looked at once more.
      }
    },
    close(clean) {
      if (descriptor === undefined) return
      if (!clean) note(closed)
      // The note finds that the home is gone, and lets go then.
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
      if (clean) removeJournal(folder, name)
    },
  }
}

/** The bound of a search for a free name. */
const maxJournals = 10_000

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  }
}

/** A name that says whose it is. A start time may be any text outside of Linux. */
export const nameOf = ({ pid, startTime }: ProcessIdentity, n: number): string => `${pid}.${n}.${encodeURIComponent(startTime)}`

export function ownerOf(name: string): ProcessIdentity | undefined {
  const [, pid, startTime] = /^(\d{1,10})\.\d{1,12}\.([\w%.~!*'()-]*)$/.exec(name) ?? []
  if (pid === undefined || startTime === undefined) return undefined
  try {
    return { pid: Number(pid), startTime: decodeURIComponent(startTime) }
  } catch {
    return undefined
  }
}

/** The names of the journals there are, `skip` left out. */
export function listJournals(folder: string, skip: string | undefined): string[] {
  // Nearly always there is none, and what is looked at is not read then.
  if (!existsSync(folder)) return []
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names.filter((name) => name !== skip && ownerOf(name) !== undefined)
}

/** True where there is something to read. */
export function saysSomething(folder: string, name: string): boolean {
  return (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) > 0
}

export function readJournal(folder: string, name: string, isAlive: (owner: ProcessIdentity) => boolean): Noted | undefined {
  const owner = ownerOf(name)
  if (!owner) return undefined
  // Asked before the file is read: what is read of a dead process is all there will be.
  const alive = isAlive(owner)
  let text: string
  try {
    text = readFileSync(join(folder, name), 'latin1')
  } catch {
    return undefined
  }
  const lines = new Set(text.split('\n'))
  return { name, abandoned: !alive || lines.has(closed), text, ids: [...lines].filter(isRunId), everyRun: lines.has(everyRun) }
}

/** The folder goes with the last one. */
export function removeJournal(folder: string, name: string): void {
  try {
    rmSync(join(folder, name), { force: true })
    rmdirSync(folder)
  } catch {
    // Others are in it.
  }
}
