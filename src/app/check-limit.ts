import { failure } from '../core/errors.ts'

/** How many things an answer may hold at most, as asked for; `usual` where nothing was asked. */
export function checkLimit(limit: number | undefined, usual: number, most: number): number {
  if (limit === undefined) return usual
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw failure('invalid', { field: 'limit', value: limit, accepted: `a whole number from 1 to ${most}` })
  return limit
}
