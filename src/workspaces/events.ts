import { dirname } from 'node:path'
import type { WorkspaceEvent } from '../core/workspace.ts'
import { appendPlain, makePlainFolder, readPlainText } from '../git/plain-file.ts'
import { redactAddresses } from '../git/redact-addresses.ts'
import { repositoryFiles } from './layout.ts'

/** Adds to the history of a workspace. Appended in one write, so that lines of several processes stay whole. Never throws: it only tells. */
export function tell(commonDir: string, key: string, event: WorkspaceEvent): void {
  try {
    const path = repositoryFiles(commonDir).events(key)
    makePlainFolder(commonDir, dirname(path))
    appendPlain(path, `${JSON.stringify({ ...event, facts: withoutSecrets(event.facts) })}\n`)
  } catch {
    // What it tells of is done, told or not.
  }
}

/** What git said, and what was found, may hold an address with a token. */
function withoutSecrets(facts: WorkspaceEvent['facts']): WorkspaceEvent['facts'] {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, typeof fact === 'string' ? redactAddresses(fact) : fact]))
}

// Some hundred bytes for each event, of which there are some for each time that it is opened.
const maxEventBytes = 64 * 1024 ** 2

/** The history of a workspace, oldest first; lines that cannot be understood are left out. */
export function readEvents(commonDir: string, key: string): WorkspaceEvent[] {
  let text: string
  try {
    text = readPlainText(repositoryFiles(commonDir).events(key), maxEventBytes)
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    try {
      const event = JSON.parse(line) as Partial<WorkspaceEvent> | null
      return isWhole(event) ? [event] : []
    } catch {
      return []
    }
  })
}

/** Whoever works in a tree may have added lines of another form. */
function isWhole(event: Partial<WorkspaceEvent> | null): event is WorkspaceEvent {
  if (typeof event !== 'object' || event === null) return false
  const { at, name, workspace, durationMs, facts } = event
  const isFact = (fact: unknown): boolean => fact === null || ['string', 'number', 'boolean'].includes(typeof fact)
  return (
    [name, workspace].every((text) => typeof text === 'string') &&
    typeof at === 'string' &&
    !/\p{Cc}/u.test(at) &&
    (durationMs === null || (typeof durationMs === 'number' && durationMs >= 0)) &&
    typeof facts === 'object' &&
    facts !== null &&
    Object.values(facts).every(isFact)
  )
}
