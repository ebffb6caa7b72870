import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { failure } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import type { Command, Invocation } from './command.ts'
import { ownOption } from './option.ts'

const defaultHost = '127.0.0.1'
const defaultPort = 7421
const highestPort = 65_535

/** The server over stdio is started before commands are looked up; it stands here for its help. */
export const mcpCommand: Command = {
  words: 'mcp',
  group: 'Run commands',
  usage: ['mcp [--ephemeral]', 'mcp --http [--port N] [--host ADDRESS] [--token-file FILE]'],
  summary: 'Serve a coding agent with the Model Context Protocol, over stdio or HTTP.',
  details: [
    'Commands that come this way end after 2m unless they say otherwise.',
    'Under the supervisor, a command that still runs when its call is answered goes on within its limits, also when the client is gone: a later one sees it with runs, wait and output. What a call still waits for is canceled when the client goes.',
    'Over HTTP (streamable, at /mcp) any number of clients share one server for this folder. It listens on this machine alone unless --host says otherwise, has no encryption, and every request carries a token: of the variable HOLDFAST_MCP_TOKEN, or of a file of yours that is made when it is not there.',
  ],
  options: [
    ownOption('--ephemeral', 'End all that this client started when it goes, also in the background.'),
    ownOption('--http', 'Serve over streamable HTTP until a signal comes.'),
    ownOption('--port', 'Where to listen; 0 takes any that is free.', { value: 'N', default: String(defaultPort) }),
    ownOption('--host', 'The address to listen at.', { value: 'ADDRESS', default: defaultHost }),
    ownOption('--token-file', 'Where the token stands.', { value: 'FILE', default: '~/.local/state/holdfast/mcp-token' }),
  ],
  examples: ['claude mcp add holdfast -- holdfast mcp', 'holdfast mcp --ephemeral', 'holdfast mcp --http --port 7421'],
  withoutJson: true,
  run: async (invocation) => {
    const { http, ...own } = invocation.parsed.own
    if (http === undefined) {
      const [first = '--'] = Object.keys(own).map((name) => `--${name}`)
      throw failure('invalid', { field: 'the argument', value: first, accepted: 'holdfast mcp [--ephemeral], or holdfast mcp --http with its options' })
    }
    await serveHttp(invocation)
    return 0
  },
}

async function serveHttp({ io, parsed, signal, stderr }: Invocation): Promise<void> {
  // For the same reason as over stdio: no command of its own ends it by what stands in its command line.
  process.title = 'holdfast'
  const { ephemeral, port, host, 'token-file': tokenFile } = parsed.own
  const address = typeof host === 'string' ? host : defaultHost
  const number = readPort(port)
  const { token, from } = await findToken(io.env, io.cwd, tokenFile)
  const [{ serveMcpHttp }, { isLoopback }] = await Promise.all([import('../mcp/http.ts'), import('../mcp/http-guard.ts')])
  if (!isLoopback(address)) stderr.write(`holdfast: ${address} can be reached from other machines, and what is said there is not encrypted\n`)
  await serveMcpHttp({
    openApp: () => io.openApp({ cwd: io.cwd, env: io.env, surface: 'mcp', ephemeral: ephemeral === true }),
    version,
    host: address,
    port: number,
    token,
    signal,
    onListening: (url) => stderr.write(`holdfast: MCP at ${url} for ${io.cwd}; token: ${from}\n`),
    onNote: (line) => stderr.write(`holdfast: ${line}\n`),
  })
}

function readPort(given: string | true | undefined): number {
  if (typeof given !== 'string') return defaultPort
  if (/^\d{1,5}$/.test(given) && Number(given) <= highestPort) return Number(given)
  throw failure('invalid', { field: '--port', value: given, accepted: `a whole number from 0 to ${highestPort}` })
}

async function findToken(env: NodeJS.ProcessEnv, cwd: string, named: string | true | undefined): Promise<{ token: string; from: string }> {
  const { checkToken, readOrMakeToken } = await import('../mcp/token.ts')
  const variable = 'HOLDFAST_MCP_TOKEN'
  if (typeof named !== 'string' && env[variable]) return { token: checkToken(env[variable], variable), from: `of ${variable}` }
  const state = env.XDG_STATE_HOME && isAbsolute(env.XDG_STATE_HOME) ? env.XDG_STATE_HOME : join(env.HOME || homedir(), '.local', 'state')
  const file = typeof named === 'string' ? resolve(cwd, named) : join(state, 'holdfast', 'mcp-token')
  return { token: readOrMakeToken(file), from: `in ${file}` }
}
