import type { Masker } from '../engine/redact.ts'

/** Texts of a result that come from commands, addresses and programs. Paths, names and patches stay as they are: programs go on with them. */
const told = new Set(['command', 'detail', 'remoteError', 'warnings', 'ended', 'why', 'holds', 'facts'])

/** The same result, secrets masked in all that is only read. */
export function masked<T>(result: T, mask: Masker['mask']): T {
  return walk(result, false) as T

  function walk(value: unknown, isTold: boolean): unknown {
    if (typeof value === 'string') return isTold ? mask(value) : value
    if (Array.isArray(value)) return value.map((each) => walk(each, isTold))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, isTold || told.has(key))]))
  }
}
