import { reason, shown } from './reason.ts'

/** What git answered: the command line as it was given, without the settings that every call has; secrets in addresses are left out. */
export interface GitAnswer {
  readonly command: string
  /** null where it was ended before it could answer. */
  readonly exitCode: number | null
  readonly stderr: string
}

type WithGit = {
  readonly git?: GitAnswer | undefined
}

const said = (git: GitAnswer | undefined): string => {
  const text = git?.stderr.trim().split('\n').filter(Boolean).slice(0, 3).join(' ') ?? ''
  return text === '' ? '' : `; git says: ${text}`
}

export const fetchFailures = ['auth', 'unreachable', 'timeout', 'missing'] as const
export type FetchFailure = (typeof fetchFailures)[number]

/** What can stand in the way of a workspace, a rescue or a file in one. Part of the table in errors.ts. */
export const workspaceReasons = {
  canceled: reason<Record<never, never>>('failed_precondition', () => 'canceled; what was begun and not finished is taken back'),
  git_missing: reason<{ program: string }>('unavailable', (f) => `there is no program ${f.program} on the PATH of Holdfast`, {
    remedy: () => 'install git 2.31 or later',
  }),
  git_old: reason<{ version: string; needed: string }>('unsupported', (f) => `git ${f.version} is too old; ${f.needed} or later is needed`),
  git_timeout: reason<WithGit & { what: string; afterMs: number }>('unavailable', (f) => `${f.what} was ended after ${f.afterMs} ms`, {
    retryable: true,
  }),
  git_failed: reason<WithGit & { what: string }>('internal', (f) => `${f.what} failed${said(f.git)}`),
  git_locked: reason<WithGit & { path: string; ageMs: number; afterMs: number }>(
    'unavailable',
    (f) => `git waited ${f.afterMs} ms for the lock file ${f.path}, which is ${Math.round(f.ageMs / 1000)} s old; it is left as it is`,
    { retryable: true, remedy: (f) => `remove ${f.path}, when surely no git runs in that repository any more` },
  ),
  unsafe_config: reason<{ path: string; names: readonly string[] }>(
    'failed_precondition',
    (f) => `the configuration of ${f.path} sets ${f.names.map(shown).join(', ')}, by which git would run what it names; git was not started`,
    { remedy: () => 'take the setting out of the configuration of the repository, or set it in your own (git config --global)' },
  ),
  not_a_repository: reason<WithGit & { path: string }>('not_found', (f) => `${f.path} is in no git repository${said(f.git)}`),
  dubious_ownership: reason<WithGit & { path: string }>(
    'permission_denied',
    (f) => `the repository ${f.path} belongs to another user, whose hooks and settings git does not trust`,
    { remedy: () => 'name the repository under "workspaces.trusted" in the configuration of the person, where its owner is trusted' },
  ),
  unborn_base: reason<{ base: string }>('failed_precondition', (f) => `${shown(f.base)} has no commit yet, so that nothing can begin at it`, {
    remedy: () => 'make the first commit',
  }),
  unknown_base: reason<WithGit & { base: string; looked: readonly string[] }>(
    'not_found',
    (f) => `there is no base ${shown(f.base)}; looked for: ${f.looked.join(', ')}${said(f.git)}`,
  ),
  invalid_branch: reason<{ branch: string; why: string }>(
    'invalid_argument',
    (f) => `branch is ${shown(f.branch)}, ${f.why}; accepted: a name of a git branch`,
  ),
  branch_name_conflict: reason<WithGit & { branch: string; with: string }>(
    'conflict',
    (f) => `the branch ${shown(f.branch)} cannot be beside the branch ${shown(f.with)}: one name is a folder of the other, or they differ in case only`,
    { remedy: () => 'choose another name' },
  ),
  branch_in_use: reason<WithGit & { branch: string; path: string; workspace?: string | undefined }>(
    'conflict',
    (f) =>
      `the branch ${shown(f.branch)} is checked out in ${f.path}, which is ${f.workspace ? `the workspace ${f.workspace} of another branch` : 'not a workspace of Holdfast'}`,
    { remedy: (f) => `choose another branch with the base ${f.branch}, or leave that branch there` },
  ),
  branch_diverged: reason<{ branch: string; local: string; published: string; remote: string }>(
    'conflict',
    (f) => `the branch ${shown(f.branch)} is at ${f.local} here and at ${f.published} in ${f.remote}, and neither holds the other; both are left as they are`,
    { remedy: () => 'merge or rebase one onto the other' },
  ),
  branch_moved: reason<{ branch: string; expected: string; found: string }>(
    'conflict',
    (f) => `the branch ${shown(f.branch)} moved from ${f.expected} to ${f.found} meanwhile; it is left as it is`,
    { retryable: true },
  ),
  branch_broken: reason<{ branch: string; proposed: string | null }>(
    'failed_precondition',
    (f) => `the ref of the branch ${shown(f.branch)} is there and cannot be read; it is not made anew`,
    { remedy: (f) => (f.proposed ? `git update-ref refs/heads/${f.branch} ${f.proposed} (its last entry in the reflog)` : 'look at the ref and its reflog') },
  ),
  detached_unpublished: reason<{ path: string; head: string; branch: string; tip: string | null }>(
    'failed_precondition',
    (f) =>
      `the workspace ${f.path} is detached at ${f.head}, and ${f.tip ? `the branch ${shown(f.branch)} at ${f.tip}` : `there is no branch ${shown(f.branch)} any more`}; both are left as they are`,
    { remedy: () => 'put the commits on a branch in the workspace' },
  ),
  path_occupied: reason<{ path: string; what: string }>('already_exists', (f) => `${f.path} is there already: ${f.what}; it is left as it is`),
  locked_foreign: reason<{ path: string; why: string }>('failed_precondition', (f) => `the worktree ${f.path} is locked${f.why ? `: ${f.why}` : ''}`, {
    remedy: (f) => `git worktree unlock ${f.path}, when the reason no longer holds`,
  }),
  index_locked: reason<{ path: string; ageMs: number; holder: string | null }>(
    'unavailable',
    (f) =>
      `the lock file ${f.path} is ${Math.round(f.ageMs / 1000)} s old and ${f.holder ? `held by ${f.holder}` : 'held by nobody that can be found'}; it is left as it is`,
    { retryable: true },
  ),
  lock_timeout: reason<{ what: string; afterMs: number; holder: string | null }>(
    'unavailable',
    (f) => `${f.what} was in use for ${f.afterMs} ms${f.holder ? ` by ${f.holder}` : ''}`,
    { retryable: true },
  ),
  fetch_failed: reason<WithGit & { kind: FetchFailure; remote: string; what: string }>(
    'unavailable',
    (f) => `${f.what} could not be fetched from ${f.remote} (${f.kind})${said(f.git)}`,
    { retryable: true },
  ),
  lfs_unavailable: reason<WithGit & { path: string }>(
    'unavailable',
    (f) => `${f.path} keeps files in Git LFS, and git-lfs is not installed here${said(f.git)}`,
    { remedy: () => 'install git-lfs, or open the workspace with "lfs": "pointers"' },
  ),
  feature_failed: reason<WithGit & { feature: string; why: string }>('failed_precondition', (f) => `${f.feature} could not be set up: ${f.why}${said(f.git)}`),
  promisor_unreachable: reason<WithGit & { path: string }>(
    'unavailable',
    (f) => `${f.path} is a partial clone, and what is missing of the base cannot be fetched${said(f.git)}`,
    { retryable: true },
  ),
  disk_full: reason<{ path: string; freeBytes: number; neededBytes: number }>(
    'resource_exhausted',
    (f) => `${f.neededBytes} bytes are needed in ${f.path} and ${f.freeBytes} are free; nothing was begun`,
  ),
  quota: reason<{ what: string; limit: number; used: number }>('resource_exhausted', (f) => `${f.what} is ${f.used}, and the limit is ${f.limit}`, {
    remedy: () => 'release workspaces that are no longer needed (holdfast workspace gc --dry-run)',
  }),
  setup_failed: reason<{ workspace: string; command: string; run: string; attempt: number; ended: string }>(
    'failed_precondition',
    (f) => `the setup of workspace ${f.workspace} failed (${f.ended}, attempt ${f.attempt}): ${shown(f.command)}; its output is that of run ${f.run}`,
    { remedy: (f) => `mend the cause, then: holdfast workspace setup ${f.workspace}` },
  ),
  workspace_not_found: reason<{ workspace: string }>(
    'not_found',
    (f) => `there is no workspace ${shown(f.workspace)}; accepted: the id, the branch or the folder of one (see holdfast workspace list)`,
  ),
  workspace_ambiguous: reason<{ workspace: string; matches: readonly string[] }>(
    'conflict',
    (f) => `${shown(f.workspace)} may be any of the workspaces ${f.matches.join(', ')}`,
  ),
  workspace_dirty: reason<{ workspace: string; holds: readonly string[] }>(
    'failed_precondition',
    (f) => `the workspace ${f.workspace} holds what is nowhere else: ${f.holds.join(', ')}; nothing was removed`,
    { remedy: () => 'release it with the mode "rescue", which keeps all of it' },
  ),
  workspace_busy: reason<{ workspace: string; commands: readonly string[] }>(
    'failed_precondition',
    (f) => `commands run in the workspace ${f.workspace}: ${f.commands.join('; ')}; nothing was removed`,
    { remedy: () => 'stop them, or release it with --stop' },
  ),
  workspace_unusable: reason<{ workspace: string; why: string }>('failed_precondition', (f) => `the workspace ${f.workspace} cannot be used: ${f.why}`, {
    remedy: () => 'open it again, which mends what can be mended',
  }),
  not_owned: reason<{ path: string; why: string }>('permission_denied', (f) => `${f.path} is not removed: ${f.why}`),
  identity_mismatch: reason<{ path: string; expected: string; found: string }>(
    'conflict',
    (f) => `${f.path} should belong to ${f.expected} and belongs to ${f.found}; it is left as it is`,
  ),
  rescue_failed: reason<WithGit & { workspace: string; what: string }>(
    'failed_precondition',
    (f) => `${f.what} of the workspace ${f.workspace} could not be saved${said(f.git)}; nothing was removed`,
  ),
  restore_refused: reason<{ path: string; why: string }>('failed_precondition', (f) => `nothing is put back into ${f.path}: ${f.why}`),
  rescue_not_found: reason<{ rescue: string }>('not_found', (f) => `there is no rescue ${shown(f.rescue)} (see holdfast workspace rescues)`),
  rescue_needed: reason<{ rescue: string; branch: string }>(
    'failed_precondition',
    (f) => `the rescue ${f.rescue} holds what the branch ${shown(f.branch)} does not; it is kept`,
    { remedy: () => 'drop it with --force, when it is surely not needed' },
  ),
  copy_on_write_unavailable: reason<{ why: string }>('unsupported', (f) => `a copy-on-write workspace cannot be made here: ${f.why}`),
  environment_missing: reason<{ names: readonly string[] }>(
    'failed_precondition',
    (f) => `the environment of Holdfast lacks ${f.names.join(', ')}, which the workspace was declared to need; nothing was started`,
  ),
  file_changed: reason<{ path: string; why: string }>('conflict', (f) => `the bytes of ${shown(f.path)} are not what they were: ${f.why}; nothing was kept`, {
    retryable: true,
  }),
  file_missing: reason<{ path: string }>('not_found', (f) => `there is no file ${shown(f.path)}`),
  file_outside: reason<{ path: string; why: string }>('invalid_argument', (f) => `the path ${shown(f.path)} ${f.why}; accepted: a path inside the workspace`),
  file_name_too_long: reason<{ path: string }>('invalid_argument', (f) => `a name in the path ${shown(f.path)} is longer than this system takes`),
  file_loop: reason<{ path: string; links: number }>('failed_precondition', (f) => `the path ${shown(f.path)} leads on through more than ${f.links} links`, {
    remedy: () => 'look for links that lead to each other',
  }),
  file_kind: reason<{ path: string; is: string; needed: string }>('failed_precondition', (f) => `${shown(f.path)} is ${f.is}, not ${f.needed}`),
  file_too_large: reason<{ path: string; bytes: number; maxBytes: number }>(
    'resource_exhausted',
    (f) => `${shown(f.path)} has ${f.bytes} bytes; at most ${f.maxBytes} are handled at once`,
  ),
  file_denied: reason<{ path: string; why: string }>('permission_denied', (f) => `${shown(f.path)} cannot be used: ${f.why}`),
  file_failed: reason<{ path: string; errno: string }>('unavailable', (f) => `${shown(f.path)} cannot be used (${f.errno})`),
} as const
