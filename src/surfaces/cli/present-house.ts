import type { ConfigResult, DoctorResult, GcResult } from '../../app/api.ts'
import type { Note } from '../../core/store.ts'
import { formatCount, oneLine, plural } from '../../core/text.ts'
import { table } from './width.ts'

interface At {
  readonly columns: number
}

export function presentGc(result: GcResult, at: At): string {
  const verb = result.dryRun ? 'would be removed' : 'removed'
  const sum = `${plural(result.removed.length, 'run')} ${verb}, ${formatCount(result.freedBytes)} bytes; ${formatCount(result.kept)} kept.`
  if (result.removed.length === 0) return sum
  const rows = result.removed.map((run) => [run.id, formatCount(run.bytes), `over the limit of ${run.why}`])
  return `${table([['RUN', 'BYTES', 'WHY'], ...rows], at.columns)}\n${sum}`
}

export function presentDoctor(result: DoctorResult): string {
  const width = Math.max(0, ...result.checks.map((check) => check.name.length))
  const lines = result.checks.map((check) => `${check.status.padEnd(7)}  ${check.name.padEnd(width)}  ${oneLine(check.detail)}`.trimEnd())
  return [...lines, result.ok ? 'Everything that is needed works.' : 'Something that is needed does not work.'].join('\n')
}

export function presentConfig(result: ConfigResult): string {
  const rows = result.settings.map((setting) => [setting.key, JSON.stringify(setting.value) ?? 'null', setting.source])
  const files = result.files.map((file) => `${file.path}${file.found ? '' : ' (not there)'}`)
  // Values and paths are what is asked for, so that nothing of them is clipped.
  return [table([['SETTING', 'VALUE', 'FROM'], ...rows], Number.MAX_SAFE_INTEGER), '', 'Files:', ...files.map((file) => `  ${file}`)].join('\n')
}

export function presentNote(note: Note): string {
  return `Saved note ${note.id}.`
}

export function presentNotes(result: { readonly notes: readonly Note[] }, at: At): string {
  if (result.notes.length === 0) return 'No notes yet.'
  return table(
    result.notes.map((note) => [note.id, note.category, String(note.confidence), note.text]),
    at.columns,
  )
}
