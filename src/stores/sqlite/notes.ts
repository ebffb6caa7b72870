import { type Note, type NoteFilter, newestFirst, noteTokens } from '../../core/note.ts'
import type { Connection, SqlValue } from './driver.ts'
import { tokenMatch } from './statements.ts'

/** The notes of a project as an index over their files. */

export function setNotes(connection: Connection, notes: readonly Note[], stamp: string): void {
  for (const table of ['note_words', 'notes', 'note_files']) connection.run(`delete from ${table}`, [])
  for (const [seq, note] of [...notes].sort(newestFirst).entries()) {
    connection.run('insert into notes (seq, id, retired, note) values (?, ?, ?, ?)', [seq, note.id, note.retired === null ? 0 : 1, JSON.stringify(note)])
    connection.run('insert into note_words (rowid, tokens) values (?, ?)', [seq, noteTokens(note)])
  }
  connection.run('insert into note_files (stamp) values (?)', [stamp])
}

export function notesStamp(connection: Connection): string | null {
  const row = connection.all('select stamp from note_files')[0]
  return row ? String(row[0]) : null
}

export function listNotes(connection: Connection, { tokens = [], retired }: NoteFilter): Note[] {
  const where: string[] = []
  const params: SqlValue[] = []
  if (retired !== 'also') where.push(`retired = ${retired === 'only' ? 1 : 0}`)
  const match = tokenMatch(tokens)
  if (match !== undefined) {
    where.push('seq in (select rowid from note_words where note_words match ?)')
    params.push(match)
  }
  const rows = connection.all(`select note from notes${where.length > 0 ? ` where ${where.join(' and ')}` : ''} order by seq`, params)
  return rows.flatMap(([json]) => toNote(json) ?? [])
}

function toNote(json: SqlValue | undefined): Note | undefined {
  try {
    return JSON.parse(String(json)) as Note
  } catch {
    return undefined
  }
}
