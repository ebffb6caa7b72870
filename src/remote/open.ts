import { type BackendConfiguration, capabilitiesOf } from '../core/backend.ts'
import type { Site } from '../core/channel.ts'
import { failure } from '../core/errors.ts'
import type { Connection } from '../supervisor/connection.ts'
import { createSupervisedFiles } from '../supervisor/files.ts'
import { openConnectedSession } from '../supervisor/session.ts'
import { openElders } from './elders.ts'
import { type ProbedFacts, proveHome } from './facts.ts'
import { type Linked, openLink } from './link.ts'
import { farRules, openMirroredSession } from './mirror.ts'
import { proveMount } from './mounted.ts'
import { openPlainSession } from './plain-session.ts'
import { type Reached, type ReachTerms, reach } from './reach.ts'
import type { RemoteRequest, RemoteSession } from './session.ts'
import { createShellFiles } from './shell-files.ts'

const defaultKeepAliveMs = 15_000
/** A site that is reaped when nobody uses it is told so often that somebody does; it does less where its lease is long. */
const keepEveryMs = 5_000

/** Opens what a site can do. What is wrong with the target is refused here, the same for commands and files. */
export async function openRemote(request: RemoteRequest): Promise<RemoteSession> {
  const { site, target, programFor, mounted, signal, keepAliveMs = defaultKeepAliveMs } = request
  const check = (facts: ProbedFacts): void => proveHome(site.title, target, facts)
  const terms = { site, programFor, keepAliveMs, check, home: target.home, wanted: target.supervisor !== 'never' }
  const reached = await reach({ ...terms, signal })
  try {
    if (mounted !== undefined) await proveMount(site, mounted, reached.facts, signal)
  } catch (error) {
    if (reached.kind === 'supervised') await reached.connection.close()
    throw error
  }
  const session = reached.kind === 'plain' ? plain(request, reached) : supervised(request, reached, terms)
  return { ...session, close: withKept(site, session.close) }
}

/** Keeps the site for as long as the session is open. */
function withKept(site: Site, close: () => Promise<void>): () => Promise<void> {
  if (!site.keep) return close
  const timer = setInterval(() => void site.keep?.(), keepEveryMs).unref()
  return () => {
    clearInterval(timer)
    return close()
  }
}

function supervised({ site, folderOf }: RemoteRequest, first: Reached & { kind: 'supervised' }, terms: Omit<ReachTerms, 'signal' | 'folder'>): RemoteSession {
  /** Another connection to the supervisor in the folder where it was found, or to the one at a socket there. */
  async function dial(signal?: AbortSignal, socket?: string): Promise<Connection> {
    const found = await reach({ ...terms, folder: first.folder, signal, socket }).catch(async (error: unknown) => {
      // Nobody has to be patient where the place itself is no more.
      const state = await site.examine().catch(() => undefined)
      throw state?.kind === 'gone' ? failure('site_gone', { target: site.title, why: state.why }, error) : error
    })
    if (found.kind === 'supervised') return found.connection
    throw failure('supervisor_unavailable', { why: found.why })
  }
  const linked = (connection: Connection, socket?: string): Linked => {
    return { connection, session: openConnectedSession(connection, { rules: farRules, dial: () => dial(undefined, socket) }) }
  }
  const link = openLink(linked(first.connection), async (signal) => linked(await dial(signal)))
  const elders = openElders(async (socket) => linked(await dial(undefined, socket), socket))
  const session = openMirroredSession({ link, elders, folderOf })
  return {
    site,
    facts: first.facts,
    capabilities: capabilitiesOf(configurationOf(site, true)),
    files: createSupervisedFiles({ ask: async (exchange) => (await link.current()).connection.ask(exchange) }, site.root),
    runFolder: (run) => `${first.connection.home}/runs/${run}`,
    place: { kind: 'supervised', session },
    close: once(async () => {
      await session.close()
      await site.close()
    }),
  }
}

function plain({ site }: RemoteRequest, { facts, why, warning }: Reached & { kind: 'plain' }): RemoteSession {
  const folder = `/tmp/holdfast-${facts.uid}`
  const runFolder = (run: string): string => `${folder}/runs/${run}`
  const session = openPlainSession({ site, runFolder })
  return {
    site,
    facts,
    capabilities: capabilitiesOf(configurationOf(site, false)),
    files: createShellFiles(site),
    runFolder,
    place: {
      kind: 'plain',
      session,
      why,
      warnings: warning ? [`the supervisor cannot be used at ${site.title}: ${why}; commands end with their connection`] : [],
    },
    close: once(async () => {
      await session.close()
      await site.close()
    }),
  }
}

function configurationOf({ backend, halfClose }: Site, isSupervised: boolean): BackendConfiguration {
  switch (backend) {
    case 'host':
      throw new Error('the host is no site')
    case 'kubernetes':
      return { backend, supervised: isSupervised, halfClose: halfClose !== false }
    default:
      return { backend, supervised: isSupervised }
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work()
    return done
  }
}
