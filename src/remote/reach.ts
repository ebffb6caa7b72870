import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Channel, Site } from '../core/channel.ts'
import { failure, HoldfastError, hasReason, messageOf } from '../core/errors.ts'
import { type Carrier, Connection, type ConnectionTerms, greet, openConnection } from '../supervisor/connection.ts'
import { knownMachines } from '../supervisor/program.ts'
import { type Conversation, converse } from './conversation.ts'
import { collectFacts, type FactLines, type ProbedFacts } from './facts.ts'
import { probeArgv, probeScript } from './probe.ts'
import type { RemoteRequest } from './session.ts'

/** How the supervisor of a site is reached: looked for, put there, started, and found again. */

export type Reached =
  | { readonly kind: 'supervised'; readonly facts: ProbedFacts; readonly connection: Connection; readonly folder: string }
  /** `warning`: there should be one. */
  | { readonly kind: 'plain'; readonly facts: ProbedFacts; readonly why: string; readonly warning: boolean }

export interface ReachTerms extends Pick<RemoteRequest, 'site' | 'programFor' | 'signal'> {
  /** False: only what the site is is asked for. */
  readonly wanted: boolean
  /** Where it was found before. Nothing else will do. */
  readonly folder?: string | undefined
  /** A supervisor that serves there, of whatever build, in the place of the one of this build; none is started. */
  readonly socket?: string | undefined
  readonly keepAliveMs: number
  /** What the target says of the home. */
  readonly home: string | undefined
  /** Called with what the site says of itself, before anything of ours is put there. What it throws is thrown on. */
  check?(facts: ProbedFacts): void
}

/** Whoever has nothing to do any more ends after this time. */
const idleMs = 600_000
const greetMs = 20_000
/** For the shorter way: it is short, or it is none. */
const doorMs = 2_000
const longestCloseMs = 2_000

/** Ends with a connection, or with why there can be none. Rejects where the site cannot be used at all. */
export async function reach(terms: ReachTerms): Promise<Reached> {
  const problems: string[] = []
  let again = true
  for (let skip = 0; ; ) {
    const found = await reachOnce(terms, skip)
    if (found.kind !== 'refused') return found
    problems.push(found.why)
    if (found.kind === 'refused' && found.isPassing && again) again = false
    else skip += 1
    if (found.isLast || terms.folder !== undefined) return { kind: 'plain', facts: found.facts, why: problems.join('; '), warning: true }
  }
}

/** A folder of the site did not do. `isPassing`: it may do the next time. */
interface Refused {
  readonly kind: 'refused'
  readonly facts: ProbedFacts
  readonly why: string
  readonly isPassing?: boolean
  readonly isLast?: boolean
}

async function reachOnce(terms: ReachTerms, skip: number): Promise<Reached | Refused> {
  const { site, signal, wanted, home, folder: only, socket, check } = terms
  const nonce = randomBytes(12).toString('hex')
  const programs = wanted ? programsOf(terms) : []
  const channel = await site.open({ argv: probeArgv, signal })
  const talk = converse(channel, nonce, site.title)
  const stop = (): void => talk.close()
  signal?.addEventListener('abort', stop, { once: true })
  let isKept = false
  try {
    const script = probeScript({ nonce, root: site.root, home, folders: site.privateFolders, only, socket, skip, programs, idleMs })
    await talk.send(Buffer.from(`${script}\n`))
    const lines = collectFacts()
    const said = await firstWord(talk, lines, site, signal)
    const facts = lines.facts()
    check?.(facts)
    const [word, rest] = said
    if (word === 'none') return { kind: 'plain', facts, ...whyNone(terms, facts) }
    if (word === 'nowhere') return { kind: 'refused', facts, isLast: true, why: `there is no private folder for it: ${rest || 'all were tried'}` }
    const folder = rest
    const program = programs.find(({ machine }) => machine === facts.machine)
    let next = await talk.next()
    if (next === 'need') {
      const bytes = readFileSync(program?.path ?? '')
      await talk.send(Buffer.from(`${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}\n`))
      await talk.send(bytes)
      next = await talk.next()
    }
    const [answer, more] = split(next ?? '')
    if (answer === 'refused') return { kind: 'refused', facts, why: `${folder}: it cannot be started there: ${more || 'it says nothing'}` }
    if (answer === 'spoiled') return { kind: 'refused', facts, isPassing: true, why: `${folder}: it did not arrive whole${colon(talk.complaint())}` }
    if (answer !== 'socket' || (await talk.next()) !== 'ready') throw contactLost(site, talk.complaint() || 'the channel ended before the supervisor was there')
    const served = { path: more, keepAliveMs: terms.keepAliveMs }
    const connection = new Connection(served, carrierOf(talk))
    isKept = true
    try {
      await meet(connection, talk)
    } catch (error) {
      talk.close()
      const why = talk.complaint() || messageOf((error as Error).cause ?? error)
      return { kind: 'refused', facts, isPassing: true, why: `${folder}: ${why}` }
    }
    return { kind: 'supervised', facts, connection: await throughDoor(site, served, connection), folder }
  } finally {
    signal?.removeEventListener('abort', stop)
    if (!isKept) talk.close()
  }
}

