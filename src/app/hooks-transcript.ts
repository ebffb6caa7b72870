import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import type { Activity } from '../core/activity.ts'
import { entriesOfDocument, openTranscript } from '../hosts/hooks/transcript.ts'

/** Of a long transcript the end is read, which is what happened last, and its beginning, which has the task. */
const maxEndBytes = 2 * 1024 ** 2
const maxBeginningBytes = 256 * 1024
/** So much of the end is read however little time there is. */
const leastEndBytes = 512 * 1024
/** In the beginning the task is looked for alone. */
const maxBeginningEntries = 40

/**
 * What a transcript tells, in its order. Broken lines, such as a last one that is being written, are passed over. Lines are read
 * from the last one back as long as there is time. Nothing of a file that is none or cannot be read.
 */
export function readTranscript(path: string, mask: (text: string) => string, isTime: () => boolean): Activity[] {
  let descriptor: number | undefined
  try {
    // Opening a pipe that nobody writes to would wait for ever, and no timer of this process would end that.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    const found = fstatSync(descriptor)
    if (!found.isFile()) return []
    const from = Math.max(0, found.size - maxEndBytes)
    const end = readPart(descriptor, from, found.size - from)
    const document = from === 0 ? documentOf(end) : undefined
    if (document) return activitiesOf(entriesOfDocument(document), mask)
    const { entries, complete } = entriesFromEnd(end, from > 0, isTime)
    if (complete && from === 0) return activitiesOf(entries, mask)
    const beginning = linesOf(readPart(descriptor, 0, Math.min(found.size, maxBeginningBytes))).slice(0, maxBeginningEntries)
    const task = activitiesOf(
      beginning.flatMap((line) => entryOf(line) ?? []),
      mask,
    ).find(({ kind }) => kind === 'request')
    return [...(task ? [task] : []), ...activitiesOf(entries, mask)]
  } catch {
    return []
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function activitiesOf(entries: readonly unknown[], mask: (text: string) => string): Activity[] {
  const reader = openTranscript(mask)
  return entries.flatMap((entry) => {
    try {
      return reader.read(entry)
    } catch {
      // An entry of a form that nobody thought of costs itself alone.
      return []
    }
  })
}

function readPart(descriptor: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const got = readSync(descriptor, bytes, read, length - read, at + read)
    if (got === 0) break
    read += got
  }
  return bytes.subarray(0, read)
}

const lineFeed = 0x0a

/** Lines are cut as bytes, so that no character is. */
function entriesFromEnd(bytes: Buffer, beginsInside: boolean, isTime: () => boolean): { entries: unknown[]; complete: boolean } {
  const entries: unknown[] = []
  let to = bytes.length
  while (to > 0) {
    if (bytes.length - to > leastEndBytes && !isTime()) return { entries: entries.reverse(), complete: false }
    const from = bytes.lastIndexOf(lineFeed, to - 1) + 1
    // The first line of a part is the end of one.
    if (from === 0 && beginsInside) break
    const entry = entryOf(bytes.toString('utf8', from, to))
    if (entry !== undefined) entries.push(entry)
    to = from - 1
  }
  return { entries: entries.reverse(), complete: true }
}

const linesOf = (bytes: Buffer): string[] => bytes.toString('utf8').split('\n')

function entryOf(line: string): unknown {
  if (line.trim() === '') return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** The one document that a file is; undefined where it has a line for each entry. */
function documentOf(bytes: Buffer): unknown {
  const first = bytes.indexOf(lineFeed)
  if (bytes[0] !== 0x7b || (first !== -1 && entryOf(bytes.toString('utf8', 0, first)) !== undefined)) return undefined
  const document = entryOf(bytes.toString('utf8'))
  return document !== undefined && entriesOfDocument(document).length > 0 ? document : undefined
}
