import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { App } from '../../app/api.ts'
import { type HoldfastError, toHoldfastError } from '../../core/errors.ts'
import { byteLength } from '../../core/text.ts'
import { callTool } from './call-tool.ts'
import { completeRun } from './completions.ts'
import { getPrompt, prompts } from './prompts.ts'
import { listResources, readResource, resourceTemplates } from './resources.ts'
import { listTools } from './tools.ts'

export interface ServerOptions {
  /** Opens the app, or gives the one that is open. */
  readonly app: () => Promise<App>
  readonly version: string
  /** Told, in one line, what went wrong with the connection. */
  readonly onNote: (line: string) => void
}

const instructions =
  'Run commands with exec: all output is kept and the answer is a digest; read more with output and search. ' +
  'A run that is answered as running goes on: wait for it with wait.'

/** By the specification of MCP, section "Resources", of 2025-11-25. */
const resourceNotFound = -32002

/** What every client pays for, whatever it calls. */
export const overheadBytes = (): number => byteLength(instructions + JSON.stringify(listTools()))

/** A server for one client, over whatever transport. The app is opened with the first call that needs it. */
export function createServer({ app, version, onNote }: ServerOptions): Server {
  const server = new Server(
    { name: 'holdfast', title: 'Holdfast', version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      instructions,
      // Validates what a client answers to questions of the server, and this one asks none with a schema.
      jsonSchemaValidator: {
        getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'this server asks nothing' }),
      },
    },
  )
  server.onerror = (error) => onNote(error.message.split('\n', 1)[0] ?? '')
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listTools() }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken
    const onProgress =
      progressToken === undefined
        ? undefined
        : (update: { progress: number; message: string }): void => {
            sendNotification({ method: 'notifications/progress', params: { progressToken, ...update } }).catch(() => {})
          }
    return callTool({ name: params.name, args: params.arguments ?? {}, signal, onProgress }, app)
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => asProtocol(async () => ({ resources: await listResources(await app()) })))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [...resourceTemplates] }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    asProtocol(async () => ({ contents: [await readResource(await app(), params.uri)] }), resourceNotFound),
  )
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [...prompts] }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => asProtocol(async () => getPrompt(await app(), params.name, params.arguments ?? {})))
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => asProtocol(async () => ({ completion: await completeRun(await app(), params.argument) })))
  return server
}

/** What a tool answers as text is here an error of the protocol, with the same sentence and the code of ours in its data. */
async function asProtocol<T>(act: () => Promise<T>, notFound: number = ErrorCode.InvalidParams): Promise<T> {
  try {
    return await act()
  } catch (thrown) {
    const error = toHoldfastError(thrown)
    // The SDK takes code and data of any error; its own class would put the code into the sentence.
    throw Object.assign(new Error(error.message), { code: codeOf(error, notFound), data: error.toJSON() })
  }
}

function codeOf({ code }: HoldfastError, notFound: number): number {
  if (code === 'not_found') return notFound
  return code === 'invalid_argument' ? ErrorCode.InvalidParams : ErrorCode.InternalError
}
