import { relative, sep } from 'node:path'
import { failure } from '../core/errors.ts'
import type { FileList, FileRemoved, FileStat, Files, FileWritten } from '../core/files.ts'
import { checkLimit } from './check-limit.ts'
import { parseSpan } from './reading.ts'

/** What names a file: a path below the folder that Holdfast works in, or below a workspace. */
export interface FileReference {
  /** Relative, with forward slashes: to where the caller stands in the root, or to the top of the workspace. */
  readonly path: string
  readonly workspace?: string | undefined
}

export interface ReadFileInput extends FileReference {
  /** `120`, `100-150`, `100-`, `-20` (the last 20). */
  readonly lines?: string | undefined
  /** Offsets: `0-1023`, `4096-`, `-512`. */
  readonly bytes?: string | undefined
  /** Default: `text`. */
  readonly encoding?: FileEncoding | undefined
  /** Default: 16 MiB. A file, or range of bytes, that has more is refused; of lines as many come as fit. */
  readonly maxBytes?: number | undefined
}

export const fileEncodings = ['text', 'base64'] as const
export type FileEncoding = (typeof fileEncodings)[number]

export interface ReadFileResult {
  /** From the root or the top of the workspace, with links followed; so in all results. */
  readonly path: string
  /** Of the whole file, in bytes. */
  readonly size: number
  readonly encoding: FileEncoding
  /** What was asked for, of lines each with a line feed. Secrets are not masked, so that it can be written back. */
  readonly content: string
  /** Whether something in it is not UTF-8 and stands as U+FFFD. */
  readonly replaced: boolean
  /** Of lines: whether the one that is there is only the beginning of it. */
  readonly cut: boolean
  /** Of lines: the number of the next one, null where none is left; null of everything else. */
  readonly next: number | null
}

export interface FileUseCases {
  readFile(input: ReadFileInput): Promise<ReadFileResult>
  writeFile(input: FileReference & { readonly content: string | Uint8Array }): Promise<FileWritten>
  appendFile(input: FileReference & { readonly content: string | Uint8Array }): Promise<FileWritten>
  listFiles(input: {
    readonly path?: string | undefined
    readonly workspace?: string | undefined
    readonly limit?: number | undefined
    /** Names behind this one. */
    readonly after?: string | undefined
  }): Promise<FileList>
  statFile(input: FileReference): Promise<FileStat>
  makeDirectory(input: FileReference): Promise<{ readonly path: string; readonly created: boolean }>
  removeFile(input: FileReference & { readonly recursive?: boolean | undefined }): Promise<FileRemoved>
}

export interface FilesBasis {
  readonly root: string
  /** The root, or the folder below it that the caller stands in. */
  readonly base: string
  /** The tree of a workspace that is ready, and what it is known by. Throws `workspace_not_found` or `workspace_unusable`. */
  treeOf(workspace: string): Promise<{ readonly root: string; readonly nonce: string }>
  openFiles(root: string): Files
}

const defaultListed = 1_000
const maxListed = 10_000

export function createFileUseCases({ root, base, treeOf, openFiles }: FilesBasis): FileUseCases {
  const below = relative(root, base).split(sep).join('/')

  /** The files that a reference is about, and its path among them. */
  async function locate({ path, workspace }: FileReference): Promise<{ files: Files; path: string }> {
    if (workspace !== undefined) return { files: openFiles((await treeOf(workspace)).root), path }
    return { files: openFiles(root), path: below === '' || isOdd(path) ? path : `${below}/${path}` }
  }

  /**
   * Changes something. A release that had begun before it was done may have saved the tree without it, so that a workspace has to be
   * ready, and the same one, after it as well.
   */
  async function changing<T>(input: FileReference, change: (files: Files, path: string) => Promise<T>): Promise<T> {
    if (input.workspace === undefined) {
      const { files, path } = await locate(input)
      return change(files, path)
    }
    const { root: top, nonce } = await treeOf(input.workspace)
    const result = await change(openFiles(top), input.path)
    const after = await treeOf(input.workspace)
    if (after.nonce !== nonce) throw failure('workspace_unusable', { workspace: input.workspace, why: 'it was released and made anew meanwhile' })
    return result
  }

  return {
    async readFile(input) {
      const { files, path } = await locate(input)
      return input.lines === undefined ? readContent(files, path, input) : readLines(files, path, input.lines, input.maxBytes)
    },
    writeFile: (input) => changing(input, (files, path) => files.write(path, input.content)),
    appendFile: (input) => changing(input, (files, path) => files.append(path, input.content)),
    async listFiles({ path: asked = '.', workspace, limit, after }) {
      const { files, path } = await locate({ path: asked, workspace })
      return files.list(path, { max: checkLimit(limit, defaultListed, maxListed), after })
    },
    async statFile(input) {
      const { files, path } = await locate(input)
      return files.stat(path)
    },
    makeDirectory: (input) => changing(input, (files, path) => files.mkdir(path)),
    removeFile: (input) => changing(input, (files, path) => files.remove(path, { recursive: input.recursive })),
  }
}

// Such a path is refused as it is; put behind another one it would mean something.
const isOdd = (path: string): boolean => path === '' || path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)

async function readContent(files: Files, path: string, { bytes, encoding = 'text', maxBytes }: ReadFileInput): Promise<ReadFileResult> {
  const span = bytes === undefined ? undefined : parseSpan('bytes', bytes, bytes.trim().startsWith('-') ? (await files.stat(path)).bytes : 0, 0)
  const range = span ? { from: span.from, to: Number.isFinite(span.to) ? span.to + 1 : undefined } : {}
  const whole = { cut: false, next: null }
  if (encoding === 'text' && !span) {
    const { path: found, text, size, replaced } = await files.readText(path, { maxBytes })
    return { path: found, size, encoding, content: text, replaced, ...whole }
  }
  const read = await files.readBytes(path, { ...range, maxBytes })
  const content = Buffer.from(read.bytes).toString(encoding === 'text' ? 'utf8' : 'base64')
  // A range may begin or end within a character.
  const replaced = encoding === 'text' && !Buffer.from(content).equals(read.bytes)
  return { path: read.path, size: read.size, encoding, content, replaced, ...whole }
}

async function readLines(files: Files, path: string, lines: string, maxBytes: number | undefined): Promise<ReadFileResult> {
  const span = parseSpan('lines', lines, 0, 1)
  const last = /^\s*-(\d+)/.exec(lines)?.[1]
  const range = last === undefined ? { from: span.from, max: span.to - span.from + 1 } : { from: -Math.max(1, Number(last)), max: Number(last) }
  const { path: found, lines: texts, next, cut, replaced, size } = await files.readLines(path, { ...range, maxBytes })
  return { path: found, size, encoding: 'text', content: texts.map((text) => `${text}\n`).join(''), replaced, cut, next }
}
