import { existsSync } from 'node:fs'
import { markVariable } from '../core/command.ts'
import { failure, type HoldfastError, hasReason, toHoldfastError, withFacts } from '../core/errors.ts'
import { resolveLimits } from '../core/limits.ts'
import { emptyTotals, type Holder, type ProcessIdentity, type RunRecord } from '../core/run.ts'
import { headBytes } from '../core/text.ts'
import { pause, systemClock } from '../engine/clock.ts'
import type { Masker } from '../engine/redact.ts'
import type { ExecCall, ExecInput } from './api.ts'
import { resolveProgram } from './command.ts'
import { commandKey } from './command-key.ts'
import type { ActiveRun, AppContext, Place } from './context.ts'
import { composeEnvironment } from './environment.ts'
import { isFar, type NamedTarget } from './far.ts'
import { holdPlain } from './hold-plain.ts'
import { holderOf, holdSupervised } from './hold-supervised.ts'
import { type Beginning, type FarRun, type Prepared, supervisorNeeded } from './holding.ts'
import { tryHome } from './home.ts'
import { noteSecrets } from './masking.ts'
import type { Places } from './places.ts'
import { leftBehind } from './run-folder.ts'
import { newRunId } from './run-id.ts'
import { type EnsureMounted, findTree, mountsOf, type OpenFar, takeLeaseFor } from './run-tree.ts'
import type { RunWorkspace } from './run-workspace.ts'
import type { SiteCall } from './sites.ts'

/** What a command gets to end when this process closes; a longer grace of its own does not count then. */
const closeGraceMs = 1_500
const maxPurposeBytes = 2_000
const usualTerminal = { rows: 24, columns: 80 }
/** What the kernel stores of either (struct winsize, ioctl_tty(2)). */
const maxTerminalSide = 65_535

/** The runs that this process began and follows, from before their start to after their end. */
export interface Executions {
  /** `within` is what the app itself runs in a workspace. `wanted`: as long as nothing is started; default the signal of the call. */
  begin(input: ExecInput, call: ExecCall, within?: Within, wanted?: AbortSignal): Promise<ActiveRun>
  find(id: string): ActiveRun | undefined
  /** Where such a command would run; a target is opened for that, and stays open. */
  placeFor(input: ExecInput, call: ExecCall): Promise<Place>
  /** Nobody waits for the run any more: where it can, it lives on when this process closes. */
  letBe(run: ActiveRun): void
  /** Cancels what is waited for or cannot live on, lets the rest go, and waits until that is done. */
  close(): Promise<void>
}

/** A workspace that a command of the app itself runs in, without credentials: its setup. */
export interface Within {
  readonly workspace: RunWorkspace
}

