import type { CollectedWorkspaces } from '../../app/api.ts'
import { formatDuration } from '../../core/limits.ts'
import { formatCount, oneLine, plural } from '../../core/text.ts'
import type { WorkspaceAction, WorkspaceBase, WorkspaceSetup } from '../../core/workspace.ts'
import type { DirtyCounts, OpenedWorkspace, ReleasedWorkspace, ShownWorkspace, WorkspaceDiff, WorkspaceSummary } from '../../core/workspace-provider.ts'
import { agoOf } from './present-runs.ts'
import type { At } from './print.ts'
import { clip, hanging, padded, table, widthOf } from './width.ts'

/** Names and values under each other; those without a value are left out. */
export function facts(rows: readonly (readonly [string, string | null])[], at: Pick<At, 'columns'>): string {
  const known = rows.filter((row): row is readonly [string, string] => row[1] !== null && row[1] !== '')
  const width = Math.max(...known.map(([name]) => widthOf(name)))
  return known.map(([name, value]) => hanging(`${padded(name, width)}  `, oneLine(value), at.columns)).join('\n')
}

export function presentOpened(opened: OpenedWorkspace, at: At): string {
  const { id, branch, operator, created, base, isolation } = opened
  const name = branch === null ? `sandbox of ${operator}` : `branch ${branch}`
  const rows = facts(
    [
      ['path', opened.path],
      ['base', baseWords(base)],
      ['not fetched', base.remoteError],
      ['setup', opened.setup ? setupWords(opened.setup) : null],
      ['ports', opened.ports.join(', ')],
      ['copy on write', opened.copyOnWrite ? 'yes' : null],
      ['isolation', isolation === 'env-only' ? 'the environment alone: its commands run as you, and can read what you can' : null],
    ],
    at,
  )
  return [
    `Workspace ${id} (${name}) ${created ? 'is ready' : 'was there, and is ready'}.`,
    rows,
    ...actionLines(opened.actions, at),
    hanging('', `Run in it: holdfast exec --workspace ${shellWord(branch ?? `operator:${operator}`)} -- COMMAND`, at.columns),
  ].join('\n')
}

