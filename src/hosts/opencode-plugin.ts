import { askSource } from './plugin-parts.ts'

/**
 * The source of the plugin for OpenCode: it tells the hook command what happens in a session and puts its answers where OpenCode
 * takes them. `command` is the program and its first arguments; `hook opencode EVENT` comes behind them.
 */
export function openCodePlugin(command: readonly string[]): string {
  return `// Holdfast for OpenCode. Made by "holdfast install opencode", which makes it again; changes are lost.
import { spawn } from 'node:child_process'

${askSource('opencode', command)}
const textOf = (parts) =>
  parts
    .filter((part) => part.type === 'text' && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join('\\n')

function toMessage({ info, parts }) {
  const tools = parts
    .filter((part) => part.type === 'tool')
    .map(({ tool, state }) => ({
      name: tool,
      input: short(state.input),
      output: short(state.error ?? state.output),
      failed: state.status === 'error',
      exit: state.metadata?.exit,
    }))
  return { role: info.role, text: short(textOf(parts)), tools }
}

/** What cannot be had is left out. */
async function attempt(act) {
  try {
    return (await act())?.data
  } catch {
    return undefined
  }
}

export const HoldfastPlugin = async ({ client, directory }) => {
  /** Sessions of subagents tell their parents what came of them, and have no page of their own. */
  const children = new Set()
  const created = new Set()
  const begun = new Set()

  async function start(sessionID) {
    if (begun.has(sessionID)) return undefined
    begun.add(sessionID)
    return ask('session.created', { session_id: sessionID, source: created.has(sessionID) ? 'startup' : 'resume' }, directory)
  }

  return {
    async event({ event }) {
      const info = event.type === 'session.created' ? event.properties?.info : undefined
      if (info) (info.parentID ? children : created).add(info.id)
      if (event.type === 'session.deleted') {
        const id = event.properties?.info?.id
        for (const known of [children, created, begun]) known.delete(id)
      }
    },
    async 'chat.message'({ sessionID }, { message, parts }) {
      if (children.has(sessionID)) return
      const answers = [await start(sessionID), await ask('chat.message', { session_id: sessionID, prompt: short(textOf(parts)) }, directory)]
      const last = parts.at(-1)
      for (const [i, answer] of answers.entries()) {
        if (!answer?.context || !last) continue
        // Parts are in the order of their ids.
        parts.push({ id: last.id + 'h' + i, sessionID, messageID: message.id, type: 'text', text: answer.context, synthetic: true })
      }
    },
    async 'tool.execute.after'({ tool, sessionID, args }, result) {
      if (children.has(sessionID)) return
      const input = { session_id: sessionID, tool_name: tool, tool_input: short(args), tool_output: short(result.output), output_bytes: result.output?.length }
      const answer = await ask('tool.execute.after', { ...input, exit_code: result.metadata?.exit }, directory)
      if (answer?.context && typeof result.output === 'string') result.output += '\\n\\n' + answer.context
    },
    async 'experimental.session.compacting'({ sessionID }, output) {
      if (children.has(sessionID)) return
      const [messages, todos] = await Promise.all([
        attempt(() => client.session.messages({ path: { id: sessionID } })),
        attempt(() => client.session.todo({ path: { id: sessionID } })),
      ])
      const told = { messages: latest(messages ?? []).map(toMessage), todos: short(todos) }
      const answer = await ask('experimental.session.compacting', { session_id: sessionID, ...told }, directory)
      if (answer?.context) output.context.push(answer.context)
    },
  }
}
`
}
