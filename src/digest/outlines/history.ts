import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source, type SourceLine } from './source.ts'

// A hash, what refers to it, and the subject, as `--oneline` prints them, or with a date and an author between.
const commitLine = /^(?:[*|\\/ ]{1,40} )?[0-9a-f]{7,40} (?=\S)/
const minCommits = 8

/** `git log` with a line for each commit: how many, from when to when where they have dates, and the first and last. */
export function shortHistory(source: Source): Found | undefined {
  const hashes = new Set(source.probe.map(({ text }) => commitLine.exec(text)?.[0].trim()))
  // Hashes differ, and hold letters; numbers at the beginning of lines do not.
  if (hashes.has(undefined) || hashes.size < Math.max(minCommits, source.probe.length) || ![...hashes].some((hash) => /[a-f]/.test(hash ?? '')))
    return undefined
  let commits = 0
  const dates: string[] = []
  for (const { text } of source.lines()) {
    if (!commitLine.test(text)) continue
    commits += 1
    const date = /\b\d{4}-\d\d-\d\d\b/.exec(text.slice(0, 120))?.[0]
    if (date !== undefined) dates[dates.length === 0 ? 0 : 1] = date
  }
  const [newest, oldest = newest] = dates
  const when = newest === undefined ? '' : `, ${oldest === newest ? newest : `${oldest} to ${newest}`}`
  const unread = source.unread > 0 ? `; ${plural(source.unread, 'more line')} not looked at` : ''
  return { kind: 'git history', facts: [`${plural(commits, 'commit')}${when}${unread}`], rows: edges(refsOf(source.probe.slice(0, 8)), refsOf(source.last(4))) }
}

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
