import type { DroppedRescues, RestoredRescue, ShownRescue } from '../../app/api.ts'
import { oneLine, plural } from '../../core/text.ts'
import type { Rescue } from '../../core/workspace.ts'
import { agoOf } from './present-runs.ts'
import { facts } from './present-workspaces.ts'
import type { At } from './print.ts'
import { hanging, table } from './width.ts'

export function presentRescues(rescues: readonly Rescue[], at: At): string {
  if (rescues.length === 0) return 'No rescues.'
  // The id takes half of a line, so that what it holds has one of its own.
  const shown = table(
    [['RESCUE', 'SAVED', 'BRANCH'], ...rescues.map(({ id, savedAt, branch }) => [id, agoOf(Date.parse(savedAt), at.nowMs), branch ?? '-'])],
    at.columns,
  )
  const [head, ...lines] = shown.split('\n')
  return [head, ...lines.flatMap((line, i) => [line, hanging('  ', oneLine((rescues[i] as Rescue).holds.join(', ')), at.columns)])].join('\n')
}

const shownFiles = 50

export function presentRescue(rescue: ShownRescue, at: At): string {
  const head = facts(
    [
      ['rescue', rescue.id],
      ['ref', rescue.ref],
      ['workspace', rescue.workspace],
      ['branch', rescue.branch],
      ['saved', agoOf(Date.parse(rescue.savedAt), at.nowMs)],
      ['holds', rescue.holds.join(', ')],
    ],
    at,
  )
  const files = rescue.files.slice(0, shownFiles).map(({ path, status }) => `  ${status.padEnd(2)}  ${oneLine(path)}`)
  const more = rescue.files.length > shownFiles ? [`  and ${rescue.files.length - shownFiles} more`] : []
  return [head, ...files, ...more].join('\n')
}

export function presentRestored({ rescue, id, path }: RestoredRescue, at: At): string {
  return hanging('', `Restored ${rescue} into workspace ${id}: ${path}`, at.columns)
}

export function presentDropped({ dropped, kept }: DroppedRescues, at: At): string {
  const lines = kept.map(({ id, why }) => hanging(`  kept ${id}: `, oneLine(why), at.columns))
  return [`Dropped ${plural(dropped.length, 'rescue')}.`, ...lines].join('\n')
}
