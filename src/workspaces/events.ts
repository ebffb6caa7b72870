import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { WorkspaceEvent } from '../core/workspace.ts'
import { redactAddresses } from '../git/redact-addresses.ts'
import { repositoryFiles } from './layout.ts'

/** Adds to the history of a workspace. Appended in one write, so that lines of several processes stay whole. Never throws: it only tells. */
export function tell(commonDir: string, key: string, event: WorkspaceEvent): void {
  try {
    const path = repositoryFiles(commonDir).events(key)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    appendFileSync(path, `${JSON.stringify({ ...event, facts: withoutSecrets(event.facts) })}\n`, { mode: 0o600 })
  } catch {
    // What it tells of is done, told or not.
  }
}

/** What git said, and what was found, may hold an address with a token. */
function withoutSecrets(facts: WorkspaceEvent['facts']): WorkspaceEvent['facts'] {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, typeof fact === 'string' ? redactAddresses(fact) : fact]))
}

/** The history of a workspace, oldest first; lines that cannot be understood are left out. */
export function readEvents(commonDir: string, key: string): WorkspaceEvent[] {
  let text: string
  try {
    text = readFileSync(repositoryFiles(commonDir).events(key), 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    try {
      const event = JSON.parse(line) as Partial<WorkspaceEvent>
      return typeof event.at === 'string' && typeof event.name === 'string' && typeof event.facts === 'object' ? [event as WorkspaceEvent] : []
    } catch {
      return []
    }
  })
}
