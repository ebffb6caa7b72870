import type { FoundNotes, InputResult, OutputResult, RestoredRescue, RunResult, RunsResult, SearchResult, SnapshotResult } from '../../app/api.ts'
import type { HoldfastError } from '../../core/errors.ts'
import { formatDuration } from '../../core/limits.ts'
import type { Note, SavedNote } from '../../core/note.ts'
import { isFailing } from '../../core/run.ts'
import { clampLine, oneLine, plural } from '../../core/text.ts'
import type { Rescue } from '../../core/workspace.ts'
import type { OpenedWorkspace, ReleasedWorkspace, WorkspaceDiff, WorkspaceSummary } from '../../core/workspace-provider.ts'

/** A result as a tool gives it back: text for the model, and the value that every other surface gives, unchanged. */
export interface Answer {
  [member: string]: unknown
  content: { type: 'text'; text: string }[]
  structuredContent: Record<string, unknown>
  isError?: true
}

const longestLine = 300
/** Of a run that has hits. */
const longestCommand = 120

function answer(value: object, text: string, isError = false): Answer {
  return { content: [{ type: 'text', text }], structuredContent: value as Record<string, unknown>, ...(isError ? { isError } : {}) }
}

const readable: Readonly<Record<string, (value: never) => Answer>> = {
  // What did not end by itself with exit code 0 never looks like a success.
  exec: (run: RunResult) => answer(run, digestOf(run), isFailing(run)),
  wait: (run: RunResult) => answer(run, digestOf(run), isFailing(run)),
  // A run that was stopped is what was asked for.
  stop: (run: RunResult) => answer(run, digestOf(run)),
  input: (value: InputResult) => answer(value, inputText(value)),
  output: (value: OutputResult) => answer(value, outputText(value)),
  search: (value: SearchResult) => answer(value, searchText(value)),
  runs: (value: RunsResult) => answer(value, runsText(value)),
  resume: (value: SnapshotResult) => answer(value, [value.text.trimEnd(), ...warned(value)].join('\n')),
  'note-add': (note: SavedNote) => answer(note, savedNoteText(note)),
  'note-update': (note: SavedNote) => answer(note, savedNoteText(note)),
  'note-search': (value: FoundNotes) =>
    answer(value, [value.notes.map(noteText).join('\n') || 'nothing found', ...(value.more ? ['[there are more]'] : [])].join('\n')),
  'note-list': (value: { notes: readonly Note[] }) => answer(value, value.notes.map(noteText).join('\n') || 'no notes'),
  'workspace-open': (value: OpenedWorkspace) => answer(value, openedText(value)),
  'workspace-list': (value: readonly WorkspaceSummary[]) => answer({ workspaces: value }, value.map(summaryText).join('\n') || 'no workspaces'),
  'workspace-status': (value: WorkspaceSummary) => answer(value, [summaryText(value), ...value.running.map(runningText), ...warned(value)].join('\n')),
  'workspace-diff': (value: WorkspaceDiff) => answer(value, diffText(value)),
  'workspace-release': (value: ReleasedWorkspace) => answer(value, releasedText(value)),
  'workspace-rescues': (value: readonly Rescue[]) => answer({ rescues: value }, value.map(rescueText).join('\n') || 'no rescues'),
  'workspace-restore': (value: RestoredRescue) => answer(value, `restored ${value.rescue} into workspace ${value.id}: ${value.path}`),
  'note-remove': (value: { removed: string }) => answer(value, `removed for good: ${oneLine(value.removed)}`),
}

/** The answer of a tool to what the operation `name` resolved to. */
export function toAnswer(name: string, value: unknown): Answer {
  const read = readable[name] as ((value: unknown) => Answer) | undefined
  return read ? read(value) : answer({ value }, JSON.stringify(value))
}

/** The answer of a tool whose work takes longer than a client waits: it goes on, and whoever asks again waits for the same. */
export function toUnfinishedAnswer(name: string, step: string | undefined): Answer {
  const what = name.replace('-', ' ')
  return answer({ unfinished: true, step: step ?? null }, `${what} goes on${step ? ` (${oneLine(step)})` : ''}; ask the same again to wait for its end`)
}

