import { defaultMaxEntries, type FileEntry, type FileList } from '../core/files.ts'
import { kindOfMode } from './shell-file-reading.ts'
import type { ScriptTalk } from './shell-file-writing.ts'

const listMs = 10 * 60_000
/** So many arguments, of up to 255 bytes each, are looked at by one request. */
const requestNames = 2_000
const lineBytes = 3 * 1024

interface Name {
  readonly raw: Buffer
  readonly name: string
}

/** See Files.list. The names are all sent; what they are is asked of those that are given. */
export async function listed(
  talk: ScriptTalk,
  { max = defaultMaxEntries, after }: { max?: number | undefined; after?: string | undefined },
): Promise<FileList> {
  const path = (await talk.answer('listed')).texts[0] ?? ''
  const found = namesIn((await talk.answer('names', listMs)).bytes)
    .filter(({ name }) => after === undefined || name > after)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : Buffer.compare(a.raw, b.raw)))
  const entries: FileEntry[] = []
  const page = found.slice(0, max)
  for (let at = 0; at < page.length; at += requestNames) entries.push(...(await entriesOf(talk, page.slice(at, at + requestNames))))
  return { path, entries, more: found.length > max }
}

const separator = Buffer.from('\0./')

/** As `find . -print0` gives them. */
function namesIn(bytes: Buffer): Name[] {
  const names: Name[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0, from)
    if (end < 0) break
    const raw = bytes.subarray(from + './'.length, end)
    names.push({ raw, name: raw.toString('utf8') })
    from = end + 1
  }
  return names
}

async function request(talk: ScriptTalk, what: 'facts' | 'links', names: readonly Name[]): Promise<Buffer> {
  const all = Buffer.concat(names.flatMap(({ raw }) => [separator, raw])).subarray(1)
  const bytes = Buffer.concat([all, Buffer.alloc(1)])
  let lines = `${what}\n`
  for (let at = 0; at < bytes.length; at += lineBytes) lines += `${bytes.subarray(at, at + lineBytes).toString('base64')}\n`
  await talk.within(listMs, talk.send(`${lines}.\n`))
  return (await talk.answer(what, listMs)).bytes
}

async function entriesOf(talk: ScriptTalk, names: readonly Name[]): Promise<FileEntry[]> {
  const facts = await request(talk, 'facts', names)
  const entries: (Name & Omit<FileEntry, 'target' | 'name'>)[] = []
  let at = 0
  for (const each of names) {
    // Those that are gone by now have no line; each line ends with its name, whatever is in that.
    const [head = '', mode = '', bytes = ''] = /^([0-9a-f]+) (\d+) \.\//.exec(facts.toString('latin1', at, at + 40)) ?? []
    const start = at + head.length
    if (head === '' || !facts.subarray(start, start + each.raw.length).equals(each.raw) || facts[start + each.raw.length] !== lineFeed) continue
    at = start + each.raw.length + 1
    entries.push({ ...each, kind: kindOfMode(mode), bytes: Number(bytes) })
  }
  const links = entries.filter(({ kind }) => kind === 'link')
  const targets = links.length > 0 ? targetsIn(await request(talk, 'links', links)) : []
  return entries.map(({ name, kind, bytes }) => ({ name, kind, bytes, target: kind === 'link' ? (targets.shift() ?? null) : null }))
}

const lineFeed = 10

/** Of a link that is gone by now it is empty. */
const targetsIn = (bytes: Buffer): (string | null)[] =>
  bytes
    .toString('utf8')
    .split('\0')
    .map((target) => (target === '' ? null : target.replace(/\n$/, '')))
