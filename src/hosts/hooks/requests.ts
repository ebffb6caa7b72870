import type { Activity } from '../../core/activity.ts'

/** Blocks that hosts put around or behind what a person has written. */
const added = [
  'system-reminder',
  'hook_context',
  'environment_details',
  'environment_context',
  'user_info',
  'attached_files',
  'reminderInstructions',
  'context',
  'timestamp',
]
/** What begins so was written by a host and not by a person. */
const notByPersons =
  /^(?:<(?:command-name|command-message|command-args|local-command-|bash-|task-notification|user_instructions|environment_context|turn_aborted|session_context|skill|permissions|collaboration_mode|subagent_notification|INSTRUCTIONS)|\[Request interrupted|Caveat: The messages below|# AGENTS\.md instructions|This session is being continued from a previous conversation|\[Previous conversation summary\]|# Context snapshot, )/

const maxLength = 100_000

/** A message of the user's side: what was asked for, and what else it tells. */
export function requestActivities(message: string): Activity[] {
  const text = message.slice(0, maxLength)
  const ended = text.startsWith('<task-notification>') ? endedTask(text) : null
  if (ended !== null) return [{ kind: 'background-ended', id: ended }]
  const query = between(text, '<user_query>', '</user_query>') ?? between(text, '<userRequest>', '</userRequest>')
  const own = (query ?? added.reduce(withoutBlocks, text)).trim()
  return own === '' || notByPersons.test(own) ? [] : [{ kind: 'request', text: own }]
}

function endedTask(text: string): string | null {
  return /completed|failed|killed|stopped/.test(between(text, '<status>', '</status>') ?? '')
    ? (between(text, '<task-id>', '</task-id>')?.trim() ?? null)
    : null
}

function between(text: string, open: string, close: string): string | undefined {
  const start = text.indexOf(open)
  if (start === -1) return undefined
  const end = text.indexOf(close, start)
  return text.slice(start + open.length, end === -1 ? undefined : end)
}

/** Without each block of this name; one that is not closed reaches to the end. */
function withoutBlocks(text: string, name: string): string {
  const open = `<${name}>`
  const close = `</${name}>`
  let rest = ''
  let at = 0
  for (;;) {
    const start = text.indexOf(open, at)
    if (start === -1) return rest + text.slice(at)
    rest += text.slice(at, start)
    const end = text.indexOf(close, start)
    if (end === -1) return rest
    at = end + close.length
  }
}