export function createExecutions(context: AppContext, places: Places, ensureMounted: EnsureMounted): Executions {
  const active = new Map<string, ActiveRun>()
  /** Runs that are between being asked for and being active. */
  const beginning = new Set<Promise<ActiveRun>>()
  /** Runs that nobody waits for. */
  const unattended = new WeakSet<ActiveRun>()
  /** Places whose warnings were given. */
  const warned = new WeakSet<Place>()
  /** Runs of this process that ended by themselves and left processes behind, which end with it. */
  const leaving = new Map<string, ProcessIdentity | null>()
  let closed = false

  const opening =
    (named: NamedTarget, call: SiteCall): OpenFar =>
    (tree, mounts) =>
      places.sites.open({ ...named, tree, mounts }, call)

  async function prepare(input: ExecInput, call: SiteCall, id: string, within: Within | undefined): Promise<Prepared> {
    const { settings } = context
    if (settings.disabledBy) throw failure('disabled', { where: settings.disabledBy })
    // What the app itself runs, runs here.
    const named = within ? undefined : await places.sites.find(input.target)
    const program = resolveProgram(input, settings.runtimes, named === undefined)
    const { limits, notes } = resolveLimits(input, settings.limits)
    const leftovers = input.leftovers ?? 'report'
    if (leftovers !== 'report' && leftovers !== 'kill') throw failure('invalid', { field: 'leftovers', value: leftovers, accepted: 'report or kill' })
    const pty = resolvePty(input.pty)
    const { cwd, workspace, far, ...place } = await findTree(context, input, within, ensureMounted, named && opening(named, call))
    const configured = place.isSandbox ? { pass: place.declared, set: {} } : settings.env
    // What a pod was given is what its commands get.
    const handed = named?.target.backend === 'kubernetes' ? (named.target.secrets ?? []) : []
    const pass = [...configured.pass, ...handed, ...(input.passEnv ?? [])]
    const set = { ...configured.set, ...place.variables, ...input.env }
    const env = composeEnvironment({
      own: context.ownEnv,
      pass,
      set,
      mark: { name: markVariable, id },
      terminal: !input.pty ? 'none' : input.interactive ? 'attended' : 'unattended',
      sandbox: place.sandbox,
      site: far?.facts.variables,
    })
    notes.push(...place.notes)
    for (const name of input.passEnv ?? []) if (context.ownEnv[name] === undefined) notes.push(`the variable ${name} is not set here and was not passed on`)
    const looking = context.secretsOf({ ...Object.fromEntries(pass.map((name) => [name, env[name]] as const)), ...set })
    const secrets = [...new Set([...looking, ...handed.flatMap((name) => env[name] || [])])]
    const stdin = typeof input.stdin === 'string' ? Buffer.from(input.stdin) : input.stdin
    return {
      program,
      cwd,
      env,
      plan: { limits, stdin, leftovers },
      pty,
      interactive: input.interactive === true,
      ephemeral: context.ephemeral || input.ephemeral === true,
      notes,
      secrets,
      masker: context.masking.withSecrets(secrets),
      workspace,
      far: named && far && { named, at: far },
    }
  }

  async function begin(input: ExecInput, call: ExecCall, within: Within | undefined, wanted: AbortSignal | undefined): Promise<ActiveRun> {
    if (closed) throw failure('closed', {})
    const id = newRunId()
    const prepared = await prepare(input, { ...call, signal: wanted }, id, within)
    tryHome(context.home, context.homePlace)
    const { far } = prepared
    const place = far ? far.at.place : await places.current()
    const needed = supervisorNeeded(prepared.pty, prepared.interactive && call.othersWrite)
    if (needed && place.kind === 'plain') throw failure('supervisor_needed', { what: needed, why: place.why })
    const first = firstRecord(context, id, prepared, input.purpose, holderAt(place, far))
    const lease = await takeLeaseFor(context, first, prepared.workspace)
    let begun: readonly string[]
    try {
      begun = await context.records.begin(first)
    } catch (error) {
      lease?.drop()
      throw error
    }
    const warnings = [...context.home.warnings, ...warningsOf(place, far), ...(lease?.warnings ?? []), ...begun]
    const folder = context.records.folder(id)
    try {
      noteSecrets(folder, prepared.secrets)
      if (call.signal?.aborted || closed) {
        const outcome = { kind: 'canceled', exitCode: null, signal: null, limit: null } as const
        lease?.drop()
        return over(first, { outcome }, prepared.masker, warnings)
      }
      const { program, cwd, env } = prepared
      const what = far ? program.prepareFar(far.at.runFolder(id)) : { argv: program.prepare(folder.path) }
      const command = { ...what, cwd, env, mark: id }
      const run = await hold(place, { first, folder, prepared, command, call, warnings })
      follow(run, prepared)
      lease?.dropAfter(run)
      return run
    } catch (error) {
      lease?.drop()
      const failed = withFacts(nameRuntime(toHoldfastError(error), prepared.program.runtime, far?.at.site.title), prepared.masker.mask)
      await over(first, { state: 'failed', error: failed.toJSON() }, prepared.masker, warnings).finished
      throw failed
    }
  }

  const holderAt = (place: Place, far: Prepared['far']): Holder =>
    place.kind === 'supervised' ? holderOf(place.session, context.machine.self, far?.at.site.handle) : context.machine.self

  /** That a supervisor cannot be used is said once. */
  function warningsOf(place: Place, far?: FarRun): readonly string[] {
    if (warned.has(place)) return []
    warned.add(place)
    const copied =
      far?.at.site.workspace === 'copied'
        ? [`the workspace at ${far.at.site.title} is a copy: what changes there stays there (holdfast copy brings files back)`, ...(far.at.notes ?? [])]
        : []
    if (place.kind === 'supervised') return copied
    return far
      ? [
          `commands at ${far.at.site.title} cannot be taken up again once this process is gone, since no supervisor starts them: ${place.why}`,
          ...copied,
          ...place.warnings,
        ]
      : place.warnings
  }

  /** Elsewhere: a command that is not known to have been started is not started twice, nor here. */
  async function holdFar(place: Place, beginning: Beginning, far: FarRun): Promise<ActiveRun> {
    if (place.kind === 'plain') return holdPlain(context, place.session, beginning)
    if (!existsSync(beginning.folder.path)) throw failure('home_unusable', { path: context.home.path, why: 'the run cannot be kept' })
    try {
      return await holdSupervised(context, places, place.session, beginning)
    } catch (error) {
      const isUnsent = hasReason(error, 'supervisor_lost') && error.details.unsent === true
      if (!isUnsent) throw error
      const { workspace } = beginning.prepared
      const tree = workspace?.record.path ?? context.root
      const at = await places.sites.open({ ...far.named, tree, mounts: mountsOf(context, tree) }, beginning.call)
      if (at.place.kind === 'plain') throw error
      const first = { ...beginning.first, holder: holderAt(at.place, { ...far, at }) }
      const warnings = [...beginning.warnings, ...(await context.records.replace(first))]
      return holdSupervised(context, places, at.place.session, { ...beginning, first, warnings })
    }
  }

  async function hold(place: Place, beginning: Beginning): Promise<ActiveRun> {
    const { far } = beginning.prepared
    if (far) return holdFar(place, beginning, far)
    if (place.kind === 'plain') return holdPlain(context, place.session, beginning)
    // A supervisor keeps a run in its folder and nowhere else; a command runs also where there is no room for one.
    if (!existsSync(beginning.folder.path)) return hold(await places.plain('its run cannot be kept'), beginning)
    try {
      return await holdSupervised(context, places, place.session, beginning)
    } catch (error) {
      if (!hasReason(error, 'supervisor_lost')) throw error
      // Contact was lost before anything was started, so it may be started elsewhere.
      const next = await places.current()
      if (next.kind === 'plain' && beginning.prepared.pty) throw error
      const first = { ...beginning.first, holder: holderAt(next, undefined) }
      const warnings = [...beginning.warnings, ...warningsOf(next), ...(await context.records.replace(first))]
      const again = { ...beginning, first, warnings }
      return next.kind === 'plain' ? holdPlain(context, next.session, again) : holdSupervised(context, places, next.session, again)
    }
  }

  function follow(run: ActiveRun, { ephemeral }: Prepared): void {
    active.set(run.id, run)
    void run.finished.then(({ record }) => {
      active.delete(run.id)
      if (isFar(record)) return
      const endsWithUs = ephemeral || (record.holder.socket === undefined && context.endLeftoversOnClose)
      if (endsWithUs && record.leftovers.length > 0) leaving.set(run.id, record.process)
    })
  }

  /** The end of a run that never had a process. */
  function over(first: RunRecord, end: Partial<RunRecord>, masker: Masker, before: readonly string[]): ActiveRun {
    const record: RunRecord = { ...first, state: 'ended', ...end, endedAt: context.now().toISOString(), durationMs: 0 }
    const finished = context.records.replace(record).then((more) => ({ record, warnings: [...new Set([...before, ...more])] }))
    return {
      id: first.id,
      askedAt: systemClock.now(),
      begun: record,
      current: async () => record,
      masker,
      finished,
      cancel() {},
      inlet: undefined,
      release: undefined,
    }
  }

  return {
    begin(input, call, within, wanted = call.signal) {
      const promise = begin(input, call, within, wanted).finally(() => beginning.delete(promise))
      beginning.add(promise)
      return promise
    },
    find: (id) => active.get(id),
    async placeFor(input, call) {
      const named = await places.sites.find(input.target)
      if (!named) return places.current()
      const { far } = await findTree(context, input, undefined, ensureMounted, opening(named, call))
      return far ? far.place : places.current()
    },
    letBe: (run) => void unattended.add(run),
    async close() {
      closed = true
      // What is just being started is let come so far that it can be ended.
      await Promise.allSettled(beginning)
      const runs = [...active.values()]
      const canceled = runs.filter((run) => !run.release || !unattended.has(run))
      for (const run of runs)
        if (canceled.includes(run)) run.cancel()
        else run.release?.()
      const done = new AbortController()
      void pause(systemClock, closeGraceMs, done.signal).then(() => {
        if (!done.signal.aborted) for (const run of canceled) run.cancel('SIGKILL')
      })
      const leftovers = [...leaving].map(([id, first]) =>
        context.machine.endTree(id, first, 'SIGTERM', closeGraceMs, leftBehind(context.records.folder(id), id)),
      )
      await Promise.all([...canceled.map((run) => run.finished), ...leftovers])
      done.abort()
    },
  }
}

