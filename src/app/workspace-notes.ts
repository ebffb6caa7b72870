import { messageOf } from '../core/errors.ts'
import { plural } from '../core/text.ts'
import type { ReleasedWorkspace } from '../core/workspace-provider.ts'
import { mainRootOf } from '../git/repository.ts'
import type { AppContext } from './context.ts'
import { describeHome } from './home.ts'
import { type NoteShelf, openNoteShelf } from './note-shelf.ts'
import { retireNotesOf } from './notes.ts'

/** What becomes of the notes of workspaces that are gone: they are retired, in the home of the project that they belonged to. */

/** The notes of the project with this repository. */
export function notesOfRepository(context: AppContext, commonDir: string): NoteShelf {
  const home = describeHome({ ...context.homePlace, project: mainRootOf(commonDir) })
  if (home.path === context.home.path) return context.records.notes
  return openNoteShelf({ folder: home.notes, openLock: context.openLock, now: context.now })
}

/** The answer to a release, with what became of the notes. That this fails is told, and takes nothing from the release. */
export async function withRetiredNotes(context: AppContext, released: ReleasedWorkspace, notes: NoteShelf): Promise<ReleasedWorkspace> {
  try {
    const count = await retireNotesOf(notes, released.id, context.now())
    if (count === 0) return released
    const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them']
    const detail = `${plural(count, 'note')} of the workspace ${are} retired; holdfast note list --retired has ${them}`
    return { ...released, actions: [...released.actions, { name: 'retired-notes', status: 'done', detail }] }
  } catch (error) {
    return { ...released, warnings: [...released.warnings, `the notes of the workspace could not be retired: ${messageOf(error)}`] }
  }
}

/** The same for many at once, of which only their ids are known. What cannot be retired is seen by nobody who works elsewhere. */
export async function retireCollected(context: AppContext, ids: readonly string[], commonDirs: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  for (const commonDir of commonDirs) {
    const notes = notesOfRepository(context, commonDir)
    for (const id of ids) await retireNotesOf(notes, id, context.now()).catch(() => {})
  }
}
