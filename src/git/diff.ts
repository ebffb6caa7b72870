import { isUtf8 } from 'node:buffer'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import type { Git, GitResult } from './git.ts'
import { type GitCallOptions, type GitPlace, inTree } from './open.ts'
import { anyName } from './raw-objects.ts'

export interface TreeDiff {
  /** `status`: a letter of git-diff(1), of a rename with the path where it came from in `from`. `added` and `removed` are lines, null of binary files. */
  readonly files: readonly {
    readonly path: string
    readonly status: string
    readonly from?: string | undefined
    readonly added: number | null
    readonly removed: number | null
  }[]
  /** What `git apply` takes, binary files in it, too. Cut between two files where that can be. */
  readonly patch: string
  readonly truncated: boolean
}

export interface DiffOptions {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What the files of a tree differ in from a commit, with those that git does not know yet and without ignored ones. The index of the tree is
 * not touched, nothing is written to the object store, and no program runs that the repository names. `adminDir` is that of the tree. Submodules are
 * compared by their commits, and repositories inside that are none are left out.
 */
export async function diffTree(
  git: Git,
  { path, adminDir }: { readonly path: string; readonly adminDir: string },
  from: string,
  maxBytes: number,
  { timeoutMs, signal }: DiffOptions = {},
): Promise<TreeDiff> {
  const folder = mkdtempSync(join(adminDir, 'holdfast-diff-'))
  const indexFile = join(folder, 'index')
  // A copy must not come to share anything with the index that it was made of.
  const options: GitCallOptions = { indexFile, timeoutMs, signal, config: ['core.splitIndex=false', 'core.untrackedCache=false', anyName] }
  const tree = inTree(git, path, adminDir)
  try {
    copyIndex(join(adminDir, 'index'), indexFile)
    await addUnknown(tree, path, from.length, options)
    // A file that was only touched differs until it is read; and one that git was told to take for unchanged is looked at all the same.
    // Exits with 1 where some differ.
    await tree.run(['update-index', '-q', '--really-refresh'], options)
    const files = parseFiles(records(await tree.require(`comparing ${path} with ${from}`, diffArgs(['--raw', '--numstat', '-z'], from), options)))
    const patch = await readPatch(tree, { from, files, maxBytes, folder }, options)
    const told = files.map(({ name, from: old, ...rest }) => ({ path: toText(name), ...(old === undefined ? {} : { from: toText(old) }), ...rest }))
    return { files: told, ...patch }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

// Plumbing, which heeds none of the settings for people: prefixes, colors, an order of files. Programs and submodules are kept out by the runner.
const diffArgs = (format: readonly string[], from: string): string[] => [...['diff-index', ...format, '--find-renames', '--full-index'], ...[from, '--']]

function copyIndex(from: string, to: string): void {
  try {
    copyFileSync(from, to)
  } catch (error) {
    // Without an index every file is one that git does not know yet.
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/**
 * Puts the untracked files into the index, and in place of the stages of a conflict the file as it stands. Their content is named by a
 * hash that no object has: it differs from any file, so that git reads the files themselves and need not be given a copy of each.
 */
async function addUnknown(tree: GitPlace, path: string, hashLength: number, options: GitCallOptions): Promise<void> {
  const untracked = await tree.require(`listing the untracked files of ${path}`, ['ls-files', '--others', '--exclude-standard', '-z'], options)
  const unmerged = await tree.require(`listing the conflicts of ${path}`, ['ls-files', '--unmerged', '-z'], options)
  const conflicted = [...new Set(records(unmerged).map((record) => record.slice(record.indexOf('\t') + 1)))]
  // A repository inside of the tree is listed as a folder.
  const unknown = records(untracked).filter((name) => !name.endsWith('/'))
  if (unknown.length + conflicted.length === 0) return
  const nothing = '0'.repeat(hashLength)
  const noObject = '5e'.repeat(hashLength / 2)
  const lines = [...conflicted.map((name) => `0 ${nothing}\t${name}`), ...[...conflicted, ...unknown].map((name) => `100644 ${noObject}\t${name}`)]
  // Names are bytes: what is no UTF-8 must come back as it was.
  const stdin = Buffer.from(lines.map((line) => `${line}\0`).join(''), 'latin1')
  await tree.require(`listing the files of ${path}`, ['update-index', '--add', '-z', '--index-info'], { ...options, stdin })
}

/** NUL-terminated records, a character for each byte. */
const records = ({ bytes }: GitResult): string[] => Buffer.from(bytes).toString('latin1').split('\0').filter(Boolean)

/** A file that differs, its names with a character for each byte. */
interface Differing {
  readonly name: string
  readonly status: string
  readonly from: string | undefined
  readonly added: number | null
  readonly removed: number | null
}

/** The output of `--raw --numstat -z`: what became of each path, then its numbers. What has no numbers was only touched. */
function parseFiles(fields: readonly string[]): Differing[] {
  const became = new Map<string, { readonly status: string; readonly from: string | undefined }>()
  const files: Differing[] = []
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] as string
    if (field.startsWith(':')) {
      const status = field.split(' ')[4]?.[0] ?? '?'
      const from = status === 'R' || status === 'C' ? fields[++at] : undefined
      became.set(fields[++at] as string, { status, from })
      continue
    }
    const [, added = '-', removed = '-', short = ''] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(field) ?? []
    // Of a rename both names follow.
    if (short === '') at += 2
    const name = short === '' ? (fields[at] as string) : short
    const { status = 'M', from } = became.get(name) ?? {}
    files.push({ name, status, from, added: toLines(added), removed: toLines(removed) })
  }
  return files
}

/** Of a binary file git gives a dash. */
const toLines = (text: string): number | null => (/^\d+$/.test(text) ? Number(text) : null)

const toText = (name: string): string => Buffer.from(name, 'latin1').toString('utf8')

async function readPatch(
  tree: GitPlace,
  { from, files, maxBytes, folder }: { readonly from: string; readonly files: readonly Differing[]; readonly maxBytes: number; readonly folder: string },
  options: GitCallOptions,
): Promise<Pick<TreeDiff, 'patch' | 'truncated'>> {
  const read = async (config: readonly string[]): Promise<ReturnType<typeof cut>> => {
    const args = diffArgs(['--patch', '--binary', '--src-prefix=a/', '--dst-prefix=b/', '--unified=3'], from)
    const call = { ...options, firstBytes: maxBytes + 1, config: [...(options.config ?? []), ...config] }
    return cut((await tree.require(`making a patch from ${from}`, args, call)).bytes, maxBytes)
  }
  const first = await read([])
  if (isUtf8(first.kept)) return toPatch(first)
  // A patch is text, and would not hold the bytes of a file in another encoding: such a file goes into it as a binary one.
  const parts = first.kept.toString('latin1').split(betweenFiles)
  // One that became something else, a link say, is removed in one part and made in the next.
  const ofPart = files.flatMap((file) => (file.status === 'T' ? [file, file] : [file]))
  const odd = ofPart.filter((_, at) => parts[at] !== undefined && !isUtf8(Buffer.from(parts[at], 'latin1')))
  const attributes = join(folder, 'attributes')
  writeFileSync(attributes, odd.map(({ name }) => `/${name.replace(/[^\w./-]/g, '?')} -diff\n`).join(''))
  return toPatch(await read([`core.attributesFile=${attributes}`]))
}

const betweenFiles = /(?<=\n)(?=diff --git )/

const toPatch = ({ kept, truncated }: ReturnType<typeof cut>): Pick<TreeDiff, 'patch' | 'truncated'> => ({ patch: kept.toString('utf8'), truncated })

function cut(bytes: Uint8Array, maxBytes: number): { readonly kept: Buffer; readonly truncated: boolean } {
  const kept = Buffer.from(bytes).subarray(0, maxBytes)
  if (kept.length === bytes.length) return { kept, truncated: false }
  // Between two files, so that what is left can be applied; else between two lines.
  const end = kept.lastIndexOf('\ndiff --git ')
  return { kept: kept.subarray(0, (end === -1 ? kept.lastIndexOf('\n') : end) + 1), truncated: true }
}
