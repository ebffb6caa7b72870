import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source } from './source.ts'

const minLines = 20
const match = /^((?:[A-Za-z]:)?[^\s:][^:]{0,300}?):(\d{1,7})(?::(\d{1,6}))?[:-](?!\d)/
const path = /^(?:\.{0,2}\/)?[\w@.+~-]+(?:\/[\w@.+~ -]+)*\/?$/
const maxNames = 5_000

/** Matches as `grep -n` prints them, `file:line:text`: how many in which files. */
export function matches(source: Source): Found | undefined {
  if (!isOf(source, (text) => match.test(text) && !diagnosis.test(text))) return undefined
  const files = new Map<string, number>()
  let count = 0
  for (const { text } of source.lines()) {
    const file = match.exec(text)?.[1]
    if (file === undefined) continue
    count += 1
    add(files, file)
  }
  const facts = [`${plural(count, 'matching line')} in ${plural(files.size, 'file')}${unread(source)}`, ...listed(files, '')]
  return { kind: 'matches', facts, rows: edges(refsOf(source.probe.slice(0, 30)), refsOf(source.last(10))) }
}

/** What a compiler prints has the same form, and is no list of matches. */
const diagnosis = /:\d+:?\s*(?:fatal |internal )?(?:error|warning|note|info)\b/i

/** A list of paths, one a line: how many in which folders, and of which kinds. */
export function paths(source: Source): Found | undefined {
  if (!isOf(source, (text) => path.test(text) && /[/.]/.test(text))) return undefined
  const folders = new Map<string, number>()
  const endings = new Map<string, number>()
  let count = 0
  for (const { text } of source.lines()) {
    if (!path.test(text)) continue
    count += 1
    add(folders, folderOf(text))
    add(endings, /[^/.](\.\w{1,8})$/.exec(text)?.[1] ?? 'without an ending')
  }
  const facts = [`${plural(count, 'path')}${unread(source)}`, ...listed(folders, 'in '), ...listed(endings, 'ending: ')]
  return { kind: 'list of paths', facts, rows: edges(refsOf(source.probe.slice(0, 30)), refsOf(source.last(10))) }
}

function isOf({ probe }: Source, test: (text: string) => boolean): boolean {
  return probe.length >= minLines && probe.filter(({ text }) => test(text)).length >= probe.length * 0.95
}

/** The first folders of a path: enough to tell parts of a project apart. */
function folderOf(text: string): string {
  const parts = text
    .replace(/^\.?\//, '')
    .split('/')
    .slice(0, -1)
  return parts.length === 0 ? 'the top' : parts.slice(0, text.startsWith('/') ? 4 : 2).join('/')
}

function add(counts: Map<string, number>, name: string): void {
  if (counts.has(name) || counts.size < maxNames) counts.set(name, (counts.get(name) ?? 0) + 1)
}

const unread = (source: Source): string => (source.unread > 0 ? `; ${plural(source.unread, 'more line')} not looked at` : '')

function listed(counts: ReadonlyMap<string, number>, before: string): string[] {
  const sorted = [...counts].sort((a, b) => b[1] - a[1])
  const names = sorted.slice(0, 12).map(([name, count]) => `${name} ${count}`)
  return [`${before}${names.join(', ')}${sorted.length > 12 ? `, and ${sorted.length - 12} more` : ''}`]
}
