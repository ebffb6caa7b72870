import { dirname, isAbsolute, join } from 'node:path'
import { failure, messageOf } from '../core/errors.ts'
import { refuseFolder, refusePrivateFolder, temporaryFolder } from '../process/private-folder.ts'
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
/** Who only asks about a run does not wait for longer than this. */
const reachMs = 2_500
/** How long whoever holds the lock may take until it serves: it may be beginning, or just ending. */
const takenMs = 3_000
const pauseMs = 5
const longestPauseMs = 100

/** A connection to the supervisor of a home, which is started where there is none. Any number of processes may do so at once. */
export async function connectSupervisor(place: SupervisorPlace): Promise<Connection> {
  const deadline = performance.now() + connectMs
  const path = await findSocketPath(place, socketFolders(place.runtimeFolder))
  let takenAt: number | undefined
  for (let wait = pauseMs; ; wait = Math.min(wait * 2, longestPauseMs)) {
    const reached = await openConnection(path, Math.max(1, Math.min(deadline - performance.now(), welcomeMs)))
    if (typeof reached !== 'string') return reached
    if (reached === 'nobody') {
      // Whoever started it serves at once; whoever found it taken waits for somebody else.
      if ((await start(place, path)) === 'ready') continue
      takenAt ??= performance.now()
    }
    const now = performance.now()
    if (now > deadline || now - (takenAt ?? now) > takenMs) throw failure('supervisor_unavailable', { why: `it is there, but nobody answers at ${path}` })
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

/** The supervisor that serves at the socket; undefined where nobody does, or where others could have put themselves in its place. */
export async function reachSupervisor(path: string): Promise<Connection | undefined> {
  if (refuseFolder(dirname(path)) !== undefined) return undefined
  const deadline = performance.now() + reachMs
  for (;;) {
    const reached = await openConnection(path, Math.max(1, deadline - performance.now()))
    if (typeof reached !== 'string') return reached
    if (reached === 'nobody') return undefined
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

async function start({ home, program, idleMs = defaultIdleMs }: SupervisorPlace, socket: string): Promise<'ready' | 'taken'> {
  try {
    return await startSupervisor(program.path, { socket, home, idleMs })
  } catch (error) {
    throw failure('supervisor_unavailable', { why: messageOf(error) }, error)
  }
}

/** Where the socket may be, best first. */
export function socketFolders(runtimeFolder: string | undefined): string[] {
  const folders = [temporaryFolder(), temporaryFolder('/tmp')]
  if (runtimeFolder && isAbsolute(runtimeFolder)) folders.unshift(join(runtimeFolder, 'holdfast'))
  return [...new Set(folders)]
}

/**
 * The same for all processes of a user that have the same folders. Versions of the program do not meet: each has a socket of its own.
 * A folder that is not ours alone is passed over, since whoever may change it could take the place of the supervisor.
 */
export async function findSocketPath({ home, program }: Pick<SupervisorPlace, 'home' | 'program'>, folders: readonly string[]): Promise<string> {
  // Loaded late, because whatever does not run commands does without it.
  const { createHash } = await import('node:crypto')
  const digest = (text: string, chars: number): string => createHash('sha256').update(text).digest('hex').slice(0, chars)
  const build = /^[0-9a-f]{8}/.exec(program.build)?.[0] ?? digest(program.build, 8)
  const name = `${digest(home, 16)}-${build}.sock`
  const problems: string[] = []
  for (const folder of folders) {
    const path = join(folder, name)
    const problem = Buffer.byteLength(path) > maxPathBytes ? `${folder} is too long for the path of a socket` : refusePrivateFolder(folder)
    if (problem === undefined) return path
    problems.push(problem)
  }
  throw failure('supervisor_unavailable', { why: `there is no private folder for its socket: ${problems.join('; ')}` })
}