function resolvePty(pty: ExecInput['pty']): { rows: number; columns: number } | undefined {
  if (pty === undefined || pty === false) return undefined
  const size = pty === true ? usualTerminal : pty
  const isSide = (side: unknown): boolean => Number.isInteger(side) && (side as number) >= 1 && (side as number) <= maxTerminalSide
  if (typeof size === 'object' && isSide(size?.rows) && isSide(size.columns)) return { rows: size.rows, columns: size.columns }
  throw failure('invalid', { field: 'pty', value: pty, accepted: `true, or { rows, columns } from 1 to ${maxTerminalSide}` })
}

function firstRecord(
  context: AppContext,
  id: string,
  { program, cwd, plan, pty, notes, masker, workspace, far }: Prepared,
  purpose: string | undefined,
  holder: Holder,
): RunRecord {
  const tree = workspace?.record.path ?? context.root
  const branch = context.branchOf(far ? tree : cwd)
  const command = masker.mask(program.display)
  return {
    id,
    state: 'running',
    command,
    runtime: program.runtime,
    purpose: purpose === undefined || purpose === '' ? null : headBytes(masker.mask(purpose), maxPurposeBytes),
    cwd: masker.mask(cwd),
    branch: branch === null || far?.at.site.workspace === 'own' ? null : masker.mask(branch),
    startedAt: context.now().toISOString(),
    endedAt: null,
    durationMs: null,
    outcome: null,
    error: null,
    stdout: emptyTotals,
    stderr: emptyTotals,
    leftovers: [],
    warnings: notes,
    holder,
    process: null,
    pinned: false,
    limits: { timeoutMs: plan.limits.timeoutMs, idleTimeoutMs: plan.limits.idleTimeoutMs },
    ...(pty ? { pty } : {}),
    ...(far ? { target: { backend: far.named.target.backend, name: masker.mask(far.named.name) } } : {}),
    ...(workspace ? { workspace: workspace.record.id } : {}),
    commandKey: commandKey({ program, command, cwd, top: far ? far.at.site.root : tree, target: far?.named.name }),
  }
}

// A missing program that stands for a runtime is told by the name that the caller used.
function nameRuntime(error: HoldfastError, runtime: string | null, target: string | undefined): HoldfastError {
  if (runtime === null || error.details.reason !== 'program_missing') return error
  return failure('runtime_missing', { runtime, program: String(error.details.program), target }, error)
}
