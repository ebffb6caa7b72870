/** A regular expression as JavaScript (with the flag `u`) and Rust read it alike. */
export interface ScanPattern {
  readonly source: string
  readonly ignoreCase: boolean
  /** Whether it is about bytes: what is not ASCII is many of them, and may be no text. Then all of the source is ASCII. */
  readonly bytes?: boolean
}

/** A pattern that is found only in logs that have one of these traits; see log-traits. */
export interface Disguise extends ScanPattern {
  readonly traits: number
}

export interface ScannedFile {
  readonly path: string
  /** The traits of the log; undefined where they are not known. */
  readonly traits: number | undefined
}

export interface ScanRequest {
  /** A line is of interest where it is found. */
  readonly pattern: ScanPattern
  /** And where one of these is, which are found in no line of printable ASCII. */
  readonly disguises: readonly Disguise[]
  /** Absolute; the paths are below it. */
  readonly folder: string
  readonly files: readonly ScannedFile[]
  readonly timeoutMs: number
}

/** Something that was found in a file. */
export interface Mark {
  /** In the file, of its first byte. */
  readonly offset: number
  /** Of the file, from 1: the line feeds before it, plus one. */
  readonly line: number
}

export interface ScanResult {
  /** By path: where something was found, by offset, once a line. */
  readonly marks: ReadonlyMap<string, readonly Mark[]>
  /** Files with more lines of interest than are told of. */
  readonly capped: ReadonlySet<string>
  /** Files that are not there, or cannot be read. */
  readonly unread: ReadonlySet<string>
  /** False where a bound ended it: files without marks may not have been looked at. */
  readonly complete: boolean
}

/** Why a program cannot be used, in words that go on after its name. */
export interface Unusable {
  readonly why: string
}

/** Looks through files with a program of its own, or says why that did not work. */
export type ScanFiles = (request: ScanRequest) => Promise<ScanResult | Unusable>
