import { optional, strictObject } from 'valibot'
import { flag, text, waiting } from './fields.ts'
import { operation } from './operation.ts'
import { repoField, repoValue, rescueField, workspaceAccepted } from './workspace-fields.ts'

/** Work that was saved when a workspace was released. */

export const workspaceRescues = operation({
  name: 'workspace-rescues',
  summary: 'List work that was saved when workspaces were released.',
  description: '',
  input: strictObject({ repo: repoField(), workspace: optional(text('Only of this one.', { accepted: workspaceAccepted })) }),
  cli: { values: { ...repoValue, workspace: 'NAME' }, examples: ['holdfast workspace rescues'] },
  run: (app, input) => app.listRescues(input),
})

export const workspaceShowRescue = operation({
  name: 'workspace-show-rescue',
  summary: 'Show what a rescue holds.',
  description: '',
  input: strictObject({ rescue: rescueField(), repo: repoField() }),
  cli: { positionals: ['rescue'], values: repoValue, examples: ['holdfast workspace show RESCUE'] },
  run: (app, input) => app.showRescue(input),
})

export const workspaceRestore = operation({
  name: 'workspace-restore',
  summary: 'Put saved work back into a workspace, as it was.',
  description: 'Into the workspace that it came from, which is opened again where it is gone, or into another one that has no changes.',
  input: strictObject({
    rescue: rescueField(),
    workspace: optional(text('Into this one.', { accepted: workspaceAccepted, default: 'the one that it came from' })),
    repo: repoField(),
  }),
  cli: {
    positionals: ['rescue'],
    values: { ...repoValue, workspace: 'NAME' },
    examples: ['holdfast workspace restore RESCUE', 'holdfast workspace restore RESCUE --workspace other'],
  },
  run: (app, input, call) => app.restoreRescue(input, call),
})

export const workspaceExport = operation({
  name: 'workspace-export',
  summary: 'Print saved work as a patch that git apply takes.',
  description: '',
  input: strictObject({ rescue: rescueField(), repo: repoField() }),
  cli: { positionals: ['rescue'], values: repoValue, examples: ['holdfast workspace export RESCUE >work.patch'] },
  run: (app, input) => app.exportRescue(input),
})

export const workspaceDrop = operation({
  name: 'workspace-drop',
  summary: 'Drop saved work that is no longer needed.',
  description: 'One that holds what its branch does not is kept, unless --force is given.',
  input: strictObject({
    rescue: optional(rescueField()),
    repo: repoField(),
    olderThanMs: optional(waiting('All that are older.')),
    force: optional(flag('Also what is nowhere else.')),
  }),
  cli: {
    positionals: ['rescue'],
    values: repoValue,
    examples: ['holdfast workspace drop RESCUE', 'holdfast workspace drop --older-than 90d'],
  },
  check({ rescue, olderThanMs }) {
    if (rescue !== undefined && olderThanMs !== undefined) return { field: 'olderThanMs', value: olderThanMs, accepted: 'a rescue or an age, not both' }
    if (rescue === undefined && olderThanMs === undefined) return { field: 'rescue', value: undefined, accepted: 'the id or the ref of a rescue, or an age' }
    return undefined
  },
  run: (app, input) => app.dropRescues(input),
})
