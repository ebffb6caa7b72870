import { formatDuration } from '../core/limits.ts'
import { isFailing, type RunRecord } from '../core/run.ts'
import type { Note } from '../core/store.ts'
import { byteLength, headBytes, oneLine, stripControls } from '../core/text.ts'
import { rankNotes } from './notes.ts'

/** Everything that a context snapshot is made of. Texts may come from anybody; secrets in them are masked already. */
export interface SnapshotSources {
  readonly now: Date
  readonly root: string
  readonly branch: string | null
  /** What is being worked on, in the words of whoever asks for the snapshot; may have several lines. */
  readonly context: string | null
  readonly notes: readonly Note[]
  /** Ended runs, newest first. */
  readonly runs: readonly RunRecord[]
  readonly running: readonly RunRecord[]
}

interface Section {
  readonly heading: string
  readonly items: readonly string[]
  /** Its part of the page where all sections have more to say than fits. */
  readonly share: number
}

const maxNotes = 12
const maxRuns = 10

/**
 * The page to go on from after an agent's context was compacted: at most `limit` bytes with its final line feed, for
 * every input and every limit from 0 up. Each section has a share of its own; what one does not need goes to the
 * others. A line of ours begins with `#`; a line of others always begins with `- ` or `> `, so no text can forge a heading.
 */
export function buildSnapshot(sources: SnapshotSources, limit: number): string {
  const where = oneLine(sources.root) + (sources.branch === null ? '' : ` (${oneLine(sources.branch)})`)
  const title = clamp(`# Context snapshot ${sources.now.toISOString()} ${where}`, Math.max(0, Math.min(limit - 1, 300)))
  const sections = sectionsOf(sources)
  const body = sections.length === 0 ? ['No runs and no notes yet.'] : fill(sections, limit - byteLength(title) - 2)
  return finish([title, ...body], limit)
}

/** Joins the lines; where even they are too long, cuts at a character and keeps the final line feed. */
function finish(lines: readonly string[], limit: number): string {
  if (limit <= 0) return ''
  const text = lines.join('\n').trimEnd()
  return `${byteLength(text) < limit ? text : headBytes(text, limit - 1).trimEnd()}\n`
}

function sectionsOf({ context, notes, runs, running }: SnapshotSources): Section[] {
  const failingFirst = [...runs.filter(isFailing), ...runs.filter((run) => !isFailing(run))].slice(0, maxRuns)
  return [
    { heading: '## Active context', items: contextLines(context ?? ''), share: 0.35 },
    { heading: '## Running commands', items: running.map((run) => `- ${run.id} ${describe(run)}`), share: 0.15 },
    { heading: '## Recent runs', items: failingFirst.map((run) => `- ${run.id} ${endOf(run)}: ${describe(run)}`), share: 0.3 },
    {
      heading: '## Notes',
      items: rankNotes(notes)
        .slice(0, maxNotes)
        .map((note) => `- [${note.category}] ${oneLine(note.text)}`),
      share: 0.2,
    },
  ].filter(({ items }) => items.length > 0)
}

function contextLines(text: string): string[] {
  return text
    .split(/[\r\n\v\f\u0085\u2028\u2029]+/)
    .map((line) => stripControls(line).trimEnd())
    .filter((line) => line !== '')
    .map((line) => `> ${line}`)
}

function describe(run: RunRecord): string {
  const command = oneLine(run.command)
  const purpose = run.purpose === null ? '' : oneLine(run.purpose)
  return purpose === '' ? command : `${purpose} (${command})`
}

function endOf(run: RunRecord): string {
  if (run.state === 'interrupted') return 'interrupted'
  if (run.state === 'failed') return 'failed to start'
  const took = run.durationMs === null ? '' : ` after ${formatDuration(run.durationMs)}`
  const { kind, exitCode, signal, limit } = run.outcome ?? { kind: 'lost', exitCode: null, signal: null, limit: null }
  switch (kind) {
    case 'exited':
      return `exit ${exitCode}`
    case 'signaled':
      return `signal ${signal}`
    case 'timed_out':
      return `timed out (${limit})${took}`
    case 'canceled':
      return `canceled${took}`
    case 'lost':
      return 'lost'
  }
}

/** The longest item: one long command must not push all others out of its section. */
const maxItemBytes = 240

function fill(sections: readonly Section[], room: number): string[] {
  const needs = sections.map((section) => textBytes([section.heading, ...section.items.map(shorten)]))
  const parts = divide(
    needs,
    sections.map(({ share }) => share),
    room,
  )
  return sections.flatMap((section, i) => fitSection(section, parts[i] as number))
}

const shorten = (item: string): string => clamp(item, maxItemBytes)
/** With a line feed behind each. */
const textBytes = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + byteLength(line) + 1, 0)

/** Gives each what it needs, or its share of what is left; what small ones leave over goes to the large ones. */
function divide(needs: readonly number[], shares: readonly number[], room: number): number[] {
  const given = needs.map(() => 0)
  const open = new Set(needs.keys())
  let left = Math.max(0, room)
  while (open.size > 0) {
    const total = [...open].reduce((sum, i) => sum + (shares[i] as number), 0)
    const satisfied = [...open].filter((i) => (needs[i] as number) <= (left * (shares[i] as number)) / total)
    if (satisfied.length === 0) {
      for (const i of open) given[i] = Math.floor((left * (shares[i] as number)) / total)
      return given
    }
    for (const i of satisfied) {
      given[i] = needs[i] as number
      open.delete(i)
    }
    left -= satisfied.reduce((sum, i) => sum + (needs[i] as number), 0)
  }
  return given
}

function fitSection({ heading, items }: Section, room: number): string[] {
  const lines = items.map(shorten)
  if (textBytes([heading, ...lines]) <= room) return [heading, ...lines]
  const kept: string[] = []
  let used = byteLength(heading) + 1
  for (const line of lines) {
    const rest = more(lines.length - kept.length - 1)
    if (used + byteLength(line) + 1 + (rest === '' ? 0 : byteLength(rest) + 1) > room) break
    kept.push(line)
    used += byteLength(line) + 1
  }
  const left = lines.length - kept.length
  // A first item that does not fit whole is worth more than the count of those that are left out.
  if (kept.length === 0) {
    const space = room - used - 1
    return space >= 40 ? [heading, clamp(lines[0] as string, space)] : []
  }
  return [heading, ...kept, more(left)]
}

const more = (count: number): string => (count > 0 ? `- (${count} more)` : '')

function clamp(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text
  const mark = '...'
  return maxBytes < 8 ? headBytes(text, maxBytes) : headBytes(text, maxBytes - mark.length).trimEnd() + mark
}
