import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ResolvedCommand } from '../core/command.ts'
import { checkTexts, commandTooLarge } from '../core/command-texts.ts'
import type { EndRecord } from '../core/end-record.ts'
import { failure, type HoldfastError, hasReason } from '../core/errors.ts'
import type { Listening, RunStatus, SupervisedSession, SupervisionTerms } from '../core/supervised.ts'
import type { CommandRules } from '../supervisor/session.ts'
import type { Elders } from './elders.ts'
import { farFolder, listFarRuns } from './far-folder.ts'
import type { Link, Linked } from './link.ts'
import { sizeOf } from './local-log.ts'
import { type Found, Mirror } from './mirrored-run.ts'
import { settle, writeProcessHere } from './settle.ts'

/** Sessions of a supervisor that is somewhere else, with the folders of their runs here. */

export interface MirrorPlace {
  readonly link: Link
  /** Who may hold runs that the supervisor of the link does not hold. */
  readonly elders: Elders
  /** The folder here that keeps a run. */
  folderOf(run: string): string
}

/** Of a run of which only the end is known here: the limit of its logs is not. */
const unknownLimit = 64 * 1024 * 1024
/** How often it is looked whether what a run left behind has let go of its output. */
const lateMs = 5_000

export function openMirroredSession({ link, elders, folderOf }: MirrorPlace): SupervisedSession {
  const mirrors = new Map<string, Mirror>()
  /** Runs that are over, of which the site still has something, with their folders here. */
  const kept = new Map<string, string>()
  const folders = new Map<string, string>()
  /** Runs that a supervisor of another build holds, or held. */
  const heldBy = new Map<string, Linked>()
  const attachings = new Map<string, Promise<Mirror | undefined>>()
  let isClosed = false
  let looking: NodeJS.Timeout | undefined

  const folderHere = (run: string): string => folders.get(run) ?? folderOf(run)

  /** The run over what serves now, from where its logs here stand. */
  async function find(run: string, from: { stdout: number; stderr: number }): Promise<Found> {
    const linked = await link.current()
    const attached = await linked.session.attach(run, { kind: 'everything', from })
    if (attached) return { kind: 'running', run: attached }
    const text = await readFarEnd(linked, run)
    return text === undefined ? findElsewhere(linked, run, from) : { kind: 'over', text }
  }

  async function findElsewhere(linked: Linked, run: string, from: { stdout: number; stderr: number }): Promise<Found> {
    const serving = await elders.serving(linked)
    for (const elder of serving) {
      const attached = await elder.session.attach(run, { kind: 'everything', from })
      if (!attached) continue
      heldBy.set(run, elder)
      return { kind: 'running', run: attached }
    }
    // It may have ended just now.
    const text = serving.length > 0 ? await readFarEnd(linked, run) : undefined
    return text === undefined ? { kind: 'unknown' } : { kind: 'over', text }
  }

  function open(id: string, folder: string, maxOutputBytes: number): Mirror {
    const mirror = new Mirror({
      id,
      folder,
      maxOutputBytes,
      link,
      whenDone(left) {
        if (mirrors.get(id) === mirror) mirrors.delete(id)
        if (left === 'unasked') keep(id, folder)
        if (left === 'copied') void tidyUp(id, folder)
      },
    })
    mirrors.set(id, mirror)
    folders.set(id, folder)
    return mirror
  }

  const again = (mirror: Mirror) => (): Promise<Found> => insist(() => find(mirror.id, mirror.reached))

  /** What contact is lost over is tried again, for as long as it can be found. */
  async function insist<T>(step: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if (!hasReason(error, 'supervisor_lost') || !link.open || isClosed) throw error
      }
    }
  }

  /** Starts it once, whatever becomes of the connection meanwhile. */
  async function startOnce(command: ResolvedCommand, terms: SupervisionTerms): Promise<Found> {
    for (;;) {
      // Whoever has no contact has asked for nothing.
      const { session } = await link.current().catch((error: unknown) => {
        throw hasReason(error, 'supervisor_lost') ? failure('supervisor_lost', { why: String(error.details.why), unsent: true }, error) : error
      })
      try {
        return { kind: 'running', run: await session.start(command, terms) }
      } catch (error) {
        const wasAsked = hasReason(error, 'supervisor_lost') && error.details.unsent !== true
        const isThere = hasReason(error, 'supervisor_refused') && error.details.answer === 'already_exists'
        if (!wasAsked && !isThere && !(hasReason(error, 'supervisor_lost') && link.open && !isClosed)) throw error
        if (!wasAsked && !isThere) continue
        const found = await insist(() => find(terms.id, { stdout: 0, stderr: 0 })).catch(() => {
          throw error
        })
        if (found.kind !== 'unknown') return found
        if (isThere) throw error
      }
    }
  }

  /** Those who ask at the same time get the same. */
  function attachOnce(run: string): Promise<Mirror | undefined> {
    const attaching = attachings.get(run) ?? attachNow(run).finally(() => attachings.delete(run))
    attachings.set(run, attaching)
    return attaching
  }

  async function attachNow(run: string): Promise<Mirror | undefined> {
    const folder = folderHere(run)
    const { stdout, stderr } = logsHere(folder)
    const found = await insist(() => find(run, { stdout, stderr }))
    if (found.kind === 'running') {
      const mirror = open(run, folder, unknownLimit)
      mirror.follow(found, again(mirror))
      return mirror
    }
    if (found.kind === 'over') await insist(async () => finish(await link.current(), run, folder))
    return undefined
  }

  /** What is left of runs that are over, once what they left behind has let go. */
  async function lookForLate(): Promise<void> {
    const { session, connection } = await link.current()
    const held = new Set(await session.runs())
    for (const [run, folder] of [...kept]) {
      if (held.has(run) || mirrors.has(run)) continue
      await finish({ session, connection }, run, folder)
    }
  }

  /** Runs that others followed before, and whose folders are here: what the site has of them is fetched and tidied up. */
  async function sweep(): Promise<void> {
    const linked = await link.current()
    const left = await listFarRuns(linked.connection)
    const held = new Set(left.length > 0 ? await linked.session.runs() : [])
    for (const elder of left.length > 0 ? await elders.serving(linked) : []) {
      for (const run of await elder.session.runs()) {
        held.add(run)
        heldBy.set(run, elder)
      }
    }
    for (const run of left) {
      if (isClosed) return
      if (mirrors.has(run) || attachings.has(run) || !existsSync(folderOf(run))) continue
      if (!held.has(run)) await finish(linked, run, folderOf(run))
      else if (existsSync(join(folderOf(run), 'end.json'))) keep(run, folderOf(run))
    }
  }

  // Nobody waits for it, and what it cannot do now it does the next time.
  void sweep().catch(() => {})

  function keep(run: string, folder: string): void {
    if (isClosed) return
    kept.set(run, folder)
    looking ??= setInterval(() => void lookForLate().catch(() => {}), lateMs).unref()
  }

  /** Whoever waits for the run does not wait for this. */
  async function tidyUp(run: string, folder: string): Promise<void> {
    try {
      const { connection } = heldBy.get(run) ?? link.last
      if (!(await farFolder(connection, run).forget())) return keep(run, folder)
      kept.delete(run)
      heldBy.delete(run)
    } catch {
      keep(run, folder)
    }
  }

  /** All of a run that is over and not held; undefined where the site knows nothing of its end. */
  async function finish(linked: Linked, run: string, folder: string): Promise<EndRecord | undefined> {
    const text = await readFarEnd(linked, run)
    const settled = text === undefined ? undefined : await settle(folder, run, text, farFolder(linked.connection, run))
    if (settled?.whole) await tidyUp(run, folder)
    // Another look would find no more.
    else kept.delete(run)
    return settled?.record
  }

  return {
    logs: 'written',
    get handle() {
      return link.last.connection.path
    },
    get supervisor() {
      return link.last.connection.supervisor
    },
    get build() {
      return link.last.connection.build
    },
    get open() {
      return link.open && !isClosed
    },
    runs: () => insist(async () => (await link.current()).session.runs()),
    async start(command, terms) {
      const home = link.last.connection.home
      const mirror = open(terms.id, terms.folder, terms.limits.maxOutputBytes)
      try {
        const far = { ...terms, folder: `${home}/runs/${terms.id}`, listen: { kind: 'everything' } as const, making: { files: command.files ?? [] } }
        const found = await startOnce(command, far)
        if (found.kind === 'unknown') throw failure('supervisor_lost', { why: 'nothing is known of the run' })
        mirror.follow(found, again(mirror))
        // The end of a command that was over at once came with the word that it had begun: nobody looks for its process.
        setImmediate(() => {
          if (found.kind === 'running' && !mirror.record) writeProcessHere(terms.folder, found.run.process)
        })
      } catch (error) {
        mirrors.delete(terms.id)
        mirror.abandon(error)
        throw error
      }
      return mirror.listen(terms.listen, { stdout: 0, stderr: 0 })
    },
    async attach(run, listen) {
      if (isClosed) throw failure('closed', {})
      const mirror = mirrors.get(run) ?? (await attachOnce(run))
      return mirror?.listen(listen, await beginning(mirror, listen))
    },
    async close() {
      isClosed = true
      clearInterval(looking)
      await Promise.all([link.close(), elders.close()])
    },
  }
}

