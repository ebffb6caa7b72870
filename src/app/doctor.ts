import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { hasReason, toHoldfastError } from '../core/errors.ts'
import type { Finding } from '../workspaces/finding.ts'
import type { DoctorResult } from './api.ts'
import { builtInRuntimes, resolveRuntime } from './command.ts'
import type { AppContext } from './context.ts'
import { examinePlace } from './doctor-supervisor.ts'
import { makeHome } from './home.ts'
import { lastHookTrouble } from './hooks-log.ts'
import type { Sites } from './sites.ts'
import type { WorkspaceUseCases } from './workspaces.ts'

type Check = DoctorResult['checks'][number]

const minFreeBytes = 256 * 1024 ** 2
const scanTimeoutMs = 5_000
/** How long a target may take. */
const targetMs = 30_000
/** What was longer ago says little of now. */
const troubleMs = 24 * 60 * 60_000

/** Looks at everything that Holdfast stands on and says what does not hold. */
export async function examine(
  context: AppContext,
  workspaces: Pick<WorkspaceUseCases, 'examine' | 'repair'>,
  fix: string | undefined,
  sites?: Sites,
): Promise<DoctorResult> {
  const fixed = fix === undefined ? undefined : await workspaces.repair(fix)
  const { plain, ...place } = await examinePlace(context)
  const own: Check[] = [
    { name: 'version', status: 'ok', detail: `holdfast ${context.version} on Node ${process.versions.node}, ${process.platform} ${process.arch}` },
    platform(),
    ...enabled(context),
    ...home(context),
    await store(context),
    place,
    // The supervisor has pipes of its own.
    ...(plain ? [await pipes(context)] : []),
    await scan(context),
    ...runtimes(context),
    ...hooks(context),
  ]
  const [trees, targets] = await Promise.all([workspaces.examine(), sites ? examineTargets(context, sites) : []])
  const checks = [...own, ...trees.map(ofWorkspaces), ...targets]
  return { ok: checks.every(({ status }) => status !== 'failed'), checks, ...(fixed === undefined ? {} : { fixed }) }
}

const workspaceAt = { mounted: 'the workspace is mounted at', copied: 'a copy of the workspace at', own: 'files of its own at' } as const

/** Each is opened as a command would open it, all of them at once. */
async function examineTargets({ root, settings }: AppContext, sites: Sites): Promise<Check[]> {
  return Promise.all(
    Object.entries(settings.targets).map(async ([name, target]): Promise<Check> => {
      let step = ''
      const onStep = (what: string): void => {
        step = what
      }
      try {
        const { site, place } = await sites.open({ name, target, tree: root, mounts: [] }, { signal: AbortSignal.timeout(targetMs), onStep })
        const detail = place.kind === 'supervised' ? `${site.title}, ${workspaceAt[site.workspace]} ${site.root}` : `${site.title}, in plain mode: ${place.why}`
        return { name: `target ${name}`, status: place.kind === 'supervised' ? 'ok' : 'warning', detail }
      } catch (error) {
        const { message, details } = toHoldfastError(error)
        if (hasReason(error, 'canceled_before_start')) {
          const detail = `it could not be opened within ${targetMs / 1_000} s${step && `; the last that was heard: ${step}`}`
          return { name: `target ${name}`, status: 'warning', detail }
        }
        return { name: `target ${name}`, status: 'warning', detail: typeof details.remedy === 'string' ? `${message}; ${details.remedy}` : message }
      }
    }),
  )
}

/** Commands run without git, too. */
function ofWorkspaces({ name, status, detail, fix }: Finding): Check {
  const isGit = name === 'git' && status === 'failed'
  return {
    name,
    status: isGit ? 'warning' : status,
    detail: isGit ? `${detail}; there are no workspaces without it` : detail,
    ...(fix === null ? {} : { fix }),
  }
}

function enabled({ settings }: AppContext): Check[] {
  return settings.disabledBy ? [{ name: 'enabled', status: 'failed', detail: `no command is run here: "enabled": false in ${settings.disabledBy}` }] : []
}

