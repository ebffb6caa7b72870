import type { ProgramResult, RunProgram } from '../core/program.ts'
import type { Mark, ScanFiles, ScanPattern, ScanRequest } from '../core/scan.ts'
import { notPlain } from '../core/scan-pattern.ts'

/** Of each file, lines of interest to each pattern. */
const maxLines = 1_000
const maxOutputBytes = 16 * 1024 * 1024
/** The kernel takes some two megabytes of arguments; paths of logs have some thirty bytes. */
const maxPaths = 20_000
const maxPathBytes = 1_000_000

/**
 * Scans files with ripgrep. It looks for bytes as they are: no file counts as binary, none is converted, no ignore file and no
 * configuration is read. Each pattern has a process of its own: ripgrep is quick with each of them and slow with their union. Disguises are
 * looked for only in logs that are not plain, which is found out meanwhile.
 */
export function ripgrep(program: string, run: RunProgram): ScanFiles {
  const scanOnce = (pattern: ScanPattern, how: readonly string[], { folder, timeoutMs }: ScanRequest, paths: readonly string[]): Promise<ProgramResult> =>
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
        ...paths,
      ],
      cwd: folder,
      env: {},
      timeoutMs,
      maxOutputBytes,
    })

  /** Logs that were seen to be plain: those that are scanned do not change any more. */
  const plain = new Set<string>()
  const key = ({ folder }: ScanRequest, path: string): string => `${folder}/${path}`

  /** Scans for disguises where there may be some. */
  async function scanDisguises(request: ScanRequest, all: readonly string[]): Promise<readonly ProgramResult[]> {
    const paths = all.filter((path) => !plain.has(key(request, path)))
    if (paths.length === 0 || request.disguises.length === 0) return []
    const looked = await scanOnce(notPlain, ['--files-with-matches'], request, paths)
    if (!isUsable(looked) || !wentWell(looked) || looked.truncated) return [{ ...looked, stdout: new Uint8Array(), truncated: true }]
    const others = new Set(textOf(looked.stdout).split('\0'))
    for (const path of paths) if (!others.has(path)) plain.add(key(request, path))
    const rest = paths.filter((path) => others.has(path))
    if (rest.length === 0) return []
    return Promise.all(request.disguises.map((pattern) => scanOnce(pattern, marking, request, rest)))
  }

  return async (request) => {
    const marks = new Map<string, Mark[]>()
    const capped = new Set<string>()
    let complete = true
    for (const paths of partsOf(request.paths)) {
      const results = await Promise.all([scanOnce(request.pattern, marking, request, paths), scanDisguises(request, paths)])
        .then(([one, more]) => [one, ...more])
        .catch(() => undefined)
      if (!results?.every(isUsable)) return undefined
      for (const result of results) {
        if (!wentWell(result) || result.truncated) complete = false
        readMarks(result.stdout, marks, capped)
      }
    }
    for (const [path, found] of marks) marks.set(path, sorted(found))
    return { marks, capped, complete }
  }
}

/**
 * Whether it looked, if only until its time was up. With `--no-messages` nothing is said about files that cannot be read: what is said is
 * about the pattern. One that crashed, or was killed by others, is no use: then the logs are read here.
 */
const isUsable = (result: ProgramResult): boolean => result.outcome.kind === 'timed_out' || (wentWell(result) && result.stderr.length === 0)

/** It ends with 0 where it found something, with 1 where it did not, with 2 where a file could not be read. */
const wentWell = ({ outcome }: ProgramResult): boolean => outcome.kind === 'exited' && (outcome.exitCode ?? 3) <= 2

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

const flags = ['--no-config', '--no-messages', '--color=never', '--text', '--encoding=none', '--null']
const marking = ['--no-heading', '--with-filename', '--line-number', '--byte-offset', '--only-matching', `--max-count=${maxLines}`]

function* partsOf(paths: readonly string[]): Generator<readonly string[]> {
  let from = 0
  let bytes = 0
  for (const [i, path] of paths.entries()) {
    if (i > from && (i - from >= maxPaths || bytes + path.length > maxPathBytes)) {
      yield paths.slice(from, i)
      from = i
      bytes = 0
    }
    bytes += path.length
  }
  if (from < paths.length) yield paths.slice(from)
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
