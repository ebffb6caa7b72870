import { HoldfastError } from '../core/errors.ts'
import type { FetchFailure, GitAnswer } from '../core/workspace-reasons.ts'

export interface FailedFetch {
  readonly kind: FetchFailure
  /** All that git said; never empty. */
  readonly error: string
  readonly answer: GitAnswer | undefined
  /** The remote was reached, and does not have it. */
  readonly isAbsent: boolean
}

/** Why nothing could be fetched: by what git said, or by the error that ended it. Undefined for an error that says nothing about the remote. */
export function fetchFailureOf(answer: GitAnswer): FailedFetch
export function fetchFailureOf(error: unknown): FailedFetch | undefined
export function fetchFailureOf(what: unknown): FailedFetch | undefined {
  if (what instanceof HoldfastError) {
    if (what.details.reason === 'unsafe_config') return { kind: 'unreachable', error: what.message, answer: undefined, isAbsent: false }
    if (what.details.reason !== 'git_timeout') return undefined
    const answer = what.details.git as GitAnswer | undefined
    return { kind: 'timeout', error: [answer?.stderr.trim(), what.message].filter(Boolean).join('\n'), answer, isAbsent: false }
  }
  if (!isAnswer(what)) return undefined
  const error = what.stderr.trim()
  const isAbsent = absent.test(error)
  const kind = isAbsent ? 'missing' : (signs.find(([, sign]) => sign.test(error))?.[0] ?? 'unreachable')
  return { kind, error: error === '' ? `git ended with exit code ${what.exitCode}` : error, answer: what, isAbsent }
}

const isAnswer = (what: unknown): what is GitAnswer => typeof (what as GitAnswer | null)?.stderr === 'string'

// By the words of git, curl and ssh in English.
const absent = /couldn't find remote ref|not our ref|no such remote ref/i
const signs: readonly (readonly [FetchFailure, RegExp])[] = [
  [
    'auth',
    /authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|host key verification failed|returned error: 40[13]|invalid credentials|access denied/i,
  ],
  ['timeout', /timed? ?out|operation too slow/i],
  ['missing', /does not appear to be a git repository|repository .*(not found|does not exist)|returned error: 404|repository not exported/i],
]
