import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { failure, type HoldfastError, hasReason } from '../core/errors.ts'
import type { ProgramResult, RunProgram } from '../core/program.ts'
import type { GitAnswer } from '../core/workspace-reasons.ts'
import { refuseAwaited } from './awaited-files.ts'
import { driversAmong, turnedOff } from './drivers.ts'
import { localEnvironment, networkEnvironment, type OwnEnvironment } from './environment.ts'
import { ageOf, isRepeatable, lockInTheWay } from './lock-files.ts'
import { networkOf, parseScoped } from './network.ts'
import { type Look, offFor } from './off.ts'
import { createPersonSettings } from './person.ts'
import { redactAddresses } from './redact-addresses.ts'
import { findRepository } from './repository.ts'
import { asVariables, commandAt, everyCall, guarded, readsFiles, type Setting } from './settings.ts'

/** One call of git. */
export interface GitCall {
  /** Without `git` and without the settings that every call has. */
  readonly args: readonly string[]
  /** The folder to work in; it decides which repository is meant unless `gitDir` is given. */
  readonly cwd: string
  readonly gitDir?: string | undefined
  readonly workTree?: string | undefined
  /** Folders from here up are never looked into for a repository. */
  readonly ceiling?: string | undefined
  /** Another index than that of the worktree. */
  readonly indexFile?: string | undefined
  readonly stdin?: string | Uint8Array | undefined
  /** Settings for this call alone, as `name=value`; they win over those of every call. */
  readonly config?: readonly string[] | undefined
  /** It only reads: no lock is taken to refresh the index. */
  readonly reads?: boolean | undefined
  /**
   * It may speak to a remote: a longer bound, and the person's own way there (home, agent of ssh, helpers for credentials, proxies), of which
   * nothing comes from the repository. Without it no transport starts, also not to fetch what a partial clone lacks; the setting
   * `protocol.file.allow=always` then lets in folders of this machine.
   */
  readonly network?: boolean | undefined
  /** Default: 30 s, with `network` 120 s. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Only so much of the beginning of its output is wanted, and more is no failure; else more than 64 MiB is one. */
  readonly firstBytes?: number | undefined
}

export interface GitResult {
  readonly exitCode: number
  /** As UTF-8. Names that are not are in `bytes`. */
  readonly stdout: string
  readonly bytes: Uint8Array
  readonly stderr: string
  readonly answer: GitAnswer
}

/** Runs git, hardened: whatever a repository or the environment says, nothing but git itself runs, nothing prompts, and every call ends. */
export interface Git {
  /**
   * Resolves however git exits. Rejects with `git_timeout`, `git_missing`, `git_old`, `unsafe_config`, or where the call was canceled. Where
   * a lock file is in the way of a command that can be repeated, it is tried again for some seconds.
   */
  run(call: GitCall): Promise<GitResult>
  /** The same, and rejects with `git_failed` (`git_locked`) where it exits with anything but 0. `what` says in words what was done. */
  require(what: string, call: GitCall): Promise<GitResult>
}

const localTimeoutMs = 30_000
const networkTimeoutMs = 120_000
const maxOutputBytes = 64 * 1024 ** 2
/** Waits between attempts. A git that is alive holds a lock for a moment. */
const lockWaitsMs = [50, 100, 200, 400, 800, 1500]
/** The first git that reads settings from variables (GIT_CONFIG_COUNT), which carry what no argument can. */
const needed = { major: 2, minor: 31 }

export interface GitOptions {
  readonly runProgram: RunProgram
  /** The environment of Holdfast. Of its variables git gets PATH, and over the network those that lead to the person's credentials. */
  readonly ownEnv: OwnEnvironment
  /** For tests. Default: about three seconds in all. */
  readonly lockWaitsMs?: readonly number[] | undefined
}

