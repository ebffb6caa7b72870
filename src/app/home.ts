import { accessSync, constants, existsSync, lstatSync, mkdirSync, readdirSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { errnoOf, failure, HoldfastError, hasReason } from '../core/errors.ts'

/** The folder where everything of a project is kept, shared by all its worktrees. */
export interface Home {
  readonly path: string
  readonly runs: string
  readonly store: string
  readonly notes: string
  /** What the store has yet to be told of; see journal.ts. */
  readonly pending: string
  /** Folders made ahead; see spare-folders.ts. */
  readonly ahead: string
  readonly snapshot: string
  /** Folders for runs while the home cannot take them, in this order; the next Holdfast that can brings them home. */
  readonly spares: readonly string[]
  /** False where surely nothing is in the spares, which is quicker told than where they are. */
  mayHaveSpares(): boolean
  readonly warnings: readonly string[]
}

export interface HomePlace {
  /** HOLDFAST_HOME, when it is set. */
  readonly override: string | undefined
  /** Folder of the main checkout, or the root itself where there is no repository. */
  readonly project: string
  /** The person's folder for state (XDG_STATE_HOME), used where the project cannot be written to. */
  readonly state: string
  /** A folder for temporary files of this user alone, the last resort. It need not exist. */
  readonly temporary: string
}

/** Where the home is, without making it. A place that cannot be written to is not used, and that is said. */
export function homePath({ override, project, state }: HomePlace): { path: string; warnings: string[] } {
  const wanted = wantedPath({ override, project })
  if (existsSync(wanted) ? canWrite(wanted) : override ? canWrite(nearestFolder(override)) : canWrite(project)) return { path: wanted, warnings: [] }
  const path = join(state, 'holdfast', hashOf(wanted))
  return { path, warnings: [`${override ?? project} cannot be written to; runs are kept in ${path}`] }
}

const wantedPath = ({ override, project }: Pick<HomePlace, 'override' | 'project'>): string => override ?? join(project, '.holdfast')

function hashOf(path: string): string {
  // Few need a hash, and node:crypto takes longer to load than everything else here takes.
  const { createHash } = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto')
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

function nearestFolder(path: string): string {
  let folder = path
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

export function describeHome(place: HomePlace): Home {
  const { path, warnings } = homePath(place)
  const runs = join(path, 'runs')
  const above = [join(place.state, 'holdfast'), join(place.temporary, 'spare')] as const
  let spares: readonly string[] | undefined
  return {
    path,
    runs,
    store: join(path, 'index.db'),
    notes: join(path, 'notes'),
    pending: join(path, 'pending'),
    ahead: join(path, 'ahead'),
    snapshot: join(path, 'snapshot.md'),
    get spares() {
      if (spares) return spares
      const hash = hashOf(wantedPath(place))
      spares = [join(above[0], hash, 'runs'), join(above[1], hash)].filter((spare) => spare !== runs)
      return spares
    },
    // Workspaces and the notes of the person stand beside them in the folder for state.
    mayHaveSpares: () => above.some((folder) => holds(folder, (name) => name !== 'workspaces' && !name.startsWith('notes'))),
    warnings,
  }
}

/**
 * Makes the home where it is not there yet: 0700, ignored by git through a file of its own. The folder that it is in must
 * exist: a project that is gone is not made again. Throws `home_unusable`.
 */
export function makeHome(home: Home, place: HomePlace): void {
  try {
    if (existsSync(join(home.path, '.gitignore'))) return
    if (!place.override && home.path === join(place.project, '.holdfast') && !existsSync(place.project)) {
      throw failure('root_missing', { root: place.project })
    }
    makeFolder(home.path)
    makeFolder(home.runs)
    writeFileSync(join(home.path, '.gitignore'), '*\n', { mode: 0o600 })
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw failure('home_unusable', { path: home.path, why: error instanceof Error ? error.message : String(error) }, error)
  }
}

/** The same for what happens without a home too: that it cannot be made is no failure then. */
export function tryHome(home: Home, place: HomePlace): void {
  try {
    makeHome(home, place)
  } catch (error) {
    if (!hasReason(error, 'home_unusable')) throw error
  }
}

/** With less, a run does not begin here: its record and its script may be all that still fits. */
const minRunBytes = 1024 ** 2

/** Throws where there is no room for another run. */
export function checkRoom(runs: string): void {
  const { bavail, bsize } = statfsSync(runs)
  if (bavail * bsize < minRunBytes) throw new Error('no space is left on the disk')
}

/** Makes a spare folder for runs; throws where it is not of this user alone. */
export function makeSpare(runs: string): void {
  makeFolder(runs)
  for (const folder of [runs, join(runs, '..'), join(runs, '..', '..')]) {
    const { uid, mode } = lstatSync(folder)
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) throw new Error(`${folder} is not of this user alone`)
  }
}

/** With those above it. Node's own recursive mkdir never comes back where a folder exists in which nothing can be made, as in /proc. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return
    const parent = dirname(path)
    if (errnoOf(error) !== 'ENOENT' || parent === path || existsSync(parent)) throw error
    makeFolder(parent)
    mkdirSync(path, { mode: 0o700 })
  }
}

function holds(folder: string, counts: (name: string) => boolean): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).some(counts)
  } catch {
    return false
  }
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
