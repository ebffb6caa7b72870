import { failure } from '../core/errors.ts'
import { parseDuration } from '../core/limits.ts'

const dated = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/

/**
 * Reads a time back from `nowMs` (`2h`) or a date or time (`2026-11-30`, `2026-11-30T12:00:00Z`; without a zone, this
 * machine's) as milliseconds since the epoch. Throws `invalid`.
 */
export function parseSince(field: string, text: string, nowMs: number): number {
  const written = text.trim()
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(written)) return nowMs - parseDuration(field, written)
  // A date alone means midnight here; Date.parse would take it as UTC.
  const ms = dated.test(written) ? Date.parse(written.length === 10 ? `${written}T00:00` : written.replace(' ', 'T')) : Number.NaN
  if (Number.isNaN(ms)) throw failure('invalid', { field, value: text, accepted: 'a time back like 2h or 3d, a date like 2026-11-30, or an ISO time' })
  return ms
}
