import { secretsOf } from '../core/secret-names.ts'
import { type Target, thisMachine } from '../core/target.ts'
import type { ConfigLayer } from './check.ts'
import type { ConfigFile } from './schema.ts'
import { type ConfigSettings, defaultSettings, type LoadedConfig } from './settings.ts'
import { writtenDuration, writtenSize } from './written.ts'

type Source = LoadedConfig['sources'][number]

/** The settings in force: of each single setting that of the last layer which has it, of lists that only add the union. */
export function mergeConfig(layers: readonly ConfigLayer[]): Omit<LoadedConfig, 'files'> {
  const sources: Source[] = []
  const say = (key: string, value: unknown, from: readonly ConfigLayer[], note = ''): void => {
    sources.push({ key, value, source: from.length === 0 ? 'default' : `${from.map(({ path }) => path).join(', ')}${note}` })
  }
  const single = <T>(key: string, fallback: T, of: (config: ConfigFile) => T | undefined, write: (value: T) => unknown = (value) => value): T => {
    const layer = layers.findLast(({ config }) => of(config) !== undefined)
    const value = layer ? (of(layer.config) as T) : fallback
    say(key, write(value), layer ? [layer] : [])
    return value
  }
  const joined = <T>(key: string, of: (config: ConfigFile) => readonly T[] | undefined, write: (value: T) => unknown = (value) => value): T[] => {
    const from = layers.filter(({ config }) => (of(config) ?? []).length > 0)
    const values = [...new Map(from.flatMap(({ config }) => of(config) ?? []).map((value) => [write(value), value])).values()]
    say(key, values.map(write), from)
    return values
  }
  const named = <T>(
    key: string,
    of: (config: ConfigFile) => Readonly<Record<string, T>> | undefined,
    write: (name: string, value: T) => unknown,
  ): Record<string, T> => {
    const found = new Map(layers.flatMap((layer) => Object.entries(of(layer.config) ?? {}).map(([name, value]) => [name, { value, layer }] as const)))
    if (found.size === 0) say(key, {}, [])
    for (const [name, { value, layer }] of found) say(`${key}.${name}`, write(name, value), [layer])
    return Object.fromEntries([...found].map(([name, { value }]) => [name, value]))
  }

  const disabling = layers.find(({ config }) => config.enabled === false)
  say('enabled', !disabling, disabling ? [disabling] : layers.filter(({ config }) => config.enabled !== undefined).slice(-1))

  const limits = mergeLimits(layers, say)
  const runtimes = named(
    'runtimes',
    (c) => c.runtimes,
    (_, argv) => argv,
  )
  const pass = joined('env.pass', (c) => c.env?.pass)
  const maskedNames = layers.flatMap(({ config }) => config.mask?.names ?? [])
  const set = named(
    'env.set',
    (c) => c.env?.set,
    (name, value) => withoutSecrets(name, value, maskedNames),
  )
  const names = joined('mask.names', (c) => c.mask?.names)
  const patterns = joined(
    'mask.patterns',
    (c) => c.mask?.patterns,
    (pattern) => pattern.source,
  )
  const { retention, digest, supervisor, notes, hooks } = defaultSettings
  const settings: ConfigSettings = {
    limits,
    runtimes,
    env: { pass, set },
    mask: { names, patterns },
    retention: {
      maxAgeMs: single('retention.maxAge', retention.maxAgeMs, (c) => c.retention?.maxAge, writtenDuration),
      maxRuns: single('retention.maxRuns', retention.maxRuns, (c) => c.retention?.maxRuns),
      maxBytes: single('retention.maxBytes', retention.maxBytes, (c) => c.retention?.maxBytes, writtenSize),
    },
    targets: mergeTargets(layers, say),
    defaultTarget: single<string | null>(
      'defaultTarget',
      null,
      (c) => c.defaultTarget,
      (name) => name ?? thisMachine,
    ),
    supervisor: {
      use: single('supervisor.use', supervisor.use, (c) => c.supervisor?.use),
      idleMs: single('supervisor.idleMs', supervisor.idleMs, (c) => c.supervisor?.idleMs, writtenDuration),
    },
    digest: { budget: single('digest.budget', digest.budget, (c) => c.digest?.budget, writtenSize) },
    notes: { maxPerScope: single('notes.maxPerScope', notes.maxPerScope, (c) => c.notes?.maxPerScope) },
    hooks: { leadToExec: single('hooks.leadToExec', hooks.leadToExec, (c) => c.hooks?.leadToExec) },
    workspaces: mergeWorkspaces(single, joined),
  }
  return {
    settings: { ...settings, defaultTarget: settings.defaultTarget === thisMachine ? null : settings.defaultTarget },
    sources,
    disabledBy: disabling?.path ?? null,
  }
}

/** A target of the person is never another one because of a project. */
function mergeTargets(layers: readonly ConfigLayer[], say: Say): Record<string, Target> {
  const found = new Map<string, { target: Target; layer: ConfigLayer }>()
  for (const owner of ['project', 'person'] as const) {
    for (const layer of layers) {
      if (layer.owner !== owner) continue
      for (const [name, target] of Object.entries(layer.config.targets ?? {})) found.set(name, { target: target as Target, layer })
    }
  }
  if (found.size === 0) say('targets', {}, [])
  for (const [name, { target, layer }] of found) say(`targets.${name}`, target, [layer])
  return Object.fromEntries([...found].map(([name, { target }]) => [name, target]))
}

