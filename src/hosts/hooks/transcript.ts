import type { Activity } from '../../core/activity.ts'
import { requestActivities } from './requests.ts'
import { toTodos } from './todos.ts'
import type { Mask } from './tool-output.ts'
import { toolActivities } from './tool-use.ts'
import { type Fields, fieldsOf, isTrue, listIn, parsedText, textIn, textOf } from './values.ts'

/**
 * Reads the entries of a transcript in their order. Which host wrote one is told by its shape and not by who asks: hosts run the
 * hooks of others too. What it does not know it passes over.
 */
export interface TranscriptReader {
  read(entry: unknown): Activity[]
}

/** `mask` takes secrets out of outputs before anything of them is told. */
export function openTranscript(mask: Mask): TranscriptReader {
  /** Calls whose results have not come yet. */
  const calls = new Map<string, { readonly name: string; readonly input: unknown }>()

  function begin(id: unknown, name: string | null, input: unknown): void {
    if (typeof id === 'string' && name !== null) calls.set(id, { name, input })
  }

  function end(id: unknown, output: unknown, failed?: boolean): Activity[] {
    const call = typeof id === 'string' ? calls.get(id) : undefined
    if (!call) return []
    calls.delete(id as string)
    if (notRun.test(textOf(output).slice(0, 100))) return []
    return toolActivities({ ...call, output, failed }, mask)
  }

  /** Parts of a message as Anthropic's API has them; Claude Code and Cursor keep them so. */
  function readParts(role: unknown, content: unknown, awaitsResults: boolean, result: unknown): Activity[] {
    if (typeof content === 'string') return said(role, content)
    return (Array.isArray(content) ? content : []).flatMap((item): Activity[] => {
      const part = fieldsOf(item)
      if (part.type === 'text') return said(role, textOf(part.text))
      if (part.type === 'tool_use') {
        if (!awaitsResults) return toolActivities({ name: textIn(part, 'name') ?? '', input: part.input, output: undefined }, mask)
        begin(part.id, textIn(part, 'name'), part.input)
      }
      if (part.type !== 'tool_result') return []
      return end(part.tool_use_id, part.is_error === true ? part.content : withBackground(part.content, result), part.is_error === true)
    })
  }

  function readClaude(entry: Fields): Activity[] {
    // What subagents did is told by their result; summaries and notices are not by persons.
    if (isTrue(entry, 'isSidechain', 'isMeta', 'isCompactSummary')) return []
    const message = fieldsOf(entry.message)
    return readParts(entry.type, message.content, true, entry.toolUseResult)
  }

  function readCodex(payload: Fields): Activity[] {
    switch (payload.type) {
      case 'user_message':
        return requestActivities(textOf(payload.message))
      case 'message':
        return payload.role === 'assistant' || payload.role === 'user' ? said(payload.role, textOf(payload.content)) : []
      case 'function_call':
      case 'custom_tool_call':
        begin(payload.call_id, textIn(payload, 'name'), parsedText(payload.arguments ?? payload.input))
        return []
      case 'local_shell_call':
        begin(payload.call_id, 'local_shell', payload.action)
        return []
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'local_shell_call_output':
        return end(payload.call_id, parsedText(payload.output))
      default:
        return []
    }
  }

  function readGemini(entry: Fields): Activity[] {
    const text = textOf(entry.content)
    if (entry.type === 'user') return requestActivities(text)
    if (entry.type !== 'gemini') return []
    const tools = listIn(entry, 'toolCalls').flatMap((item) => {
      const call = fieldsOf(item)
      // A message is written again when its calls have come to their ends.
      if (!['success', 'error', 'cancelled'].includes(String(call.status)) || calls.has(`ended ${call.id}`)) return []
      calls.set(`ended ${call.id}`, { name: '', input: null })
      return toolActivities(
        { name: textIn(call, 'name') ?? '', input: call.args, output: call.result ?? call.resultDisplay, failed: call.status === 'error' },
        mask,
      )
    })
    return [...said('assistant', text), ...tools]
  }

  function readCopilot(type: string, data: Fields): Activity[] {
    switch (type) {
      case 'user.message':
        return requestActivities(textOf(data.content))
      case 'assistant.message':
        return said('assistant', textOf(data.content))
      case 'tool.execution_start':
        begin(data.toolCallId, textIn(data, 'toolName', 'name'), data.arguments)
        return []
      case 'tool.execution_complete':
        return end(data.toolCallId, data.result ?? data.error, data.success === false)
      default:
        return []
    }
  }

  /** The form that our own plugins send; see docs/hooks.md. */
  function readOurs(entry: Fields): Activity[] {
    const tools = listIn(entry, 'tools').flatMap((item) => {
      const { name, input, output, failed, exit } = fieldsOf(item)
      if (typeof name !== 'string') return []
      return toolActivities({ name, input, output: typeof exit === 'number' ? { exit, output } : output, failed: failed === true }, mask)
    })
    return [...said(entry.role, textOf(entry.text)), ...tools]
  }

  return {
    read(value) {
      const entry = fieldsOf(value)
      const { type } = entry
      if ((type === 'user' || type === 'assistant') && typeof entry.message === 'object') return readClaude(entry)
      if ((type === 'event_msg' || type === 'response_item') && typeof entry.payload === 'object') return readCodex(fieldsOf(entry.payload))
      if (typeof type === 'string' && type.includes('.') && typeof entry.data === 'object') return readCopilot(type, fieldsOf(entry.data))
      if ((type === 'user' || type === 'gemini') && 'content' in entry) return readGemini(entry)
      if (typeof entry.role === 'string' && Array.isArray(entry.tools)) return readOurs(entry)
      // Cursor keeps calls without their results.
      if (typeof entry.role === 'string' && typeof entry.message === 'object') return readParts(entry.role, fieldsOf(entry.message).content, false, undefined)
      return []
    },
  }
}

/** A person or the host kept the call from being made, so that nothing failed. */
const notRun = /^(?:The user doesn't want|\[Request interrupted|Permission to use|User rejected|Tool execution was cancelled|aborted by user)/i

function said(role: unknown, text: string): Activity[] {
  if (role === 'user') return requestActivities(text)
  return role === 'assistant' && text.trim() !== '' ? [{ kind: 'statement', text }] : []
}

/** Claude Code says beside the text of a result which background shell it began. */
function withBackground(content: unknown, result: unknown): unknown {
  const id = textIn(fieldsOf(result), 'backgroundTaskId')
  return id === null ? content : `background ID: ${id}\n${textOf(content)}`
}

/** The entries of what is one JSON document and no line of a transcript: older sessions of Gemini CLI are kept so. */
export function entriesOfDocument(document: unknown): readonly unknown[] {
  return listIn(fieldsOf(document), 'messages')
}

/** Of what a plugin sends: its messages, and its task list. */
export function sentActivities(input: Fields, mask: Mask): Activity[] {
  const reader = openTranscript(mask)
  const messages = listIn(input, 'messages').flatMap((message) => reader.read(message))
  const todos = listIn(input, 'todos')
  return todos.length === 0 ? messages : [...messages, { kind: 'todos', todos: toTodos(todos), merge: false }]
}
