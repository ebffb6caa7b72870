import { optional } from 'valibot'
import { whole } from './fields.ts'

/** What a digest may take at most, for every operation that answers with one. */
export const digestSize = {
  budget: optional(whole('Most bytes of the digest.', 0, 'bytes', { default: '2048' })),
  tokens: optional(whole('Most tokens of the digest, by estimate; instead of a budget of bytes.', 0, 'tokens')),
}

/** How these are written in a help text. */
export const digestSizeValues = { budget: 'BYTES', tokens: 'N' }
