import type { Readable, Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { maxMessageBytes } from './limits.ts'

/** A client that leaves this much unread has stopped reading. */
const maxUnreadBytes = 64 * 1024 * 1024

const invalidRequest = -32600

/**
 * JSON-RPC by lines over two streams. The transport of the SDK ends with a line above 10 MiB and does not notice that its
 * client is gone; this one closes, once, when an end of the connection ends or fails, and lets pass what is no message.
 */
export function stdioTransport(stdin: Readable, stdout: Writable, onNote: (line: string) => void): Transport {
  let parts: Buffer[] = []
  let size = 0
  let closed = false

  function read(chunk: Buffer | string): void {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    for (;;) {
      const end = rest.indexOf(10)
      const part = end < 0 ? rest : rest.subarray(0, end)
      size += part.length
      if (size <= maxMessageBytes) parts.push(part)
      else parts = []
      if (end < 0) return
      const line = size > maxMessageBytes ? undefined : Buffer.concat(parts, size).toString('utf8')
      parts = []
      size = 0
      rest = rest.subarray(end + 1)
      if (line === undefined) onNote(`a message of more than ${maxMessageBytes} bytes was left out`)
      else if (line.trim() !== '') receive(line)
    }
  }

  function receive(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      onNote('a line that is not JSON was left out')
      return
    }
    for (const each of Array.isArray(value) ? value : [value]) if (!closed) deliver(each)
  }

  function deliver(value: unknown): void {
    const message = toMessage(value)
    if (message) transport.onmessage?.(message)
    else refuse(value)
  }

  /** A client waits for an answer to whatever has an id. */
  function refuse(value: unknown): void {
    onNote('a line that is no JSON-RPC message was left out')
    const { id, method } = (value ?? {}) as { id?: unknown; method?: unknown }
    if (method === undefined || !isId(id)) return
    void transport.send({ jsonrpc: '2.0', id, error: { code: invalidRequest, message: 'not a JSON-RPC 2.0 request' } })
  }

  function fail(error: Error): void {
    onNote(`the connection failed: ${error.message}`)
    close()
  }

  function close(): void {
    if (closed) return
    closed = true
    stdin.off('data', read)
    stdin.pause()
    transport.onclose?.()
  }

  const transport: Transport = {
    async start() {
      stdin.on('data', read).on('end', close).on('close', close).on('error', fail)
      // Stays after the close, too: what is still unwritten then fails, and an error that nobody listens to ends the process.
      stdout.on('error', fail).on('close', close)
    },
    async send(message) {
      if (closed) return
      // Progress that cannot be read now is late already, and would only add to what waits.
      if ('method' in message && message.method === 'notifications/progress' && stdout.writableNeedDrain) return
      if (stdout.writableLength > maxUnreadBytes) {
        onNote('the client has stopped reading')
        close()
        return
      }
      await new Promise<void>((resolve) => stdout.write(`${JSON.stringify(message)}\n`, () => resolve()))
    },
    async close() {
      close()
    },
  }
  return transport
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isInteger(id)

/** What the SDK takes as a message, without members that it would refuse; undefined for anything else. */
function toMessage(value: unknown): JSONRPCMessage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { jsonrpc, id, method, params } = value as Record<string, unknown>
  if (jsonrpc !== '2.0') return undefined
  if (method === undefined) return 'result' in value || 'error' in value ? (value as JSONRPCMessage) : undefined
  if (typeof method !== 'string' || (id !== undefined && !isId(id))) return undefined
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params))) return undefined
  return { jsonrpc, method, ...(id === undefined ? {} : { id }), ...(params === undefined ? {} : { params }) } as JSONRPCMessage
}
