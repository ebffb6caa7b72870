import { optional, strictObject } from 'valibot'
import { releaseModes } from '../core/workspace-provider.ts'
import { choice, flag, text } from './fields.ts'
import { operation } from './operation.ts'
import { repoField, repoValue, workspaceField } from './workspace-fields.ts'

/** What ends, mends or tidies workspaces. */

export const workspaceRelease = operation({
  name: 'workspace-release',
  summary: 'Remove the tree of a workspace; its branch stays, and nothing is lost.',
  description:
    'What is nowhere else (changes, untracked files, commits on no branch) is saved under a ref first; workspace rescues lists what was saved. Releasing twice is no failure.',
  input: strictObject({
    workspace: workspaceField(),
    repo: repoField(),
    mode: optional(
      choice('What becomes of work that is nowhere else: saved first, or nothing is removed, or it is thrown away.', releaseModes, { default: 'rescue' }),
    ),
    stop: optional(flag('Stop the commands that run in it; without this it is refused then.')),
  }),
  cli: {
    positionals: ['workspace'],
    values: repoValue,
    examples: ['holdfast workspace release feature/login', 'holdfast workspace release feature/login --stop --mode refuse'],
  },
  run: (app, input, call) => app.releaseWorkspace(input, call),
})

export const workspaceSetup = operation({
  name: 'workspace-setup',
  summary: 'Run the setup of a workspace again, whole.',
  description: 'Its output is that of a run: see it with show and output.',
  input: strictObject({ workspace: workspaceField(), repo: repoField() }),
  cli: { positionals: ['workspace'], values: repoValue, examples: ['holdfast workspace setup feature/login'] },
  run: (app, input, call) => app.setupWorkspace(input, call),
})

export const workspaceGc = operation({
  name: 'workspace-gc',
  summary: 'Release workspaces that were not used for long.',
  description:
    'None that is young, locked, in use or holds what would be lost. Takes away, too, what nobody needs: old rescues that a branch holds, ports, the trash.',
  input: strictObject({
    repo: repoField(),
    all: optional(flag('Of every repository.')),
    artifacts: optional(flag('Release none: take away ignored folders in them that can be made again, such as node_modules.')),
    dryRun: optional(flag('Only say what would be done.')),
  }),
  cli: { values: repoValue, examples: ['holdfast workspace gc --dry-run', 'holdfast workspace gc --artifacts'] },
  run: (app, input, call) => app.collectWorkspaces(input, call),
})

export const workspaceDeleteBranch = operation({
  name: 'workspace-delete-branch',
  summary: 'Delete a branch that no tree has checked out and whose commits are elsewhere, too.',
  description: 'Its tip is kept under a private ref for a while.',
  input: strictObject({ branch: text('The branch.'), repo: repoField() }),
  cli: { positionals: ['branch'], values: repoValue, examples: ['holdfast workspace delete-branch feature/login'] },
  run: (app, input) => app.deleteBranch(input),
})
