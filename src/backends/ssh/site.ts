import type { Channel, ChannelRequest, Site, SiteState } from '../../core/channel.ts'
import { failure, messageOf } from '../../core/errors.ts'
import type { SshTarget } from '../../core/target.ts'
import { Connections } from './connections.ts'
import { type Place, unreachable } from './faults.ts'
import { sweepSockets } from './master.ts'
import { readSettings, titleOf } from './settings.ts'
import { connectionsFolder, type SshTools } from './tools.ts'

const defaultIdleMs = 600_000
const defaultLoginMs = 60_000
const defaultGreetMs = 10_000
/** For the answer to a small question, once it can be asked. */
const answerMs = 30_000
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
    // The login files may take their time.
    const root = target.root ?? (await homeFolder({ connections, place: call.place, withinMs: loginMs + answerMs, signal }))
    return toSite({ target, title, root, connections, place: call.place })
  } catch (error) {
    connections.close()
    throw error
  }
}

interface SiteParts {
  readonly target: SshTarget
  readonly title: string
  readonly root: string
  readonly connections: Connections
  readonly place: Place
}

function toSite({ target, title, root, connections, place }: SiteParts): Site {
  return {
    backend: 'ssh',
    handle: target,
    title,
    root,
    workspace: 'own',
    privateFolders: [],
    open: (request) => connections.open(request),
    door: (socket) => connections.door(socket),
    examine: () => examine({ connections, place, withinMs: answerMs }),
    close: async () => connections.close(),
    destroy: async () => connections.close(),
  }
}

/** Where the account is at home, which is where its commands are to run. */
async function homeFolder(terms: QuestionTerms): Promise<string> {
  const said = await ask(['/bin/sh', '-c', 'cd "$HOME" 2>/dev/null; pwd -P'], terms)
  const path = said.replace(/\n$/, '')
  if (!path.startsWith('/'))
    throw failure('backend_refused', { target: terms.place.title, what: 'a question for its home directory', why: `it answered ${JSON.stringify(path)}` })
  return path
}

async function examine(terms: QuestionTerms): Promise<SiteState> {
  try {
    await ask(['true'], terms)
    return { kind: 'up' }
  } catch (error) {
    return { kind: 'unknown', why: messageOf(error) }
  }
}

interface QuestionTerms {
  readonly connections: Connections
  readonly place: Place
  readonly withinMs: number
  readonly signal?: AbortSignal | undefined
}

/** What a small program there prints. */
async function ask(argv: ChannelRequest['argv'], { connections, place, withinMs, signal: given }: QuestionTerms): Promise<string> {
  const limit = AbortSignal.timeout(withinMs)
  const signal = given ? AbortSignal.any([given, limit]) : limit
  try {
    return await answerTo(argv, connections, signal)
  } catch (error) {
    if (!limit.aborted || given?.aborted) throw error
    throw unreachable(place, `it answered no question within ${Math.round(withinMs / 1000)} seconds`, `try it by hand: ${place.byHand}`)
  }
}

async function answerTo(argv: ChannelRequest['argv'], connections: Connections, signal: AbortSignal): Promise<string> {
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