type Single = <T>(key: string, fallback: T, of: (config: ConfigFile) => T | undefined, write?: (value: T) => unknown) => T
type Joined = <T>(key: string, of: (config: ConfigFile) => readonly T[] | undefined) => T[]
type WorkspacesFile = NonNullable<ConfigFile['workspaces']>

function mergeWorkspaces(single: Single, joined: Joined): ConfigSettings['workspaces'] {
  const { root, options, remote, remotePolicy, limits } = defaultSettings.workspaces
  const one = <T>(key: keyof WorkspacesFile, fallback: T, of: (file: WorkspacesFile) => T | undefined, write?: (value: T) => unknown): T =>
    single(`workspaces.${key}`, fallback, (c) => (c.workspaces ? of(c.workspaces) : undefined), write)
  const bytesOrNone = (bytes: number | null): unknown => (bytes === null ? null : writtenSize(bytes))
  return {
    root: one('root', root, (w) => w.root),
    options: {
      setup: one('setup', options.setup, (w) => w.setup),
      copyOnWrite: one('copyOnWrite', options.copyOnWrite, (w) => w.copyOnWrite),
      lfs: one('lfs', options.lfs, (w) => w.lfs),
      submodules: one('submodules', options.submodules, (w) => w.submodules),
      sparse: one('sparse', options.sparse, (w) => w.sparse),
      carry: joined('workspaces.carry', (c) => c.workspaces?.carry),
      ports: one('ports', options.ports, (w) => w.ports),
      passEnv: joined('workspaces.passEnv', (c) => c.workspaces?.passEnv),
    },
    remote: one('remote', remote, (w) => w.remote),
    remotePolicy: one('remotePolicy', remotePolicy, (w) => w.remotePolicy),
    trusted: joined('workspaces.trusted', (c) => c.workspaces?.trusted),
    limits: {
      maxWorkspaces: one('maxWorkspaces', limits.maxWorkspaces, (w) => w.maxWorkspaces),
      maxBytes: one('maxBytes', limits.maxBytes, (w) => w.maxBytes, bytesOrNone),
      minFreeBytes: one('minFree', limits.minFreeBytes, (w) => w.minFree, writtenSize),
      idleMs: one('idle', limits.idleMs, (w) => w.idle, writtenDuration),
      rescueMs: one('keepRescues', limits.rescueMs, (w) => w.keepRescues, writtenDuration),
    },
  }
}

type Limits = ConfigSettings['limits']
type LimitKey = keyof Limits
type Say = (key: string, value: unknown, from: readonly ConfigLayer[], note?: string) => void

/** No time is longer than the ceiling, and the ceiling of a person is not raised by a project. */
function mergeLimits(layers: readonly ConfigLayer[], say: Say): Limits {
  const of = (layer: ConfigLayer, key: LimitKey): number | null | undefined => layer.config.limits?.[key]
  const lastWith = (key: LimitKey): ConfigLayer | undefined => layers.findLast((layer) => of(layer, key) !== undefined)
  const ceilings = layers.filter((layer) => of(layer, 'maxTimeoutMs') !== undefined)
  const maxTimeoutMs = ceilings.length > 0 ? Math.min(...ceilings.map((layer) => of(layer, 'maxTimeoutMs') as number)) : defaultSettings.limits.maxTimeoutMs
  const time = (key: 'timeoutMs' | 'idleTimeoutMs' | 'graceMs'): number | null => {
    const layer = lastWith(key)
    const asked = layer ? (of(layer, key) as number | null) : defaultSettings.limits[key]
    const value = asked === null ? null : Math.min(asked, maxTimeoutMs)
    say(`limits.${key}`, value === null ? null : writtenDuration(value), layer ? [layer] : [], value === asked ? '' : ', cut by limits.maxTimeoutMs')
    return value
  }
  const timeoutMs = time('timeoutMs') as number
  const idleTimeoutMs = time('idleTimeoutMs')
  const graceMs = time('graceMs') as number
  const keeping = lastWith('maxOutputBytes')
  const maxOutputBytes = keeping?.config.limits?.maxOutputBytes ?? defaultSettings.limits.maxOutputBytes
  say('limits.maxOutputBytes', writtenSize(maxOutputBytes), keeping ? [keeping] : [])
  say('limits.maxTimeoutMs', writtenDuration(maxTimeoutMs), ceilings.filter((layer) => of(layer, 'maxTimeoutMs') === maxTimeoutMs).slice(-1))
  return { timeoutMs, idleTimeoutMs, graceMs, maxOutputBytes, maxTimeoutMs }
}

/** A value as it may be printed: passwords in addresses are masked, and so is all of a variable that is to be masked. */
function withoutSecrets(name: string, value: string, maskedNames: readonly string[]): string {
  return secretsOf({ [name]: value }, maskedNames).reduce((shown, secret) => shown.replaceAll(secret, '[masked]'), value)
}
