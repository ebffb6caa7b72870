import { failure, type HoldfastError, hasReason } from '../core/errors.ts'
import type { ProgramResult, RunProgram } from '../core/program.ts'
import type { GitAnswer } from '../core/workspace-reasons.ts'

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
  /** It speaks to a remote: a longer bound, and the way to credentials that the person configured for Holdfast. */
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
  /** Resolves however git exits. Rejects with `git_timeout`, `git_missing`, or where the call was canceled. */
  run(call: GitCall): Promise<GitResult>
  /** The same, and rejects with `git_failed` where it exits with anything but 0. `what` says in words what was done. */
  require(what: string, call: GitCall): Promise<GitResult>
}

const localTimeoutMs = 30_000
const networkTimeoutMs = 120_000
const maxOutputBytes = 64 * 1024 ** 2

export interface GitOptions {
  readonly runProgram: RunProgram
  /** The environment of Holdfast; only PATH is taken from it. */
  readonly ownEnv: Readonly<Record<string, string | undefined>>
}

export function createGit({ runProgram, ownEnv }: GitOptions): Git {
  async function run(call: GitCall): Promise<GitResult> {
    const timeoutMs = call.timeoutMs ?? (call.network ? networkTimeoutMs : localTimeoutMs)
    let result: ProgramResult
    try {
      result = await runProgram({
        argv: ['git', ...settings(call), ...call.args],
        cwd: call.cwd,
        env: environment(call, ownEnv),
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
    const answer: GitAnswer = { command: ['git', ...call.args].join(' '), exitCode: outcome.exitCode, stderr: text(result.stderr) }
    if (outcome.kind === 'timed_out') throw failure('git_timeout', { what: answer.command, afterMs: timeoutMs, git: { ...answer, exitCode: null } })
    if (outcome.kind === 'canceled') throw failure('canceled_before_start', {})
    if (outcome.kind === 'lost' || (result.truncated && call.firstBytes === undefined)) throw failure('git_failed', { what: answer.command, git: answer })
    return { exitCode: outcome.exitCode ?? -1, stdout: text(result.stdout), bytes: result.stdout, stderr: answer.stderr, answer }
  }

  return {
    run,
    async require(what, call) {
      const result = await run(call)
      if (result.exitCode !== 0) throw gitFailure(what, result)
      return result
    },
  }
}

export function gitFailure(what: string, { answer }: Pick<GitResult, 'answer'>): HoldfastError {
  return failure('git_failed', { what, git: answer })
}

// What a repository may configure and git would run or ask (githooks(5), git-config(1)): none of it may, in the name of Holdfast.
const everyCall = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.editor=true',
  'gc.auto=0',
  'maintenance.auto=false',
  'gc.worktreePruneExpire=never',
  'commit.gpgsign=false',
  'protocol.ext.allow=never',
]

function settings(call: GitCall): string[] {
  const config = [...everyCall, ...(call.config ?? [])].flatMap((setting) => ['-c', setting])
  return [...config, ...(call.gitDir ? [`--git-dir=${call.gitDir}`] : []), ...(call.workTree ? [`--work-tree=${call.workTree}`] : [])]
}

function environment(call: GitCall, ownEnv: GitOptions['ownEnv']): Record<string, string> {
  return {
    PATH: ownEnv.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    // Messages are read by what they say, so they come in one language.
    LC_ALL: 'C.UTF-8',
    LANG: 'C.UTF-8',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    SSH_ASKPASS: 'true',
    ...(call.reads ? { GIT_OPTIONAL_LOCKS: '0' } : {}),
    ...(call.ceiling ? { GIT_CEILING_DIRECTORIES: call.ceiling } : {}),
    ...(call.indexFile ? { GIT_INDEX_FILE: call.indexFile } : {}),
  }
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
