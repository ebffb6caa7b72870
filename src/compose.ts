import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from './app/api.ts'
import { createApp } from './app/app.ts'
import type { AppBasis, AppEquipment, Place, WorkspaceBasis } from './app/context.ts'
import type { OpenTargetRequest } from './app/far.ts'
import { describeHome, type Home, type HomePlace } from './app/home.ts'
import type { TimeLeft } from './app/hooks.ts'
import type { HookTrouble } from './app/hooks-log.ts'
import { openRecords, type Records } from './app/records.ts'
import type { Processes } from './app/run-index.ts'
import type { AppSettings } from './app/settings.ts'
import { type LoadedConfig, loadConfig, personConfigPath } from './config/load.ts'
import type { Session } from './core/backend.ts'
import type { Site } from './core/channel.ts'
import { failure, HoldfastError, hasReason } from './core/errors.ts'
import { mcpTimeoutMs } from './core/limits.ts'
import { monotonicMs } from './core/monotonic.ts'
import { secretsOf } from './core/secret-names.ts'
import type { Store } from './core/store.ts'
import { version } from './core/version.ts'
import type { LockFile } from './core/workspace.ts'
import { findRepository, headOf, type Repository } from './git/repository.ts'
import type { HookEvent } from './hosts/hooks/event.ts'
import { openSqliteStore } from './stores/sqlite/open.ts'

/** How Holdfast is put together: the only place that knows every room, and the only one that reads the environment. */
export interface OpenOptions {
  /** The folder that the caller stands in. */
  readonly cwd: string
  /** The workspace; commands and their cwd stay inside it. Absent: the worktree that holds `cwd`, or `cwd` itself. */
  readonly root?: string | undefined
  /** Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly surface: 'cli' | 'mcp' | 'library'
  /** Runs end with this process, also those that would live on. */
  readonly ephemeral?: boolean | undefined
  /** Another way to open the sites of targets, for tests. */
  readonly openSite?: ((request: OpenTargetRequest) => Promise<Site>) | undefined
}

export async function openApp(options: OpenOptions): Promise<App> {
  const { basis, equipment } = await openBasis(options)
  return createApp(basis, equipment)
}

interface OpenedBasis {
  readonly basis: AppBasis
  /** Loads what not every use case needs. */
  equipment(): Promise<AppEquipment>
}

async function openBasis(options: OpenOptions): Promise<OpenedBasis> {
  if (process.platform === 'win32') throw failure('unsupported_platform', { platform: process.platform })
  // Our command line holds the text of the command: one that looks for its own text (pkill -f) must not find us.
  if (options.surface === 'cli') process.title = 'holdfast'
  const base = resolve(options.root ?? options.cwd)
  if (!existsSync(base)) throw failure('root_missing', { root: base })
  const repository = findRepository(base)
  const root = realpathSync(options.root ?? repository?.root ?? base)
  const env = options.env ?? process.env
  const place: HomePlace = {
    override: env.HOLDFAST_HOME ? resolve(env.HOLDFAST_HOME) : undefined,
    project: repository?.mainRoot ?? root,
    state: env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state'),
    temporary: join(env.TMPDIR || '/tmp', `holdfast-${process.getuid?.() ?? 0}`),
  }
  const home = describeHome(place)
  const config = await readConfig(root, env)
  const settings = toSettings(config, options.surface)
  const repositoryOf = (folder: string): Repository | undefined => (folder === root ? repository : findRepository(folder))
  let scan: ReturnType<AppBasis['openScan']> | undefined
  const basis: AppBasis = {
    root,
    base: options.root ? root : realpathSync(base),
    ownEnv: env,
    home,
    homePlace: place,
    settings,
    records: recordsOf(home),
    version,
    program: programPath(),
    // The command line is gone after every command; what it starts and leaves behind is meant to stay.
    endLeftoversOnClose: options.surface !== 'cli',
    ephemeral: options.ephemeral === true,
    openPlace: () => openPlace({ root, home: home.path, env, use: config.settings.supervisor }),
    openPlainSession: () => openPlainSession(root),
    openTarget: async (request) =>
      (await import('./open-target.ts')).openTarget(request, {
        env,
        home: home.path,
        folderOf: (run) => basis.records.folder(run).path,
        openSite: options.openSite,
      }),
    examineBackend: async (backend) => (await import('./open-target.ts')).examineBackend(backend, env),
    reapSites: async (targets, dryRun) => (await import('./open-target.ts')).reapSites(targets, dryRun, env),
    reachSupervisor: async (socket) => (await import('./backends/host/supervised.ts')).reachSupervisedHostSession(socket),
    openLock,
    openScan() {
      scan ??= openScan(root, env)
      return scan
    },
    repositoryOf,
    branchOf(folder) {
      const found = repositoryOf(folder)
      return found ? headOf(found.gitDir).branch : null
    },
    workspaces: workspaceBasis({ place, config, env, root }),
    explainConfig: () => ({ settings: config.sources, files: config.files }),
    secretsOf: (values) => secretsOf(values, config.settings.mask.names),
    now: () => new Date(),
  }
  return { basis, equipment: () => equip(options.surface, env, config, settings) }
}

