import { statSync } from 'node:fs'
import { combineFacts, factsOf, noFacts, parseFacts, type SessionFacts } from '../context/session-facts.ts'
import type { SnapshotSession } from '../context/snapshot.ts'
import { readSnapshot, writeSnapshot } from '../context/snapshot-file.ts'
import { failure } from '../core/errors.ts'
import { readPlainText } from '../git/plain-file.ts'
import type { HostName } from '../hosts/host.ts'
import { hostNames, hostTitles } from '../hosts/host.ts'
import type { AppContext } from './context.ts'
import { listSessions, readRecorded, type SessionFolder } from './session-facts.ts'
import { composePage, maxSnapshotBytes } from './snapshots-page.ts'

/** A session of an agent as it was told of last. Its texts are masked. */
export interface StoredSession {
  readonly host: HostName
  readonly id: string
  readonly at: string
  readonly facts: SessionFacts
}

/** Replaces the snapshot of a session: first what it is made of, which alone is read again. */
export function storeSession(folder: SessionFolder, session: StoredSession, page: string): void {
  writeSnapshot(folder.source, `${JSON.stringify(session)}\n`)
  writeSnapshot(folder.snapshot, page)
}

/** What is known of the session in a folder: its last snapshot, with what was recorded since; undefined where that is nothing. */
export function readSession(folder: SessionFolder): StoredSession | undefined {
  const stored = readStored(folder)
  const recorded = factsOf(readRecorded(folder))
  const named = /(?:^|\/)([^/]+)$/.exec(folder.path)?.[1] ?? ''
  const host = stored?.host ?? hostNames.find((name) => named.startsWith(`${name}-`))
  if (!host) return undefined
  const at = statSync(folder.facts, { throwIfNoEntry: false })?.mtime.toISOString()
  const facts = combineFacts(stored?.facts ?? noFacts, recorded)
  return { host, id: stored?.id ?? named.slice(host.length + 1), at: [stored?.at ?? '', at ?? ''].sort().at(-1) as string, facts }
}

function readStored(folder: SessionFolder): StoredSession | undefined {
  try {
    const found = JSON.parse(readSnapshot(folder.source) ?? '') as Partial<StoredSession>
    const facts = parseFacts(found.facts)
    const host = hostNames.find((name) => name === found.host)
    if (!facts || !host || typeof found.id !== 'string' || typeof found.at !== 'string' || Number.isNaN(Date.parse(found.at))) return undefined
    return { host, id: found.id, at: found.at, facts }
  } catch {
    return undefined
  }
}

export interface FoundSession extends StoredSession {
  readonly folder: SessionFolder
}

/** The session that something happened in last; `but` is passed over. */
export function latestSession(context: AppContext, but?: SessionFolder): FoundSession | undefined {
  for (const { folder } of listSessions(context.home.path)) {
    const session = folder.path === but?.path ? undefined : readSession(folder)
    if (session) return { ...session, folder }
  }
  return undefined
}

const namedInRefusal = 5

/** The session with this id, or with the only id that begins so. */
export function requireSession(context: AppContext, id: string): FoundSession {
  const known = listSessions(context.home.path).flatMap(({ folder }): FoundSession[] => {
    const session = readSession(folder)
    return session ? [{ ...session, folder }] : []
  })
  const same = known.filter((session) => session.id === id)
  const found = same.length > 0 ? same : id === '' ? [] : known.filter((session) => session.id.startsWith(id))
  if (found.length === 1) return found[0] as FoundSession
  const listed = known.slice(0, namedInRefusal).map((session) => session.id)
  const accepted =
    listed.length > 0
      ? `the id of a session of an agent, or a beginning that only one has: ${listed.join(', ')}`
      : 'an id, but no agent has told of a session yet'
  throw failure('invalid', { field: 'session', value: id, accepted })
}

/** The page of a session, as it is read now or, with `ageMs`, later. */
export function pageOf(context: AppContext, session: StoredSession, folder: SessionFolder, ageMs: number | null, withinMs?: number): Promise<string> {
  const told: SnapshotSession = { id: session.id, host: hostTitles[session.host], ageMs, facts: session.facts }
  const source = { at: context.now().toISOString(), context: ownContext(context, folder), limit: maxSnapshotBytes, session: told }
  return composePage(context, source, withinMs)
}

/** What the agent itself has said it is doing, by `holdfast snapshot`, if that was in this session. */
function ownContext(context: AppContext, folder: SessionFolder): string | null {
  const own = readOwn(context)
  const begun = statSync(folder.first, { throwIfNoEntry: false })?.mtimeMs ?? statSync(folder.path, { throwIfNoEntry: false })?.birthtimeMs
  return own && begun !== undefined && Date.parse(own.at) >= begun ? own.context : null
}

/** What `holdfast snapshot` was told last. */
export interface OwnSource {
  readonly at: string
  /** Masked. */
  readonly context: string | null
  readonly limit: number
}

export const ownSourcePath = (context: AppContext): string => `${context.home.snapshot}.json`

export function readOwn(context: AppContext): OwnSource | undefined {
  try {
    const found = JSON.parse(readPlainText(ownSourcePath(context))) as Partial<OwnSource>
    if (typeof found.at !== 'string' || Number.isNaN(Date.parse(found.at)) || typeof found.limit !== 'number') return undefined
    return { at: found.at, limit: found.limit, context: typeof found.context === 'string' ? found.context : null }
  } catch {
    return undefined
  }
}
