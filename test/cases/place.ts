import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/app/api.ts'
import { type Holdfast, type HoldfastOptions, openHoldfast } from '../../src/index.ts'
import { isSupervised, plainEnv, whyPlain } from '../support/modes.ts'
import { openWorld, type World } from '../support/world.ts'

/** The inputs of real failures that other tools have shown; they stand beside the repository and are read there. */
const folder = fileURLToPath(new URL('../../../shared/cases/', import.meta.url))
const present = existsSync(folder)

export const caseFile = (name: string): string => `${folder}${name}`
export const caseText = (name: string): string => readFileSync(caseFile(name), 'utf8')

/** A group of cases; skipped, with a word about it, where their inputs are not there. */
export function describeCases(title: string, body: () => void): void {
  if (!present) console.warn(`skipped: ${title}: the inputs of the cases (${folder}) are not there`)
  describe.skipIf(!present)(title, body)
}

/** Holdfast in a world of its own. Closing it leaves neither processes nor files. */
export interface Place extends AsyncDisposable {
  readonly world: World
  readonly holdfast: Holdfast
  /** Another Holdfast for the same place; closed with it. */
  again(options?: Partial<HoldfastOptions>): Promise<Holdfast>
  cli(args: readonly string[], options?: CliOptions): Promise<CliResult>
}

export interface CliOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly input?: string | Uint8Array
  readonly node?: readonly string[]
  /** Gets the pid, to signal it. */
  readonly onStart?: (pid: number) => void
}

export interface CliResult {
  readonly status: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** The standard output as the one object that it should be. */
  json<T = RunResult>(): T
}

export const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

type InPlace = (title: string, body: (place: Place) => Promise<void>, ms?: number) => void

/** Declares tests that each have a place of their own, so that all of a file can wait at once; `usualMs` bounds each. */
export function testsInPlace(usualMs: number, declare: Pick<typeof it, 'concurrent'> = it, options: PlaceOptions = {}): InPlace {
  return (title, body, ms = usualMs) => {
    declare.concurrent(
      title,
      async () => {
        await using place = await openPlace(options)
        await body(place)
      },
      ms,
    )
  }
}

export interface PlaceOptions extends Partial<HoldfastOptions> {
  /** Without a supervisor, whatever else there is. */
  readonly plain?: boolean
}

/** Tests of what is so only under a supervisor; skipped, with a word about it, where there is none. */
export function describeSupervised(title: string, body: () => void): void {
  if (!isSupervised) console.warn(`skipped: ${title}: ${whyPlain}`)
  describe.skipIf(!isSupervised)(title, body)
}

export async function openPlace({ plain = false, ...options }: PlaceOptions = {}): Promise<Place> {
  const opening = openWorld()
  const world = plain ? { ...opening, env: { ...opening.env, ...plainEnv } } : opening
  const opened: Holdfast[] = []
  const again = async (more: Partial<HoldfastOptions> = {}): Promise<Holdfast> => {
    const holdfast = await openHoldfast({ root: world.root, env: world.env, ...options, ...more })
    opened.push(holdfast)
    return holdfast
  }
  return {
    world,
    holdfast: await again(),
    again,
    cli: (args, more = {}) => runCli(args, { cwd: world.root, ...more, env: { ...world.env, ...more.env } }),
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((holdfast) => holdfast.close()))
      // What a test left on purpose it has ended by now; anything else that a run left behind is a fault.
      const left = await until('the end of every process of a run', () => processesIn(world.folder, true).length === 0, 3_000).catch((error: unknown) => error)
      const found = processesIn(world.folder, true)
      for (const { pid } of processesIn(world.folder, false)) end(pid)
      await world[Symbol.asyncDispose]()
      if (left instanceof Error) throw new Error(`${left.message}: ${JSON.stringify(found)}`)
    },
  }
}

export async function runCli(args: readonly string[], { node = [], ...options }: CliOptions): Promise<CliResult> {
  return runProgram(process.execPath, [...node, program, ...args], options)
}

/** Any program, to its end. */
export function runProgram(file: string, args: readonly string[], { cwd, env, input, onStart }: CliOptions): Promise<CliResult> {
  const child = spawn(file, args, { cwd, env, stdio: 'pipe' })
  if (child.pid !== undefined) onStart?.(child.pid)
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status, signal) => {
      const stdout = Buffer.concat(out).toString('utf8')
      const stderr = Buffer.concat(err).toString('utf8')
      resolve({
        status,
        signal,
        stdout,
        stderr,
        json() {
          try {
            return JSON.parse(stdout)
          } catch {
            throw new Error(`no JSON: status ${status}, stdout ${JSON.stringify(stdout)}, stderr ${JSON.stringify(stderr)}`)
          }
        },
      })
    })
  })
}

/** Resolves when the condition holds; fails when it does not come to hold within `ms`. */
export async function until<T>(what: string, condition: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await condition()
    if (value) return value as NonNullable<T>
    if (performance.now() > deadline) throw new Error(`${what}: not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

interface Seen {
  readonly pid: number
  readonly command: string
}

/** Living processes of which `keep` says yes; zombies are dead. Looks by itself, not through the code under test. */
function processes(keep: (pid: number, command: string) => boolean): Seen[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return command !== '' && keep(Number(name), command) ? [{ pid: Number(name), command }] : []
    } catch {
      return []
    }
  })
}

/** Living processes with a word in their command line. */
export const named = (word: string): Seen[] => processes((_, command) => command.includes(word))

/** Those of them that were started in the place: others may run the same test. */
export const namedIn = ({ world }: Place, word: string): Seen[] => {
  const here = new Set(processesIn(world.folder, false).map(({ pid }) => pid))
  return named(word).filter(({ pid }) => here.has(pid))
}

/** Living processes of a run, by its mark. */
export function marked(run: string): Seen[] {
  return processes((pid) => {
    try {
      const entry = readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .find((text) => text.startsWith('HOLDFAST_RUN='))
      return entry?.slice('HOLDFAST_RUN='.length).split('/').includes(run) ?? false
    } catch {
      return false
    }
  })
}

/** Living processes that were started in the place; `runsOnly`: those of runs. */
function processesIn(path: string, runsOnly: boolean): Seen[] {
  return processes((pid) => {
    try {
      const environ = readFileSync(`/proc/${pid}/environ`, 'utf8')
      return environ.includes(`=${path}`) && (!runsOnly || environ.includes('HOLDFAST_RUN='))
    } catch {
      return false
    }
  })
}

export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Fails where a process of the run still lives. */
export function expectNothingLeft(run: string | { readonly id: string }): void {
  expect(marked(typeof run === 'string' ? run : run.id)).toEqual([])
}

/** What a log holds; one without a byte need not be there. */
export const logOf = (run: RunResult, stream: 'stdout' | 'stderr' = 'stdout'): string =>
  existsSync(run[stream].path) ? readFileSync(run[stream].path, 'utf8') : ''

export const exited = (exitCode: number) => ({ kind: 'exited', exitCode, signal: null, limit: null })

/** What Holdfast itself is given, and no command is to see. */
export const fakeSecrets = {
  ANTHROPIC_API_KEY: 'b043-a',
  OPENAI_API_KEY: 'b043-b',
  GH_TOKEN: 'b043-c',
  AWS_SECRET_ACCESS_KEY: 'b043-d',
  DATABASE_URL: 'postgres://u:b043-e@h/d',
  OH_SESSION_API_KEYS_0: 'b043-f',
  MY_CIPHER_SECRET: 'b043-g',
  NPM_TOKEN: 'b043-h',
}
