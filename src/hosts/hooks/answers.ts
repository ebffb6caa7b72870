import { eventNames, type Moment } from '../events.ts'
import type { HostName } from '../host.ts'

/** The moments at which a host takes text for the model from a hook. */
const contextMoments: Readonly<Record<HostName, readonly Moment[]>> = {
  'claude-code': ['session-start', 'prompt', 'after-tool', 'after-failed-tool'],
  codex: ['session-start', 'prompt', 'after-tool'],
  'gemini-cli': ['session-start', 'prompt', 'after-tool'],
  opencode: ['session-start', 'prompt', 'after-tool', 'before-compaction'],
  cursor: ['session-start', 'after-tool'],
  vscode: ['session-start', 'prompt', 'after-tool'],
  pi: ['session-start', 'prompt', 'after-tool', 'after-compaction'],
}

export const takesContext = (host: HostName, moment: Moment): boolean => contextMoments[host].includes(moment)

/** Hosts that start a session again after a compaction: what is put back belongs there, and nowhere else. */
const startsAgain: readonly HostName[] = ['claude-code', 'codex']

/** Whether what is put back after a compaction waits for the next moment at which the host takes text. */
export const putsBackLater = (host: HostName): boolean => !startsAgain.includes(host)

/**
 * What a hook prints, in the host's format; empty where there is nothing to say. Before a compaction Claude Code would take any
 * plain text as instructions, and refuses fields that other moments have, so that there is nothing then.
 */
export function answerOf(host: HostName, moment: Moment | undefined, context: string | undefined): string {
  const says = context !== undefined && context !== '' && moment !== undefined && takesContext(host, moment)
  switch (host) {
    case 'cursor':
      return `${JSON.stringify(says ? { additional_context: context } : {})}\n`
    case 'opencode':
    case 'pi':
      return says ? `${JSON.stringify({ context })}\n` : ''
    default:
      return says ? `${JSON.stringify({ hookSpecificOutput: { hookEventName: eventNames[host][moment], additionalContext: context } })}\n` : ''
  }
}
