/** Files below one folder, the root, wherever that is. Nothing outside of it is read, made, changed or removed. */

export const fileKinds = ['file', 'directory', 'link', 'other'] as const
export type FileKind = (typeof fileKinds)[number]

/** `staged`: written whole beside the file, then put in its place in one step. `in-place`: into the file itself. */
export type WriteRoute = 'staged' | 'in-place'

/** More is read only in ranges. */
export const defaultMaxFileBytes = 16 * 1024 * 1024
/** As many links lead on in Linux (path_resolution(7)). */
export const maxFileLinks = 40
/** How many lines, and entries of a directory, are given where nothing else was asked. */
export const defaultMaxLines = 2_000
export const defaultMaxEntries = 1_000

export interface FileBytes {
  /** Where the file is, from the root, with all links followed. */
  readonly path: string
  readonly bytes: Uint8Array
  /** Of the whole file. */
  readonly size: number
}

export interface FileText {
  readonly path: string
  readonly text: string
  readonly size: number
  /** Whether something in it is not UTF-8, and stands as U+FFFD. */
  readonly replaced: boolean
}

export interface FileLines {
  readonly path: string
  /** The number of the first of them, from 1. */
  readonly from: number
  /** Without their line feeds; carriage returns are kept. */
  readonly lines: readonly string[]
  /** The number of the next line; null where the last one is among them. */
  readonly next: number | null
  /** Whether a line was longer than the answer may be, and only its beginning is there. */
  readonly cut: boolean
  readonly replaced: boolean
  readonly size: number
}

export interface FileWritten {
  readonly path: string
  /** Of the content that was given. */
  readonly bytes: number
  readonly created: boolean
  readonly route: WriteRoute
}

export interface FileStat {
  readonly path: string
  /** Never `link`: links are followed. */
  readonly kind: FileKind
  readonly bytes: number
  /** Permissions in four octal digits: `0644`. */
  readonly mode: string
  /** ISO 8601, UTC. */
  readonly modifiedAt: string
}

export interface FileEntry {
  /** What is no UTF-8 in it stands as U+FFFD. */
  readonly name: string
  readonly kind: FileKind
  readonly bytes: number
  /** What a link says, whether or not that is there; null of everything else. */
  readonly target: string | null
}

export interface FileList {
  readonly path: string
  /** Sorted by name, `.` and `..` left out. */
  readonly entries: readonly FileEntry[]
  /** Whether there are further ones. */
  readonly more: boolean
}

export interface FileRemoved {
  readonly path: string
  readonly kind: FileKind
  /** Files, links and directories, all that is gone. */
  readonly entries: number
}

export interface FileLink {
  /** Where it is, from the root. A link that stands outside of it, on a way that leads back, has an absolute one, or none. */
  readonly path: string | null
  /** What it says. */
  readonly target: string
}

export interface LinkChain {
  readonly links: readonly FileLink[]
  /** Where they lead, from the root. */
  readonly path: string
  /** Whether something is there. */
  readonly exists: boolean
}

export interface FileMoved {
  /** Where it was and where it is, from the root. */
  readonly from: string
  readonly path: string
  /** Whether a file that was there is gone. */
  readonly replaced: boolean
}

/** A file of any size, piece by piece. */
export interface FileDownload {
  readonly path: string
  /** As it was when it was opened. */
  readonly size: number
  /** Iterated once, to its end or not; then the file is closed. Rejects like the call, and with `file_changed` where the bytes are not those that were there. */
  readonly pieces: AsyncIterable<Uint8Array>
  /** SHA-256 in hexadecimal of all pieces, compared with the other side; resolves after the last one. */
  readonly sha256: Promise<string>
}

export interface UploadOptions {
  /** Permissions of a file that is made. */
  readonly mode?: number | undefined
  /** SHA-256 in hexadecimal of all of the content, where whoever gives it makes it; settles once the content has ended. What arrives is compared with it. */
  readonly sha256?: Promise<string> | undefined
}

export interface DownloadOptions {
  /** True: a piece means nothing any more once the next one is asked for, so that its memory can be used again. */
  readonly reuse?: boolean | undefined
}

