import { failure } from './errors.ts'

/** Wider and higher than any screen; what stands on one is kept in memory when its text is made. */
export const maxTerminalSide = 1_000

/** The bounds of one run. Times are monotonic. */
export interface Limits {
  readonly timeoutMs: number
  /** Time without any output; null: no such limit. */
  readonly idleTimeoutMs: number | null
  /** Time between the polite signal and the one that cannot be refused. */
  readonly graceMs: number
  /** What a log keeps of each stream on disk. */
  readonly maxOutputBytes: number
}

export interface LimitSettings extends Limits {
  /** No timeout is longer; a longer one is clamped and said. */
  readonly maxTimeoutMs: number
}

const minute = 60_000

export const defaultLimits: LimitSettings = {
  timeoutMs: 10 * minute,
  idleTimeoutMs: null,
  graceMs: 2_000,
  maxOutputBytes: 64 * 1024 * 1024,
  maxTimeoutMs: 24 * 60 * minute,
}

/** The default wall limit of a command that came through MCP: clients give up on long calls, people do not. */
export const mcpTimeoutMs = 2 * minute

/** Bytes of a digest where nobody asks for another size. */
export const defaultDigestBudget = 2048

/** A log needs room for a head, a tail and the line that states the gap between them. */
export const minOutputBytes = 1024

/** setTimeout stores its delay in 32 bits; a longer one fires at once (https://nodejs.org/api/timers.html#settimeoutcallback-delay-args). */
export const maxTimerMs = 2 ** 31 - 1

export type LimitRequest = { readonly [K in keyof Limits]?: number | null | undefined }

/** Checks the limits of one request against the settings. Refuses what is no positive number; clamps and says what is too long. */
export function resolveLimits(request: LimitRequest, settings: LimitSettings): { limits: Limits; notes: string[] } {
  const notes: string[] = []
  const duration = (field: 'timeoutMs' | 'idleTimeoutMs' | 'graceMs'): number | null => {
    const asked = request[field]
    if (asked === undefined || asked === null) return settings[field]
    const ms = requirePositive(field, asked, 'a positive number of milliseconds')
    if (ms <= settings.maxTimeoutMs) return ms
    notes.push(`${field} ${asked} is above the ceiling of ${formatDuration(settings.maxTimeoutMs)} (maxTimeoutMs) and was set to it`)
    return settings.maxTimeoutMs
  }
  const timeoutMs = duration('timeoutMs') ?? settings.timeoutMs
  const limits = {
    timeoutMs: Math.min(timeoutMs, settings.maxTimeoutMs),
    idleTimeoutMs: duration('idleTimeoutMs'),
    graceMs: duration('graceMs') ?? settings.graceMs,
    maxOutputBytes: checkOutputBytes(request.maxOutputBytes ?? settings.maxOutputBytes),
  }
  return { limits, notes }
}

function checkOutputBytes(value: number): number {
  const accepted = `a whole number of bytes from ${minOutputBytes}`
  const bytes = Math.floor(requirePositive('maxOutputBytes', value, accepted))
  if (bytes < minOutputBytes || bytes > Number.MAX_SAFE_INTEGER) throw failure('invalid', { field: 'maxOutputBytes', value, accepted })
  return bytes
}

function requirePositive(field: string, value: unknown, accepted: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value < 1 ? 1 : value
  throw failure('invalid', { field, value, accepted })
}

const units: Record<string, number> = { ms: 1, s: 1_000, m: minute, h: 60 * minute, d: 24 * 60 * minute }
const durationForm = 'a positive duration with its unit, like 30s, 5m, 1500ms or 2h'

/** Reads `30s`, `5m`, `1500ms`, `1.5h` as milliseconds. A number without a unit is refused: it is read differently by everyone. */
export function parseDuration(field: string, text: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)$/.exec(text.trim())
  const ms = match ? Number(match[1]) * (units[match[2] as string] as number) : Number.NaN
  return requirePositive(field, Number.isNaN(ms) ? text : ms > 0 ? ms : text, durationForm)
}

const sizeUnits: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1024,
  kb: 1000,
  kib: 1024,
  m: 1024 ** 2,
  mb: 1e6,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1e9,
  gib: 1024 ** 3,
}

/** Reads `65536`, `64KiB`, `10MB` as bytes. */
export function parseSize(field: string, text: string): number {
  const match = /^(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]{0,3})$/i.exec(text.trim())
  const unit = match ? sizeUnits[(match[2] as string).toLowerCase()] : undefined
  const bytes = match && unit ? Math.floor(Number(match[1]) * unit) : Number.NaN
  return requirePositive(field, bytes > 0 ? bytes : text, 'a positive number of bytes, or one with a unit, like 64KiB or 10MB')
}

/** A duration for people: `840 ms`, `2.3 s`, `4 min 5 s`, `24 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${trimZero((ms / 1_000).toFixed(1))} s`
  const total = Math.round(ms / 1_000)
  const parts = [
    [Math.floor(total / 3600), 'h'],
    [Math.floor((total % 3600) / 60), 'min'],
    [total % 60, 's'],
  ] as const
  return parts
    .filter(([n]) => n > 0)
    .slice(0, 2)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ')
}

const trimZero = (text: string): string => text.replace(/\.0$/, '')
