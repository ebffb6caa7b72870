import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/** 12 characters of Crockford's base 32: 60 random bits, no letters that are read as digits. */
export function newRunId(): string {
  return [...randomBytes(12)].map((byte) => alphabet[byte & 31]).join('')
}