/** The answer where the place that a command is to run at takes longer: it goes on being made, and the command was not started. */
export function toUnstartedAnswer(step: string | undefined): Answer {
  return answer({ unfinished: true, step: step ?? null }, `nothing was started yet${step ? ` (${oneLine(step)})` : ''}; ask the same again to wait for it`)
}

/** The answer of a tool that could not do what it was asked for. */
export function toErrorAnswer(error: HoldfastError): Answer {
  const { remedy } = error.details
  const toDo = typeof remedy === 'string' ? `\nwhat to do: ${oneLine(remedy)}` : ''
  return answer({ error: error.toJSON() }, `${error.code}: ${error.message}${toDo}`, true)
}

const warned = ({ warnings }: { warnings: readonly string[] }): string[] => warnings.map((warning) => `warning: ${oneLine(warning)}`)

function digestOf(run: RunResult): string {
  if (run.state !== 'running') return run.digest
  return `${run.digest}\nIt goes on: wait, output and stop take run ${JSON.stringify(run.id)}.`
}

function inputText({ id, bytes, open, state }: InputResult): string {
  const written = `${plural(bytes, 'byte')} written to run ${id}`
  return open ? written : `${written}; ${state === 'running' ? 'its stdin has ended' : 'it has ended'}`
}

export function outputText({ text, truncated, next, state }: OutputResult): string {
  const rest = truncated && next !== null ? `[there is more: lines ${JSON.stringify(next)}]` : truncated ? '[there is more]' : ''
  const nothing = text === '' && rest === '' ? (state === 'running' ? '[no such output so far]' : '[no such output]') : ''
  return [text.replace(/\n$/, ''), rest, nothing].filter((part) => part !== '').join('\n')
}

/** Hits stand below their run, of which a line says how it ended and what its command was. */
function searchText({ hits, groups, more, suggestions, warnings }: SearchResult): string {
  const lines = groups.flatMap((group) => [
    clampLine(`${group.id} ${endOf(group)}: ${oneLine(group.command)}`, longestCommand),
    ...hits.filter(({ run }) => run === group.id).flatMap(hitLines),
  ])
  const meant = suggestions.map(({ word, instead }) => `nothing for '${word}'; did you mean '${instead}'?`)
  const notes = [...meant, ...(more ? ['[there may be more hits: raise limit]'] : []), ...warned({ warnings })]
  return [...(lines.length === 0 ? ['nothing found'] : lines), ...notes].join('\n')
}

function hitLines({ ref, stream, text, before = [], after = [] }: SearchResult['hits'][number]): string[] {
  const where = stream === 'command' || stream === 'purpose' ? `${ref} (${stream})` : ref
  const around = (texts: readonly string[]): string[] => texts.map((line) => `  ${clampLine(oneLine(line), longestLine)}`)
  return [...around(before), `${where}: ${clampLine(oneLine(text), longestLine)}`, ...around(after)]
}

function runsText({ runs, total, warnings }: RunsResult): string {
  const lines = runs.map((run) => {
    const took = run.durationMs === null ? '' : `, ${formatDuration(run.durationMs)}`
    const purpose = run.purpose === null ? '' : ` (${oneLine(run.purpose)})`
    const tree = run.workspace === null ? '' : `, in workspace ${run.workspace}${run.branch === null ? '' : ` (${oneLine(run.branch)})`}`
    return clampLine(`${run.id} ${endOf(run)}${took}${tree}: ${oneLine(run.command)}${purpose}`, longestLine)
  })
  const count = `${plural(runs.length, 'run')} shown of ${total}`
  return [...lines, count, ...warned({ warnings })].join('\n')
}

