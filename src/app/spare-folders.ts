import { closeSync, mkdir, mkdirSync, open, openSync, readdirSync, renameSync, writeSync } from 'node:fs'
import { errnoOf } from '../core/errors.ts'
import { monotonicMs } from '../core/monotonic.ts'
import { nameOf, ownerOf } from './journal.ts'
import { discard, type RunFolder, runFolder } from './run-folder.ts'
import type { Processes } from './run-index.ts'

/**
 * Folders of runs that are made ahead, each with an empty record. To make a folder and a file can take longer than all else that
 * comes before a command (ext4 passes over each inode near by that was deleted lately), so it is done while an earlier command
 * runs. A run gets one by writing its record and renaming it, so that its folder is there with all of its record or not at all.
 */
export interface SpareFolders {
  /** Makes one the folder of a run. False where there is none, or it could not be: then nothing is left of it. */
  take(to: RunFolder, record: string): boolean
  /** Has the next one made, soon. The first run of a process asks for none: it may be the only one. */
  ask(): void
  close(): void
}

interface Spare {
  readonly folder: RunFolder
  /** Of its record. */
  readonly descriptor: number
}

const mostReady = 2
/** Twice of what a folder and a file usually take. */
const usualMs = 0.15
const roundsWhenSlow = 50

/** `at`: where they stand until they are taken, on the same file system as the runs. `slowMs`: what it takes long to make one. */
export function openSpareFolders(at: string, processes: () => Promise<Processes>, slowMs = usualMs): SpareFolders {
  const ready: Spare[] = []
  let asked = 0
  let made = 0
  let known: Promise<Processes> | undefined
  let isDue = false
  let closed = false
  /** So many more are made beside this thread. */
  let slowRounds = 0

  async function refill(): Promise<void> {
    known ??= processes().then((found) => {
      clearDead(at, found)
      return found
    })
    const { self } = await known
    const folder = runFolder(at, nameOf(self, made))
    made += 1
    try {
      const descriptor = closed ? undefined : await make(folder)
      if (descriptor !== undefined && !closed) ready.push({ folder, descriptor })
      else if (descriptor !== undefined) giveBack({ folder, descriptor })
    } catch {
      // Where none can be made, runs make their own, and say what is wrong.
    } finally {
      isDue = false
    }
  }

  /** Where it takes long it is done beside this thread; elsewhere the way there and back would take longer than to make it. */
  async function make(folder: RunFolder): Promise<number> {
    if (slowRounds > 0) {
      slowRounds -= 1
      return new Promise((resolve, reject) => {
        mkdir(folder.path, 0o700, (error) => {
          if (error) reject(error)
          else open(folder.record, 'wx', 0o600, (error, descriptor) => (error ? reject(error) : resolve(descriptor)))
        })
      })
    }
    const startedAt = monotonicMs()
    makeFolder(folder.path)
    const descriptor = openSync(folder.record, 'wx', 0o600)
    if (monotonicMs() - startedAt > slowMs) slowRounds = roundsWhenSlow
    return descriptor
  }

  function makeFolder(path: string): void {
    try {
      mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
      // Not with the home above: one that is gone is not made again from here.
      mkdirSync(at, { mode: 0o700 })
      mkdirSync(path, { mode: 0o700 })
    }
  }

  return {
    take(to, record) {
      const spare = ready.shift()
      if (!spare) return false
      try {
        const written = writeSync(spare.descriptor, record)
        closeSync(spare.descriptor)
        if (written === Buffer.byteLength(record)) {
          renameSync(spare.folder.path, to.path)
          return true
        }
      } catch {
        // The home may be gone, or the disk full: then it is found out what is wrong without a spare.
      }
      discard(spare.folder.path)
      return false
    },
    ask() {
      asked += 1
      if (asked < 2 || isDue || closed || ready.length >= mostReady) return
      isDue = true
      setImmediate(() => void refill().catch(() => {}))
    },
    close() {
      closed = true
      for (const spare of ready.splice(0)) giveBack(spare)
    },
  }
}

function giveBack({ folder, descriptor }: Spare): void {
  closeSync(descriptor)
  discard(folder.path)
}

/** Those of processes that were killed. */
function clearDead(at: string, { isAlive }: Processes): void {
  let names: string[]
  try {
    names = readdirSync(at)
  } catch {
    return
  }
  for (const name of names) {
    const owner = ownerOf(name)
    if (owner && !isAlive(owner)) discard(`${at}/${name}`)
  }
}
