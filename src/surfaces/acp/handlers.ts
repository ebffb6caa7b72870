import { isAbsolute, relative } from 'node:path'
import type { App, RunResult } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { isBelow } from '../../core/paths.ts'
import { terminalOutput } from './terminal-output.ts'

/**
 * The side of a client in the Agent Client Protocol, version 1 (https://agentclientprotocol.com): its methods `terminal/*` and `fs/*`, so that
 * an editor, or whoever else hosts an agent, gives it commands whose output is kept and files that no link leads out of.
 */

export const acpMethods = [
  'terminal/create',
  'terminal/output',
  'terminal/wait_for_exit',
  'terminal/kill',
  'terminal/release',
  'fs/read_text_file',
  'fs/write_text_file',
] as const
export type AcpMethod = (typeof acpMethods)[number]

/** By method: takes the params of a request as they came and resolves to its result. Rejects with a HoldfastError. */
export type AcpHandlers = Readonly<Record<AcpMethod, (params: unknown) => Promise<Record<string, unknown>>>>

export interface AcpOptions {
  /** The folder that the app works in: the paths of the protocol are absolute. */
  readonly root: string
  /** After how many milliseconds a command ends that its agent neither kills nor releases. Default: 24 hours. */
  readonly timeoutMs?: number | undefined
}

type AcpApp = Pick<App, 'exec' | 'wait' | 'stop' | 'show' | 'output' | 'readFile' | 'writeFile'>

const defaultTimeoutMs = 24 * 3_600_000
/** What a terminal shows where the agent states no limit. */
const defaultOutputBytes = 1024 * 1024
const maxFileBytes = 64 * 1024 * 1024
/** More than there are lines in any file. */
const highestCount = 1e12

type Params = Readonly<Record<string, unknown>>

/** A terminal is a run of Holdfast, by the same id; released, it is only forgotten here. */
export function acpHandlers(app: AcpApp, { root, timeoutMs = defaultTimeoutMs }: AcpOptions): AcpHandlers {
  const terminals = new Map<string, { readonly limit: number }>()

  async function create(params: Params): Promise<Record<string, unknown>> {
    const command = textOf(params, 'command')
    const args = listOf(params, 'args')
    const env = Object.fromEntries(listOf(params, 'env').map((each) => [textOf(each as Params, 'name'), textOf(each as Params, 'value')]))
    const cwd = isGiven(params, 'cwd') ? { cwd: textOf(params, 'cwd') } : {}
    const limit = countOf(params, 'outputByteLimit') ?? defaultOutputBytes
    // Agents also hand over a whole line for a shell here.
    const program = args.length > 0 || /^[\w./@+:-]+$/.test(command) ? { argv: [command, ...(args as string[])] } : { script: command }
    const run = await app.exec({ ...program, env, ...cwd, timeoutMs, waitMs: 0, ephemeral: true })
    terminals.set(run.id, { limit })
    return { terminalId: run.id }
  }

  function terminalOf(params: Params): { readonly run: string; readonly limit: number } {
    const run = textOf(params, 'terminalId')
    const terminal = terminals.get(run)
    if (!terminal) throw failure('invalid', { field: 'terminalId', value: run, accepted: 'a terminal that was created here and not released' })
    return { run, ...terminal }
  }

  async function end(run: string): Promise<void> {
    if ((await app.show({ run, budget: 0 })).state !== 'running') return
    // It may have ended since.
    await app.stop({ run }).catch(async (error: unknown) => {
      if ((await app.show({ run, budget: 0 })).state === 'running') throw error
    })
  }

  const handlers: Record<AcpMethod, (params: Params) => Promise<Record<string, unknown>>> = {
    'terminal/create': create,
    async 'terminal/output'(params) {
      const { run, limit } = terminalOf(params)
      // How it ended is asked first: what it had printed by then is in the output for sure.
      const result = await app.show({ run, budget: 0 })
      return { ...(await terminalOutput(app, run, limit)), ...(result.state === 'running' ? {} : { exitStatus: exitOf(result) }) }
    },
    'terminal/wait_for_exit': async (params) => exitOf(await app.wait({ run: terminalOf(params).run, budget: 0 })),
    async 'terminal/kill'(params) {
      await end(terminalOf(params).run)
      return {}
    },
    async 'terminal/release'(params) {
      const { run } = terminalOf(params)
      terminals.delete(run)
      await end(run)
      return {}
    },
    async 'fs/read_text_file'(params) {
      const [line, limit] = [countOf(params, 'line'), countOf(params, 'limit')]
      const from = Math.max(1, line ?? 1)
      if (limit === 0) return { content: '' }
      const isPart = line !== undefined || limit !== undefined
      const lines = isPart ? { lines: `${from}-${limit === undefined ? '' : from + limit - 1}` } : {}
      return { content: (await app.readFile({ path: pathOf(root, params), ...lines, maxBytes: maxFileBytes })).content }
    },
    async 'fs/write_text_file'(params) {
      await app.writeFile({ path: pathOf(root, params), content: textOf(params, 'content') })
      return {}
    },
  }
  const checked = (handle: (params: Params) => Promise<Record<string, unknown>>) => async (params: unknown) => handle(asParams(params))
  return Object.fromEntries(acpMethods.map((method) => [method, checked(handlers[method])])) as AcpHandlers
}

/** No code is made up for a run that has none. */
function exitOf({ outcome }: RunResult): { exitCode: number | null; signal: string | null } {
  return outcome?.kind === 'exited' ? { exitCode: outcome.exitCode, signal: null } : { exitCode: null, signal: outcome?.signal ?? null }
}

function asParams(given: unknown): Params {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Params
  throw failure('invalid', { field: 'params', value: given, accepted: 'an object' })
}

function textOf(params: Params, field: string): string {
  const value = params?.[field]
  if (typeof value === 'string') return value
  throw failure('invalid', { field, value, accepted: 'text' })
}

/** Undefined where it is absent, or null as the protocol has it. */
function countOf(params: Params, field: string): number | undefined {
  const value = params[field]
  if (!isGiven(params, field)) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return Math.min(value, highestCount)
  throw failure('invalid', { field, value, accepted: 'a whole number from 0' })
}

const isGiven = (params: Params, field: string): boolean => params[field] !== undefined && params[field] !== null

function listOf(params: Params, field: string): readonly unknown[] {
  const value = params[field] ?? []
  if (Array.isArray(value)) return value
  throw failure('invalid', { field, value, accepted: 'a list' })
}

/** Relative to the root, as files are named here; what is outside stays as it is, and is refused where files are. */
function pathOf(root: string, params: Params): string {
  const path = textOf(params, 'path')
  if (!isAbsolute(path)) throw failure('invalid', { field: 'path', value: path, accepted: 'an absolute path' })
  return isBelow(root, path) ? relative(root, path) : path
}
