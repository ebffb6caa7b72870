import { resolve } from 'node:path'
import type { ExecCall, RunResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { maxTerminalSide, parseDuration } from '../../core/limits.ts'
import { oneLine } from '../../core/text.ts'
import { exec } from '../../operations/exec.ts'
import { type Command, commandFor, type Invocation, perform } from './command.ts'
import { exitOfRun, holdfastFailed } from './exit-codes.ts'
import type { CliIo } from './io.ts'
import { openLiveLine } from './live-line.ts'
import { type Option, ownOption, readVariable } from './option.ts'
import { passThrough } from './pass-through.ts'
import { printJson, printWarnings, sayThatItGoesOn, withLineFeed } from './print.ts'
import { chunksOf, readInput } from './read-input.ts'
import { terminalInput } from './terminal-input.ts'

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

const ptyOption: Option = {
  flag: '--pty',
  value: 'ROWSxCOLS',
  valueIsOptional: true,
  about: 'Run on a pseudo-terminal of this size. In a terminal, show what it prints as it comes.',
  default: 'the size of this terminal, else 24x80',
  read: (given, text) => {
    given.input.pty = text === '' ? true : parseSize(text)
  },
}

/** `40x120` as rows and columns. */
function parseSize(text: string): { rows: number; columns: number } {
  const [, rows, columns] = /^(\d{1,4})[xX](\d{1,4})$/.exec(text) ?? []
  const size = { rows: Number(rows), columns: Number(columns) }
  const fits = (side: number): boolean => side >= 2 && side <= maxTerminalSide
  if (fits(size.rows) && fits(size.columns)) return size
  throw failure('invalid', { field: '--pty', value: text, accepted: `rows and columns from 2 to ${maxTerminalSide}, like --pty=24x80` })
}

const flagOption = (name: 'interactive' | 'ephemeral', about: string): Option => ({
  flag: `--${name}`,
  about,
  read: (given) => {
    given.input[name] = true
  },
})

export const execCommand: Command = commandFor(exec, 'exec', 'Run commands', {
  usage: ['exec [options] -- COMMAND…', 'exec [options] -c SCRIPT'],
  takesProgram: true,
  details: [
    exec.description,
    'Ctrl-C cancels the command. With --detach or --wait it runs in the background, also beyond this program: see it with wait, output and stop, write to it with input.',
    'The digest goes to standard output; "N | text" in it is line N, which output RUN --lines N shows.',
    "Exit status: the command's own; 124 timed out; 125 Holdfast failed; 126 not executable; 127 not found; 128+n ended by signal n; 0 with --detach, or while it still runs.",
  ],
  options: [
    scriptOption,
    ownOption('--script', 'Run the script in FILE.', { value: 'FILE' }),
    envOption,
    ownOption('--stdin', 'What the command reads: a file, or - for standard input.', { value: 'FILE|-', default: 'nothing' }),
    flagOption('interactive', 'Keep its standard input open, for holdfast input; in a terminal, for what is typed, with --pty each key, Ctrl-C too.'),
    ptyOption,
    ownOption('--detach', 'Run in the background and print the id of the run.'),
    waitOption,
    flagOption('ephemeral', 'End it with this program, also when this program is killed.'),
    ownOption('--stream', 'Pass the output through; the digest goes to standard error.'),
    ownOption('--quiet', 'Print nothing but errors.'),
  ],
  run: runExec,
})

/** What looks on while a command runs. */
interface Watcher {
  readonly call: ExecCall
  /** Harmless when called twice. */
  close(): void
}

const names = { argv: 'COMMAND', script: '-c', stdin: '--stdin', env: '--env', passEnv: '--env', waitMs: '--wait', pty: '--pty' }

async function runExec(invocation: Invocation): Promise<number> {
  const { parsed, stdout, stderr } = invocation
  const { detach, quiet } = parsed.own
  const background = detach === true || parsed.input.waitMs !== undefined
  const detached = detach === true && parsed.input.waitMs === undefined
  if (parsed.own.stream && (background || parsed.json)) {
    throw failure('invalid', { field: '--stream', value: true, accepted: '--stream without --detach, --wait and --json' })
  }
  if (background && parsed.input.ephemeral) {
    throw failure('invalid', { field: '--ephemeral', value: true, accepted: '--ephemeral without --detach and --wait' })
  }
  const isTyped = parsed.input.interactive === true && parsed.own.stdin === undefined && invocation.io.stdin.isTTY === true && !background
  const isShown = (parsed.input.pty !== undefined || isTyped) && stdout.isTerminal && !background && !parsed.json && !quiet
  const isStreamed = parsed.own.stream === true || isShown
  const input = await inputOf(invocation, background)
  const watcher = background ? undefined : watch(invocation, { isStreamed, isTyped })
  let result: RunResult
  try {
    const call: ExecCall = { ...watcher?.call, ...(input.interactive && !isTyped ? { othersWrite: true } : {}) }
    result = await perform(exec, invocation, background ? { waitMs: 0, ...input, detach: true } : input, call, names)
  } finally {
    watcher?.close()
  }
  if (parsed.json && !quiet) printJson(stdout, result)
  else if (!quiet) {
    const target = isStreamed ? stderr : stdout
    // Who has just seen all of it on a terminal needs no more than how it ended.
    const text = detached ? result.id : isShown && !parsed.own.stream ? headLine(result.digest) : result.digest
    target.write(withLineFeed(text))
    printWarnings(stderr, result, text)
    sayThatItGoesOn(invocation, result)
  }
  // Whether a quick command was over already is a matter of luck.
  if (detached) return 0
  // Whoever holds it does not answer any more.
  if (!background && result.state === 'running') return holdfastFailed
  return isStreamed && stdout.gone ? brokenPipe : exitOfRun(result)
}

const headLine = (digest: string): string => digest.slice(0, (digest.indexOf('\n') + 1 || digest.length + 1) - 1)

/** Shows how the command is doing, or what it prints, and passes on what a person types for it. */
function watch(invocation: Invocation, { isStreamed, isTyped }: { readonly isStreamed: boolean; readonly isTyped: boolean }): Watcher {
  const { parsed, stderr } = invocation
  const hasPty = parsed.input.pty !== undefined
  const person = hasPty || isTyped ? terminalInput(invocation, { hasPty, isTyped }) : undefined
  const shown = isStreamed ? passThrough(invocation, { isAnswered: hasPty && isTyped, isFollowed: !parsed.own.quiet }) : undefined
  const line = !isStreamed && !parsed.own.quiet && stderr.isTerminal ? openLiveLine(stderr) : undefined
  return {
    call: {
      signal: shown?.signal ?? invocation.signal,
      ...(shown ? { onOutput: shown.onOutput } : {}),
      ...(line ? { onProgress: line.onProgress } : {}),
      ...(stderr.isTerminal && !parsed.own.quiet ? { onStep: line?.say ?? ((what) => void stderr.write(`holdfast: ${oneLine(what)}\n`)) } : {}),
      onBegin: (run) => {
        line?.count()
        person?.connect(run.id)
      },
    },
    close() {
      person?.close()
      shown?.close()
      line?.close()
    },
  }
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
    ...(parsed.input.pty === true ? { pty: invocation.stdout.size ?? true } : {}),
    argv: parsed.argv,
    script,
    cwd: cwdOf(invocation),
    ...(typeof stdin === 'string' ? { stdin: await stdinOf(io, stdin, background) } : {}),
  }
}

/** A workspace has a top of its own to begin at, wherever the caller stands. */
function cwdOf({ io, parsed }: Invocation): string | undefined {
  const named = parsed.input.cwd as string | undefined
  return parsed.input.workspace === undefined ? resolve(io.cwd, named ?? '.') : named
}

/** A file is read before anything starts, our own standard input as it comes: its end may be far away, or never come. */
async function stdinOf(io: CliIo, source: string, background: boolean): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  // A command in the background may outlive whoever feeds it.
  return source === '-' && !background ? chunksOf(io, source) : readInput(io, '--stdin', source)
}
