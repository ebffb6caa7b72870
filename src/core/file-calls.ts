import { failure, hasReason } from './errors.ts'
import { type FileReader, readBytesOf, readLinesOf, readTextOf } from './file-reading.ts'
import type { FileStat, Files } from './files.ts'

/** What a place has to be able to do. What both throw is thrown on. */
export interface FilePlace {
  /** Where the path leads, links followed, and what is there; no `stat` where nothing is. */
  look(path: string): Promise<{ readonly absolute: string; readonly stat: FileStat | undefined }>
  /** With so many bytes from there on at once, as far as it is known that they are wanted. */
  open(path: string, range: { readonly from?: number; readonly length?: number }): Promise<FileReader & { close(): void }>
  /** So many bytes are asked for at once at most. */
  readonly firstBytes: number
}

/** The calls that take no more than a look, or a file that is open. */
export function fileCalls({ look, open, firstBytes }: FilePlace): Pick<Files, 'readText' | 'readBytes' | 'readLines' | 'stat' | 'exists' | 'canonicalPath'> {
  async function reading<T>(path: string, range: Parameters<typeof open>[1], act: (file: FileReader) => Promise<T>): Promise<T> {
    const file = await open(path, range)
    try {
      return await act(file)
    } finally {
      file.close()
    }
  }

  async function there(path: string): Promise<{ readonly absolute: string; readonly stat: FileStat }> {
    const { absolute, stat } = await look(path)
    if (!stat) throw failure('file_missing', { path })
    return { absolute, stat }
  }

  return {
    readText: (path, options = {}) => reading(path, {}, (file) => readTextOf(file, path, options.maxBytes)),
    readBytes(path, options = {}) {
      const { from = 0, to = Number.POSITIVE_INFINITY } = options
      return reading(path, { from, length: Math.max(0, Math.min(firstBytes, to - from)) }, (file) => readBytesOf(file, path, options))
    },
    readLines: (path, options = {}) => reading(path, {}, (file) => readLinesOf(file, options)),
    stat: async (path) => (await there(path)).stat,
    exists: (path) =>
      there(path).then(
        () => true,
        (error: unknown) => {
          if (hasReason(error, 'file_missing')) return false
          throw error
        },
      ),
    canonicalPath: async (path) => (await there(path)).absolute,
  }
}
