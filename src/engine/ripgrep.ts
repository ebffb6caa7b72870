import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import type { ProgramResult, RunProgram } from '../core/program.ts'
import type { Disguise, Mark, ScanFiles, ScannedFile, ScanPattern, ScanRequest, Unusable } from '../core/scan.ts'
import { notPlain } from '../core/scan-pattern.ts'
import { headBytes, oneLine } from '../core/text.ts'

/** Of each file, lines of interest to each pattern. */
const maxLines = 1_000
const maxOutputBytes = 16 * 1024 * 1024
/** The kernel takes some two megabytes of arguments; paths of logs have some thirty bytes. */
const maxPaths = 20_000
const maxPathBytes = 1_000_000

/**
 * Scans files with ripgrep. It looks for bytes as they are: no file counts as binary, none is converted, no ignore file and no
 * configuration is read. Each pattern has a process of its own: ripgrep is quick with each of them and slow with their union. A disguise is
 * looked for only in logs that can have it; whether one of which that is not known is plain is found out meanwhile.
 */
export function ripgrep(program: string, run: RunProgram): ScanFiles {
  const scanOnce = (pattern: ScanPattern, how: readonly string[], { folder, timeoutMs }: ScanRequest, files: readonly ScannedFile[]): Promise<ProgramResult> =>
    run({
      argv: [
        program,
        ...flags,
        ...how,
        ...(pattern.ignoreCase ? ['-i'] : []),
        ...(pattern.bytes ? ['--no-unicode'] : []),
        '-e',
        pattern.source,
        '--',
        ...files.map(({ path }) => path),
      ],
      cwd: folder,
      env: {},
      timeoutMs,
      maxOutputBytes,
    })

  /** Logs that were seen to be plain: those that are scanned do not change any more. */
  const plain = new Set<string>()
  const key = ({ folder }: ScanRequest, path: string): string => `${folder}/${path}`

  /** The files of unknown traits that are not plain, or what kept that from being found out. */
  async function lookForOthers(request: ScanRequest, files: readonly ScannedFile[]): Promise<readonly ScannedFile[] | ProgramResult> {
    const unknown = files.filter(({ path, traits }) => traits === undefined && !plain.has(key(request, path)))
    if (unknown.length === 0) return []
    const looked = await scanOnce(notPlain, ['--files-with-matches'], request, unknown)
    if (whyUnusable(looked) !== undefined || !wentWell(looked) || looked.truncated) return { ...looked, stdout: new Uint8Array(), truncated: true }
    const others = new Set(textOf(looked.stdout).split('\0'))
    for (const { path } of unknown) if (!others.has(path)) plain.add(key(request, path))
    return unknown.filter(({ path }) => others.has(path))
  }

  async function scanDisguises(request: ScanRequest, files: readonly ScannedFile[]): Promise<readonly ProgramResult[]> {
    if (request.disguises.length === 0) return []
    const scanThose = (disguise: Disguise, those: readonly ScannedFile[]): Promise<ProgramResult>[] =>
      those.length === 0 ? [] : [scanOnce(disguise, marking, request, those)]
    const known = request.disguises.flatMap((disguise) =>
      scanThose(
        disguise,
        files.filter(({ traits = 0 }) => (traits & disguise.traits) !== 0),
      ),
    )
    const others = lookForOthers(request, files).then((found) =>
      'outcome' in found ? [found] : Promise.all(request.disguises.flatMap((disguise) => scanThose(disguise, found))),
    )
    return (await Promise.all([Promise.all(known), others])).flat()
  }

  return async (request) => {
    const marks = new Map<string, Mark[]>()
    const capped = new Set<string>()
    const unread = new Set<string>()
    let complete = true
    for (const files of partsOf(request.files)) {
      const results = await Promise.all([scanOnce(request.pattern, marking, request, files), scanDisguises(request, files)])
        .then(([one, more]) => [one, ...more])
        .catch((error: unknown): Unusable => ({ why: `could not be started: ${messageOf(error)}` }))
      if ('why' in results) return results
      for (const result of results) {
        const why = whyUnusable(result)
        if (why !== undefined) return { why }
        if (!wentWell(result) || result.truncated) complete = false
        readMarks(result.stdout, marks, capped)
      }
      // It does not say which.
      if (results.some(({ outcome }) => outcome.exitCode === someUnread))
        for (const { path } of files) if (!isReadable(join(request.folder, path))) unread.add(path)
    }
    for (const [path, found] of marks) marks.set(path, sorted(found))
    return { marks, capped, unread, complete }
  }
}

/**
 * Undefined where it looked, if only until its time was up. With `--no-messages` nothing is said about files that cannot be read: what is
 * said is about the pattern. One that crashed, or was killed by others, is no use: then the logs are read here.
 */
function whyUnusable(result: ProgramResult): string | undefined {
  const { outcome, stderr } = result
  if (outcome.kind === 'timed_out') return undefined
  if (outcome.signal !== null) return `was ended by ${outcome.signal}`
  if (!wentWell(result)) return `ended with ${outcome.exitCode ?? outcome.kind}`
  return stderr.length === 0 ? undefined : `says: ${headBytes(oneLine(textOf(stderr)), maxWhyBytes)}`
}

const maxWhyBytes = 200

const someUnread = 2

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** It ends with 0 where it found something, with 1 where it did not, with 2 where a file could not be read. */
const wentWell = ({ outcome }: ProgramResult): boolean => outcome.kind === 'exited' && (outcome.exitCode ?? 3) <= someUnread

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

const flags = ['--no-config', '--no-messages', '--color=never', '--text', '--encoding=none', '--null']
const marking = ['--no-heading', '--with-filename', '--line-number', '--byte-offset', '--only-matching', `--max-count=${maxLines}`]

function* partsOf(files: readonly ScannedFile[]): Generator<readonly ScannedFile[]> {
  let from = 0
  let bytes = 0
  for (const [i, { path }] of files.entries()) {
    if (i > from && (i - from >= maxPaths || bytes + path.length > maxPathBytes)) {
      yield files.slice(from, i)
      from = i
      bytes = 0
    }
    bytes += path.length
  }
  if (from < files.length) yield files.slice(from)
}

/** Reads lines `path NUL line:offset:match`; what was cut off at the end is passed over. */
function readMarks(bytes: Uint8Array, marks: Map<string, Mark[]>, capped: Set<string>): void {
  const output = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const lines = new Map<string, number>()
  let lastPath = ''
  let lastLine = 0
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(10, at)
    const border = output.indexOf(0, at)
    if (end < 0 || border < 0 || border > end) return
    const path = output.toString('utf8', at, border)
    const [line, offset] = output
      .toString('latin1', border + 1, Math.min(end, border + 40))
      .split(':', 2)
      .map(Number) as [number, number]
    at = end + 1
    if (path === lastPath && line === lastLine) continue
    lastPath = path
    lastLine = line
    const found = marks.get(path)
    if (found) found.push({ offset, line })
    else marks.set(path, [{ offset, line }])
    const count = (lines.get(path) ?? 0) + 1
    lines.set(path, count)
    if (count >= maxLines) capped.add(path)
  }
}

function sorted(marks: readonly Mark[]): Mark[] {
  const inOrder = [...marks].sort((a, b) => a.offset - b.offset)
  return inOrder.filter(({ line }, i) => line !== inOrder[i - 1]?.line)
}
