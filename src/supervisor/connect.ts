import { isAbsolute, join } from 'node:path'
import { failure, messageOf } from '../core/errors.ts'
import { refusePrivateFolder, temporaryFolder } from '../process/private-folder.ts'
import { startSupervisor } from '../process/start-supervisor.ts'
import { type Connection, openConnection } from './connection.ts'

export interface SupervisorPlace {
  /** The absolute folder of the home: each has a supervisor of its own. */
  readonly home: string
  /** The program, and what tells it from every other version of it. */
  readonly program: { readonly path: string; readonly build: string }
  /** `XDG_RUNTIME_DIR`, if there is one. */
  readonly runtimeFolder: string | undefined
  /** How long it stays without anything to do. */
  readonly idleMs?: number | undefined
}

/** sockaddr_un has 108 bytes for the path and its final NUL (unix(7)). */
const maxPathBytes = 107
const defaultIdleMs = 600_000
/** For everything together; then commands run without a supervisor. */
const connectMs = 8_000
const welcomeMs = 5_000
/** How long whoever holds the lock may take until it serves, before the program is started again. */
const takenMs = 250
const pauseMs = 5

/** A connection to the supervisor of a home, which is started where there is none. Any number of processes may do so at once. */
export async function connectSupervisor(place: SupervisorPlace): Promise<Connection> {
  const deadline = performance.now() + connectMs
  const path = await findSocketPath(place)
  let startedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const left = deadline - performance.now()
    if (left <= 0) throw failure('supervisor_unavailable', { why: `nobody answers at ${path}` })
    const reached = await openConnection(path, Math.min(left, welcomeMs))
    if (typeof reached !== 'string') return reached
    if (reached === 'nobody' && performance.now() - startedAt > takenMs) {
      await start(place, path)
      startedAt = performance.now()
    } else await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** The supervisor that serves at the socket; undefined where nobody does. */
export async function reachSupervisor(path: string): Promise<Connection | undefined> {
  const deadline = performance.now() + welcomeMs
  for (;;) {
    const reached = await openConnection(path, Math.max(1, deadline - performance.now()))
    if (typeof reached !== 'string') return reached
    if (reached === 'nobody') return undefined
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

async function start({ program, idleMs = defaultIdleMs }: SupervisorPlace, path: string): Promise<void> {
  try {
    await startSupervisor(program.path, path, idleMs)
  } catch (error) {
    throw failure('supervisor_unavailable', { why: messageOf(error) }, error)
  }
}

/**
 * The same for all processes of a user that have the same folders for temporary files. Versions of the program do not meet:
 * each has a socket of its own.
 */
async function findSocketPath({ home, program, runtimeFolder }: SupervisorPlace): Promise<string> {
  // Loaded late, because whatever does not run commands does without it.
  const { createHash } = await import('node:crypto')
  const digest = (text: string, chars: number): string => createHash('sha256').update(text).digest('hex').slice(0, chars)
  const build = /^[0-9a-f]{8}/.exec(program.build)?.[0] ?? digest(program.build, 8)
  const name = `${digest(home, 16)}-${build}.sock`
  const problems: string[] = []
  const folders = [temporaryFolder(), temporaryFolder('/tmp')]
  if (runtimeFolder && isAbsolute(runtimeFolder)) folders.unshift(join(runtimeFolder, 'holdfast'))
  for (const folder of new Set(folders)) {
    const path = join(folder, name)
    const problem = Buffer.byteLength(path) > maxPathBytes ? `${path} is too long for a socket` : refusePrivateFolder(folder)
    if (problem === undefined) return path
    problems.push(problem)
  }
  throw failure('supervisor_unavailable', { why: `there is no private folder for its socket: ${problems.join('; ')}` })
}
