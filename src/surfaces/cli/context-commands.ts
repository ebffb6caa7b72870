import type { SnapshotResult } from '../../app/api.ts'
import type { Note } from '../../core/store.ts'
import { noteAdd, noteList, noteRemove } from '../../operations/notes.ts'
import { resume } from '../../operations/resume.ts'
import { snapshot } from '../../operations/snapshot.ts'
import { commandFor, perform, shown } from './command.ts'
import { presentNote, presentNotes, presentSnapshot } from './present-house.ts'
import { print } from './print.ts'
import { readInput } from './read-input.ts'

/** What one session leaves for the next. */

const textOf = shown<SnapshotResult>(presentSnapshot)

export const snapshotCommand = commandFor(snapshot, 'snapshot', 'Carry on later', {
  async run(invocation) {
    const { io, parsed } = invocation
    const fromInput = parsed.input.context === '-' ? { context: Buffer.from(await readInput(io, '--context', '-')).toString('utf8') } : {}
    print(invocation, await perform(snapshot, invocation, { ...parsed.input, ...fromInput }), textOf)
    return 0
  },
})

export const resumeCommand = commandFor(resume, 'resume', 'Carry on later', { present: textOf })

export const noteAddCommand = commandFor(noteAdd, 'note add', 'Carry on later', { present: shown<Note>(presentNote) })

export const noteListCommand = commandFor(noteList, 'note list', 'Carry on later', { present: shown<{ notes: readonly Note[] }>(presentNotes) })

export const noteRemoveCommand = commandFor(noteRemove, 'note remove', 'Carry on later', {
  present: shown<{ removed: string }>(({ removed }) => `Removed note ${removed}.`),
})
