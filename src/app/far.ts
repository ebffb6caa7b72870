import type { BackendName, Capabilities } from '../core/backend.ts'
import type { Site } from '../core/channel.ts'
import type { Files } from '../core/files.ts'
import type { Machine } from '../core/machine.ts'
import type { Holder, RunRecord } from '../core/run.ts'
import { type Target, targetTitle } from '../core/target.ts'
import type { Place } from './context.ts'

/** Places that are somewhere else, as the app knows them. */

/** A site that is open, for commands and files. */
export interface FarPlace {
  readonly site: Site
  readonly facts: {
    /** Variables that commands get from the site in the place of ours. */
    readonly variables: Readonly<Record<string, string>>
    readonly home: string | undefined
  }
  readonly capabilities: Capabilities
  readonly files: Files
  /** Absolute, at the site: the folder of a run. */
  readonly runFolder: (run: string) => string
  readonly place: Place
  /** What is to be said of it with its first run. */
  readonly notes?: readonly string[] | undefined
  /** Harmless when called twice; bounded in time. */
  close(): Promise<void>
}

export interface OpenTargetRequest {
  readonly target: Target
  /** The folder of this machine that is the workspace. */
  readonly tree: string
  /** Further folders of this machine that have to be visible there where the workspace is mounted. */
  readonly mounts: readonly string[]
  /** Whoever only looks after a run brings no tree: nothing is proven of the workspace, which may be another one than `tree`. */
  readonly isLook?: boolean | undefined
  /** Told what is being done, in a few words. */
  readonly onStep?: ((what: string) => void) | undefined
  readonly signal: AbortSignal
}

/** A target, and what it is called: its name in the configuration, or what it was told in its place. */
export interface NamedTarget {
  readonly name: string
  readonly target: Target
}

/** Where a command or a file is to be, and the folder of this machine that is the workspace there. */
export interface FarRequest extends NamedTarget {
  readonly tree: string
  readonly mounts: readonly string[]
}

export const isFar = (record: Pick<RunRecord, 'target'>): boolean => record.target !== undefined

/**
 * Whether the process that holds a run lives, as far as this machine knows: a holder that is somewhere else is never looked for in the
 * processes of this one.
 */
export const holderLives = (machine: Pick<Machine, 'isAlive'>, holder: Holder): boolean => holder.site !== undefined || machine.isAlive(holder)

/** How people know the place of a run. */
export const placeOfRun = ({ target, holder }: Pick<RunRecord, 'target' | 'holder'>): string =>
  holder.site === undefined ? `${target?.backend ?? ''} ${target?.name ?? ''}` : targetTitle(holder.site)

/** A container or a pod that Holdfast made. */
export interface ReapedSite {
  readonly backend: BackendName
  readonly name: string
  readonly why: string
}

export interface ReapedSites {
  /** What is gone, or would be. */
  readonly removed: readonly ReapedSite[]
  /** What is left as it is. */
  readonly kept: readonly ReapedSite[]
  /** Where nothing could be asked, in words. */
  readonly problems: readonly string[]
}
