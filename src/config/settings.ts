import { defaultDigestBudget, defaultLimits, type LimitSettings } from '../core/limits.ts'

export const supervisorUses = ['auto', 'never'] as const

/** What the files of configuration decide, complete and checked. */
export interface ConfigSettings {
  readonly limits: LimitSettings
  /** By name: a program and its first arguments; the path of the script comes behind them. */
  readonly runtimes: Readonly<Record<string, readonly string[]>>
  readonly env: { readonly pass: readonly string[]; readonly set: Readonly<Record<string, string>> }
  readonly mask: { readonly names: readonly string[]; readonly patterns: readonly RegExp[] }
  readonly retention: { readonly maxAgeMs: number; readonly maxRuns: number; readonly maxBytes: number }
  readonly supervisor: { readonly use: (typeof supervisorUses)[number]; readonly idleMs: number }
  readonly digest: { readonly budget: number }
}

export const defaultSettings: ConfigSettings = {
  limits: defaultLimits,
  runtimes: {},
  env: { pass: [], set: {} },
  mask: { names: [], patterns: [] },
  retention: { maxAgeMs: 90 * 24 * 60 * 60_000, maxRuns: 50_000, maxBytes: 10 * 1024 ** 3 },
  supervisor: { use: 'auto', idleMs: 10 * 60_000 },
  digest: { budget: defaultDigestBudget },
}

export interface LoadedConfig {
  readonly settings: ConfigSettings
  /** Every setting in force under its flat key, as it would be written in a file, and the files, or `default`, that it came from. */
  readonly sources: readonly { readonly key: string; readonly value: unknown; readonly source: string }[]
  readonly files: readonly { readonly path: string; readonly found: boolean }[]
  /** The file that has `"enabled": false`. */
  readonly disabledBy: string | null
}
