import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, failure } from '../../core/errors.ts'

const tokenBytes = 32
const fewestCharacters = 16

/** The token in the file, which is made where there is none: 0600, in a folder of 0700. Throws where others can read it, or it is too short to be one. */
export function readOrMakeToken(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${randomBytes(tokenBytes).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw failure('file_unreadable', { path, why: `it cannot be made (${errnoOf(error) ?? String(error)})` }, error)
  }
  return readToken(path)
}

function readToken(path: string): string {
  let text: string
  let mode: number
  try {
    mode = statSync(path).mode
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw failure('file_unreadable', { path, why: errnoOf(error) ?? String(error) }, error)
  }
  if ((mode & 0o077) !== 0) throw failure('file_unreadable', { path, why: `others can read it (mode ${(mode & 0o777).toString(8)}); accepted: 600` })
  return checkToken(text, path)
}

/** The token itself. Throws `invalid` with where it is from, and never with the token. */
export function checkToken(token: string, field: string): string {
  if (token.length >= fewestCharacters && /^[\x21-\x7e]+$/.test(token)) return token
  throw failure('invalid', {
    field,
    value: `${token.length} characters`,
    accepted: `a token of at least ${fewestCharacters} visible ASCII characters without spaces`,
  })
}
