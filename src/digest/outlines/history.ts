import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source, type SourceLine } from './source.ts'

/** What `git log` prints: how many commits, by whom, from when to when, and the first subjects. */
export function history(source: Source): Found | undefined {
  const commit = /^(?:\* )?commit [0-9a-f]{7,64}\b/
  if (!commit.test(source.probe[0]?.text ?? '')) return undefined
  const authors = new Map<string, number>()
  const subjects: SourceLine[] = []
  let commits = 0
  let first: string | undefined
  let last: string | undefined
  let waiting = false
  for (const line of source.lines()) {
    const { text } = line
    if (commit.test(text)) {
      commits += 1
      waiting = true
      continue
    }
    const author = /^\W{0,8}Author:\s+(.{1,120}?)(?: <.{0,120}>)?$/.exec(text)?.[1]
    if (author !== undefined && (authors.size < 200 || authors.has(author))) authors.set(author, (authors.get(author) ?? 0) + 1)
    const date = /^\W{0,8}(?:Author)?Date:\s+(.{4,60})$/.exec(text)?.[1]
    if (date !== undefined) {
      first ??= date
      last = date
    }
    if (waiting && /^\W{0,8} {4}\S/.test(text)) {
      subjects.push(line)
      waiting = false
    }
  }
  const by = [...authors].sort((a, b) => b[1] - a[1]).slice(0, 8)
  const facts = [
    `${plural(commits, 'commit')}${first === undefined ? '' : `, ${last === first ? first : `${last} to ${first}`}`}${source.unread > 0 ? `; ${plural(source.unread, 'more line')} not looked at` : ''}`,
    ...(by.length > 0 ? [`by ${by.map(([name, count]) => `${name} ${count}`).join(', ')}`] : []),
  ]
  const refs = refsOf(subjects)
  return { kind: 'git history', facts, rows: [...edges(refs.slice(0, 4), refs.length > 4 ? refs.slice(-1) : []), ...refs.slice(4)] }
}