// What follows is loaded when it is needed: what only lists runs neither starts programs nor masks.

async function equip(surface: OpenOptions['surface'], env: AppBasis['ownEnv'], config: LoadedConfig, settings: AppSettings): Promise<AppEquipment> {
  const [{ createMasking }, { localMachine }, { closeInheritedDescriptors }] = await Promise.all([
    import('./app/masking.ts'),
    import('./process/machine.ts'),
    import('./process/descriptors.ts'),
  ])
  // Programs of our own hand nothing on that they were handed; the process of a library's user is not ours to tidy. What was
  // opened here meanwhile, by Node and by SQLite, is closed on exec and stays.
  if (surface !== 'library') closeInheritedDescriptors()
  return {
    masking: createMasking({ secrets: secretsOf(env, config.settings.mask.names), patterns: settings.mask.patterns }),
    machine: localMachine({ holder: { argv: [process.execPath, programPath(), '__hold'], env } }),
  }
}

async function openPlainSession(root: string): Promise<Session> {
  const [{ hostBackend }, { canMakePipes }] = await Promise.all([import('./backends/host/backend.ts'), import('./process/pipes.ts')])
  return hostBackend.open({ root, pipes: await canMakePipes() }, new AbortController().signal)
}

/** Ripgrep, where the package of this platform was installed; what it would scan is read without it, which takes longer. */
async function openScan(root: string, env: AppBasis['ownEnv']): ReturnType<AppBasis['openScan']> {
  if (env.HOLDFAST_RIPGREP === 'never') return undefined
  const program = ripgrepPath()
  if (program === undefined) return { why: `is not installed for ${process.platform} on ${process.arch}` }
  const [{ openHostSession }, { createProgramRunner }, { ripgrep }, { newRunId }] = await Promise.all([
    import('./backends/host/session.ts'),
    import('./engine/collect.ts'),
    import('./engine/ripgrep.ts'),
    import('./app/run-id.ts'),
  ])
  const session = openHostSession(root, { pipes: false })
  return ripgrep(
    program,
    createProgramRunner(async () => session, newRunId),
  )
}

function ripgrepPath(): string | undefined {
  try {
    const resolved = createRequire(import.meta.url).resolve('@vscode/ripgrep')
    return createRequire(resolved).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)
  } catch {
    return undefined
  }
}

interface PlaceRequest {
  readonly root: string
  readonly home: string
  readonly env: AppBasis['ownEnv']
  readonly use: LoadedConfig['settings']['supervisor']
}

/** Under the supervisor, unless there is none, or it is not wanted, or does not serve. */
async function openPlace({ root, home, env, use }: PlaceRequest): Promise<Place> {
  const plain = async (why: string, warnings: readonly string[] = []): Promise<Place> => ({
    kind: 'plain',
    session: await openPlainSession(root),
    why,
    warnings,
  })
  if (env.HOLDFAST_SUPERVISOR === 'never') return plain('HOLDFAST_SUPERVISOR is "never"')
  if (use.use === 'never') return plain('"supervisor.use" is "never" in the configuration')
  const { findSupervisor } = await import('./supervisor/program.ts')
  const program = findSupervisor()
  if (program.kind === 'missing') return plain(program.why)
  const { openSupervisedHostSession } = await import('./backends/host/supervised.ts')
  try {
    return { kind: 'supervised', session: await openSupervisedHostSession({ home, program, runtimeFolder: env.XDG_RUNTIME_DIR, idleMs: use.idleMs }) }
  } catch (error) {
    if (!hasReason(error, 'supervisor_unavailable')) throw error
    return plain(error.message, [`${error.message}; commands end with this process (see holdfast doctor)`])
  }
}

async function processes(): Promise<Processes> {
  const { identifySelf, isAlive } = await import('./process/identity.ts')
  return { self: identifySelf(), isAlive }
}

const openLock = async (): Promise<LockFile> => (await import('./stores/sqlite/lock.ts')).lockFile

const recordsOf = (home: Home): Records => openRecords({ home, openStore: openSqliteStore, memoryStore: emptyStore, processes, openLock, now: monotonicMs })

interface WorkspacePlaces {
  readonly place: HomePlace
  readonly config: LoadedConfig
  readonly env: AppBasis['ownEnv']
  readonly root: string
}

