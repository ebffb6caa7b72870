import { spawn } from 'node:child_process'
import { messageOf } from '../core/errors.ts'
import { firstLineOf } from './first-line.ts'

/** How long the program may take until it says that it serves. */
const readyMs = 5_000

export interface SupervisorSettings {
  readonly socket: string
  /** Without this folder it does not stay. */
  readonly home: string
  readonly idleMs: number
}

/**
 * Starts the supervisor on a socket, apart from this process: no child of it, in a session of its own, with nothing of our environment,
 * folder or descriptors. `ready`: it serves. `taken`: somebody else does. Rejects with the system's error, or with what it said instead.
 */
export async function startSupervisor(program: string, { socket, home, idleMs }: SupervisorSettings): Promise<'ready' | 'taken'> {
  const child = spawn(program, ['--socket', socket, '--home', home, '--idle-ms', String(idleMs), '--apart'], {
    argv0: 'holdfast-supervisor',
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const line = await firstLineOf(child, readyMs).catch((error: unknown) => {
    throw new Error(`${program} did not start: ${messageOf(error)}`, { cause: error })
  })
  if (line === 'ready' || line === 'taken') return line
  throw new Error(`${program} did not start: ${line}`)
}
