import { relative, sep } from 'node:path'
import { failure } from '../core/errors.ts'
import type { FileList, FileMoved, FileRemoved, FileStat, Files, FileWritten } from '../core/files.ts'
import { type Target, thisMachine } from '../core/target.ts'
import { checkLimit } from './check-limit.ts'
import { type Copied, type CopyEnd, copyBetween, type FileCall } from './copying.ts'
import { parseSpan } from './reading.ts'

/** What names a file: a path below the folder that Holdfast works in, or below a workspace. */
export interface FileReference {
  /** Relative, with forward slashes: to where the caller stands in the root, or to the top of the workspace. */
  readonly path: string
  readonly workspace?: string | undefined
  /** Where it is: the name of a target, `host` for this machine, or a target itself. Default: `defaultTarget` of the configuration. */
  readonly target?: string | Target | undefined
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
  readFile(input: ReadFileInput, call?: FileCall): Promise<ReadFileResult>
  writeFile(input: FileReference & { readonly content: string | Uint8Array }, call?: FileCall): Promise<FileWritten>
  appendFile(input: FileReference & { readonly content: string | Uint8Array }, call?: FileCall): Promise<FileWritten>
  listFiles(
    input: {
      readonly path?: string | undefined
      readonly workspace?: string | undefined
      readonly target?: string | Target | undefined
      readonly limit?: number | undefined
      /** Names behind this one. */
      readonly after?: string | undefined
    },
    call?: FileCall,
  ): Promise<FileList>
  statFile(input: FileReference, call?: FileCall): Promise<FileStat>
  makeDirectory(input: FileReference, call?: FileCall): Promise<{ readonly path: string; readonly created: boolean }>
  removeFile(input: FileReference & { readonly recursive?: boolean | undefined }, call?: FileCall): Promise<FileRemoved>
  /** To a name that nothing has; with `replace` a file may be there. */
  moveFile(input: FileReference & { readonly to: string; readonly replace?: boolean | undefined }, call?: FileCall): Promise<FileMoved>
  /** Files and folders between this machine and targets, each as a path, as `TARGET:PATH`, or as `:PATH` at `target`. */
  copyFiles(
    input: {
      readonly from: string
      readonly to: string
      readonly workspace?: string | undefined
      /** Where `:PATH` is: the name of a target, or a target itself. Default: `defaultTarget` of the configuration. */
      readonly target?: string | Target | undefined
    },
    call?: FileCall,
  ): Promise<Copied>
}

export interface FilesBasis {
  readonly root: string
  /** The root, or the folder below it that the caller stands in. */
  readonly base: string
  /** The tree of a workspace that is ready, and what it is known by. Throws `workspace_not_found` or `workspace_unusable`. */
  treeOf(workspace: string): Promise<{ readonly root: string; readonly nonce: string }>
  openFiles(root: string): Files
  /** The files of a target, with this folder as its workspace; undefined: this machine. Throws `target_unknown` and what opening it throws. */
  filesAt(target: string | Target | undefined, tree: string, call?: FileCall): Promise<FilesAt | undefined>
}

/** Files that are somewhere else. */
export interface FilesAt {
  readonly files: Files
  /** For people. */
  readonly title: string
  /** Whether they are its own, and neither a mount nor a copy of what is here. */
  readonly isOwn: boolean
}

const defaultListed = 1_000
const maxListed = 10_000

export function createFileUseCases({ root, base, treeOf, openFiles, filesAt }: FilesBasis): FileUseCases {
  const below = relative(root, base).split(sep).join('/')

  /** The files that a reference is about, and its path among them. */
  async function locate({ path, workspace, target }: FileReference, call?: FileCall): Promise<{ files: Files; path: string }> {
    const tree = workspace === undefined ? root : (await treeOf(workspace)).root
    return { files: await openAt(target, tree, workspace, call), path: workspace === undefined ? fromBase(path) : path }
  }

  async function openAt(target: FileReference['target'], tree: string, workspace: string | undefined, call?: FileCall): Promise<Files> {
    const there = await filesAt(target, tree, call)
    // The files of the workspace are not there: others would be read and written in their place.
    if (workspace !== undefined && there?.isOwn)
      throw failure('invalid', { field: 'workspace', value: workspace, accepted: `none: ${there.title} has files of its own` })
    return there?.files ?? openFiles(tree)
  }

  const fromBase = (path: string): string => (below === '' || isOdd(path) ? path : `${below}/${path}`)

  /** `box:out/report.txt` is a file of the target `box`, `:out/report.txt` one of the target that is told beside it. */
  async function locateEnd(text: string, workspace: string | undefined, told: FileReference['target'], call: FileCall): Promise<CopyEnd> {
    const [, name, path = text] = /^((?:[A-Za-z][\w.-]*)?):(.*)$/s.exec(text) ?? []
    if (name === undefined || name === thisMachine) return locate({ path: path || '.', workspace, target: thisMachine }, call)
    // A target with files of its own knows no workspace of this machine; the other side may be one.
    const tree = workspace === undefined ? root : (await treeOf(workspace)).root
    const there = await filesAt(name === '' ? told : name, tree, call)
    if (!there) throw failure('invalid', { field: 'target', value: told, accepted: `where ${text} is: the name of a target, or what tells one` })
    return { files: there.files, path: (workspace === undefined || there.isOwn ? fromBase(path) : path) || '.' }
  }

  /**
   * Changes something. A release that had begun before it was done may have saved the tree without it, so that a workspace has to be
   * ready, and the same one, after it as well.
   */
  async function changing<T>(input: FileReference, call: FileCall | undefined, change: (files: Files, path: string) => Promise<T>): Promise<T> {
    const { workspace, target } = input
    if (workspace === undefined) {
      const { files, path } = await locate(input, call)
      return change(files, path)
    }
    const { root: top, nonce } = await treeOf(workspace)
    const result = await change(await openAt(target, top, workspace, call), input.path)
    const after = await treeOf(workspace)
    if (after.nonce !== nonce) throw failure('workspace_unusable', { workspace, why: 'it was released and made anew meanwhile' })
    return result
  }

  return {
    async readFile(input, call) {
      const { files, path } = await locate(input, call)
      return input.lines === undefined ? readContent(files, path, input) : readLines(files, path, input.lines, input.maxBytes)
    },
    writeFile: (input, call) => changing(input, call, (files, path) => files.write(path, input.content)),
    appendFile: (input, call) => changing(input, call, (files, path) => files.append(path, input.content)),
    async listFiles({ path: asked = '.', workspace, target, limit, after }, call) {
      const { files, path } = await locate({ path: asked, workspace, target }, call)
      return files.list(path, { max: checkLimit(limit, defaultListed, maxListed), after })
    },
    async statFile(input, call) {
      const { files, path } = await locate(input, call)
      return files.stat(path)
    },
    makeDirectory: (input, call) => changing(input, call, (files, path) => files.mkdir(path)),
    removeFile: (input, call) => changing(input, call, (files, path) => files.remove(path, { recursive: input.recursive })),
    moveFile: (input, call) =>
      changing(input, call, (files, path) => files.move(path, input.workspace === undefined ? fromBase(input.to) : input.to, { replace: input.replace })),
    async copyFiles({ from, to, workspace, target }, call = {}) {
      if (target !== undefined && ![from, to].some((end) => end.startsWith(':')))
        throw failure('invalid', { field: 'to', value: to, accepted: ':PATH for the side that is at the target' })
      const [source, into] = await Promise.all([locateEnd(from, workspace, target, call), locateEnd(to, workspace, target, call)])
      return copyBetween(source, into, call)
    },
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