function programsOf({ programFor }: ReachTerms): { machine: string; build: string; path: string }[] {
  const found = knownMachines.map((machine) => ({ machine, program: programFor(machine) }))
  return found.flatMap(({ machine, program }) => (program.kind === 'found' ? [{ machine, build: program.build, path: program.path }] : []))
}

/** What the site can do; the facts on the way there are collected. */
async function firstWord(talk: Conversation, lines: FactLines, site: Site, signal: AbortSignal | undefined): Promise<[string, string]> {
  for (;;) {
    const line = await talk.next()
    if (line !== undefined && lines.add(line)) continue
    if (line !== undefined) return split(line)
    if (signal?.aborted) throw failure('canceled_before_start', {})
    // What it ended with may be the backend's own word of what is wrong.
    const status = await Promise.race([talk.channel.ended, new Promise<undefined>((resolve) => setTimeout(resolve, longestCloseMs, undefined))])
    const how = status && 'exitCode' in status ? `a shell ended with status ${status.exitCode}` : 'a shell ended'
    throw failure('backend_unavailable', {
      target: site.title,
      why: `${how} before it said anything${colon(talk.complaint())}`,
      help: 'see that a POSIX shell (sh) can be started there',
    })
  }
}

function whyNone({ wanted, programFor }: ReachTerms, { system, machine }: ProbedFacts): { why: string; warning: boolean } {
  if (!wanted) return { why: '"supervisor" of the target is "never"', warning: false }
  if (system !== 'Linux') return { why: `the supervisor is for Linux, and this is ${system || 'a system without a name'}`, warning: false }
  const program = programFor(machine)
  return { why: program.kind === 'missing' ? program.why : `there is no supervisor for the processor ${machine}`, warning: false }
}

function split(line: string): [string, string] {
  const at = line.indexOf(' ')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}

const colon = (text: string): string => (text ? `: ${text}` : '')

const contactLost = (site: Site, why: string): HoldfastError => failure('contact_lost', { target: site.title, why })

async function meet(connection: Connection, talk: Conversation): Promise<void> {
  talk.handOver(
    (bytes) => connection.read(bytes),
    (error) => connection.lost(error && plainly(error)),
  )
  await greet(connection, greetMs, (error) => {
    if (error) connection.lost(error)
    talk.close()
  })
}

/** The same supervisor by a shorter way, where the site has one: each step that is saved is saved for every command. */
async function throughDoor(site: Site, terms: ConnectionTerms, known: Connection): Promise<Connection> {
  const door = await site.door?.(terms.path)
  if (!door) return known
  try {
    const found = await openConnection(door.path, doorMs, terms)
    if (typeof found === 'string') return known
    const isSame = found.supervisor.pid === known.supervisor.pid && found.supervisor.startTime === known.supervisor.startTime && found.home === known.home
    // Nobody waits for the end of the one that is not needed.
    void (isSame ? known : found).close()
    return isSame ? found : known
  } catch {
    return known
  } finally {
    door.close()
  }
}

/** The words of the backend alone: whose contact was lost is said by whoever tells it on. */
function plainly(error: Error): Error {
  if (!(error instanceof HoldfastError) || !hasReason(error, 'contact_lost')) return error
  return new Error(String(error.details.why), { cause: error })
}

/** A channel as what carries a connection. */
function carrierOf(talk: Conversation): Carrier {
  const { channel } = talk
  let pending = 0
  let finish: (() => void) | undefined
  return {
    write(bytes, done) {
      pending += 1
      channel.stdin.write(bytes, (error) => {
        pending -= 1
        done(error)
        if (pending === 0) finish?.()
      })
    },
    finish() {
      finish = () => letGo(channel)
      if (pending === 0) finish()
    },
    destroy: () => talk.close(),
    hold: (isNeeded) => channel.hold?.(isNeeded),
  }
}

/** The end of the input makes the bridge end; elsewhere the connection has to. */
function letGo(channel: Channel): void {
  if (channel.canEndInput) channel.stdin.end()
  else channel.close()
}
