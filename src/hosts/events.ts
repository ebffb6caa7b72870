import type { HostName } from './host.ts'

/** The moments in the life of an agent's session at which a host asks us something, in our words. */
export const moments = ['session-start', 'prompt', 'after-tool', 'after-failed-tool', 'before-compaction', 'after-compaction', 'session-end'] as const
export type Moment = (typeof moments)[number]

/**
 * What each host calls them; where it has no name for one, it does not tell of it, or tells of it at another one: Claude Code and
 * Codex start a session again after a compaction.
 */
export const eventNames: Readonly<Record<HostName, Readonly<Partial<Record<Moment, string>>>>> = {
  'claude-code': {
    'session-start': 'SessionStart',
    prompt: 'UserPromptSubmit',
    'after-tool': 'PostToolUse',
    'after-failed-tool': 'PostToolUseFailure',
    'before-compaction': 'PreCompact',
    'session-end': 'SessionEnd',
  },
  codex: {
    'session-start': 'SessionStart',
    prompt: 'UserPromptSubmit',
    'after-tool': 'PostToolUse',
    'before-compaction': 'PreCompact',
  },
  'gemini-cli': {
    'session-start': 'SessionStart',
    prompt: 'BeforeAgent',
    'after-tool': 'AfterTool',
    'before-compaction': 'PreCompress',
    'session-end': 'SessionEnd',
  },
  opencode: {
    'session-start': 'session.created',
    prompt: 'chat.message',
    'after-tool': 'tool.execute.after',
    'before-compaction': 'experimental.session.compacting',
    'after-compaction': 'session.compacted',
  },
  cursor: {
    'session-start': 'sessionStart',
    prompt: 'beforeSubmitPrompt',
    'after-tool': 'postToolUse',
    'after-failed-tool': 'postToolUseFailure',
    'before-compaction': 'preCompact',
    'session-end': 'sessionEnd',
  },
  vscode: {
    'session-start': 'SessionStart',
    prompt: 'UserPromptSubmit',
    'after-tool': 'PostToolUse',
    'before-compaction': 'PreCompact',
  },
  pi: {
    'session-start': 'session_start',
    prompt: 'before_agent_start',
    'after-tool': 'tool_result',
    'before-compaction': 'session_before_compact',
    'after-compaction': 'session_compact',
    'session-end': 'session_shutdown',
  },
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '')

/** The moment that an event of a host is: by the host's name for it or by ours, however it is spelled. */
export function momentOf(host: HostName, event: string): Moment | undefined {
  const wanted = plain(event)
  return moments.find((moment) => [moment, eventNames[host][moment]].some((name) => name !== undefined && plain(name) === wanted))
}
