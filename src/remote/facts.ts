import { failure } from '../core/errors.ts'
import type { TargetBasis } from '../core/target.ts'
import type { SiteFacts } from './session.ts'

/** What the script said of the site, before it said what it can do. */
export interface ProbedFacts extends SiteFacts {
  /** The home without links, where it is there. */
  readonly physicalHome: string | undefined
  /** Device and inode of the root, as `stat` says them; empty where it cannot; undefined where there is no such folder. */
  readonly root: string | undefined
}

export interface FactLines {
  /** False where the line tells no fact. */
  add(line: string): boolean
  facts(): ProbedFacts
}

export function collectFacts(): FactLines {
  const found = new Map<string, string>()
  const variables: Record<string, string> = {}
  return {
    add(line) {
      const [, name = '', value = ''] = /^(\S+) ?(.*)$/s.exec(line) ?? []
      if (name === 'variable') {
        const at = value.indexOf('=')
        variables[value.slice(0, at)] = value.slice(at + 1)
        return true
      }
      if (!names.has(name)) return false
      found.set(name, value)
      return true
    },
    facts: () => ({
      system: found.get('system') ?? '',
      machine: found.get('machine') ?? '',
      user: found.get('user') ?? '',
      uid: Number(found.get('uid') ?? -1),
      home: found.get('home') || undefined,
      physicalHome: found.get('physical') || undefined,
      root: found.get('root'),
      variables,
    }),
  }
}

const names = new Set(['system', 'machine', 'user', 'uid', 'home', 'physical', 'root'])

/** Throws where the home is not the one that the target declares: then nothing there is used, neither for commands nor for files. */
export function proveHome(title: string, { home: declared }: TargetBasis, { home, physicalHome }: ProbedFacts): void {
  if (declared === undefined || [home, physicalHome].some((found) => found !== undefined && plainPath(found) === plainPath(declared))) return
  throw failure('target_mismatch', { target: title, field: 'home', declared, found: home ?? 'not known' })
}

/** Without a slash at its end. */
export const plainPath = (path: string): string => path.replace(/\/+$/, '') || '/'