function workspaceBasis({ place, config, env, root }: WorkspacePlaces): WorkspaceBasis {
  return {
    root: () => canonical(config.settings.workspaces.root ?? join(place.state, 'holdfast', 'workspaces')),
    async settingsOf(folder) {
      const top = findRepository(folder)?.root ?? folder
      return top === root ? config.settings.workspaces : (await readConfig(top, env)).settings.workspaces
    },
    async openTools() {
      const [{ openHostSession }, { createProgramRunner }, { lockFile }, { startInBackground }, { newRunId }] = await Promise.all([
        import('./backends/host/session.ts'),
        import('./engine/collect.ts'),
        import('./stores/sqlite/lock.ts'),
        import('./process/background.ts'),
        import('./app/run-id.ts'),
      ])
      const session = openHostSession(root, { pipes: false })
      const background = (argv: readonly [string, ...string[]]): void => startInBackground(argv, env.PATH ?? '')
      return { runProgram: createProgramRunner(async () => session, newRunId), lock: lockFile, background }
    },
    openHome(path) {
      const home = describeHome({ ...place, override: path })
      return { home, records: recordsOf(home) }
    },
  }
}

/** A path without links; what of it is not there yet stays as it is written. */
function canonical(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(canonical(parent), basename(path))
  }
}

const readConfig = (root: string, env: AppBasis['ownEnv']): Promise<LoadedConfig> =>
  loadConfig({ projectFile: join(root, 'holdfast.json'), personFile: personConfigPath(env, env.HOME || homedir()), read: readIfThere })

const emptyStore = async (): Promise<Store> => (await import('./stores/memory/store.ts')).memoryStore()

function toSettings({ settings, sources, disabledBy }: LoadedConfig, surface: OpenOptions['surface']): AppSettings {
  const unset = sources.some(({ key, source }) => key === 'limits.timeoutMs' && source === 'default')
  const timeoutMs = surface === 'mcp' && unset ? mcpTimeoutMs : settings.limits.timeoutMs
  return {
    limits: { ...settings.limits, timeoutMs },
    targets: settings.targets,
    defaultTarget: settings.defaultTarget,
    runtimes: settings.runtimes,
    env: settings.env,
    mask: { patterns: settings.mask.patterns },
    retention: settings.retention,
    digestBudget: settings.digest.budget,
    maxNotes: settings.notes.maxPerScope,
    leadToExec: settings.hooks.leadToExec,
    disabledBy,
  }
}

const maxConfigBytes = 4 * 1024 * 1024

function readIfThere(path: string): string | undefined {
  try {
    // A repository may name anything as its configuration: a device or a pipe would never end.
    const found = statSync(path)
    if (!found.isFile() || found.size > maxConfigBytes)
      throw failure('file_unreadable', { path, why: `it is no regular file of at most ${maxConfigBytes} bytes` })
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined
    throw failure('file_unreadable', { path, why: (error as Error).message }, error)
  }
}

/** The built program: this file is part of it, of the library beside it, or of the sources. */
function programPath(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const places = [join(here, 'cli.js'), join(here, '..', 'cli.js'), join(here, '..', 'dist', 'cli.js')]
  return places.find((path) => existsSync(path)) ?? (places[0] as string)
}

/** Answers a hook of a host in the project that the event is about; see app/hooks. Resolves to what the agent is to see, if anything. */
export async function answerHook(options: OpenOptions, event: HookEvent, timeLeft: TimeLeft): Promise<string | undefined> {
  const [{ answerHook: answer }, { basis, equipment }] = await Promise.all([import('./app/hooks.ts'), openBasis(options)])
  try {
    return await answer(basis, equipment, event, timeLeft)
  } catch (error) {
    await logTrouble(basis, { host: event.host, moment: event.moment, trouble: error })
    throw error
  }
}

/** Writes down why a hook could not be answered. */
export async function noteHookTrouble(options: OpenOptions, trouble: Omit<HookTrouble, 'at'>): Promise<undefined> {
  await logTrouble((await openBasis(options)).basis, trouble)
}

async function logTrouble({ home, now }: AppBasis, trouble: Omit<HookTrouble, 'at'>): Promise<void> {
  const { logHookTrouble } = await import('./app/hooks-log.ts')
  logHookTrouble(home.path, { at: now(), ...trouble })
}

/** Holds one run for another process of ours; see app/holder. */
export async function hold(options: OpenOptions, read: () => Promise<string>, answer: (line: string) => void): Promise<void> {
  const [{ holdRun }, app] = await Promise.all([import('./app/holder.ts'), openApp(options)])
  const stopped = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(name, () => resolve())
  })
  await Promise.race([holdRun(app, read, answer), stopped])
  await app.close()
}
