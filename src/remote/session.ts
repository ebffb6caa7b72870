import type { Capabilities, Session } from '../core/backend.ts'
import type { Site } from '../core/channel.ts'
import type { Files } from '../core/files.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { TargetBasis } from '../core/target.ts'
import type { SupervisorProgram } from '../supervisor/program.ts'

/** What a site says of itself when it is opened. */
export interface SiteFacts {
  /** As `uname -s` and `uname -m` say it. */
  readonly system: string
  readonly machine: string
  readonly user: string
  readonly uid: number
  /** Measured there; undefined where it cannot be. */
  readonly home: string | undefined
  /** Variables that commands get from the site in the place of ours: PATH, HOME, USER, LOGNAME, SHELL, LANG, TZ, TMPDIR, as far as they are set. */
  readonly variables: Readonly<Record<string, string>>
}

export interface RemoteRequest {
  readonly site: Site
  readonly target: TargetBasis
  /** The supervisor for a processor, as `uname -m` names it. */
  readonly programFor: (machine: string) => SupervisorProgram
  /** The folder of this machine that keeps a run: runs that are attached to are mirrored into it. */
  readonly folderOf: (run: string) => string
  /** The folder of this machine that is mounted at the root of the site, to be proven; absent where nothing is. */
  readonly mounted?: string | undefined
  /** After so long without a word it is asked whether it is there; after three times as long contact is lost. Default 15 seconds. */
  readonly keepAliveMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A site that commands and files can be used at. */
export interface RemoteSession {
  readonly site: Site
  readonly facts: SiteFacts
  readonly capabilities: Capabilities
  readonly files: Files
  /**
   * Absolute, at the site: the folder of a run, where the files of its command (`ResolvedCommand.files`) are before it starts, with or without a
   * supervisor.
   */
  readonly runFolder: (run: string) => string
  readonly place:
    | { readonly kind: 'supervised'; readonly session: SupervisedSession }
    /** `why` there is no supervisor; `warnings` where there should be one. */
    | { readonly kind: 'plain'; readonly session: Session; readonly why: string; readonly warnings: readonly string[] }
  /** Harmless when called twice; bounded in time. Runs go on where there is a supervisor. */
  close(): Promise<void>
}
