import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../core/errors.ts'
import { readPlainText } from './plain-file.ts'
import { readText } from './repository.ts'

/**
 * Which refs a repository does not have, as its files tell it without a process of git. The single files are looked at first and the packed
 * ones second: git packs a ref before it deletes its file, so that one that is there all the time is seen. What a ref that is there stands for,
 * git is asked.
 */

/** With more, git finds a name in it sooner than it is read here. */
const maxPackedBytes = 1024 ** 2
const maxConfigBytes = 256 * 1024

/** Of some refs those that may be there: of branches, tags and remote branches without those that surely are not. */
export function possibleRefs(commonDir: string, refs: readonly string[]): readonly string[] {
  const hasFile = new Set(refs.filter((ref) => !isShared.test(ref) || mayBeFile(join(commonDir, ref))))
  if (hasFile.size === refs.length || !hasRefFiles(commonDir)) return refs
  const packed = readPacked(commonDir)
  return packed === undefined ? refs : refs.filter((ref) => hasFile.has(ref) || packed.includes(` ${ref}\n`))
}

/** Refs of one tree alone are elsewhere. */
const isShared = /^refs\/(?:heads|tags|remotes)\//

/** The full names of the refs below a folder of refs, which ends in `/`; also what git takes for a broken one. Undefined where git has to be asked. */
export function namesBelow(commonDir: string, folder: string): readonly string[] | undefined {
  if (!hasRefFiles(commonDir)) return undefined
  const names = new Set<string>()
  try {
    walk(join(commonDir, folder), folder, names)
  } catch {
    return undefined
  }
  const packed = readPacked(commonDir)
  if (packed === undefined) return undefined
  const mark = ` ${folder}`
  for (let at = packed.indexOf(mark); at !== -1; at = packed.indexOf(mark, at + 1)) names.add(packed.slice(at + 1, packed.indexOf('\n', at)))
  return [...names]
}

function walk(path: string, prefix: string, names: Set<string>): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    // What it leads to, git knows.
    if (entry.isSymbolicLink()) throw new Error(`${path}/${entry.name} is a link`)
    if (entry.isDirectory()) walk(join(path, entry.name), `${prefix}${entry.name}/`, names)
    else if (!entry.name.endsWith('.lock')) names.add(`${prefix}${entry.name}`)
  }
}

/** Whether refs are in files at all; with reftables they are not. */
function hasRefFiles(commonDir: string): boolean {
  const isThere = (name: string): boolean => lstatSync(join(commonDir, name), { throwIfNoEntry: false }) !== undefined
  return !isThere('reftable') && !/refstorage/i.test(readText(join(commonDir, 'config'), maxConfigBytes) ?? '')
}

function mayBeFile(path: string): boolean {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found !== undefined && !found.isDirectory()
  } catch (error) {
    // Another ref stands where its folder would be.
    return errnoOf(error) !== 'ENOTDIR'
  }
}

function readPacked(commonDir: string): string | undefined {
  try {
    return `${readPlainText(join(commonDir, 'packed-refs'), maxPackedBytes)}\n`
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? '' : undefined
  }
}
