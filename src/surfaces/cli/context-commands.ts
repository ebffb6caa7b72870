import type { SnapshotResult } from '../../app/api.ts'
import { resume } from '../../operations/resume.ts'
import { snapshot } from '../../operations/snapshot.ts'
import { commandFor, perform, shown } from './command.ts'
import { presentSnapshot } from './present-house.ts'
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
