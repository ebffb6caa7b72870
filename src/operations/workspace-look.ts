import { optional, strictObject } from 'valibot'
import { hasReason } from '../core/errors.ts'
import { flag, size, text } from './fields.ts'
import { operation } from './operation.ts'
import { repoField, repoValue, workspaceField } from './workspace-fields.ts'

/** Looking at workspaces; nothing of this changes anything. */

export const workspaceList = operation({
  name: 'workspace-list',
  summary: 'List the workspaces of a repository.',
  description: '',
  input: strictObject({
    repo: repoField(),
    all: optional(flag('Those of every repository.')),
    status: optional(flag('Also say what is changed, and how far each is ahead and behind.')),
    bytes: optional(flag('Also say what each takes on disk.')),
  }),
  cli: {
    values: repoValue,
    defaults: { repo: 'the current folder' },
    examples: ['holdfast workspace list', 'holdfast workspace list --all --status', 'holdfast workspace list --json'],
  },
  run: (app, input) => app.listWorkspaces(input),
})

export const workspaceStatus = operation({
  name: 'workspace-status',
  summary: 'Say how a workspace stands: what is changed, ahead and behind, what runs in it.',
  description: '',
  input: strictObject({ workspace: workspaceField(), repo: repoField() }),
  cli: { positionals: ['workspace'], values: repoValue, examples: ['holdfast workspace status feature/login'] },
  run: (app, input) => app.workspaceStatus(input),
})

export const workspaceShow = operation({
  name: 'workspace-show',
  summary: 'Show everything about a workspace, or about a rescue.',
  description: 'Of a workspace with its options, its rescues and its history; of a rescue with the files that it holds.',
  input: strictObject({ workspace: text('The workspace, or the id of a rescue.'), repo: repoField() }),
  cli: { positionals: ['workspace'], values: repoValue, examples: ['holdfast workspace show feature/login'] },
  async run(app, input) {
    try {
      return await app.showWorkspace(input)
    } catch (error) {
      if (!hasReason(error, 'workspace_not_found')) throw error
      return app.showRescue({ rescue: input.workspace, repo: input.repo }).catch((other: unknown) => {
        throw hasReason(other, 'rescue_not_found') ? error : other
      })
    }
  },
})

export const workspaceDiff = operation({
  name: 'workspace-diff',
  summary: 'Show what a workspace changed, with files that git does not know yet.',
  description: 'Compares with the commit that it began at, unless another is named. Nothing in the workspace is touched, its index neither.',
  input: strictObject({
    workspace: workspaceField(),
    repo: repoField(),
    from: optional(text('Compare with this commit, branch or tag.', { default: 'where the workspace began' })),
    maxBytes: optional(size('At most this much of the patch.', 'a whole number of bytes from 1', { default: '1MiB' })),
  }),
  cli: {
    positionals: ['workspace'],
    values: { ...repoValue, from: 'REF' },
    examples: ['holdfast workspace diff feature/login', 'holdfast workspace diff feature/login --from HEAD'],
  },
  run: (app, input) => app.diffWorkspace(input),
})
