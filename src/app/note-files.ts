import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Note, noteCategories } from '../core/store.ts'

/** Notes are kept as files too, so that a lost store costs none. */
export function writeNote(folder: string, note: Note): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `.${note.id}.${process.pid}`)
  writeFileSync(temporary, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  renameSync(temporary, join(folder, `${note.id}.json`))
}

export function readNotes(folder: string): Note[] {
  let names: string[]
  try {
    names = readdirSync(folder).filter((name) => /^[0-9a-z]+\.json$/.test(name))
  } catch {
    return []
  }
  return names.flatMap((name) => readNote(join(folder, name)) ?? []).sort((a, b) => a.createdAt.localeCompare(b.createdAt))
}

function readNote(path: string): Note | undefined {
  try {
    const note = JSON.parse(readFileSync(path, 'utf8')) as Partial<Note>
    if (typeof note.id !== 'string' || typeof note.text !== 'string' || typeof note.createdAt !== 'string') return undefined
    const category = noteCategories.find((known) => known === note.category) ?? 'convention'
    return { id: note.id, text: note.text, category, confidence: typeof note.confidence === 'number' ? note.confidence : 0.5, createdAt: note.createdAt }
  } catch {
    return undefined
  }
}
