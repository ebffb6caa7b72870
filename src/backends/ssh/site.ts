import type { Channel, ChannelRequest, Site, SiteState } from '../../core/channel.ts'
import { failure, messageOf } from '../../core/errors.ts'
import type { SshTarget } from '../../core/target.ts'
import { Connections } from './connections.ts'
import { unreachable } from './faults.ts'
import { sweepSockets } from './master.ts'
import { readSettings, titleOf } from './settings.ts'
import { connectionsFolder, type SshTools } from './tools.ts'

const defaultIdleMs = 600_000
const defaultLoginMs = 60_000
const defaultGreetMs = 10_000
const examineMs = 30_000
const maxAnswerBytes = 64 * 1024

/** An account on another machine. Rejects with what to do where it cannot be reached as the person's configuration of ssh says. */
export async function openSshSite(target: SshTarget, tools: SshTools, signal?: AbortSignal | undefined): Promise<Site> {
  const title = titleOf(target)
  const call = await readSettings(target, tools, signal)
  const folder = connectionsFolder(tools.runtimeFolder)
  if ('why' in folder) throw unreachable(call.place, folder.why, 'make a folder that is yours alone, and name it in XDG_RUNTIME_DIR')
  await sweepSockets(folder.path)
  const { idleMs = defaultIdleMs, loginMs = defaultLoginMs, greetMs = defaultGreetMs } = tools
  const connections = new Connections({ call, folder: folder.path, idleMs, loginMs, greetMs })
  try {
    await connections.connect(signal)
    const root = target.root ?? (await homeFolder(connections, title, signal))
    return toSite({ target, title, root, connections })
  } catch (error) {
    connections.close()
    throw error
  }
}

function toSite({ target, title, root, connections }: { target: SshTarget; title: string; root: string; connections: Connections }): Site {
  return {
    backend: 'ssh',
    handle: target,
    title,
    root,
    workspace: 'own',
    privateFolders: [],
    open: (request) => connections.open(request),
    door: (socket) => connections.door(socket),
    examine: () => examine(connections),
    close: async () => connections.close(),
    destroy: async () => connections.close(),
  }
}

/** Where the account is at home, which is where its commands are to run. */
async function homeFolder(connections: Connections, title: string, signal: AbortSignal | undefined): Promise<string> {
  const said = await ask(connections, ['/bin/sh', '-c', 'cd "$HOME" 2>/dev/null; pwd -P'], signal)
  const path = said.replace(/\n$/, '')
  if (!path.startsWith('/'))
    throw failure('backend_refused', { target: title, what: 'a question for its home directory', why: `it answered ${JSON.stringify(path)}` })
  return path
}

async function examine(connections: Connections): Promise<SiteState> {
  try {
    await ask(connections, ['true'], AbortSignal.timeout(examineMs))
    return { kind: 'up' }
  } catch (error) {
    return { kind: 'unknown', why: messageOf(error) }
  }
}

/** What a small program there prints. */
async function ask(connections: Connections, argv: ChannelRequest['argv'], given: AbortSignal | undefined): Promise<string> {
  const limit = AbortSignal.timeout(examineMs)
  const signal = given ? AbortSignal.any([given, limit]) : limit
  const channel = await connections.open({ argv, signal })
  const letGo = (): void => channel.close()
  signal.addEventListener('abort', letGo, { once: true })
  try {
    channel.stdin.end()
    channel.stderr.resume()
    const said = await textOf(channel)
    await channel.ended
    return said
  } finally {
    signal.removeEventListener('abort', letGo)
    channel.close()
  }
}

async function textOf({ stdout }: Channel): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= maxAnswerBytes) parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}
