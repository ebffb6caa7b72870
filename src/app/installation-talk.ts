import { StringDecoder } from 'node:string_decoder'
import type { Running } from '../core/backend.ts'

/** A server of the Model Context Protocol that was started, and is asked things over its standard streams. */
export interface Talk {
  /** Rejects with what the server says is wrong, or when it ends before it answers. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>
  notify(method: string): Promise<void>
  /** The last that it said on its standard error. */
  complaint(): string
}

const maxComplaint = 2_000

/** Talks JSON-RPC by lines with a program. */
export function talkTo(running: Running): Talk {
  const waiting = new Map<number, { resolve(result: Readonly<Record<string, unknown>>): void; reject(error: Error): void }>()
  let next = 1
  let complaint = ''
  let isOver = false
  const send = (message: object): Promise<void> => running.write(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))

  function receive(line: string): void {
    const { id, method, result, error } = toMessage(line)
    // It may ask whether we are there, or for what we do not have.
    if (method !== undefined && id !== undefined) void send(method === 'ping' ? { id, result: {} } : { id, error: { code: -32601, message: 'not here' } })
    const waited = method === undefined && typeof id === 'number' ? waiting.get(id) : undefined
    if (!waited) return
    waiting.delete(id as number)
    if (error) waited.reject(new Error(error.message ?? 'it refused'))
    else waited.resolve(result ?? {})
  }

  async function listen(): Promise<void> {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    for await (const { stream, bytes } of running.output) {
      const text = decoder.write(Buffer.from(bytes))
      if (stream === 'stderr') {
        complaint = (complaint + text).slice(-maxComplaint)
        continue
      }
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) receive(line)
    }
  }

  void listen()
    .catch(() => {})
    .finally(() => {
      isOver = true
      for (const { reject } of waiting.values()) reject(new Error('it ended before it answered'))
      waiting.clear()
    })

  return {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        if (isOver) return reject(new Error('it ended before it was asked'))
        const id = next
        next += 1
        waiting.set(id, { resolve, reject })
        void send({ id, method, params })
      }),
    notify: (method) => send({ method }),
    complaint: () => complaint.trim(),
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message?: string }
}

function toMessage(line: string): Message {
  try {
    const found: unknown = JSON.parse(line)
    return typeof found === 'object' && found !== null ? (found as Message) : {}
  } catch {
    return {}
  }
}
