import type { Site } from '../core/channel.ts'
import { failure } from '../core/errors.ts'
import { fileCalls } from '../core/file-calls.ts'
import { isGitName, joinNames, parsePath } from '../core/file-path.ts'
import type { FileLink, FileStat, Files } from '../core/files.ts'
import { Swapped, shellFault } from './shell-fault.ts'
import { listed } from './shell-file-list.ts'
import { downloadShellFile, firstBytes, type OpenThere, openShellFile, statOf } from './shell-file-reading.ts'
import { changeable, putShellFile, type ScriptTalk, uploadShellFile, type WithScript } from './shell-file-writing.ts'
import { type FileScript, fileScripts } from './shell-files-script.ts'
import { type Message, openTalk } from './shell-talk.ts'

const answerMs = 60_000
/** A large tree may be removed, or looked through, on a slow disk. */
const workMs = 10 * 60_000
// Whoever swaps it without end is told that it cannot be used.
const maxAttempts = 50

/** Files of a site without a supervisor, by a shell there. Between a look at a path and its use another process may put a link in its place. */
export function createShellFiles(site: Site): Files {
  const { root } = site

  async function open(script: FileScript, path: string, args: readonly string[], second = path): Promise<ScriptTalk> {
    const talk = await openTalk(site, fileScripts[script], [root, ...args])
    const answers = async (words: readonly string[], ms = answerMs): Promise<Message> => {
      const asked = talk.next()
      const message = await (ms === Number.POSITIVE_INFINITY ? asked : talk.within(ms, asked))
      if (words.includes(message.word)) return message
      if (message.word !== 'failed') throw failure('internal', { what: `a script said ${message.word}, not ${words.join(' or ')}` })
      const [whose, ...why] = message.texts
      throw shellFault(root, whose === '1' ? second : path, why)
    }
    return { ...talk, answers, answer: (word, ms) => answers([word], ms) }
  }

  async function settled<T>(path: string, act: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await act()
      } catch (error) {
        if (!(error instanceof Swapped)) throw error
        if (attempt >= maxAttempts) throw failure('file_failed', { path, errno: 'ELOOP' }, error)
      }
    }
  }

  const withScripts =
    (second?: string): WithScript =>
    (script, path, args, act) =>
      settled(path, async () => {
        const talk = await open(script, path, args, second)
        try {
          return await act(talk)
        } finally {
          talk.close()
        }
      })
  const withScript = withScripts()

  const asked = (path: string): string => {
    const names = parsePath(path)
    return names.length === 0 ? '' : joinNames(names)
  }

  interface Found {
    readonly path: string
    readonly absolute: string
    readonly stat: FileStat | undefined
    readonly links: readonly FileLink[]
  }

  async function look(path: string, letters = ''): Promise<Found> {
    return withScript('look', path, [asked(path), letters], async (talk) => {
      const links: FileLink[] = []
      for (;;) {
        const { word, texts } = await talk.answers(['link', 'found'])
        const [first = '', second = '', third = ''] = texts
        if (word === 'found') return { path: first, absolute: second, stat: third === '' ? undefined : statOf(first, third), links }
        links.push({ path: first === '' ? null : first, target: second })
      }
    })
  }

  const openThere: OpenThere = (path, from, length) =>
    settled(path, async () => {
      const talk = await open('open', path, [asked(path), String(from), String(length)])
      try {
        return { ...talk, opened: (await talk.answer('opened')).texts }
      } catch (error) {
        talk.close()
        throw error
      }
    })

  /** A directory is only removed or moved where nothing in it belongs to git. */
  async function unlessHeld(talk: ScriptTalk, path: string, word: string): Promise<Message> {
    const first = await talk.answers(['below', word], workMs)
    if (first.word === word) return first
    if (first.texts.some((name) => isGitName(name.slice(name.lastIndexOf('/') + 1)))) throw failure('file_outside', { path, why: 'holds what belongs to git' })
    await talk.within(answerMs, talk.send('go\n'))
    return talk.answer(word, workMs)
  }

  return {
    ...fileCalls({ look, firstBytes, open: (path, { from, length }) => openShellFile(openThere, path, from, length) }),
    write: (path, content) => putShellFile(withScript, 'write', path, content),
    append: (path, content) => putShellFile(withScript, 'append', path, content),
    upload: (path, content, options = {}) => uploadShellFile(withScript, path, content, options),
    download: (path) => downloadShellFile(openThere, path),
    list: async (path, range = {}) => withScript('list', path, [asked(path)], (talk) => listed(talk, range)),
    mkdir: async (path) => {
      const made = await withScript('mkdir', path, [changeable(path)], (talk) => talk.answer('made'))
      return { path: made.texts[0] ?? '', created: made.texts[1] === '1' }
    },
    remove: async (path, { recursive = false } = {}) => {
      const removed = await withScript('remove', path, [changeable(path), recursive ? 'r' : ''], (talk) => unlessHeld(talk, path, 'removed'))
      const [where = '', facts = '', entries = ''] = removed.texts
      return { path: where, kind: statOf(where, facts).kind, entries: Number(entries) }
    },
    move: async (from, to, { replace = false } = {}) => {
      const moved = await withScripts(to)('move', from, [changeable(from), changeable(to), replace ? 'r' : ''], (talk) => unlessHeld(talk, from, 'moved'))
      const [before = '', where = '', replaced = ''] = moved.texts
      return { from: before, path: where, replaced: replaced === '1' }
    },
    async linkChain(path) {
      const { links, path: where, stat } = await look(path, 't')
      return { links, path: where, exists: stat !== undefined }
    },
    openBound: (path) => openShellFile(openThere, path, 0, 0),
  }
}
