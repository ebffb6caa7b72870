import { readFileSync } from 'node:fs'
import { getPriority } from 'node:os'

/** What every child of this process takes over without being told; see docs/supervisor-protocol.md, fields 23 to 25 of START. */
export interface Inherited {
  readonly mask: number
  readonly nice: number
  /** `NAME SOFT HARD`. */
  readonly limits: readonly string[]
}

/** The names of proc(5) and those of the protocol. The one that is missing carries the tag of a run. */
const limitNames: Readonly<Record<string, string>> = {
  'Max cpu time': 'cpu',
  'Max file size': 'fsize',
  'Max data size': 'data',
  'Max stack size': 'stack',
  'Max core file size': 'core',
  'Max resident set': 'rss',
  'Max processes': 'nproc',
  'Max open files': 'nofile',
  'Max locked memory': 'memlock',
  'Max address space': 'as',
  'Max file locks': 'locks',
  'Max pending signals': 'sigpending',
  'Max msgqueue size': 'msgqueue',
  'Max nice priority': 'nice',
  'Max realtime priority': 'rtprio',
}

/** Nothing in this process changes them, so they are read once. */
let limits: readonly string[] | undefined

/** Linux only; elsewhere, and where /proc does not say, no limits are known. */
export function ownInherited(): Inherited {
  limits ??= readLimits()
  return { mask: process.umask(), nice: ownNice(), limits }
}

function readLimits(): readonly string[] {
  try {
    return parseLimits(readFileSync('/proc/self/limits', 'latin1'))
  } catch {
    return []
  }
}

export function parseLimits(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, title = '', soft, hard] = /^(Max [a-z ]+?) {2,}(\d+|unlimited) +(\d+|unlimited)\b/.exec(line) ?? []
    const name = limitNames[title]
    return name === undefined ? [] : [`${name} ${soft} ${hard}`]
  })
}

function ownNice(): number {
  try {
    return getPriority()
  } catch {
    return 0
  }
}
