import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPlain } from './plain-file.ts'

/** A file of an administrative folder, by its path in it. */
export interface KeptFile {
  readonly name: string
  readonly content: Buffer
}

// What git keeps of an operation that is not over (gitrepository-layout(5), and the folders of git-rebase(1), git-am(1), sequencer).
const operationFiles = [
  'MERGE_HEAD',
  'MERGE_MSG',
  'MERGE_MODE',
  'MERGE_RR',
  'MERGE_AUTOSTASH',
  'AUTO_MERGE',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'REBASE_HEAD',
  'ORIG_HEAD',
  'SQUASH_MSG',
  'COMMIT_EDITMSG',
  'BISECT_LOG',
  'BISECT_START',
  'BISECT_NAMES',
  'BISECT_TERMS',
  'BISECT_EXPECTED_REV',
  'BISECT_ANCESTORS_OK',
  'BISECT_FIRST_PARENT',
  'BISECT_HEAD',
]
// A reflog of years.
const maxKeptBytes = 256 * 1024 ** 2
const operationFolders = ['rebase-merge', 'rebase-apply', 'sequencer']

/** What says that work stands still in the middle, and would be lost with the folder. */
const underWay = ['rebase-merge', 'rebase-apply', 'MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'sequencer', 'BISECT_LOG', 'MERGE_AUTOSTASH'] as const

const words: Readonly<Record<(typeof underWay)[number], string>> = {
  'rebase-merge': 'rebase',
  'rebase-apply': 'rebase',
  MERGE_HEAD: 'merge',
  MERGE_AUTOSTASH: 'merge',
  CHERRY_PICK_HEAD: 'cherry-pick',
  REVERT_HEAD: 'revert',
  sequencer: 'cherry-pick',
  BISECT_LOG: 'bisect',
}

/** What goes on in a tree, or null. */
export function operationIn(adminDir: string): string | null {
  const found = underWay.find((name) => isThere(join(adminDir, name)))
  return found === undefined ? null : words[found]
}

/** The files of an operation, also of one that is over. */
export function operationState(adminDir: string): KeptFile[] {
  return [...operationFiles.flatMap((name) => read(adminDir, name)), ...operationFolders.flatMap((name) => readAll(adminDir, name))]
}

/** The reflog of HEAD, which dies with the tree. */
export const headLog = (adminDir: string): KeptFile[] => read(adminDir, 'logs/HEAD')

/** The stashes of a repository, older ones too. */
export const stashLog = (commonDir: string): KeptFile[] => read(commonDir, 'logs/refs/stash')

/** Where the linked worktrees of a repository are, and were: wherever their files lie, their commits are in it. */
export function headsOfTrees(commonDir: string): KeptFile[] {
  return readEach(commonDir, 'worktrees').flatMap((folder) => [...read(commonDir, `${folder}/HEAD`), ...read(commonDir, `${folder}/logs/HEAD`)])
}

/** Whether a file of that name is one of those that an operation leaves. */
export function isOperationState(name: string): boolean {
  const [first = '', ...rest] = name.split('/')
  if (rest.length === 0) return operationFiles.includes(first)
  return operationFolders.includes(first) && rest.every((part) => !['', '.', '..'].includes(part))
}

/** Every whole name of an object that stands in these texts. */
export function namesIn(files: readonly KeptFile[]): string[] {
  const found = new Set<string>()
  for (const { content } of files) {
    for (const [name] of content.toString('latin1').matchAll(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g)) if (!/^0+$/.test(name)) found.add(name)
  }
  return [...found]
}

function readEach(adminDir: string, folder: string): string[] {
  try {
    return readdirSync(join(adminDir, folder)).map((name) => `${folder}/${name}`)
  } catch {
    return []
  }
}

function readAll(adminDir: string, folder: string): KeptFile[] {
  return readEach(adminDir, folder).flatMap((path) => (lstatSync(join(adminDir, path)).isDirectory() ? readAll(adminDir, path) : read(adminDir, path)))
}

function read(adminDir: string, name: string): KeptFile[] {
  const path = join(adminDir, name)
  // A link or a pipe is nothing that git put there.
  if (!isThere(path) || !lstatSync(path).isFile()) return []
  return [{ name, content: readPlain(path, maxKeptBytes) }]
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
