import { posix } from 'node:path'
import { hasReason } from '../core/errors.ts'
import type { Connection } from '../supervisor/connection.ts'
import { createSupervisedFiles } from '../supervisor/files.ts'
import type { Linked } from './link.ts'

/**
 * Supervisors of other builds that serve the same home: Holdfast was replaced by another version while their runs went on. Each build has a
 * socket of its own, and they share the folders of runs, so that only what runs has to be asked for at them.
 */
export interface Elders {
  /** Those that serve. None where the place cannot be asked; rejects where contact is lost meanwhile. */
  serving(linked: Linked): Promise<readonly Linked[]>
  close(): Promise<void>
}

/** Each costs a connection; whoever has that many versions at work at the same time is told that their runs are not found. */
const mostElders = 8
const mostEntries = 1_000

/** `dial` connects to the one at a socket; undefined where nobody serves there. */
export function openElders(dial: (socket: string) => Promise<Linked | undefined>): Elders {
  const known = new Map<string, Promise<Linked | undefined>>()
  let isClosed = false

  async function reach(socket: string): Promise<Linked | undefined> {
    const before = known.get(socket)
    const found = await before
    if (found?.connection.open) return found
    const meanwhile = known.get(socket)
    if (meanwhile !== before) return meanwhile
    const dialing = isClosed ? Promise.resolve(undefined) : dial(socket).catch(() => undefined)
    known.set(socket, dialing)
    const elder = await dialing
    // Who does not serve now may be looked for again.
    if (!elder && known.get(socket) === dialing) known.delete(socket)
    return elder
  }

  return {
    async serving({ connection }) {
      const elders = await Promise.all((await otherSockets(connection)).slice(0, mostElders).map(reach))
      return elders.filter((elder) => elder !== undefined)
    },
    async close() {
      isClosed = true
      await Promise.all([...known.values()].map(async (elder) => (await elder)?.session.close()))
    },
  }
}

/** Beside the socket of this build, `NAME-BUILD.sock`: those of others. */
async function otherSockets(connection: Connection): Promise<string[]> {
  const { path, home } = connection
  const folder = posix.dirname(path)
  const begin = `${posix.basename(home)}-`
  if (posix.dirname(home) !== folder) return []
  try {
    const { entries } = await createSupervisedFiles(connection, folder).list('.', { max: mostEntries })
    const sockets = entries.filter(({ name, kind }) => kind === 'other' && name.startsWith(begin) && /^[0-9a-f]+\.sock$/.test(name.slice(begin.length)))
    return sockets.map(({ name }) => `${folder}/${name}`).filter((socket) => socket !== path)
  } catch (error) {
    if (hasReason(error, 'supervisor_lost')) throw error
    return []
  }
}
