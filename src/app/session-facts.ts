import { closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Activity, ToolUse } from '../core/activity.ts'
import { headBytes } from '../core/text.ts'
import { appendPlain } from '../git/plain-file.ts'
import { makeFolder } from './home.ts'

/**
 * What is kept of a session of an agent, in a folder of its own below the home: what happened in it, one line of JSON for each thing,
 * and its snapshot. Sessions never write into each other's folders. A line is appended in one write; a process that dies in the
 * middle of it spoils that line alone, because each begins with a line feed. Nothing here waits for anybody.
 */
export interface SessionFolder {
  readonly path: string
  /** What the session began with. */
  readonly first: string
  readonly facts: string
  /** What was in `facts` before it grew too large. */
  readonly older: string
  /** Stands there while a page is to be put back after a compaction. */
  readonly pending: string
  readonly snapshot: string
  /** What the snapshot was made of. */
  readonly source: string
  /** When the agent was last told of `exec`, by its time of change. */
  readonly led: string
}

const kept = { maxSessions: 50, maxAgeMs: 30 * 24 * 60 * 60_000 } as const
const maxFactsBytes = 128 * 1024
const maxLineBytes = 3_500

export const sessionsFolder = (home: string): string => join(home, 'sessions')

/** Names that are no file names, or too long for one, go by their hash. */
export function sessionFolder(home: string, host: string, session: string): SessionFolder {
  const name = /^[\w.-]{1,80}$/.test(session) ? session : hashOf(session)
  return folderAt(join(sessionsFolder(home), `${host}-${name}`))
}

function hashOf(text: string): string {
  // Seldom needed, and node:crypto takes longer to load than everything else here takes.
  const { createHash } = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto')
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function folderAt(path: string): SessionFolder {
  return {
    path,
    first: join(path, 'first.json'),
    facts: join(path, 'facts.jsonl'),
    older: join(path, 'facts.1.jsonl'),
    pending: join(path, 'pending'),
    snapshot: join(path, 'snapshot.md'),
    source: join(path, 'snapshot.json'),
    led: join(path, 'led'),
  }
}

/** Appends what is worth keeping, masked. The home must exist. Throws what the disk says. */
export function recordActivities(folder: SessionFolder, activities: readonly Activity[], mask: (text: string) => string): void {
  const lines = activities.filter(isKept).map((activity) => JSON.stringify(shortened(activity, mask)))
  if (lines.length === 0) return
  makeFolder(folder.path)
  const first = activities.find(({ kind }) => kind === 'request')
  if (first) writeOnce(folder.first, `${JSON.stringify(shortened(first, mask))}\n`)
  if ((statSync(folder.facts, { throwIfNoEntry: false })?.size ?? 0) > maxFactsBytes) renameSync(folder.facts, folder.older)
  appendPlain(
    folder.facts,
    lines
      .filter((line) => Buffer.byteLength(line) <= maxLineBytes)
      .map((line) => `\n${line}\n`)
      .join(''),
  )
}

/** What was recorded, in its order; what cannot be read is left out. */
export function readRecorded(folder: SessionFolder): Activity[] {
  return [folder.first, folder.older, folder.facts].flatMap((path) => linesOf(path).flatMap((line) => parseActivity(line) ?? []))
}

export interface KnownSession {
  readonly folder: SessionFolder
  readonly at: number
}

/** Sessions of the home, the one that something happened in last first. */
export function listSessions(home: string): KnownSession[] {
  const root = sessionsFolder(home)
  try {
    return readdirSync(root)
      .map((name) => folderAt(join(root, name)))
      .map((folder) => ({ folder, at: changedAt(folder) }))
      .sort((a, b) => b.at - a.at)
  } catch {
    return []
  }
}

/** Removes sessions that are older or more than are kept; resolves nothing and throws nothing: what stays is tried again. */
export function collectSessions(home: string, now: Date): number {
  const old = listSessions(home).filter(({ at }, i) => i >= kept.maxSessions || now.getTime() - at > kept.maxAgeMs)
  for (const { folder } of old) rmSync(folder.path, { recursive: true, force: true })
  return old.length
}

export function markPending(folder: SessionFolder): void {
  writeOnce(folder.pending, '')
}

/** Whether a page was to be put back; of several that ask only one is told so. */
export function takePending(folder: SessionFolder): boolean {
  try {
    unlinkSync(folder.pending)
    return true
  } catch {
    return false
  }
}

/** Whether the agent was not told of `exec` within this time; from now on it was. */
export function takeTurn({ path, led }: SessionFolder, everyMs: number, now: Date): boolean {
  const last = statSync(led, { throwIfNoEntry: false })?.mtimeMs
  if (last !== undefined && now.getTime() - last < everyMs) return false
  makeFolder(path)
  rmSync(led, { force: true })
  writeOnce(led, '')
  return true
}

function changedAt(folder: SessionFolder): number {
  return Math.max(0, ...[folder.facts, folder.source].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0))
}

