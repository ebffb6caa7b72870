import { hasReason } from '../core/errors.ts'
import { readOk } from '../supervisor/answers.ts'
import type { Connection } from '../supervisor/connection.ts'
import { createSupervisedFiles } from '../supervisor/files.ts'
import { requests } from '../supervisor/frames.ts'

/** What there is of a run in its folder at the site. */
export interface FarFolder {
  /** The names in it; none where there is no such folder. */
  list(): Promise<readonly string[]>
  /** A file from an offset on, piece by piece; false where there is none. */
  read(name: string, from: number, take: (bytes: Uint8Array, offset: number) => void): Promise<boolean>
  /** The folder is not needed any more. False while the run, or what it left behind, is held. */
  forget(): Promise<boolean>
}

const pieceBytes = 256 * 1024
/** As many pieces are asked for ahead, so that a long way costs little. */
const piecesAhead = 8
const mostEntries = 10_000

export function farFolder(connection: Connection, run: string): FarFolder {
  const files = createSupervisedFiles(connection, `${connection.home}/runs`)
  return {
    list: () => unlessMissing(async () => (await files.list(run, { max: mostEntries })).entries.map(({ name }) => name), []),
    read: (name, from, take) =>
      unlessMissing(async () => {
        const file = await files.openBound(`${run}/${name}`)
        try {
          const size = file.stat().bytes
          const asked: Promise<Uint8Array>[] = []
          let next = from
          for (let at = from; at < size; ) {
            for (; next < size && asked.length < piecesAhead; next += pieceBytes) asked.push(quietly(file.read(next, pieceBytes)))
            const bytes = await (asked.shift() as Promise<Uint8Array>)
            if (bytes.length === 0) break
            take(bytes, at)
            at += bytes.length
            // It was cut short meanwhile: what follows stands elsewhere.
            if (bytes.length < pieceBytes) break
          }
          return true
        } finally {
          file.close()
        }
      }, false),
    forget: () =>
      connection.ask<boolean>({
        request: 'FORGET',
        write: (writer, tag) => writer.begin(requests.forget, tag).text(1, run),
        read: readOk,
        refused: (code) => (code === 'busy' ? false : undefined),
      }),
  }
}

/** The runs that the home of a supervisor has folders of. */
export function listFarRuns(connection: Connection): Promise<readonly string[]> {
  const files = createSupervisedFiles(connection, connection.home)
  return unlessMissing(async () => (await files.list('runs', { max: mostEntries })).entries.map(({ name }) => name), [])
}

/** Whoever waits for it is told; the others are not waited for then. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

async function unlessMissing<T>(look: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await look()
  } catch (error) {
    if (hasReason(error, 'file_missing') || hasReason(error, 'root_missing')) return otherwise
    throw error
  }
}
