import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 12

/** Random bytes for many ids: asking for them costs more than what is made of them. */
const pool = new Uint8Array(idLength * 128)
let next = pool.length

/** 12 characters of Crockford's base 32: 60 random bits, no letters that are read as digits. */
export function newRunId(): string {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  let id = ''
  for (const end = next + idLength; next < end; next += 1) id += alphabet[(pool[next] as number) & 31]
  return id
}
