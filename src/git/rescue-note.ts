import type { Rescue } from '../core/workspace.ts'
import type { ByteText } from './byte-text.ts'
import type { NestedKind } from './nested.ts'

/** What stands in the message of the commit that holds saved work. The commit is found by its ref; everything else is found by this. */
export interface RescueNote {
  readonly version: 1
  readonly workspace: string
  readonly branch: string | null
  /** ISO 8601, UTC. */
  readonly savedAt: string
  /** The commit that was checked out; null before the first. */
  readonly head: string | null
  /** `refs/heads/…`; null of a detached HEAD. */
  readonly headRef: string | null
  readonly operation: string | null
  /** A commit whose tree has the index below `index`, and below `kept` what no tree of files can hold. */
  readonly state: string
  readonly nested: readonly NestedRescue[]
  readonly holds: readonly string[]
}

export interface NestedRescue {
  /** Bytes as Latin-1: a name need not be UTF-8. */
  readonly path: ByteText
  readonly kind: NestedKind
  /** A commit like the one around it, with a note of its own. */
  readonly commit: string
}

const label = 'Holdfast-Rescue: '

export function toMessage(note: RescueNote): string {
  const subject = `Work of workspace ${note.workspace}${note.branch === null ? '' : ` (${note.branch})`}, saved before its tree was removed`
  return [subject, '', ...note.holds, '', `${label}${JSON.stringify(note)}`].join('\n')
}

/** Undefined where the message is not one of ours. */
export function parseNote(message: string): RescueNote | undefined {
  const line = message.split('\n').findLast((text) => text.startsWith(label))
  if (line === undefined) return undefined
  try {
    const note = JSON.parse(line.slice(label.length)) as Partial<RescueNote>
    const isWhole = note.version === 1 && typeof note.workspace === 'string' && typeof note.state === 'string' && Array.isArray(note.nested)
    return isWhole ? (note as RescueNote) : undefined
  } catch {
    return undefined
  }
}

export const rescueRefs = 'refs/holdfast/rescue'

/** `<workspace>/<time>-<name>` below the refs of all rescues; the id has a `-` for the `/`. */
export function refOf(workspace: string, at: Date, name: string): string {
  const time = at
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:]/g, '')
  return `${rescueRefs}/${workspace}/${time}-${name}`
}

export function toRescue(ref: string, sha: string, note: RescueNote): Rescue {
  const { workspace, branch, savedAt, holds } = note
  return { ref, id: ref.slice(rescueRefs.length + 1).replaceAll('/', '-'), sha, workspace, branch, savedAt, holds }
}