/** The very file that was opened, whatever becomes of its name. Its opener closes it; closing twice is harmless. */
export interface BoundFile {
  readonly path: string
  /** As it was when it was opened, or later. */
  stat(): FileStat
  /** From an offset on, at most so many bytes; fewer at the end of the file. */
  read(from: number, maxBytes: number): Promise<Uint8Array>
  close(): void
}

/**
 * Paths are relative to the root, in UTF-8, with forward slashes; the root itself is `.`. A path that is empty, absolute, has a
 * backslash or NUL, or goes above the root by `..`, is refused with `file_outside`, and so is every path that leads out by a link, at
 * any place of it. Links that stay inside are followed, also dangling and absolute ones; too many give `file_loop`.
 *
 * What holds when a path is looked at holds until it is used: another process that puts links in its place meanwhile leads nothing out.
 *
 * Everything may reject with `file_missing` (and nothing else does), `file_kind`, `file_denied`, `file_name_too_long` or
 * `file_failed`. Only regular files are read and written; nothing waits at a pipe.
 *
 * The state of git, which is everything that is named `.git` or is below it, may be read. It is never written or removed.
 */
export interface Files {
  /** Rejects with `file_too_large` where it has more than `maxBytes`. */
  readText(path: string, options?: { readonly maxBytes?: number | undefined }): Promise<FileText>
  /** All of it, or from an offset up to and without `to`. Rejects with `file_too_large` where that is more than `maxBytes`. */
  readBytes(
    path: string,
    options?: { readonly from?: number | undefined; readonly to?: number | undefined; readonly maxBytes?: number | undefined },
  ): Promise<FileBytes>
  /** At most `max` lines that have `maxBytes` together, from the line `from`; a negative one counts from the end, -1 is the last. */
  readLines(
    path: string,
    options?: { readonly from?: number | undefined; readonly max?: number | undefined; readonly maxBytes?: number | undefined },
  ): Promise<FileLines>
  /**
   * Gives a file this content; missing directories above it are made. However it is cut short, the file has its old content or the new
   * one. Keeps the permissions and, as far as the system allows, the owner; not other names of the same file (hard links), access lists
   * and attributes. Where the directory takes no new name, or the owner could not be kept, the file itself is written, which may leave a
   * mix when it is cut short: the route says which it was.
   */
  write(path: string, content: string | Uint8Array): Promise<FileWritten>
  /**
   * Adds to the end of a file, in one step once all of the content is at hand, so that what others add meanwhile is kept; what cannot
   * be added whole is taken back. A missing file is made whole. One with other names gets its content anew, as by `write`.
   */
  append(path: string, content: string | Uint8Array): Promise<FileWritten>
  /**
   * Gives a file of any size its content as it comes, by the same promises as `write`; compared by its hash with what arrived. When the content
   * fails or is cut short, nothing is changed.
   */
  upload(path: string, content: AsyncIterable<Uint8Array>, options?: UploadOptions): Promise<FileWritten & { readonly sha256: string }>
  download(path: string, options?: DownloadOptions): Promise<FileDownload>
  list(path: string, options?: { readonly max?: number | undefined; readonly after?: string | undefined }): Promise<FileList>
  stat(path: string): Promise<FileStat>
  /** False only of what is missing. */
  exists(path: string): Promise<boolean>
  /** With all directories above it. False where it was there. */
  mkdir(path: string): Promise<{ readonly path: string; readonly created: boolean }>
  /**
   * Removes a file, a link, not what it leads to, or a directory: an empty one, with `recursive` any, but none that holds state of git
   * or another file system; then nothing is removed. Never the root.
   */
  remove(path: string, options?: { readonly recursive?: boolean | undefined }): Promise<FileRemoved>
  /**
   * Renames a file, a link itself, or a directory, to a name that nothing has; with `replace` a file may be there. Missing directories above the new name are made.
   * Neither the root nor state of git is moved.
   */
  move(from: string, to: string, options?: { readonly replace?: boolean | undefined }): Promise<FileMoved>
  /** The absolute path without links, as the system that the commands run on has it. */
  canonicalPath(path: string): Promise<string>
  linkChain(path: string): Promise<LinkChain>
  openBound(path: string): Promise<BoundFile>
}
