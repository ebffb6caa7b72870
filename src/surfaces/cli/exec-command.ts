import { resolve } from 'node:path'
import type { ExecCall, LiveOutput, RunResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { parseDuration } from '../../core/limits.ts'
import { plural } from '../../core/text.ts'
import { exec } from '../../operations/exec.ts'
import { type Command, commandFor, type Invocation, perform } from './command.ts'
import { exitOfRun } from './exit-codes.ts'
import type { CliIo, Outlet } from './io.ts'
import { openLiveLine } from './live-line.ts'
import { type Option, ownOption, readVariable } from './option.ts'
import { printJson, printWarnings, withLineFeed } from './print.ts'
import { chunksOf, readInput } from './read-input.ts'
import { terminalFilter } from './terminal-filter.ts'

const scriptOption: Option = {
  flag: '-c',
  value: 'SCRIPT|-',
  about: 'Run a script instead of a program; - reads it from standard input.',
  read: (given, text) => {
    given.own.c = text
  },
}

const envOption: Option = {
  flag: '--env',
  value: 'NAME[=VALUE]',
  about: 'Set a variable, or pass one on by its NAME; may be repeated.',
  read: readVariable,
}

const waitOption: Option = {
  flag: '--wait',
  value: 'TIME',
  about: 'Run in the background and answer at the latest after this time.',
  read: (given, text) => {
    given.input.waitMs = parseDuration('--wait', text)
  },
}

export const execCommand: Command = commandFor(exec, 'exec', 'Run commands', {
  usage: ['exec [options] -- COMMAND…', 'exec [options] -c SCRIPT'],
  takesProgram: true,
  details: [
    exec.description,
    "The digest goes to standard output. Exit status: the command's own; 124 timed out; 125 Holdfast failed; 126 not executable; 127 not found; 128+n ended by signal n; 0 while it still runs.",
  ],
  options: [
    scriptOption,
    ownOption('--script', 'Run the script in FILE.', { value: 'FILE' }),
    envOption,
    ownOption('--stdin', 'What the command reads: a file, or - for standard input.', { value: 'FILE|-', default: 'nothing' }),
    ownOption('--detach', 'Run in the background and print the id of the run.'),
    waitOption,
    ownOption('--stream', 'Pass the output through; the digest goes to standard error.'),
    ownOption('--quiet', 'Print nothing but errors.'),
  ],
  run: runExec,
})

/** What looks on while a command runs. */
interface Watcher {
  onOutput(chunk: LiveOutput): void
  readonly signal?: AbortSignal
  close(): void
}

const names = { argv: 'COMMAND', script: '-c', stdin: '--stdin', env: '--env', passEnv: '--env', waitMs: '--wait' }

async function runExec(invocation: Invocation): Promise<number> {
  const { parsed, stdout, stderr } = invocation
  const { detach, stream, quiet } = parsed.own
  const background = detach === true || parsed.input.waitMs !== undefined
  if (stream && (background || parsed.json)) {
    throw failure('invalid', { field: '--stream', value: true, accepted: '--stream without --detach, --wait and --json' })
  }
  const input = await inputOf(invocation, background)
  const live: Watcher | undefined = stream ? passThrough(invocation) : !quiet && stderr.isTerminal ? openLiveLine(stderr) : undefined
  let result: RunResult
  try {
    const call: ExecCall = live ? { onOutput: live.onOutput, signal: live.signal ?? invocation.signal } : {}
    result = await perform(exec, invocation, background ? { waitMs: 0, ...input, detach: true } : input, call, names)
  } finally {
    live?.close()
  }
  if (parsed.json && !quiet) printJson(stdout, result)
  else if (!quiet) {
    const detached = detach === true && parsed.input.waitMs === undefined
    const target = stream ? stderr : stdout
    const text = detached ? result.id : result.digest
    target.write(withLineFeed(text))
    printWarnings(stderr, result, text)
  }
  return stream && stdout.gone ? brokenPipe : exitOfRun(result)
}

// 128 + SIGPIPE: what a shell says of a program whose reader has left.
const brokenPipe = 141

async function inputOf(invocation: Invocation, background: boolean): Promise<Record<string, unknown>> {
  const { io, parsed } = invocation
  const { c, script: scriptFile, stdin } = parsed.own
  if ((c === '-' || scriptFile === '-') && stdin === '-') {
    throw failure('invalid', { field: '--stdin', value: '-', accepted: 'a file, since the script is read from standard input' })
  }
  if (c !== undefined && scriptFile !== undefined) throw failure('invalid', { field: '--script', value: scriptFile, accepted: '--script or -c, not both' })
  const source = c === '-' ? '-' : scriptFile
  const script = typeof source === 'string' ? Buffer.from(await readInput(io, '--script', source)).toString('utf8') : c
  return {
    ...parsed.input,
    argv: parsed.argv,
    script,
    cwd: resolve(io.cwd, (parsed.input.cwd as string | undefined) ?? '.'),
    ...(typeof stdin === 'string' ? { stdin: await stdinOf(io, stdin, background) } : {}),
  }
}

/** A file is read before anything starts, our own standard input as it comes: its end may be far away, or never come. */
async function stdinOf(io: CliIo, source: string, background: boolean): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  // A command in the background may outlive whoever feeds it.
  return source === '-' && !background ? chunksOf(io, source) : readInput(io, '--stdin', source)
}

// A reader that is slower than the command must not make this process grow without bound. The log has everything anyway.
const maxQueuedBytes = 64 * 1024 * 1024

/** Passes what the command prints on to our own streams; a reader that leaves cancels the run, as it does in a shell. */
function passThrough({ stdout, stderr, signal }: Invocation): Watcher {
  const canceler = new AbortController()
  const cancel = (): void => canceler.abort()
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  stdout.onGone(cancel)
  const filters = { stdout: terminalFilter(), stderr: terminalFilter() }
  let skippedBytes = 0
  const pass = (outlet: Outlet, chunk: LiveOutput): void => {
    if (outlet.queuedBytes > maxQueuedBytes) skippedBytes += chunk.bytes.length
    else outlet.write(outlet.isTerminal ? filters[chunk.stream](chunk.text) : chunk.bytes)
  }
  return {
    signal: canceler.signal,
    onOutput: (chunk: LiveOutput): void => pass(chunk.stream === 'stdout' ? stdout : stderr, chunk),
    close(): void {
      signal.removeEventListener('abort', cancel)
      if (skippedBytes > 0) stderr.write(`holdfast: ${plural(skippedBytes, 'byte')} did not pass through, because the reader was too slow; the log has them\n`)
    },
  }
}
