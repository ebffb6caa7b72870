import { lstat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import type { Channel } from '../core/channel.ts'
import { failure } from '../core/errors.ts'
import { formatCount } from '../core/text.ts'
import { createGit, type Git } from '../git/git.ts'
import type { AppContext } from './context.ts'
import type { FarPlace } from './far.ts'
import type { SiteCall } from './sites.ts'
import { type ArchiveTotals, archive, listTree } from './tree-archive.ts'

/**
 * The workspace is sent to a site that has only a copy of it, once: what git tracks and what it would, or everything where there is no
 * repository. The state of git is not sent.
 */

const maxFiles = 200_000
const maxBytes = 4 * 1024 ** 3
const maxSaid = 4_000
const maxNamed = 10
const tellEveryMs = 500

type SendContext = Pick<AppContext, 'workspaces' | 'ownEnv' | 'repositoryOf'>

/** Says in the site that the tree is whole; what was cut short is sent again. */
const isThere = 'test -e "$1"'
/** The last file of the archive: a tar may take one that was cut short between two files for a whole one. */
const lastFile = '.holdfast-whole'
const unpack = 'tar -x -o -f - -C "$1" && rm "$1/$4" && mkdir -p "$3" && : > "$2"'
/**
 * Where a channel cannot end its input alone: lines of base64 up to a dot. That an archive says itself where it ends is not enough, since the tar
 * of busybox reads on.
 */
const unpackLines = `sed -n '/^\\.$/q;p' | base64 -d | ${unpack}`
const lineBytes = 3 * 1024

/** Resolves to what is to be said of it. */
export async function sendTree(
  context: SendContext,
  { site, runFolder }: Pick<FarPlace, 'site' | 'runFolder'>,
  tree: string,
  call: SiteCall & { readonly title: string },
): Promise<readonly string[]> {
  // Beside the folders of runs, which only Holdfast knows.
  const home = runFolder('x').replace(/\/[^/]+\/[^/]+$/, '')
  const mark = `${home}/copied`
  const looking = await site.open({ argv: ['sh', '-c', isThere, 'sh', mark], signal: call.signal })
  const { canEndInput } = looking
  const { exitCode } = await finish(looking)
  if (exitCode === 0) return []
  const paths = await listFiles(context, tree)
  await checkSize(tree, paths, call.title)
  call.onStep?.(`copying ${formatCount(paths.length)} entries to ${call.title}`)
  const totals: ArchiveTotals = { files: 0, bytes: 0, changed: [] }
  const unpacking = await site.open({ argv: ['sh', '-c', canEndInput ? unpack : unpackLines, 'sh', site.root, mark, home, lastFile], signal: call.signal })
  const pieces = archive(Buffer.from(tree), paths, totals, lastFile)
  const sent = pump(unpacking, canEndInput ? pieces : linesOf(pieces), totals, call)
  const [ended] = await Promise.all([finish(unpacking), sent])
  if (ended.exitCode !== 0) {
    const why = ended.said.trim() || `tar ended with ${ended.exitCode ?? 'a signal'}`
    throw failure('backend_refused', { target: call.title, what: 'a copy of the workspace', why })
  }
  const { changed } = totals
  if (changed.length === 0) return []
  const names = changed.slice(0, maxNamed).join(', ')
  return [`not whole at ${site.title}, since they changed while they were copied or cannot be read: ${names}${changed.length > maxNamed ? ', ...' : ''}`]
}

async function listFiles({ workspaces, ownEnv, repositoryOf }: SendContext, tree: string): Promise<Buffer[]> {
  const repository = repositoryOf(tree)
  if (!repository || repository.root !== tree) {
    const all: Buffer[] = []
    for await (const path of listTree(Buffer.from(tree))) {
      all.push(path)
      if (all.length > maxFiles) break
    }
    return all
  }
  const { runProgram } = await workspaces.openTools()
  const git = createGit({ runProgram, ownEnv })
  const found: Buffer[] = []
  await listRepository(git, Buffer.from(tree), Buffer.alloc(0), found)
  return found
}

/** With what is in submodules and other repositories below it, which git names without looking into them. */
async function listRepository(git: Git, root: Buffer, below: Buffer, found: Buffer[]): Promise<void> {
  const folder = join(root, below)
  const { bytes } = await git.require(`listing the files of ${folder}`, {
    args: ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    cwd: folder.toString(),
    reads: true,
  })
  for (const name of split(Buffer.from(bytes))) {
    if (found.length > maxFiles) return
    const path = join(below, name.at(-1) === slash ? name.subarray(0, -1) : name)
    found.push(path)
    const stats = await lstat(join(root, path)).catch(() => undefined)
    if (!stats?.isDirectory()) continue
    // Where there is no repository of its own, git would tell of the one above.
    if (await lstat(join(join(root, path), Buffer.from('.git'))).catch(() => undefined)) await listRepository(git, root, path, found)
  }
}

const slash = 47
const join = (folder: Buffer, name: Buffer): Buffer =>
  folder.length === 0 ? name : name.length === 0 ? folder : Buffer.concat([folder, Buffer.of(slash), name])

function split(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from)
    parts.push(bytes.subarray(from, end === -1 ? bytes.length : end))
    from = end === -1 ? bytes.length : end + 1
  }
  return parts
}