export function endOf({ state, outcome }: RunsResult['runs'][number]): string {
  if (state !== 'ended' || outcome === null) return state
  if (outcome.kind === 'exited') return outcome.exitCode === null ? 'exit code unknown' : `exit ${outcome.exitCode}`
  const limit = outcome.limit === 'idle' ? ' (idle)' : ''
  return `${outcome.kind.replace('_', ' ')}${limit}${outcome.signal === null ? '' : ` ${outcome.signal}`}`
}

const noteText = ({ id, scope, category, confidence, tags, text, retired }: Note): string => {
  const facts = [...(scope === 'project' ? [] : [scope]), category, confidence, ...(retired === null ? [] : [`retired: ${retired.why}`])]
  return [`${id} [${facts.join(', ')}]`, oneLine(text), ...tags.map((tag) => `#${tag}`)].join(' ')
}

function savedNoteText(note: SavedNote): string {
  const retired = note.retires.map((other) => `retired (${other.retired?.why}): ${other.id} ${oneLine(other.text)}`)
  const similar = note.similar.map((other) => `similar: ${noteText(other)}`)
  return [`${note.saved}: ${noteText(note)}`, ...retired, ...similar].join('\n')
}

const nameOf = ({ branch, operator }: { branch: string | null; operator: string | null }): string =>
  oneLine(branch === null ? `sandbox of ${operator}` : `branch ${branch}`)

function openedText(value: OpenedWorkspace): string {
  const { id, path, base, created, actions } = value
  const failed = actions.filter(({ status }) => status !== 'done').map(({ name, detail }) => `${name}: ${oneLine(detail)}`)
  const behind = base.behind ? `, ${base.behind} behind` : ''
  const unfetched = base.remoteError === null ? [] : [`not fetched: ${clampLine(oneLine(base.remoteError), longestLine)}`]
  return [
    `workspace ${id} (${nameOf(value)})${created ? '' : ', was there'}: ${path}`,
    `base ${oneLine(base.ref)} at ${base.sha.slice(0, 12)} (${base.source}${behind})`,
    ...unfetched,
    ...failed,
    ...warned(value),
    `exec takes workspace ${JSON.stringify(id)}`,
  ].join('\n')
}

function summaryText(value: WorkspaceSummary): string {
  const { id, state, dirty, running, operation } = value
  const changes = dirty ? `, ${dirty.staged} staged, ${dirty.changed} changed, ${dirty.untracked} new, ${dirty.conflicted} in conflict` : ''
  const distance = value.ahead === null && value.behind === null ? '' : `, ahead ${value.ahead ?? '?'}, behind ${value.behind ?? '?'}`
  const runs = running.length > 0 ? `, ${plural(running.length, 'command')} running` : ''
  return `${id} ${nameOf(value)}: ${operation ?? state}${changes}${distance}${runs}; ${oneLine(value.path)}`
}

const runningText = ({ run, command }: WorkspaceSummary['running'][number]): string => `running ${run}: ${clampLine(oneLine(command), longestLine)}`

function diffText({ patch, truncated, files, from }: WorkspaceDiff): string {
  if (files.length === 0) return `nothing differs from ${from.slice(0, 12)}`
  return truncated ? `${patch.trimEnd()}\n[cut; ${plural(files.length, 'file')} in all: max_bytes gives more]` : patch.trimEnd()
}

function releasedText({ id, released, rescue, branch, stopped, actions, ...value }: ReleasedWorkspace): string {
  if (!released) return 'there was nothing to release'
  const saved = rescue === null ? [] : [`saved as ${rescue}`]
  const ended = stopped.length === 0 ? [] : [`stopped ${stopped.join(', ')}`]
  const notes = actions.filter(({ name }) => name === 'retired-notes').map(({ detail }) => oneLine(detail))
  return [`released ${id}${branch === null ? '' : `; branch ${branch} stays`}`, ...saved, ...ended, ...notes, ...warned(value)].join('\n')
}

const rescueText = ({ id, savedAt, branch, holds }: Rescue): string => `${id} ${savedAt} ${branch ?? 'no branch'}: ${oneLine(holds.join(', '))}`