const logsHere = (folder: string): { stdout: number; stderr: number } => ({
  stdout: sizeOf(join(folder, 'stdout.log')),
  stderr: sizeOf(join(folder, 'stderr.log')),
})

/** Where a listener begins: where it wants, or where the run stands. */
async function beginning(mirror: Mirror, listen: Listening): Promise<{ stdout: number; stderr: number }> {
  if (listen.kind !== 'everything') return mirror.reached
  if (listen.from) return { ...listen.from }
  const { stdout, stderr } = await mirror.ask<Pick<RunStatus, 'stdout' | 'stderr'>>(
    (run) => run.status(),
    (record) => record,
  )
  return { stdout: stdout.bytes, stderr: stderr.bytes }
}

async function readFarEnd({ connection }: Linked, run: string): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  const found = await farFolder(connection, run).read('end.json', 0, (piece) => void parts.push(piece))
  return found ? Buffer.concat(parts).toString('utf8') : undefined
}

/** Commands of a Linux that is not this one: nothing of it can be looked at here. */
export const farRules: CommandRules = {
  check: (command) => checkTexts(command, 'linux'),
  tooLarge: commandTooLarge,
  refusal({ stage, errno }, command, { folder }): HoldfastError {
    const program = command.argv[0]
    const cwd = command.cwd
    if (stage === 'folder') return failure('home_unusable', { path: folder, why: errno })
    if (stage === 'cwd') {
      if (errno === 'ENOENT') return failure('cwd_missing', { cwd })
      return errno === 'ENOTDIR' ? failure('cwd_not_directory', { cwd }) : failure('cwd_forbidden', { cwd })
    }
    if (stage === 'program') {
      if (errno === 'ENOENT' || errno === 'ENOTDIR') return failure('program_missing', { program })
      if (errno === 'EACCES' || errno === 'EPERM' || errno === 'ENOEXEC' || errno === 'EISDIR') return failure('program_not_executable', { program })
    }
    if (errno === 'E2BIG') return commandTooLarge(command)
    return failure('start_failed', { program, errno })
  },
}
