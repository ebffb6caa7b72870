import type { Readable, Writable } from 'node:stream'
import type { App } from '../../app/api.ts'
import { type HoldfastError, toHoldfastError } from '../../core/errors.ts'
import { stdioTransport } from '../mcp/stdio-transport.ts'
import { type AcpHandlers, type AcpOptions, acpHandlers } from './handlers.ts'

/** JSON-RPC 2.0, and -32002 for what is not there, as the protocol's own SDK has it. */
const codes = { methodNotFound: -32601, invalidParams: -32602, internal: -32603, notFound: -32002 }

export interface ServeAcpOptions extends AcpOptions {
  readonly app: App
  readonly stdin: Readable
  readonly stdout: Writable
  /** Ends the serving. */
  readonly signal: AbortSignal
  readonly onNote: (line: string) => void
}

/** Answers the requests of an agent, one JSON-RPC message a line, until its end of the connection ends or the signal comes. */
export async function serveAcp({ app, stdin, stdout, signal, onNote, ...options }: ServeAcpOptions): Promise<void> {
  const handlers = acpHandlers(app, options)
  const transport = stdioTransport(stdin, stdout, onNote)
  const gone = new Promise<void>((resolve) => {
    transport.onclose = resolve
  })
  transport.onmessage = (message) => {
    // Only requests are answered: a notification asks for nothing, and an answer to nothing of ours is none.
    if (!('method' in message) || !('id' in message)) return
    const { id, method, params } = message
    answer(handlers, method, params)
      .then((reply) => transport.send({ jsonrpc: '2.0', id, ...reply }))
      .catch(() => {})
  }
  await transport.start()
  const close = (): void => void transport.close()
  if (signal.aborted) close()
  signal.addEventListener('abort', close, { once: true })
  await gone
  signal.removeEventListener('abort', close)
}

type Reply = { readonly result: Record<string, unknown> } | { readonly error: { code: number; message: string; data?: unknown } }

async function answer(handlers: AcpHandlers, method: string, params: unknown): Promise<Reply> {
  if (!Object.hasOwn(handlers, method)) return { error: { code: codes.methodNotFound, message: `there is no method ${JSON.stringify(method)} here` } }
  try {
    return { result: await handlers[method as keyof AcpHandlers](params) }
  } catch (thrown) {
    const error = toHoldfastError(thrown)
    return { error: { code: codeOf(error), message: error.message, data: error.toJSON() } }
  }
}

function codeOf({ code }: HoldfastError): number {
  if (code === 'invalid_argument') return codes.invalidParams
  return code === 'not_found' ? codes.notFound : codes.internal
}
