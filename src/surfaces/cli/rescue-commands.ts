import type { DroppedRescues, ExportedRescue, RestoredRescue } from '../../app/api.ts'
import type { Rescue } from '../../core/workspace.ts'
import { workspaceDrop, workspaceExport, workspaceRescues, workspaceRestore } from '../../operations/workspace-rescues.ts'
import { type Command, commandFor, shown } from './command.ts'
import { presentDropped, presentRescues, presentRestored } from './present-rescues.ts'
import { print } from './print.ts'
import { performInSteps } from './steps.ts'

/** Work that was saved when a workspace was released. */

const group: Command['group'] = 'Work in copies'

export const workspaceRescuesCommand = commandFor(workspaceRescues, 'workspace rescues', group, { present: shown<readonly Rescue[]>(presentRescues) })

export const workspaceRestoreCommand = commandFor(workspaceRestore, 'workspace restore', group, {
  async run(invocation) {
    print(invocation, await performInSteps(workspaceRestore, invocation, 'restoring'), shown<RestoredRescue>(presentRestored))
    return 0
  },
})

export const workspaceExportCommand = commandFor(workspaceExport, 'workspace export', group, { present: shown<ExportedRescue>(({ patch }) => patch) })

export const workspaceDropCommand = commandFor(workspaceDrop, 'workspace drop', group, { present: shown<DroppedRescues>(presentDropped) })
