/**
 * The context snapshot: one page that tells an agent after a compaction where it stood. It never has more bytes than
 * asked for, its final line feed included, and text of others cannot look like a part of it: only headings of ours begin
 * with `#`, active context begins with `>`, and everything else is an item that begins with `- `.
 */

import { formatDuration } from '../core/limits.ts'
import type { Note } from '../core/note.ts'
import { isFailing, type RunRecord } from '../core/run.ts'
import { byteLength, clampLine, headBytes, plural, stripControls } from '../core/text.ts'
import { rankNotes } from './notes.ts'
import type { BackgroundShell, SessionFacts } from './session-facts.ts'
import { clean, item, type Section } from './snapshot-parts.ts'
import { sessionSections } from './snapshot-session.ts'

export interface SnapshotSources {
  readonly now: Date
  readonly root: string
  readonly branch: string | null
  /** What the agent says it is doing; any number of lines. Masked, like all texts here. */
  readonly context: string | null
  readonly notes: readonly Note[]
  /** Newest first. Running ones are passed over. */
  readonly runs: readonly RunRecord[]
  readonly running: readonly RunRecord[]
  /** The session of an agent that the snapshot is of. */
  readonly session?: SnapshotSession | null
}

export interface SnapshotSession {
  readonly id: string
  /** The agent, as people call it. */
  readonly host: string
  /** How old what is told of it is; null where it is told now. */
  readonly ageMs: number | null
  readonly facts: SessionFacts
}

/** At most `limit` bytes of UTF-8, the final line feed included; empty for a limit of 0. Every limit and every input is good. */
export function buildSnapshot(sources: SnapshotSources, limit: number): string {
  const room = Number.isNaN(limit) ? -1 : Math.floor(Math.min(limit, Number.MAX_SAFE_INTEGER)) - 1
  if (room < 0) return ''
  const header = headerOf(sources)
  let sections = sectionsOf(sources, requestBytes[0])
  if (sections.length === 0) header.push('', '- nothing is recorded yet')
  const first = wholeLines(header, room)
  const left = room - byteLength(first)
  if (sources.session) {
    for (const bytes of requestBytes.slice(1)) {
      if (sum(wantedBy(sections)) <= left) break
      sections = sectionsOf(sources, bytes)
    }
  }
  return `${first}${fillSections(sections, left)}\n`
}

/** How much of what a person asked for is told word for word: as much as leaves room for all the rest, and never less than the last. */
const requestBytes = [700, 400, 220] as const

function sectionsOf({ context, notes, runs, running, session, root }: SnapshotSources, requestBytes: number): Section[] {
  const sections = [
    ...(session ? sessionSections(session.facts, root, requestBytes) : []),
    contextSection(context),
    notesSection(notes),
    runsSection(runs, session ? 15 : 30),
    runningSection(running, session?.facts.background ?? []),
  ]
  return sections.filter(({ lines }) => lines.length > 0)
}

function headerOf({ now, root, branch, session }: SnapshotSources): string[] {
  const time = Number.isNaN(now.getTime()) ? 'time unknown' : now.toISOString()
  const place = clampLine(clean(root), 160) + (branch === null ? '' : `, branch ${clampLine(clean(branch), 80)}`)
  return [`# Context snapshot, ${time}`, `- project ${place}`, ...(session ? [sessionLine(session)] : [])]
}

function sessionLine({ id, host, ageMs }: SnapshotSession): string {
  return `- session ${clampLine(clean(id), 80)} of ${clampLine(clean(host), 40)}${ageMs === null ? '' : `, as it was ${formatAge(ageMs)} ago`}`
}

/** 42 s, 5 min, 3 h, 2 d. */
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.round(ageMs / 1_000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`
}

/** As many whole lines as fit; a beginning of the first one where not even that does. */
function wholeLines(lines: readonly string[], room: number): string {
  let text = headBytes(lines[0] as string, room)
  for (const line of lines.slice(1)) {
    if (byteLength(text) + 1 + byteLength(line) > room) break
    text += `\n${line}`
  }
  return text
}

/** Gives each section its share, and what one does not use to those that want more, the earlier ones first. */
function fillSections(sections: readonly Section[], room: number): string {
  const wanted = wantedBy(sections)
  const granted = shareOut(
    wanted,
    sections.map(({ share }) => share),
    room,
  )
  const texts = sections.map((section, i) => render(section, granted[i] as number))
  let left = room - texts.reduce((sum, text) => sum + byteLength(text), 0)
  for (const [i, section] of sections.entries()) {
    const before = byteLength(texts[i] as string)
    if (before === wanted[i]) continue
    texts[i] = render(section, before + left)
    left -= byteLength(texts[i] as string) - before
  }
  return texts.join('')
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0)

const wantedBy = (sections: readonly Section[]): number[] => sections.map((section) => byteLength(render(section, Number.POSITIVE_INFINITY)))

/** Divides `room` by shares; nobody gets more than wanted, and what is not wanted is divided again. */
function shareOut(wanted: readonly number[], shares: readonly number[], room: number): number[] {
  const granted = wanted.map(() => 0)
  let open = wanted.map((_, i) => i)
  let left = room
  while (open.length > 0) {
    const total = open.reduce((sum, i) => sum + (shares[i] as number), 0)
    const content = open.filter((i) => (wanted[i] as number) <= (left * (shares[i] as number)) / total)
    if (content.length === 0) {
      for (const i of open) granted[i] = Math.floor((left * (shares[i] as number)) / total)
      break
    }
    for (const i of content) {
      granted[i] = wanted[i] as number
      left -= wanted[i] as number
    }
    open = open.filter((i) => !content.includes(i))
  }
  return granted
}

/** Heading and as many lines as fit, each after a line feed; the last one says what is left out, where there is room. */
function render(section: Section, room: number): string {
  const heading = `\n\n## ${section.heading}`
  const { lines } = section
  let used = byteLength(heading)
  if (used > room) return ''
  let shown = 0
  while (shown < lines.length) {
    const next = used + 1 + byteLength(lines[shown] as string)
    const rest = lines.slice(shown + 1)
    const tail = rest.length > 0 ? 1 + byteLength(section.leftOut(rest)) : 0
    // A line is shown when what comes after it fits too, or can at least be told.
    if (next + tail > room && next + sizeOf(rest) > room) break
    used = next
    shown += 1
  }
  if (shown === lines.length) return [heading, ...lines].join('\n')
  const note = section.leftOut(lines.slice(shown))
  if (used + 1 + byteLength(note) <= room) return [heading, ...lines.slice(0, shown), note].join('\n')
  // A heading alone says nothing.
  return shown === 0 ? '' : [heading, ...lines.slice(0, shown)].join('\n')
}

const sizeOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + 1 + byteLength(line), 0)

function contextSection(context: string | null): Section {
  const lines = (context ?? '')
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u)
    .map((line) => clean(stripControls(line).replaceAll('\t', '  '), false))
    .filter((line, i, all) => line !== '' || (i > 0 && all[i - 1] !== ''))
  while (lines[0] === '') lines.shift()
  while (lines.at(-1) === '') lines.pop()
  return {
    heading: 'Active context',
    // A long line goes on in the next one, so that a budget can end between them.
    lines: lines.flatMap((line) => split(line, 200)).map((line) => (line === '' ? '>' : `> ${line}`)),
    share: 35,
    leftOut: (rest) =>
      `> [${plural(rest.length, 'line')} and ${plural(
        rest.reduce((sum, line) => sum + byteLength(line) - 2, 0),
        'byte',
      )} left out]`,
  }
}

function split(line: string, maxBytes: number): string[] {
  const parts: string[] = []
  let rest = line
  while (byteLength(rest) > maxBytes) {
    const head = headBytes(rest, maxBytes)
    const space = head.lastIndexOf(' ')
    const part = space > head.length / 2 ? head.slice(0, space + 1) : head
    parts.push(part.trimEnd())
    rest = rest.slice(part.length)
  }
  return [...parts, rest]
}

function notesSection(notes: readonly Note[]): Section {
  return {
    heading: 'Notes',
    lines: rankNotes(notes).map(noteItem),
    share: 25,
    leftOut: (rest) => `- ${plural(rest.length, 'more note')} left out`,
  }
}

/** The line of a note. */
export const noteItem = ({ category, text }: Note): string => item(`[${clean(category)}] ${clean(text)}`)

function runsSection(runs: readonly RunRecord[], share: number): Section {
  const ended = runs.filter(({ state }) => state !== 'running')
  const failing = ended.filter(isFailing)
  const leftOut = (lines: readonly string[]): string => `- ${plural(lines.length, 'more run')} left out`
  return {
    heading: 'Recent runs',
    lines: [...failing, ...ended.filter((run) => !isFailing(run))].map((run) => runItem(endOf(run), run)),
    share,
    leftOut,
  }
}

function runningSection(running: readonly RunRecord[], background: readonly BackgroundShell[]): Section {
  const shells = background.map(({ id, command }) => item(`in the background of the agent: ${clampLine(clean(command), 140)} (${clampLine(clean(id), 60)})`))
  return {
    heading: 'Running',
    lines: [...running.map((run) => runItem(`since ${clean(run.startedAt)}`, run)), ...shells],
    share: 10,
    leftOut: (rest) => `- ${rest.length} more running`,
  }
}

/** Each part has a bound of its own, so that a long command does not hide what it was for. */
function runItem(label: string, run: RunRecord): string {
  const purpose = clean(run.purpose ?? '')
  const facts = [`run ${clean(run.id)}`, run.durationMs === null ? '' : formatDuration(run.durationMs), purpose === '' ? '' : `for: ${clampLine(purpose, 120)}`]
  return item(`${label}: ${clampLine(clean(run.command), 140)} (${facts.filter((fact) => fact !== '').join(', ')})`)
}

function endOf({ state, outcome, error }: RunRecord): string {
  if (state === 'failed') return clampLine(`did not start${error ? ` (${clean(error.message)})` : ''}`, 100)
  if (state === 'interrupted') return 'interrupted'
  switch (outcome?.kind) {
    case undefined:
      return 'end unknown'
    case 'exited':
      return outcome.exitCode === 0 ? 'ok' : `exit ${outcome.exitCode ?? 'unknown'}`
    case 'signaled':
      return `signal ${clean(outcome.signal ?? 'unknown')}`
    case 'timed_out':
      return outcome.limit === 'idle' ? 'timed out without output' : 'timed out'
    case 'canceled':
      return 'canceled'
    case 'lost':
      return 'contact lost'
  }
}
