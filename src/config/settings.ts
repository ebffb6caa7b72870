import { defaultDigestBudget, defaultLimits, type LimitSettings } from '../core/limits.ts'
import type { Target } from '../core/target.ts'
import type { WorkspaceOptions } from '../core/workspace.ts'
import type { remotePolicies } from '../core/workspace-provider.ts'

export const supervisorUses = ['auto', 'never'] as const

/** What the files of configuration decide, complete and checked. */
export interface ConfigSettings {
  readonly limits: LimitSettings
  /** By name: a program and its first arguments; the path of the script comes behind them. */
  readonly runtimes: Readonly<Record<string, readonly string[]>>
  readonly env: { readonly pass: readonly string[]; readonly set: Readonly<Record<string, string>> }
  readonly mask: { readonly names: readonly string[]; readonly patterns: readonly RegExp[] }
  readonly retention: { readonly maxAgeMs: number; readonly maxRuns: number; readonly maxBytes: number }
  /** By name. */
  readonly targets: Readonly<Record<string, Target>>
  /** null: this machine. */
  readonly defaultTarget: string | null
  readonly supervisor: { readonly use: (typeof supervisorUses)[number]; readonly idleMs: number }
  readonly digest: { readonly budget: number }
  readonly notes: { readonly maxPerScope: number }
  readonly hooks: { readonly leadToExec: boolean }
  readonly workspaces: WorkspaceConfig
}

/** How workspaces are made and kept. */
export interface WorkspaceConfig {
  /** Absolute; null: in the person's folder for state. */
  readonly root: string | null
  readonly options: WorkspaceOptions
  /** null: `origin`, or the only one. */
  readonly remote: string | null
  readonly remotePolicy: (typeof remotePolicies)[number]
  readonly trusted: readonly string[]
  readonly limits: {
    readonly maxWorkspaces: number | null
    readonly maxBytes: number | null
    readonly minFreeBytes: number
    readonly idleMs: number
    readonly rescueMs: number
  }
}

export const defaultSettings: ConfigSettings = {
  limits: defaultLimits,
  runtimes: {},
  env: { pass: [], set: {} },
  mask: { names: [], patterns: [] },
  retention: { maxAgeMs: 90 * 24 * 60 * 60_000, maxRuns: 50_000, maxBytes: 10 * 1024 ** 3 },
  targets: {},
  defaultTarget: null,
  supervisor: { use: 'auto', idleMs: 10 * 60_000 },
  digest: { budget: defaultDigestBudget },
  notes: { maxPerScope: 200 },
  hooks: { leadToExec: false },
  workspaces: {
    root: null,
    options: { copyOnWrite: false, setup: null, lfs: 'auto', submodules: 'init-offline', sparse: 'inherit', carry: [], ports: 0, passEnv: [] },
    remote: null,
    remotePolicy: 'prefer-remote',
    trusted: [],
    limits: { maxWorkspaces: null, maxBytes: null, minFreeBytes: 256 * 1024 ** 2, idleMs: 14 * 86_400_000, rescueMs: 30 * 86_400_000 },
  },
}

export interface LoadedConfig {
  readonly settings: ConfigSettings
  /** Every setting in force under its flat key, as it would be written in a file, and the files, or `default`, that it came from. */
  readonly sources: readonly { readonly key: string; readonly value: unknown; readonly source: string }[]
  readonly files: readonly { readonly path: string; readonly found: boolean }[]
  /** The file that has `"enabled": false`. */
  readonly disabledBy: string | null
}
