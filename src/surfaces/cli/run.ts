import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { App } from '../../app/api.ts'
import { closest } from '../../core/closest.ts'
import { failure, toHoldfastError } from '../../core/errors.ts'
import { isAboutRuns, runOf } from '../../operations/run-of.ts'
import type { Command, Invocation } from './command.ts'
import { commandWords, loadCommands } from './commands.ts'
import { exitOfError, exitOfSignal } from './exit-codes.ts'
import { type CliIo, countingOutlet, type Outlet, outletOf, type StopName } from './io.ts'
import { parseArguments, wantsJson } from './parse.ts'
import { printError } from './print.ts'

/**
 * Runs one command line (without the program's name) and resolves to its exit status; never rejects. What was printed
 * has been taken by its reader by then, or the reader has left.
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const stdout = outletOf(io.stdout)
  const stderr = outletOf(io.stderr)
  let stoppedBy: StopName | undefined
  const leaving = new Set<() => void>()
  const canceler = new AbortController()
  const unsubscribe = io.onSignal((name) => {
    if (stoppedBy !== undefined) {
      for (const listener of [...leaving]) listener()
      stderr.write('holdfast: left at once; what the command started may still run (holdfast stop last ends it)\n')
      return io.exit(exitOfSignal(name))
    }
    stoppedBy = name
    canceler.abort()
  })
  let code: number
  try {
    const onLeave = (listener: () => void): (() => void) => {
      leaving.add(listener)
      return () => leaving.delete(listener)
    }
    code = await dispatch(argv, { io, stdout, stderr, signal: canceler.signal, stoppedBy: () => stoppedBy, onLeave }, unsubscribe)
  } catch (thrown) {
    const error = toHoldfastError(thrown)
    printError(stdout, stderr, error, wantsJson(argv))
    code = exitOfError(error)
  } finally {
    unsubscribe()
  }
  await stdout.drained()
  if (stdout.failure !== undefined) {
    const error = failure('internal', { what: `standard output cannot be written (${stdout.failure})` })
    printError(stdout, stderr, error, false)
    code = exitOfError(error)
  }
  await stderr.drained()
  return stoppedBy === undefined ? code : exitOfSignal(stoppedBy)
}

type Surroundings = Omit<Invocation, 'parsed' | 'app' | 'onResult'>

async function dispatch(argv: readonly string[], around: Surroundings, letSignalsEnd: () => void): Promise<number> {
  const { io, stdout } = around
  // Options that every command takes may also stand before its name.
  const leading = argv.findIndex((arg) => arg !== '--json')
  const words = leading === -1 ? [] : argv.slice(leading)
  const first = words[0]
  if (first === undefined || first === '--help' || first === '-h') return say(stdout, await helpOf([]))
  if (first === 'help') return say(stdout, await helpOf(words.slice(1)))
  if (io.platform === 'win32') throw failure('unsupported_platform', { platform: io.platform })
  const found = await findCommand(words)
  if (!found) {
    if (familyOf(first).length > 0 && (words[1] === '--help' || words[1] === '-h')) return say(stdout, await helpOf([first]))
    throw unknownCommand(words)
  }
  const { command, args } = found
  const parsed = parseArguments(command, argv.length > words.length ? ['--json', ...args] : args)
  if (parsed.help) return say(stdout, (await import('./help.ts')).commandHelp(command))
  if (command.endsAtOnce) letSignalsEnd()
  return withApp(around, startingFolder(io, parsed.input.cwd), async (app) => {
    const counted = countingOutlet(stdout)
    let about: { operation: string; run: string | null } | undefined
    const onResult = (operation: string, result: unknown): void => {
      if (isAboutRuns(operation)) about = { operation, run: runOf(operation, result) }
    }
    try {
      return await command.run({ ...around, stdout: counted.outlet, parsed, app, onResult })
    } finally {
      if (about) await (await app()).countShown({ surface: 'cli', ...about, bytes: counted.bytes() }).catch(() => {})
    }
  })
}

/** Where the project is looked for. When the folder that we stand in was removed, one that was named in full still serves. */
function startingFolder(io: CliIo, named: unknown): string {
  return typeof named === 'string' && isAbsolute(named) && !existsSync(io.cwd) ? named : io.cwd
}

/** Opens the app when it is first asked for, and closes it in the end. */
async function withApp(around: Surroundings, cwd: string, act: (app: () => Promise<App>) => Promise<number>): Promise<number> {
  const { io } = around
  let opening: Promise<App> | undefined
  try {
    return await act(() => {
      opening ??= io.openApp({ cwd, env: io.env, surface: 'cli' })
      return opening
    })
  } finally {
    // Where opening failed, the command has that error already.
    const app = await opening?.catch(() => undefined)
    await app?.close()
  }
}

function say(stdout: Outlet, text: string): number {
  stdout.write(text)
  return 0
}

async function helpOf(words: readonly string[]): Promise<string> {
  const { commandHelp, familyHelp, generalHelp } = await import('./help.ts')
  const first = words[0]
  if (first === undefined) return generalHelp(await loadCommands())
  const found = await findCommand(words)
  if (found) return commandHelp(found.command)
  const family = familyOf(first)
  if (family.length === 0) throw unknownCommand(words)
  return familyHelp(first, await loadCommands(family))
}

async function findCommand(words: readonly string[]): Promise<{ command: Command; args: readonly string[] } | undefined> {
  for (const length of [2, 1]) {
    const typed = words.slice(0, length).join(' ')
    const [command] = typed.split(' ').length === length ? await loadCommands([typed]) : []
    if (command) return { command, args: words.slice(length) }
  }
  return undefined
}

/** The words of the commands that begin with this word, such as note. */
const familyOf = (first: string): readonly string[] => commandWords.filter((words) => words.startsWith(`${first} `))

function unknownCommand(words: readonly string[]) {
  const first = words[0] as string
  const family = familyOf(first)
  if (family.length === 0) {
    const known = [...new Set(commandWords.flatMap((typed) => [typed, typed.split(' ')[0] as string])), 'help']
    return failure('unknown_command', { command: first, suggestion: closest(first, known) })
  }
  return failure('invalid', {
    field: `the word after ${first}`,
    value: words[1],
    accepted: family.map((typed) => typed.slice(first.length + 1)).join(', '),
  })
}
