import { readFileSync } from 'node:fs'
import { type EndRecord, parseEndRecord } from '../core/end-record.ts'
import type { ProcessIdentity } from '../core/run.ts'

/** What a supervisor writes into the folder of a run besides its logs; docs/supervisor-protocol.md. */

export function readEnd(path: string, run: string): EndRecord | undefined {
  try {
    return parseEndRecord(readFileSync(path, 'utf8'), run)
  } catch {
    return undefined
  }
}

export function readProcess(path: string): ProcessIdentity | null {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity> | null
    return typeof found?.pid === 'number' && typeof found.startTime === 'string' ? { pid: found.pid, startTime: found.startTime } : null
  } catch {
    return null
  }
}