async function checkSize(tree: string, paths: readonly Buffer[], title: string): Promise<void> {
  let bytes = 0
  for (const path of paths.slice(0, maxFiles)) bytes += (await lstat(Buffer.concat([Buffer.from(`${tree}/`), path])).catch(() => undefined))?.size ?? 0
  if (paths.length <= maxFiles && bytes <= maxBytes) return
  const why = `it has ${paths.length > maxFiles ? `more than ${formatCount(maxFiles)} files` : `${formatCount(bytes)} bytes`}; mount it, or ignore what is not needed there`
  throw failure('backend_refused', { target: title, what: 'a copy of the workspace', why })
}

async function pump(
  { stdin, canEndInput }: Channel,
  pieces: AsyncIterable<Uint8Array | string>,
  totals: ArchiveTotals,
  { onStep, title }: SiteCall & { title: string },
): Promise<void> {
  let failed = false
  stdin.on('error', () => {
    failed = true
  })
  let at = performance.now()
  for await (const piece of pieces) {
    if (failed || stdin.destroyed) return
    if (!stdin.write(piece)) await untilRoom(stdin)
    if (performance.now() - at < tellEveryMs) continue
    at = performance.now()
    onStep?.(`copying to ${title}: ${formatCount(totals.files)} files, ${formatCount(totals.bytes)} bytes`)
  }
  if (canEndInput) stdin.end()
}

/** Or until nobody takes it any more. */
function untilRoom(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stdin.off('drain', done).off('close', done)
      resolve()
    }
    stdin.on('drain', done).on('close', done)
  })
}

/** Whole words of base64, but for the last one. */
async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Uint8Array = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes = Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % 3)
    let lines = ''
    for (let at = 0; at < whole; at += lineBytes) lines += `${bytes.toString('base64', at, Math.min(at + lineBytes, whole))}\n`
    rest = bytes.subarray(whole)
    if (lines !== '') yield lines
  }
  // Some programs only see a line once there is a further one.
  yield `${Buffer.from(rest).toString('base64')}\n.\n.\n.\n`
}

async function finish(channel: Channel): Promise<{ exitCode: number | undefined; said: string }> {
  try {
    channel.stdout.resume()
    const [said, ended] = await Promise.all([textOf(channel.stderr), channel.ended])
    return { exitCode: 'exitCode' in ended ? ended.exitCode : undefined, said }
  } finally {
    channel.close()
  }
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const piece of stream as AsyncIterable<Uint8Array>) if (text.length < maxSaid) text += Buffer.from(piece).toString('utf8')
  return text
}
