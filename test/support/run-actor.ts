import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'
import type { ActorRequest, ActorStep } from './workspace-actor.ts'
import type { World } from './world.ts'

export interface Fault {
  /** The number of a step, from 1; see mutation-hook.mjs. */
  readonly at: number
  readonly when: 'before' | 'after'
}

export interface Acted {
  readonly signal: string | null
  /** An answer for each step of the request; empty where it was killed. */
  readonly answers: readonly unknown[]
  /** What was changed, in order; only where a fault was asked for. */
  readonly log: readonly string[]
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const boundMs = 60_000

function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}

/** Makes the program of the actor once; its path. It finds the packages of this checkout. */
export function buildActor(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  return bundle("import { act } from './test/support/workspace-actor.ts'\nawait act()\nprocess.exit(0)\n", join(folder, 'actor.mjs'))
}

/** Runs it in a process of its own. With a fault, everything below the world that is changed is a step; `at: 0` counts alone. */
export function runActor(program: string, world: World, steps: readonly (readonly ActorStep[])[], fault?: Fault): Promise<Acted> {
  const request: ActorRequest = { root: world.path('workspaces'), steps }
  const log = world.path('steps.log')
  const hook = { HOLDFAST_TEST_STEPS: JSON.stringify({ below: world.folder, log, ...fault }) }
  const child = spawn(process.execPath, [...(fault ? ['--import', here('mutation-hook.mjs')] : []), program, JSON.stringify(request)], {
    cwd: world.root,
    env: { ...world.env, NODE_PATH: here('../../node_modules'), ...(fault ? hook : {}) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: boundMs,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  return new Promise((resolve, reject) => {
    child.once('close', (status, signal) => {
      if (status !== 0 && !(fault && signal === 'SIGKILL')) reject(new Error(`the actor ended with ${status ?? signal}: ${stderr}`))
      else resolve({ signal, answers: signal ? [] : (JSON.parse(stdout) as unknown[]), log: linesOf(log) })
    })
  })
}