function writeOnce(path: string, text: string): void {
  try {
    const descriptor = openSync(path, 'wx', 0o600)
    writeFileSync(descriptor, text)
    closeSync(descriptor)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** What an agent says, and what it looks up without touching anything, is not kept. */
export function isKept(activity: Activity): boolean {
  if (activity.kind === 'statement') return false
  return activity.kind !== 'tool' || activity.tool.action !== 'other' || activity.tool.failed
}

const most = { request: 1_000, text: 300, path: 200, paths: 10, todos: 12 } as const

function shortened(activity: Activity, mask: (text: string) => string): Activity {
  const short = (text: string, bytes: number): string => headBytes(mask(text), bytes)
  const shortOr = (text: string | null, bytes: number): string | null => (text === null ? null : short(text, bytes))
  switch (activity.kind) {
    case 'request':
    case 'statement':
      return { ...activity, text: short(activity.text, most.request) }
    case 'todos':
      return { ...activity, todos: activity.todos.slice(0, most.todos).map((todo) => ({ ...todo, text: short(todo.text, 160) })) }
    case 'background-ended':
      return { ...activity, id: short(activity.id, 100) }
    case 'tool': {
      const { tool } = activity
      const brief: ToolUse = {
        ...tool,
        name: short(tool.name, 100),
        command: shortOr(tool.command, most.text),
        paths: tool.paths.slice(0, most.paths).map((path) => short(path, most.path)),
        message: shortOr(tool.message, most.text),
        result: shortOr(tool.result, most.text),
        background: shortOr(tool.background, most.text),
      }
      return { kind: 'tool', tool: brief }
    }
  }
}

function linesOf(path: string): string[] {
  try {
    // Only this program writes there, but anybody may have put something else there.
    const found = statSync(path)
    return found.isFile() && found.size <= 16 * maxFactsBytes ? readFileSync(path, 'utf8').split('\n') : []
  } catch {
    return []
  }
}

function parseActivity(line: string): Activity | undefined {
  if (line === '') return undefined
  try {
    const found = JSON.parse(line) as Partial<Activity> | null
    if (found?.kind === 'request') return typeof found.text === 'string' ? { kind: 'request', text: found.text } : undefined
    if (found?.kind === 'background-ended') return typeof found.id === 'string' ? { kind: 'background-ended', id: found.id } : undefined
    if (found?.kind === 'todos') {
      const isTodo = ({ text, state }: { text?: unknown; state?: unknown }): boolean => typeof text === 'string' && typeof state === 'string'
      return Array.isArray(found.todos) && found.todos.every((todo) => todo !== null && isTodo(todo)) ? (found as Activity) : undefined
    }
    return found?.kind === 'tool' && isToolUse(found.tool) ? { kind: 'tool', tool: found.tool } : undefined
  } catch {
    return undefined
  }
}

function isToolUse(value: unknown): value is ToolUse {
  const tool = value as Partial<ToolUse> | null | undefined
  if (typeof tool !== 'object' || tool === null) return false
  const optional = [tool.command, tool.message, tool.result, tool.background].every((text) => text === null || typeof text === 'string')
  const paths = Array.isArray(tool.paths) && tool.paths.every((path) => typeof path === 'string')
  return optional && paths && typeof tool.name === 'string' && typeof tool.action === 'string' && typeof tool.failed === 'boolean'
}