const shellWord = (word: string): string => (/^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

const actionLines = (actions: readonly WorkspaceAction[], at: At): string[] =>
  actions.map(({ name, status, detail }) => hanging('  ', `${name}${status === 'done' ? '' : ` (${status})`}: ${oneLine(detail)}`, at.columns))

function baseWords({ source, ref, sha, behind }: WorkspaceBase): string {
  const from = { remote: 'fetched now', local: 'as it is here', existing: 'the branch was there' }[source]
  return `${ref} at ${sha.slice(0, 12)}, ${from}${behind ? `, ${behind} behind` : ''}`
}

function setupWords({ state, attempt, run, ended }: WorkspaceSetup): string {
  const times = attempt > 1 ? `, attempt ${attempt}` : ''
  return `${state}${ended === null || state === 'done' ? '' : ` (${ended})`}${times}${run === null ? '' : `, run ${run}`}`
}

/** Columns of what is changed, where that stands beside a name. */
const leastChanged = 12

export function presentWorkspaces(workspaces: readonly WorkspaceSummary[], at: At): string {
  if (workspaces.length === 0) return 'No workspaces.'
  const looked = workspaces.some(({ dirty }) => dirty !== null)
  const measured = workspaces.some(({ bytes }) => bytes !== null)
  const busy = workspaces.some(({ running }) => running.length > 0)
  const head = ['WORKSPACE', 'STATE', ...(looked ? ['AHEAD'] : []), ...(measured ? ['BYTES'] : []), ...(busy ? ['RUNS'] : []), 'USED']
  const facts = workspaces.map((each) => [
    each.id,
    stateWords(each),
    ...(looked ? [aheadWords(each)] : []),
    ...(measured ? [each.bytes === null ? '-' : bytesWords(each.bytes)] : []),
    ...(busy ? [each.running.length === 0 ? '-' : String(each.running.length)] : []),
    agoOf(Date.parse(each.usedAt), at.nowMs),
  ])
  const used = head.reduce((sum, name, i) => sum + Math.max(widthOf(name), ...facts.map((row) => widthOf(row[i] ?? ''))) + 2, 0)
  const room = Math.max('BRANCH'.length, at.columns - used - 2 - leastChanged)
  const rows = workspaces.map((each, i) => [
    ...(facts[i] as string[]),
    ...(looked ? [clip(nameOf(each), room), each.dirty ? changedWords(each.dirty) : '-'] : [nameOf(each)]),
  ])
  const warnings = workspaces.flatMap(({ id, warnings: all }) => all.map((warning) => hanging(`${id}: `, oneLine(warning), at.columns)))
  return [table([[...head, 'BRANCH', ...(looked ? ['CHANGED'] : [])], ...rows], at.columns), ...warnings].join('\n')
}

const nameOf = ({ branch, operator }: Pick<WorkspaceSummary, 'branch' | 'operator'>): string => branch ?? `(sandbox of ${operator})`

/** What is most worth knowing of how it stands, in a word or two. */
function stateWords({ state, operation, setup, locked }: WorkspaceSummary): string {
  if (state !== 'ready') return state
  if (operation !== null) return operation
  if (setup && setup.state !== 'done') return `setup ${setup.state}`
  return locked === null ? 'ready' : 'locked'
}

function changedWords({ staged, changed, untracked, conflicted }: DirtyCounts): string {
  const parts = [
    [staged, 'staged'],
    [changed, 'changed'],
    [untracked, 'new'],
    [conflicted, 'in conflict'],
  ] as const
  const words = parts.flatMap(([count, word]) => (count > 0 ? [`${formatCount(count)} ${word}`] : []))
  return words.length === 0 ? 'nothing' : words.join(', ')
}

function aheadWords({ ahead, behind }: Pick<WorkspaceSummary, 'ahead' | 'behind'>): string {
  if (ahead === null && behind === null) return '-'
  return `${ahead ?? '?'}/${behind ?? '?'}`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function bytesWords(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${unit === 0 || size >= 10 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

function summaryRows(found: WorkspaceSummary, at: At): (readonly [string, string | null])[] {
  return [
    ['workspace', `${found.id}${found.kind === 'sandbox' ? ', a sandbox' : ''}`],
    ['branch', found.branch],
    ['operator', found.operator],
    ['state', stateWords(found)],
    ['checked out', found.headBranch],
    ['head', found.head],
    ['changed', found.dirty ? changedWords(found.dirty) : null],
    ['ahead/behind', found.ahead === null && found.behind === null ? null : `${aheadWords(found)} against ${found.base.ref}`],
    ['base', baseWords(found.base)],
    ['locked', found.locked],
    ['setup', found.setup ? setupWords(found.setup) : null],
    ['ports', found.ports.join(', ')],
    ['copy on write', found.overlay ? 'yes' : null],
    ['bytes', found.bytes === null ? null : bytesWords(found.bytes)],
    ['path', found.path],
    ['repository', found.repository],
    ['made', agoOf(Date.parse(found.createdAt), at.nowMs)],
    ['used', agoOf(Date.parse(found.usedAt), at.nowMs)],
  ]
}

export function presentSummary(found: WorkspaceSummary, at: At): string {
  const running = found.running.map(({ run, command }) => hanging(`running  ${run}  `, oneLine(command), at.columns))
  const warnings = found.warnings.map((warning) => hanging('warning: ', oneLine(warning), at.columns))
  return [facts(summaryRows(found, at), at), ...running, ...warnings].join('\n')
}

const shownEvents = 20

export function presentWorkspace(found: ShownWorkspace, at: At): string {
  const rescues = found.rescues.map((rescue) => hanging(`  ${oneLine(rescue.id)}  `, oneLine(rescue.holds.join(', ')), at.columns))
  const events = found.events.slice(-shownEvents).map((event) => {
    const took = event.durationMs === null ? '' : `, ${formatDuration(event.durationMs)}`
    const known = factsInWords(event.facts)
    return [`  ${event.at.slice(0, 19)}Z  ${oneLine(event.name)}${took}`, ...(known === '' ? [] : [hanging('    ', known, at.columns)])].join('\n')
  })
  return [
    presentSummary(found, at),
    ...(rescues.length > 0 ? ['', 'Rescues:', ...rescues] : []),
    ...(events.length > 0 ? ['', found.events.length > shownEvents ? `The last ${shownEvents} of ${found.events.length} events:` : 'Events:', ...events] : []),
  ].join('\n')
}

const factsInWords = (all: Readonly<Record<string, unknown>>): string =>
  Object.entries(all)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => oneLine(`${name} ${String(value)}`))
    .join(', ')

/** The patch as it is: what reads it may be git apply. */
export const presentDiff = ({ patch, truncated }: WorkspaceDiff): string => (truncated ? `${patch}\n[cut: see --max]` : patch)

export function presentReleased(result: ReleasedWorkspace, at: At): string {
  const { id, released, rescue, branch, stopped } = result
  if (!released) return `There was nothing to release${id === '' ? '' : ` of workspace ${id}`}.`
  const lines = [`Released workspace ${id}${branch === null ? '' : `; the branch ${branch} stays`}.`]
  if (stopped.length > 0) lines.push(`Stopped ${plural(stopped.length, 'run')}: ${stopped.join(', ')}.`)
  if (rescue !== null) lines.push(`Saved what was nowhere else; it comes back with:\n  holdfast workspace restore ${rescueIdOf(rescue)}`)
  return [
    ...lines,
    ...actionLines(
      result.actions.filter(({ name, status }) => status !== 'done' || name === 'retired-notes'),
      at,
    ),
  ].join('\n')
}

/** As workspace rescues names it. */
const rescueIdOf = (ref: string): string => ref.replace(/^refs\/holdfast\/rescue\//, '').replaceAll('/', '-')

export function presentCollected(result: CollectedWorkspaces, at: At): string {
  if (result.cleared !== null) {
    const { cleared, kept } = result
    const rows = cleared.map(({ id, folders }) => hanging(`${id}  `, folders.map(oneLine).join(', '), at.columns))
    const done = `${result.dryRun ? 'Would be taken' : 'Taken'} away from ${plural(cleared.length, 'workspace')}`
    return [...rows, `${done}; nothing from ${formatCount(kept.length)}.`].join('\n')
  }
  const verb = result.dryRun ? 'would be released' : 'released'
  const rows = result.released.map(({ id, why }) => [id, why])
  const sum = `${plural(result.released.length, 'workspace')} ${verb}; ${formatCount(result.kept.length)} kept.`
  const tidied = result.tidied.map(({ what, detail }) => hanging('', `${what}: ${oneLine(detail)}`, at.columns))
  if (tidied.length > 0) return [...(rows.length === 0 ? [] : [table([['WORKSPACE', 'WHY'], ...rows], at.columns)]), sum, ...tidied].join('\n')
  return rows.length === 0 ? sum : `${table([['WORKSPACE', 'WHY'], ...rows], at.columns)}\n${sum}`
}
