import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripControls } from '../core/text.ts'
import { runWithin } from '../engine/bounded-regex.ts'
import { findPieces, type LogPiece, readChunks } from '../engine/log-reader.ts'
import { createMasker, type Masker, minSecretLength } from '../engine/redact.ts'
import type { RunFolder } from './run-folder.ts'

/**
 * What is masked in everything shown of a run: the secrets of this process, and those that the run was given. The latter
 * are known later only if they are written down, and they are, in the private folder of the run, when its raw log
 * holds them anyway.
 */
export interface Masking {
  /** Those of this process: another one may not know them when it shows a run. */
  readonly secrets: readonly string[]
  readonly general: Masker
  withSecrets(secrets: readonly string[]): Masker
  forRun(folder: RunFolder): Masker
}

export function createMasking(options: { secrets: readonly string[]; patterns: readonly RegExp[] }): Masking {
  const make = (secrets: readonly string[]): Masker => {
    const masker = createMasker({ ...options, secrets })
    return options.patterns.length === 0 ? masker : inTime(masker)
  }
  const general = remembering(make(options.secrets))
  const withSecrets = (secrets: readonly string[]): Masker => (secrets.length === 0 ? general : make([...options.secrets, ...secrets]))
  return {
    secrets: options.secrets,
    general,
    withSecrets,
    forRun: (folder) => (existsSync(folder.masked) ? withSecrets(readMasked(folder)) : general),
  }
}

/** What is short and was masked lately is not looked through again: the same folder and branch are named with every run. */
const maxRemembered = 64
const maxRememberedLength = 256

function remembering(masker: Masker): Masker {
  const known = new Map<string, string>()
  return {
    ...masker,
    mask(text) {
      if (text.length > maxRememberedLength) return masker.mask(text)
      const before = known.get(text)
      if (before !== undefined) return before
      const masked = masker.mask(text)
      if (known.size >= maxRemembered) known.clear()
      known.set(text, masked)
      return masked
    },
  }
}

const maxMaskMs = 5_000

/** Configured patterns may be endless to test. What could not be masked in time is not shown at all; the lines stay countable. */
function inTime(masker: Masker): Masker {
  return {
    ...masker,
    mask: (text) => runWithin(maxMaskMs, () => masker.mask(text)) ?? text.replace(/[^\n]+/g, '[not shown: a pattern of mask.patterns takes too long]'),
  }
}

function readMasked(folder: RunFolder): string[] {
  try {
    const found: unknown = JSON.parse(readFileSync(folder.masked, 'utf8'))
    return Array.isArray(found) ? found.filter((value) => typeof value === 'string') : []
  } catch {
    return []
  }
}

/** Writes down the secrets of a run that begins: whoever looks at it meanwhile, or after its holder died, must not see them. */
export function noteSecrets(folder: RunFolder, secrets: readonly string[]): void {
  if (secrets.length === 0) return
  try {
    writeFileSync(folder.masked, JSON.stringify(secrets), { mode: 0o600 })
  } catch {
    // Where this cannot be written the logs cannot either, and this process knows the secrets anyway.
  }
}

/** Longer logs are not looked through: then all secrets are kept, as if they were printed. Both streams at the default limit fit. */
const maxSearchedBytes = 144 * 1024 ** 2

/**
 * Keeps of the secrets of a run those that occur in its logs, as they are printed or as they are shown. Of very long logs that is
 * not looked up: it would take longer than to print them. `mayCome` may still be printed.
 */
export function keepPrintedSecrets(folder: RunFolder, secrets: readonly string[], mayCome: readonly string[] = []): void {
  if (secrets.length === 0 && mayCome.length === 0) return
  // A stream without a byte has no log, and what comes behind its head is beside it.
  const logs = [folder.stdout, folder.stderr, folder.screen].filter((path) => existsSync(path)).map((path) => findPieces(path, undefined))
  const wanted = secrets.filter((secret) => secret.length >= minSecretLength)
  const bytes = logs.flat().reduce((sum, { length }) => sum + length, 0)
  const found = bytes > maxSearchedBytes ? [...new Set(wanted)] : findPrinted(logs, wanted)
  const kept = [...new Set([...found, ...mayCome])]
  if (kept.length > 0) writeFileSync(folder.masked, JSON.stringify(kept), { mode: 0o600 })
  else if (secrets.length > 0 && existsSync(folder.masked)) rmSync(folder.masked, { force: true })
}

const escapeByte = 0x1b
/** Colours and the like inside a secret make it longer by so much at most. */
const maxEscapesBytes = 1024

function findPrinted(logs: readonly (readonly LogPiece[])[], secrets: readonly string[]): string[] {
  const wanted = new Map(secrets.map((secret) => [secret, Buffer.from(secret)]))
  const reach = Math.max(0, ...[...wanted.values()].map(({ length }) => length)) + maxEscapesBytes
  const found: string[] = []
  function look(bytes: Buffer): void {
    const shown = bytes.includes(escapeByte) ? stripControls(bytes.toString('utf8')) : ''
    for (const [secret, needle] of wanted) {
      if (!bytes.includes(needle) && !shown.includes(secret)) continue
      found.push(secret)
      wanted.delete(secret)
    }
  }
  for (const pieces of logs) {
    let before: Buffer = Buffer.alloc(0)
    for (const piece of pieces) {
      for (const chunk of readChunks(piece)) {
        if (wanted.size === 0) return found
        look(chunk)
        // What lies across the border of two chunks.
        if (before.length > 0) look(Buffer.concat([before, chunk.subarray(0, reach)]))
        before = chunk.length < reach ? Buffer.concat([before, chunk]).subarray(-reach) : Buffer.from(chunk.subarray(-reach))
      }
    }
  }
  return found
}
