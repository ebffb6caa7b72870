import { readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../core/errors.ts'
import { type ByteText, below, quotedPath, toBytes, toByteText } from './byte-text.ts'
import type { GitResult } from './git.ts'
import { lookAt } from './tree-changes.ts'
import type { TreeGit } from './tree-place.ts'

/** A file as it is on disk. */
export interface RawFile {
  readonly path: ByteText
  readonly mode: '100644' | '100755' | '120000'
  readonly oid: string
  /** The permission bits, of a regular file. */
  readonly permissions: number | null
}

const hashTimeoutMs = 30 * 60_000

/**
 * The objects that hold these files byte for byte: no filter, no conversion of line ends. Those that are not there, or are neither file nor
 * link, are left out. `write`: puts them into the object store. `scratch`: an empty folder.
 */
export async function hashFiles(tree: TreeGit, paths: readonly ByteText[], scratch: string, { write }: { readonly write: boolean }): Promise<RawFile[]> {
  const found: Omit<RawFile, 'oid'>[] = []
  const sources: ByteText[] = []
  for (const path of paths) {
    const stat = lookAt(tree.place.path, path)
    if (stat?.isFile()) {
      found.push({ path, mode: stat.mode & 0o100 ? '100755' : '100644', permissions: stat.mode & 0o7777 })
      sources.push(quotedPath(path))
    } else if (stat?.isSymbolicLink()) {
      // git would follow it: what it holds is hashed from a file.
      const copy = join(scratch, `link-${sources.length}`)
      writeFileSync(copy, readlinkSync(below(tree.place.path, path), 'buffer'))
      found.push({ path, mode: '120000', permissions: null })
      sources.push(quotedPath(toByteText(copy)))
    }
  }
  const oids = await hashSources(tree, sources, write)
  return found.map((file, at) => ({ ...file, oid: oids[at] as string }))
}

async function hashSources(tree: TreeGit, sources: readonly ByteText[], write: boolean): Promise<string[]> {
  if (sources.length === 0) return []
  const args = ['hash-object', ...(write ? ['-w'] : []), '--no-filters', '--stdin-paths']
  const hashed = await tree.require('saving files', args, { stdin: toBytes(`${sources.join('\n')}\n`), timeoutMs: hashTimeoutMs })
  const oids = hashed.stdout.split('\n').filter(Boolean)
  if (oids.length !== sources.length) throw failure('git_failed', { what: 'saving files', git: hashed.answer })
  return oids
}

/** The objects that hold these bytes, in their order. */
export async function writeBlobs(tree: TreeGit, contents: readonly (Uint8Array | string)[], scratch: string): Promise<string[]> {
  const sources = contents.map((content, at) => {
    const file = join(scratch, `content-${at}`)
    writeFileSync(file, content)
    return quotedPath(toByteText(file))
  })
  return hashSources(tree, sources, true)
}

/** A line of `update-index --index-info`; mode 0 takes the path out. */
export interface IndexLine {
  readonly mode: string
  readonly oid: string
  readonly stage?: string | undefined
  readonly path: ByteText
}

export const indexInfo = (lines: readonly IndexLine[]): Buffer =>
  toBytes(lines.map(({ mode, oid, stage = '0', path }) => `${mode} ${oid} ${stage}\t${path}\0`).join(''))

export const takenOut = (path: ByteText, oid: string): IndexLine => ({ mode: '0', oid: '0'.repeat(oid.length), path })

/** Names that only another file system could take for `.git` (`git~1`) are names like any other for what is here already. */
export const anyName = 'core.protectNTFS=false'

/** Of a path that it takes for its own (`.GIT/x`) `update-index --index-info` only says that it goes on without, and exits with 0. */
export function requireAllTaken(what: string, { stderr, answer }: GitResult): void {
  if (/^Ignoring path /m.test(stderr)) throw failure('git_failed', { what, git: answer })
}

/** Changes an index file, which is made where it is not there, and gives the tree that it then holds. */
export async function treeOf(tree: TreeGit, indexFile: string, lines: readonly IndexLine[]): Promise<string> {
  const options = { indexFile, config: ['core.splitIndex=false', 'index.sparse=false', anyName], timeoutMs: hashTimeoutMs }
  const what = 'saving the tree'
  // Without a line it is asked, too: git then has an index where there was none.
  requireAllTaken(what, await tree.require(what, ['update-index', '-z', '--index-info'], { ...options, stdin: indexInfo(lines) }))
  return (await tree.require('saving the tree', ['write-tree', '--missing-ok'], options)).stdout.trim()
}

export interface RawCommit {
  readonly tree: string
  readonly parents: readonly string[]
  readonly message: string
  readonly at: Date
}

/** Writes a commit with a fixed author, whatever is configured. No ref is moved. */
export async function writeCommit(tree: TreeGit, { tree: root, parents, message, at }: RawCommit): Promise<string> {
  const who = `Holdfast <holdfast@localhost> ${Math.floor(at.getTime() / 1000)} +0000`
  const lines = [`tree ${root}`, ...new Set(parents.map((parent) => `parent ${parent}`)), `author ${who}`, `committer ${who}`, '', message]
  const args = ['hash-object', '-w', '-t', 'commit', '--stdin']
  return (await tree.require('saving a commit', args, { stdin: `${lines.join('\n')}\n` })).stdout.trim()
}
