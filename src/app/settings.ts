import type { LimitSettings } from '../core/limits.ts'
import type { Target } from '../core/target.ts'
import type { Runtimes } from './command.ts'

/** What the app goes by; made from the configuration by whoever composes it. */
export interface AppSettings {
  readonly limits: LimitSettings
  readonly runtimes: Runtimes
  readonly env: { readonly pass: readonly string[]; readonly set: Readonly<Record<string, string>> }
  readonly mask: { readonly patterns: readonly RegExp[] }
  readonly retention: Retention
  /** By name. */
  readonly targets: Readonly<Record<string, Target>>
  /** null: this machine. */
  readonly defaultTarget: string | null
  readonly digestBudget: number
  /** Of one scope, those in use. */
  readonly maxNotes: number
  /** Whether agents are told of exec where a shell of theirs printed much. */
  readonly leadToExec: boolean
  /** Where `"enabled": false` stands, or null. */
  readonly disabledBy: string | null
}

export interface Retention {
  readonly maxAgeMs: number
  readonly maxRuns: number
  readonly maxBytes: number
}
