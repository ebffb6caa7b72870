import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, failure, hasReason } from '../core/errors.ts'
import { joinNames } from '../core/file-path.ts'
import { readBytesOf, readLinesOf, readTextOf } from '../core/file-reading.ts'
import type { BoundFile, Files } from '../core/files.ts'
import { type Directory, type DirectoryOpener, directoryOpener } from './directory.ts'
import { fileFault } from './fault.ts'
import { listLanding, statLanding } from './look.ts'
import { movePath } from './move.ts'
import { Swapped, settled } from './open-file.ts'
import { openForReading } from './read.ts'
import { removePath } from './remove.ts'
import type { Staging } from './staged.ts'
import { downloadFile, uploadFile } from './transfer.ts'
import { type Landing, type WalkOptions, walk } from './walk.ts'
import { appendFile, writeFile } from './write.ts'

export interface HostFilesOptions {
  /** Absolute. It may be a link; where it leads is looked at anew for each call. */
  readonly root: string
  readonly machine: Staging
  readonly now?: (() => number) | undefined
  /** Default: the strongest way that this machine has. */
  readonly opener?: DirectoryOpener | undefined
}

/** Files below a folder of this machine. Nothing is kept open between calls. */
export function createHostFiles({ root, machine, now = Date.now, opener = directoryOpener() }: HostFilesOptions): Files {
  const context = { opener, root, staging: machine, now }

  /** Does it with what a path leads to, again where something was swapped meanwhile. What fails is told of the path. */
  async function looking<T>(path: string, act: (landing: Landing) => T, options?: WalkOptions): Promise<T> {
    return telling(path, () => {
      const landing = walk(opener, root, path, options)
      try {
        return act(landing)
      } finally {
        landing.close()
      }
    })
  }

  async function reading<T>(path: string, act: (file: BoundFile) => Promise<T>): Promise<T> {
    return telling(path, async () => {
      const file = openForReading(opener, root, path)
      try {
        return await act(file)
      } finally {
        file.close()
      }
    })
  }

  return {
    readText: (path, options = {}) => reading(path, (file) => readTextOf(file, path, options.maxBytes)),
    readBytes: (path, options = {}) => reading(path, (file) => readBytesOf(file, path, options)),
    readLines: (path, options = {}) => reading(path, (file) => readLinesOf(file, options)),
    write: (path, content) => telling(path, () => writeFile(context, path, bytesOf(content))),
    append: (path, content) => telling(path, () => appendFile(context, path, bytesOf(content))),
    upload: (path, content, options = {}) => uploadFile(context, path, content, options),
    download: (path, options = {}) => telling(path, () => downloadFile(opener, root, path, options)),
    move: (from, to, options = {}) => telling(from, () => movePath(opener, root, from, to, options.replace === true)),
    list: (path, options = {}) => looking(path, (landing) => listLanding(landing, options)),
    stat: (path) => looking(path, statLanding),
    exists: (path) =>
      looking(path, ({ stats }) => stats !== undefined).catch((error: unknown) => {
        if (hasReason(error, 'file_missing')) return false
        throw error
      }),
    mkdir: (path) =>
      looking(
        path,
        (landing) => {
          const { parent, name, names, stats, directory } = landing
          if (stats && !directory) throw failure('file_kind', { path, is: 'a file', needed: 'a directory' })
          if (directory || name === undefined) return { path: joinNames(names), created: false }
          makeDirectory(path, parent, name)
          return { path: joinNames(names), created: true }
        },
        { changes: true, makeParents: true },
      ),
    remove: (path, options = {}) => telling(path, () => removePath(opener, root, path, options.recursive === true)),
    canonicalPath: (path) =>
      looking(path, ({ names, stats }) => {
        if (!stats) throw failure('file_missing', { path })
        return join(realpathSync.native(root), ...names)
      }),
    linkChain: (path) => looking(path, ({ links, names, stats }) => ({ links, path: joinNames(names), exists: stats !== undefined })),
    openBound: (path) => telling(path, () => openForReading(opener, root, path)),
  }
}

async function telling<T>(path: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await settled(path, act)
  } catch (error) {
    throw fileFault(path, error)
  }
}

const bytesOf = (content: string | Uint8Array): Uint8Array => (typeof content === 'string' ? Buffer.from(content) : content)

function makeDirectory(path: string, parent: Directory, name: string): void {
  try {
    mkdirSync(parent.at(name))
  } catch (error) {
    // Another process was faster, with a directory or something else.
    if (errnoOf(error) === 'EEXIST') throw new Swapped(path)
    throw error
  }
}
