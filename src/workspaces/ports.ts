import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { errnoOf, failure } from '../core/errors.ts'
import type { ProcessIdentity } from '../core/run.ts'
import { readPlainText } from '../git/plain-file.ts'
import type { WorkspaceContext } from './context.ts'
import { listRecords } from './records.ts'
import { treesBelow } from './repositories.ts'

/**
 * Ports that are set aside for the commands of a workspace: a file for each below the root of all workspaces, named by its number.
 * Whoever makes the file has the port, so two processes never have the same. Nothing holds the port open: a command that does
 * not ask for its ports may still take one of another workspace.
 */

/** Below those that Linux gives to outgoing connections by itself (32768 and up), above those of well-known services. */
export const portRange = { first: 20_000, count: 10_000 } as const

export interface PortReservation {
  readonly port: number
  /** Of the workspace. */
  readonly id: string
  /** Where its record is or will be; null where that was not said. */
  readonly commonDir: string | null
  /** Who reserved it, before there may be a record. */
  readonly holder: ProcessIdentity
}

const lockTimeoutMs = 10_000
const maxReservationBytes = 64 * 1024
const portsFolder = (root: string): string => join(root, '.ports')

/**
 * `count` ports for a workspace, the same ones when it is asked again. They begin at a place that its id decides, so that they tend to
 * be the same after it is made anew; one that something listens on at 127.0.0.1 is passed over. Rejects with `quota` where none is left.
 */
export async function reservePorts(
  context: WorkspaceContext,
  { id, count, commonDir }: { readonly id: string; readonly count: number; readonly commonDir?: string | undefined },
  range: { readonly first: number; readonly count: number } = portRange,
): Promise<readonly number[]> {
  if (count <= 0) return []
  return locked(context, async () => {
    const all = listReservations(context.root)
    const own = all.filter((reservation) => reservation?.id === id).map((reservation) => reservation.port)
    if (own.length >= count) return own.slice(0, count)
    const taken = new Set(dropOrphans(context, all).map((reservation) => reservation.port))
    const start = createHash('sha256').update(id).digest().readUInt32BE(0) % range.count
    const added: number[] = []
    for (let step = 0; step < range.count && own.length + added.length < count; step++) {
      const port = range.first + ((start + step) % range.count)
      if (taken.has(port) || !(await isFree(port))) continue
      if (claim(context, { port, id, commonDir: commonDir ?? null, holder: context.machine.self })) added.push(port)
    }
    if (own.length + added.length === count) return [...own, ...added]
    for (const port of added) rmSync(fileOf(context.root, port), { force: true })
    throw failure('quota', { what: 'the number of reserved ports', limit: range.count, used: taken.size })
  })
}

/** Lets go of all ports of a workspace. Harmless when there are none. */
export async function freePorts(context: WorkspaceContext, id: string): Promise<void> {
  if (listReservations(context.root).every((reservation) => reservation.id !== id)) return
  await locked(context, async () => {
    for (const reservation of listReservations(context.root)) {
      if (reservation.id === id) rmSync(fileOf(context.root, reservation.port), { force: true })
    }
  })
}

/** Reservations whose workspace is gone. They are also taken back by whoever reserves next. */
export function orphanReservations(context: WorkspaceContext): readonly PortReservation[] {
  const all = listReservations(context.root)
  const kept = new Set(keepOwned(context, all))
  return all.filter((reservation) => !kept.has(reservation))
}

/** Takes back the reservations whose workspace is gone; resolves to their ports. */
export function freeOrphanPorts(context: WorkspaceContext): Promise<readonly number[]> {
  return locked(context, async () => {
    const all = listReservations(context.root)
    const kept = new Set(dropOrphans(context, all))
    return all.filter((reservation) => !kept.has(reservation)).map((reservation) => reservation.port)
  })
}

/** What commands in the workspace find in their environment: `HOLDFAST_PORT`, the first one; `HOLDFAST_PORTS`, all of them, with commas; each as `HOLDFAST_PORT_1` and on. */
export function portVariables(ports: readonly number[]): Record<string, string> {
  const [first] = ports
  if (first === undefined) return {}
  const each = ports.map((port, index) => [`HOLDFAST_PORT_${index + 1}`, String(port)] as const)
  return { HOLDFAST_PORT: String(first), HOLDFAST_PORTS: ports.join(','), ...Object.fromEntries(each) }
}

async function locked<T>(context: WorkspaceContext, work: () => Promise<T>): Promise<T> {
  const folder = portsFolder(context.root)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const unlock = await context.lock(join(folder, 'lock'), { what: 'the list of reserved ports', timeoutMs: lockTimeoutMs })
  try {
    return await work()
  } finally {
    unlock()
  }
}

const fileOf = (root: string, port: number): string => join(portsFolder(root), String(port))

function listReservations(root: string): PortReservation[] {
  let names: string[]
  try {
    names = readdirSync(portsFolder(root))
  } catch {
    return []
  }
  const found = names.filter((name) => /^\d{1,5}$/.test(name)).map((name) => readReservation(root, Number(name)))
  return found.filter((reservation) => reservation !== undefined).sort((a, b) => a.port - b.port)
}

/** One that was cut off while it was written belongs to nobody. */
const ofNobody = { id: '', commonDir: null, holder: { pid: 0, startTime: '' } } as const

function readReservation(root: string, port: number): PortReservation | undefined {
  try {
    const { id, commonDir, holder } = JSON.parse(readPlainText(fileOf(root, port), maxReservationBytes)) as Partial<PortReservation>
    return typeof id === 'string' && typeof holder?.pid === 'number' ? { port, id, commonDir: commonDir ?? null, holder } : { port, ...ofNobody }
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : { port, ...ofNobody }
  }
}

/** Made under another name first: whoever sees a reservation sees whose it is. */
function claim(context: WorkspaceContext, { port, ...owner }: PortReservation): boolean {
  const made = join(portsFolder(context.root), `.${port}.${process.pid}`)
  try {
    writeFileSync(made, `${JSON.stringify(owner)}\n`, { flag: 'wx', mode: 0o600 })
    linkSync(made, fileOf(context.root, port))
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(made, { force: true })
  }
}

/** Removes those whose workspace is gone; the others. Under the lock. */
function dropOrphans(context: WorkspaceContext, all: readonly PortReservation[]): PortReservation[] {
  const kept = keepOwned(context, all)
  for (const reservation of all) if (!kept.includes(reservation)) rmSync(fileOf(context.root, reservation.port), { force: true })
  return kept
}

/** A workspace is gone when whoever reserved for it is, it is on no record, and there is no folder that bears its id. */
function keepOwned({ root, machine }: WorkspaceContext, all: readonly PortReservation[]): PortReservation[] {
  const recorded = new Map<string, Set<string>>()
  const isRecorded = (commonDir: string, id: string): boolean => {
    const ids = recorded.get(commonDir) ?? new Set(listRecords(commonDir).map(({ record }) => record.id))
    recorded.set(commonDir, ids)
    return ids.has(id)
  }
  const trees = treesBelow(root)
  return all.filter(
    ({ id, commonDir, holder }) =>
      id !== '' && (machine.isAlive(holder) || (commonDir !== null && isRecorded(commonDir, id)) || trees.some((path) => path.endsWith(`-${id}`))),
  )
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