function platform(): Check {
  if (process.platform === 'linux') return { name: 'platform', status: 'ok', detail: 'processes that leave their group are found by what they inherit' }
  return { name: 'platform', status: 'warning', detail: `${process.platform}: processes that leave their group are not found; only Linux is tested` }
}

function home({ home, homePlace }: AppContext): Check[] {
  try {
    makeHome(home, homePlace)
    accessSync(home.path, constants.W_OK | constants.X_OK)
    const open = statSync(home.path).mode & 0o077
    const { bavail, bsize } = statfsSync(home.path)
    const free = bavail * bsize
    return [
      { name: 'home', status: open ? 'warning' : 'ok', detail: open ? `${home.path} can be read by others (mode should be 0700)` : home.path },
      ...home.warnings.map((detail): Check => ({ name: 'home', status: 'warning', detail })),
      { name: 'disk', status: free < minFreeBytes ? 'warning' : 'ok', detail: `${Math.floor(free / 1024 ** 2)} MiB free` },
    ]
  } catch (error) {
    return [{ name: 'home', status: 'failed', detail: error instanceof Error ? error.message : String(error) }]
  }
}

async function store(context: AppContext): Promise<Check> {
  const usable = await context.records.usable()
  const warnings = await context.records.warnings()
  if (!usable) return { name: 'store', status: 'failed', detail: warnings.join('; ') }
  const { runs, failing } = await context.records.count()
  const detail = `${context.home.store}: ${runs} runs, ${failing} failing`
  return warnings.length > 0 ? { name: 'store', status: 'warning', detail: `${detail}; ${warnings.join('; ')}` } : { name: 'store', status: 'ok', detail }
}

async function pipes({ machine }: AppContext): Promise<Check> {
  if (await machine.canMakePipes()) return { name: 'pipes', status: 'ok', detail: 'commands write to real pipes' }
  return { name: 'pipes', status: 'warning', detail: 'no named pipes can be made here; commands write to sockets, where `> /dev/stderr` fails' }
}

/** Nothing is lost without it: a search only takes longer. */
async function scan({ openScan, home }: AppContext): Promise<Check> {
  const look = await openScan()
  const request = { pattern: { source: 'a', ignoreCase: false }, disguises: [], folder: home.path, files: [{ path: '.gitignore', traits: 0 }] }
  const looked = typeof look === 'function' ? await look({ ...request, timeoutMs: scanTimeoutMs }) : look
  if (looked && 'complete' in looked && looked.complete) return { name: 'search', status: 'ok', detail: 'long logs are looked through with ripgrep' }
  const why = !looked ? 'HOLDFAST_RIPGREP is "never"' : `ripgrep ${'why' in looked ? looked.why : 'does not answer in time'}`
  return { name: 'search', status: 'warning', detail: `${why}; long logs are read without it, which takes longer` }
}

function runtimes({ settings, ownEnv }: AppContext): Check[] {
  const names = [...builtInRuntimes, ...Object.keys(settings.runtimes)]
  return [...new Set(names)].map((name): Check => {
    const program = resolveRuntime(name, settings.runtimes).argv[0]
    const found = findProgram(program, ownEnv.PATH ?? '')
    if (found) return { name: `runtime ${name}`, status: 'ok', detail: found }
    return {
      name: `runtime ${name}`,
      status: name === 'bash' ? 'failed' : 'warning',
      detail: `${program} is not on the PATH; scripts of this runtime cannot run`,
    }
  })
}

/** Hooks never fail their hosts, so that nobody hears of what went wrong in one. */
function hooks({ home, now }: AppContext): Check[] {
  const trouble = lastHookTrouble(home.path, troubleMs, now())
  return trouble === undefined ? [] : [{ name: 'hooks', status: 'warning', detail: `the last trouble of a hook: ${trouble}` }]
}

function findProgram(program: string, path: string): string | undefined {
  if (program.includes('/')) return existsSync(program) ? program : undefined
  return path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file))
}
