import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type StreamName, streamNames } from '../core/command.ts'
import { type EndRecord, parseEndRecord } from '../core/end-record.ts'
import { errnoOf } from '../core/errors.ts'
import type { FarFolder } from './far-folder.ts'
import { sizeOf } from './local-log.ts'

/** What is done once a run is over: what is missing here is fetched, then the end is recorded here. */

/**
 * Brings the folder here to what the one at the site has. `text` is the end record as the supervisor made it. Resolves to the record as it
 * was written here: what could not be written here is told in it, and `whole` is false then. Rejects where contact is lost meanwhile; then it may be called again.
 */
export async function settle(folder: string, run: string, text: string, far: FarFolder): Promise<{ record: EndRecord; whole: boolean }> {
  const known = parseEndRecord(text, run)
  if (!known) throw new Error(`the end record of run ${run} cannot be read`)
  let record = known
  for (const stream of streamNames) {
    try {
      await fetchLog(folder, stream, record, far)
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined) throw error
      record = withFailure(record, stream, errno, sizeOf(join(folder, `${stream}.log`)))
    }
  }
  const whole = record === known
  if (record.stdout.bytes > 0 && record.stderr.bytes > 0) await fetchFile(folder, 'order.log', far).catch(onlyHere)
  const isWritten = writeWhole(folder, 'end.json', whole ? text : `${JSON.stringify(record)}\n`)
  return { record, whole: whole && isWritten }
}

async function fetchLog(folder: string, stream: StreamName, record: EndRecord, far: FarFolder): Promise<void> {
  const name = `${stream}.log`
  const path = join(folder, name)
  const { bytes, gap } = record[stream]
  const here = sizeOf(path)
  if (gap === null && here === bytes) return
  // While something holds the pipe, what came last is in segments beside the log.
  if (gap === null && here < bytes && record.leftovers.length === 0) {
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600)
    try {
      // At its offset: another process may do the same.
      await far.read(name, here, (piece, offset) => writeAll(file, piece, offset))
    } finally {
      closeSync(file)
    }
    if (sizeOf(path) === bytes) return
  }
  const isPart = (each: string): boolean => each === name || each.startsWith(`${name}.`)
  const found = (await far.list()).filter(isPart)
  const fetched: string[] = []
  for (const each of found) if (await fetchFile(folder, each, far)) fetched.push(each)
  // Another process may have fetched all of it, and tidied up there.
  if (fetched.length === 0 && gap === null && sizeOf(path) < bytes) throw Object.assign(new Error(`${name} is not at the site any more`), { code: 'ENOENT' })
  if (fetched.length === 0) return
  for (const each of readdirSync(folder)) if (each !== name && isPart(each) && !fetched.includes(each)) rmSync(join(folder, each), { force: true })
}

/** Into a temporary name first. False where it is not there. */
async function fetchFile(folder: string, name: string, far: FarFolder): Promise<boolean> {
  const temporary = temporaryName(folder, name)
  const file = openSync(temporary, 'w', 0o600)
  try {
    const found = await far.read(name, 0, (piece, offset) => writeAll(file, piece, offset))
    if (found) renameSync(temporary, join(folder, name))
    return found
  } finally {
    closeSync(file)
    rmSync(temporary, { force: true })
  }
}

/** Of nobody else: several sessions of one process may fetch the same, and a pid of a container is one of others, too. */
const temporaryName = (folder: string, name: string): string => join(folder, `.${name}.${randomBytes(6).toString('hex')}`)

function writeAll(file: number, bytes: Uint8Array, offset: number): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, offset + at)
}

/** The order of arrival is of use only; a disk without room for it spoils nothing. */
function onlyHere(error: unknown): void {
  if (errnoOf(error) === undefined) throw error
}

function withFailure(record: EndRecord, stream: StreamName, errno: string, kept: number): EndRecord {
  const totals = record[stream]
  const missing = totals.bytes - kept
  if (missing <= 0) return record
  return {
    ...record,
    [stream]: { ...totals, droppedBytes: missing, gap: { offset: kept, bytes: missing, lines: totals.lines, markerBytes: 0 } },
    failures: [...record.failures, { stream, errno }],
  }
}

/** False where the disk does not take it: whoever waits is told, and who looks later finds it at the site. */
function writeWhole(folder: string, name: string, text: string): boolean {
  const temporary = temporaryName(folder, name)
  try {
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, join(folder, name))
    return true
  } catch {
    rmSync(temporary, { force: true })
    return false
  }
}

/** The end record that is here already. */
export function readEndHere(folder: string, run: string): EndRecord | undefined {
  try {
    return parseEndRecord(readFileSync(join(folder, 'end.json'), 'utf8'), run)
  } catch {
    return undefined
  }
}

export function writeProcessHere(folder: string, process: { readonly pid: number; readonly startTime: string }): void {
  void writeWhole(folder, 'process.json', `${JSON.stringify({ pid: process.pid, startTime: process.startTime })}\n`)
}
