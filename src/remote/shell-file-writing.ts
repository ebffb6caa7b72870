import { createHash, randomBytes } from 'node:crypto'
import { failure } from '../core/errors.ts'
import { ContentFailed, toldApart } from '../core/file-content.ts'
import { joinNames, meansDirectory, parsePath, refuseGit } from '../core/file-path.ts'
import type { FileWritten, UploadOptions } from '../core/files.ts'
import type { FileScript } from './shell-files-script.ts'
import type { Message, Talk } from './shell-talk.ts'

/** Does something with a script of ours there, which is let go of afterwards. Its refusals are those of the path. */
export type WithScript = <T>(script: FileScript, path: string, args: readonly string[], act: (talk: ScriptTalk) => Promise<T>) => Promise<T>
export interface ScriptTalk extends Talk {
  /** The next message; rejects where it is a refusal. */
  answer(word: string, ms?: number): Promise<Message>
  /** The same, of one of these words. */
  answers(words: readonly string[], ms?: number): Promise<Message>
}

/** The disk there may be slow. */
const sentMs = 60_000
const storedMs = 10 * 60_000
/** Whole words of base64, and of a size that is worth a message. */
const pieceBytes = 192 * 1024
const lineBytes = 3 * 1024

const nonce = (): string => randomBytes(8).toString('hex')
const writtenOf = ({ texts: [path = '', created = '', route = ''] }: Message, bytes: number): FileWritten => ({
  path,
  bytes,
  created: created === '1',
  route: route === 'in-place' ? 'in-place' : 'staged',
})

/** The names of a path whose end is to be changed. */
export function changeable(path: string): string {
  const names = parsePath(path)
  refuseGit(path, names)
  return names.length === 0 ? '' : joinNames(names)
}

const aim = (path: string): readonly [string, string] => [changeable(path), meansDirectory(path) ? 'd' : 'f']

/** See Files.write and Files.append. */
export async function putShellFile(withScript: WithScript, script: 'write' | 'append', path: string, content: string | Uint8Array): Promise<FileWritten> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return withScript(script, path, [...aim(path), nonce(), String(bytes.length), sha256, nonce()], async (talk) => {
    const written = until(talk.answer('written', Number.POSITIVE_INFINITY))
    await begin(talk, written)
    for (let at = 0; at < bytes.length && !written.isOver(); at += pieceBytes) await give(talk, bytes.subarray(at, at + pieceBytes), written)
    await finish(talk, written)
    return writtenOf(await talk.within(storedMs, written.answer), bytes.length)
  })
}

interface Awaited<T> {
  readonly answer: Promise<T>
  /** Resolves with it, also where it is a refusal. */
  readonly over: Promise<void>
  isOver(): boolean
}

/** An answer that may come before all was said. */
function until<T>(answer: Promise<T>): Awaited<T> {
  let isOver = false
  const over = answer.then(
    () => {},
    () => {},
  )
  void over.then(() => {
    isOver = true
  })
  return { answer, over, isOver: () => isOver }
}

const say = (talk: ScriptTalk, bytes: Uint8Array | string, { over }: Awaited<unknown>): Promise<void> =>
  talk.within(sentMs, Promise.race([talk.send(bytes), over]))

const begin = (talk: ScriptTalk, answer: Awaited<unknown>): Promise<void> => say(talk, talk.canEndInput ? 'raw\n' : 'framed\n', answer)

async function give(talk: ScriptTalk, piece: Uint8Array, answer: Awaited<unknown>): Promise<void> {
  if (talk.canEndInput) return say(talk, piece, answer)
  let lines = ''
  for (let at = 0; at < piece.length; at += lineBytes) lines += `${Buffer.from(piece.subarray(at, at + lineBytes)).toString('base64')}\n`
  return say(talk, lines, answer)
}

async function finish(talk: ScriptTalk, answer: Awaited<unknown>): Promise<void> {
  if (talk.canEndInput) talk.endInput()
  else await say(talk, '.\n.\n.\n', answer)
}

interface Staged {
  readonly at: string
  readonly bytes: number
  readonly sha256: string
}

/** See Files.upload. */
export async function uploadShellFile(
  withScript: WithScript,
  path: string,
  content: AsyncIterable<Uint8Array>,
  { mode, sha256 }: UploadOptions,
): Promise<FileWritten & { readonly sha256: string }> {
  const target = aim(path)
  const { staged, failed } = await withScript('stage', path, [...target, nonce()], (talk) => fillStage(path, talk, content, sha256))
  try {
    if (failed) throw failed
    const permissions = mode === undefined ? '' : (mode & 0o777).toString(8)
    const written = await withScript('commit', path, [...target, nonce(), staged.at, permissions], (talk) => talk.answer('written', storedMs))
    return { ...writtenOf(written, staged.bytes), sha256: staged.sha256 }
  } catch (error) {
    // Where nobody can be asked any more, it is cleared by a write after a day.
    await withScript('discard', path, [staged.at], (talk) => talk.answer('discarded')).catch(() => {})
    throw error instanceof ContentFailed ? error.cause : error
  }
}

/** The content in a file of its own there, and what is wrong with it. */
async function fillStage(
  path: string,
  talk: ScriptTalk,
  content: AsyncIterable<Uint8Array>,
  given: Promise<string> | undefined,
): Promise<{ readonly staged: Staged; readonly failed?: Error }> {
  // Before anything of the content is taken.
  await talk.answer('ready')
  const reply = until(talk.answer('staged', Number.POSITIVE_INFINITY))
  await begin(talk, reply)
  const hash = createHash('sha256')
  let bytes = 0
  let failed: Error | undefined
  try {
    for await (const piece of even(toldApart(content))) {
      if (reply.isOver()) break
      hash.update(piece)
      bytes += piece.length
      await give(talk, piece, reply)
    }
  } catch (error) {
    if (!(error instanceof ContentFailed)) throw error
    failed = error
  }
  await finish(talk, reply)
  const { texts } = await talk.within(storedMs, reply.answer)
  const staged = { at: texts[0] ?? '', bytes, sha256: hash.digest('hex') }
  if (!failed && (texts[1] !== String(bytes) || texts[2] !== staged.sha256 || (given && (await given) !== staged.sha256)))
    failed = failure('file_changed', { path, why: `${bytes} bytes were sent, and ${texts[1]} arrived, or others` })
  return failed ? { staged, failed } : { staged }
}

/** The same bytes in pieces of the one size, but the last. */
async function* even(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  for await (const piece of content) {
    // Whoever gives it may fill it anew.
    held.push(Buffer.from(piece))
    heldBytes += piece.length
    if (heldBytes < pieceBytes) continue
    const all = Buffer.concat(held)
    let at = 0
    for (; all.length - at >= pieceBytes; at += pieceBytes) yield all.subarray(at, at + pieceBytes)
    held = [all.subarray(at)]
    heldBytes = all.length - at
  }
  if (heldBytes > 0) yield Buffer.concat(held)
}
