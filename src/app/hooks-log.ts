import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import { headBytes, oneLine } from '../core/text.ts'
import { appendPlain } from '../git/plain-file.ts'

/** What kept hooks from their work: nobody sees it otherwise, since they never fail their host. Two files of this size at most. */
const maxLogBytes = 32 * 1024
const maxTroubleBytes = 500

export interface HookTrouble {
  readonly at: Date
  readonly host: string
  readonly moment: string
  readonly trouble: unknown
}

const logPath = (home: string): string => join(home, 'hooks.log')

/** Writes it down where that can be done: a home is not made for it. */
export function logHookTrouble(home: string, { at, host, moment, trouble }: HookTrouble): void {
  const path = logPath(home)
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > maxLogBytes) renameSync(path, `${path}.1`)
    const line = `${at.toISOString()} ${host} ${moment}: ${headBytes(oneLine(messageOf(trouble)), maxTroubleBytes)}`
    appendPlain(path, `${oneLine(line)}\n`)
  } catch {
    // A disk that is full keeps this too.
  }
}

/** The last line of the log that is younger than this; undefined where there is none. */
export function lastHookTrouble(home: string, withinMs: number, now: Date): string | undefined {
  try {
    const found = statSync(logPath(home))
    if (!found.isFile() || found.size > 4 * maxLogBytes) return undefined
    const last = readFileSync(logPath(home), 'utf8').trimEnd().split('\n').at(-1) ?? ''
    return now.getTime() - Date.parse(last.slice(0, last.indexOf(' '))) < withinMs ? last : undefined
  } catch {
    return undefined
  }
}
