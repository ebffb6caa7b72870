import { askSource } from './plugin-parts.ts'

/**
 * The source of the extension for pi: it tells the hook command what happens in a session, puts its answers where pi takes them,
 * and brings the tools of `holdfast mcp`: through pi's own MCP support where it has one, otherwise registered one by one.
 * `command` is the program and its first arguments.
 */
export function piExtension(command: readonly string[]): string {
  return `// Holdfast for pi. Made by "holdfast install pi", which makes it again; changes are lost.
import { spawn } from 'node:child_process'

${askSource('pi', command)}
const textOf = (content) =>
  typeof content === 'string'
    ? content
    : (content ?? [])
        .filter((part) => part.type === 'text')
        .map((part) => part.text)
        .join('\\n')

/** The entries of the branch that is worked on, in the form that the hook command reads. */
function toMessages(entries) {
  const results = new Map()
  for (const { message } of entries) if (message?.role === 'toolResult') results.set(message.toolCallId, message)
  return entries.flatMap(({ message }) => {
    if (message?.role === 'user') return [{ role: 'user', text: short(textOf(message.content)), tools: [] }]
    if (message?.role !== 'assistant') return []
    const tools = message.content
      .filter((part) => part.type === 'toolCall')
      .map(({ id, name, arguments: input }) => {
        const result = results.get(id)
        return { name, input: short(input), output: short(textOf(result?.content)), failed: result?.isError === true }
      })
    return [{ role: 'assistant', text: short(textOf(message.content)), tools }]
  })
}

export default function (pi) {
  // A session without a file of its own has an id all the same.
  const about = (ctx) => ({ session_id: ctx.sessionManager.getSessionId() })
  const say = (content, deliverAs) => pi.sendMessage({ customType: 'holdfast', content, display: false }, { deliverAs })
  const guarded = (act) => async (event, ctx) => {
    try {
      return await act(event, ctx)
    } catch {
      return undefined
    }
  }

  pi.on(
    'session_start',
    guarded(async (event, ctx) => {
      const answer = await ask('session_start', { ...about(ctx), source: event.reason }, ctx.cwd)
      if (answer?.context) say(answer.context, 'nextTurn')
    }),
  )
  pi.on(
    'before_agent_start',
    guarded(async (event, ctx) => {
      if (event.messageType === 'custom') return undefined
      const answer = await ask('before_agent_start', { ...about(ctx), prompt: short(event.prompt) }, ctx.cwd)
      return answer?.context ? { message: { customType: 'holdfast', content: answer.context, display: false } } : undefined
    }),
  )
  pi.on(
    'tool_result',
    guarded(async (event, ctx) => {
      const output = textOf(event.content)
      const input = { ...about(ctx), tool_name: event.toolName, tool_input: short(event.input), tool_output: short(output), output_bytes: output.length }
      const answer = await ask('tool_result', { ...input, is_error: event.isError }, ctx.cwd)
      return answer?.context ? { content: [...event.content, { type: 'text', text: answer.context }] } : undefined
    }),
  )
  pi.on(
    'session_before_compact',
    guarded(async (_event, ctx) => {
      await ask('session_before_compact', { ...about(ctx), messages: latest(toMessages(ctx.sessionManager.getBranch())) }, ctx.cwd)
    }),
  )
  pi.on(
    'session_compact',
    guarded(async (_event, ctx) => {
      const answer = await ask('session_compact', about(ctx), ctx.cwd)
      if (answer?.context) say(answer.context, ctx.isIdle() ? 'nextTurn' : 'steer')
    }),
  )
  pi.on(
    'session_shutdown',
    guarded(async (event, ctx) => {
      await ask('session_shutdown', { ...about(ctx), reason: event.reason, messages: latest(toMessages(ctx.sessionManager.getBranch())) }, ctx.cwd)
    }),
  )

  if (typeof pi.registerMcpServer === 'function') {
    const [program, ...args] = command
    pi.registerMcpServer('holdfast', {
      command: program,
      args: [...args, 'mcp'],
      exposure: 'direct',
      description: 'Runs commands, keeps every byte of their output, answers in a digest and finds it again.',
    })
    return
  }

  let client
  pi.on(
    'session_start',
    guarded(async (_event, ctx) => {
      client?.close()
      client = openClient(ctx.cwd)
      await client.call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pi', version: '0' } }, startMs)
      client.notify('notifications/initialized')
      const { tools } = await client.call('tools/list', {}, startMs)
      for (const tool of tools) register(tool)
    }),
  )
  pi.on('session_shutdown', () => client?.close())

  function register({ name, description, inputSchema }) {
    pi.registerTool({
      name: 'holdfast_' + name,
      label: 'holdfast ' + name,
      description,
      parameters: inputSchema,
      async execute(_id, params, signal, _onUpdate, ctx) {
        if (client.closed) {
          client = openClient(ctx.cwd)
          await client.call('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pi', version: '0' } }, startMs)
          client.notify('notifications/initialized')
        }
        const result = await client.call('tools/call', { name, arguments: params }, undefined, signal)
        if (result.isError) throw new Error(textOf(result.content))
        return { content: result.content, details: result.structuredContent ?? {} }
      },
    })
  }
}

const startMs = 5000

/** The little of the protocol that calling tools needs: one line of JSON each way. */
function openClient(cwd) {
  const [program, ...args] = command
  const child = spawn(program, [...args, 'mcp'], { cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map()
  let next = 1
  let rest = ''
  const client = { closed: false, call, notify, close: () => child.stdin.end() }
  const end = (error) => {
    client.closed = true
    for (const { reject } of waiting.values()) reject(error ?? new Error('holdfast mcp has ended'))
    waiting.clear()
  }
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  child.on('error', end)
  child.on('close', () => end())
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n')
    rest = lines.pop()
    for (const line of lines) if (line.trim() !== '') receive(JSON.parse(line))
  })
  function receive({ id, method, result, error }) {
    const waited = method === undefined ? waiting.get(id) : undefined
    if (method === 'ping') send({ id, result: {} })
    if (!waited) return
    waiting.delete(id)
    if (error) waited.reject(new Error(error.message))
    else waited.resolve(result)
  }
  function notify(method, params) {
    send({ method, params })
  }
  function call(method, params, timeoutMs, signal) {
    return new Promise((resolve, reject) => {
      if (client.closed) return reject(new Error('holdfast mcp has ended'))
      const id = next++
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => settle(reject)(new Error('holdfast mcp does not answer')), timeoutMs)
      const cancel = () => {
        notify('notifications/cancelled', { requestId: id })
        settle(reject)(new Error('canceled'))
      }
      function settle(act) {
        return (value) => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', cancel)
          waiting.delete(id)
          act(value)
        }
      }
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      signal?.addEventListener('abort', cancel, { once: true })
      send({ id, method, params })
    })
  }
  return client
}
`
}