export function createGit({ runProgram, ownEnv, lockWaitsMs: waits = lockWaitsMs }: GitOptions): Git {
  const personSettings = createPersonSettings(ownEnv, async () => {
    const call: GitCall = { args: ['config', '--list', '--show-scope', '-z'], cwd: '/', ceiling: '/', reads: true }
    return (await start(call, networkEnvironment(call, ownEnv), [])).stdout
  })

  let version: Promise<void> | undefined
  function checkVersion(): Promise<void> {
    version ??= check().catch((error: unknown) => {
      version = undefined
      throw error
    })
    return version
  }
  async function check(): Promise<void> {
    const call: GitCall = { args: ['version'], cwd: '/', reads: true }
    const { stdout } = await start(call, localEnvironment(call, ownEnv), [])
    const found = /(\d+)\.(\d+)[^\s]*/.exec(stdout)
    if (found === null) return
    const [major, minor] = [Number(found[1]), Number(found[2])]
    if (major > needed.major || (major === needed.major && minor >= needed.minor)) return
    throw failure('git_old', { version: found[0], needed: `${needed.major}.${needed.minor}` })
  }

  /** One process of git. */
  async function start(call: GitCall, env: Record<string, string>, settings: readonly Setting[]): Promise<GitResult> {
    const timeoutMs = call.timeoutMs ?? (call.network ? networkTimeoutMs : localTimeoutMs)
    let result: ProgramResult
    try {
      result = await runProgram({
        argv: ['git', ...argumentsOf(call)],
        cwd: call.cwd,
        env: { ...env, ...asVariables(settings) },
        stdin: call.stdin,
        timeoutMs,
        maxOutputBytes: call.firstBytes ?? maxOutputBytes,
        signal: call.signal,
      })
    } catch (error) {
      if (hasReason(error, 'program_missing')) throw failure('git_missing', { program: 'git' }, error)
      throw error
    }
    const { outcome } = result
    const answer: GitAnswer = {
      command: redactAddresses(['git', ...call.args].join(' ')),
      exitCode: outcome.exitCode,
      stderr: redactAddresses(text(result.stderr)),
    }
    if (outcome.kind === 'timed_out') throw failure('git_timeout', { what: answer.command, afterMs: timeoutMs, git: { ...answer, exitCode: null } })
    if (outcome.kind === 'canceled') throw failure('canceled', {})
    if (outcome.kind === 'lost' || (result.truncated && call.firstBytes === undefined)) throw failure('git_failed', { what: answer.command, git: answer })
    return { exitCode: outcome.exitCode ?? -1, stdout: text(result.stdout), bytes: result.stdout, stderr: answer.stderr, answer }
  }

  /** With what a call runs, as the repository is at this moment. */
  async function prepare(call: GitCall): Promise<{ readonly env: Record<string, string>; readonly settings: readonly Setting[] }> {
    const person = await personSettings()
    const trusted = person.trusted.map((folder): Setting => ['safe.directory', folder])
    // What git does not know, as `lfs` where that is not installed, may be an alias of the repository for any program.
    const unaliased: Setting = [`alias.${call.args[commandAt(call.args)]}`, '']
    const { cwd, gitDir, ceiling, signal } = call
    const timeoutMs = Math.min(call.timeoutMs ?? localTimeoutMs, localTimeoutMs)
    const list = (env: Record<string, string>, place: Pick<GitCall, 'cwd' | 'gitDir'>): Promise<GitResult> =>
      start({ ...place, ceiling, signal, timeoutMs, args: ['config', '--list', '--show-scope', '-z'], reads: true }, env, trusted)
    const local = localEnvironment(call, ownEnv)
    const look: Look = {
      list: async (place = { cwd, gitDir }) => (await list(local, place)).bytes,
      listFiles: async (args, place) =>
        (await start({ ...place, ceiling, signal, timeoutMs, args: ['ls-files', ...args], reads: true }, localEnvironment(place, ownEnv), trusted)).stdout,
    }
    const off = readsFiles(call.args) ? await offFor(call, look, person.files) : []
    if (!call.network) return { env: local, settings: [unaliased, ...trusted, ...off] }
    const env = networkEnvironment(call, ownEnv)
    const all = parseScoped((await list(env, { cwd, gitDir })).stdout)
    const network = networkOf(all, call, ownEnv)
    // The settings of the person are read as well; their filters are for their own hands.
    const ofPerson = readsFiles(call.args) ? turnedOff(driversAmong(all.map(({ name }) => name))) : []
    return { env: { ...env, ...network.env }, settings: [unaliased, ...trusted, ...off, ...ofPerson, ...network.settings] }
  }

  async function run(call: GitCall): Promise<GitResult> {
    if (call.signal?.aborted) throw failure('canceled', {})
    await checkVersion()
    const folder = call.gitDir ?? call.cwd
    const found = findRepository(folder)
    // A folder that lost what makes it one of git is still the one that git is told to look into.
    refuseAwaited({ commonDir: found?.commonDir ?? folder, gitDir: call.gitDir ?? found?.gitDir ?? join(folder, '.git') })
    for (let attempt = 0; ; attempt++) {
      const { env, settings } = await prepare(call)
      const result = await start(call, env, settings)
      const wait = waits[attempt]
      if (result.exitCode === 0 || call.reads || wait === undefined || !isRepeatable(call.args)) return result
      if (lockInTheWay(result.stderr) === undefined) return result
      // Several that failed at once are not to meet again.
      await pause(wait * (0.5 + Math.random()), undefined, { signal: call.signal }).catch(() => {})
      if (call.signal?.aborted) throw failure('canceled', {})
    }
  }

  return {
    run,
    async require(what, call) {
      const begun = Date.now()
      const result = await run(call)
      if (result.exitCode !== 0) throw gitFailure(what, result, Date.now() - begun)
      return result
    },
  }
}

/** What a failed call is to its caller: `git_locked` with the lock file where one was in the way, else `git_failed`. */
export function gitFailure(what: string, { answer }: Pick<GitResult, 'answer'>, afterMs = 0): HoldfastError {
  const lock = lockInTheWay(answer.stderr)
  return lock === undefined ? failure('git_failed', { what, git: answer }) : failure('git_locked', { path: lock, ageMs: ageOf(lock), afterMs, git: answer })
}

function argumentsOf(call: GitCall): string[] {
  const config = [...everyCall.map(([name, value]) => `${name}=${value}`), ...(call.config ?? [])].flatMap((setting) => ['-c', setting])
  const place = [...(call.gitDir ? [`--git-dir=${call.gitDir}`] : []), ...(call.workTree ? [`--work-tree=${call.workTree}`] : [])]
  return ['--no-pager', ...config, ...place, ...guarded(call.args)]
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
