import type { CollectedWorkspaces, DeletedBranch, SetUpWorkspace, ShownRescue } from '../../app/api.ts'
import type { OpenedWorkspace, ReleasedWorkspace, ShownWorkspace, WorkspaceDiff, WorkspaceSummary } from '../../core/workspace-provider.ts'
import { workspaceDiff, workspaceList, workspaceShow, workspaceStatus } from '../../operations/workspace-look.ts'
import { workspaceOpen } from '../../operations/workspace-open.ts'
import { workspaceDeleteBranch, workspaceGc, workspaceRelease, workspaceSetup } from '../../operations/workspace-release.ts'
import { type Command, commandFor, shown } from './command.ts'
import { listed, type Option, ownOption } from './option.ts'
import { presentRescue } from './present-rescues.ts'
import { presentCollected, presentDiff, presentOpened, presentReleased, presentSummary, presentWorkspace, presentWorkspaces } from './present-workspaces.ts'
import { print } from './print.ts'
import { performInSteps } from './steps.ts'

/** Working copies: opening, looking, ending. */

const group: Command['group'] = 'Work in copies'

const sparseOption: Option = {
  flag: '--sparse',
  value: 'inherit|full|DIR',
  about: 'Which folders are checked out; DIR may be repeated.',
  default: 'inherit',
  read: (given, text) => {
    const before = given.input.sparse
    given.input.sparse = text === 'inherit' || text === 'full' ? text : [...(Array.isArray(before) ? (before as string[]) : []), text]
  },
}

const noSetupOption: Option = {
  ...ownOption('--no-setup', 'Run no setup, whatever the configuration says.'),
  read: (given) => {
    given.input.setup = null
  },
}

export const workspaceOpenCommand = commandFor(workspaceOpen, 'workspace open', group, {
  options: [
    noSetupOption,
    sparseOption,
    listed('--carry', 'carry', 'PATH', 'Carry this ignored file or folder over from the main checkout. May be repeated.'),
    listed('--pass-env', 'passEnv', 'NAME', 'A variable that commands of the sandbox get from the environment of Holdfast. May be repeated.'),
  ],
  async run(invocation) {
    print(invocation, await performInSteps(workspaceOpen, invocation, 'opening'), shown<OpenedWorkspace>(presentOpened))
    return 0
  },
})

export const workspaceListCommand = commandFor(workspaceList, 'workspace list', group, {
  async run(invocation) {
    print(invocation, await performInSteps(workspaceList, invocation, 'looking'), shown<readonly WorkspaceSummary[]>(presentWorkspaces))
    return 0
  },
})

export const workspaceStatusCommand = commandFor(workspaceStatus, 'workspace status', group, { present: shown<WorkspaceSummary>(presentSummary) })

export const workspaceShowCommand = commandFor(workspaceShow, 'workspace show', group, {
  present: shown<ShownWorkspace | ShownRescue>((found, at) => ('ref' in found ? presentRescue(found, at) : presentWorkspace(found, at))),
})

export const workspaceDiffCommand = commandFor(workspaceDiff, 'workspace diff', group, { present: shown<WorkspaceDiff>(presentDiff) })

export const workspaceSetupCommand = commandFor(workspaceSetup, 'workspace setup', group, {
  async run(invocation) {
    const result = await performInSteps(workspaceSetup, invocation, 'running the setup')
    print(
      invocation,
      result,
      shown<SetUpWorkspace>(({ id, setup }) => `The setup of workspace ${id} is done${setup.run === null ? '' : ` (run ${setup.run})`}.`),
    )
    return 0
  },
})

export const workspaceReleaseCommand = commandFor(workspaceRelease, 'workspace release', group, {
  async run(invocation) {
    print(invocation, await performInSteps(workspaceRelease, invocation, 'releasing'), shown<ReleasedWorkspace>(presentReleased))
    return 0
  },
})

export const workspaceGcCommand = commandFor(workspaceGc, 'workspace gc', group, {
  async run(invocation) {
    print(invocation, await performInSteps(workspaceGc, invocation, 'looking'), shown<CollectedWorkspaces>(presentCollected))
    return 0
  },
})

export const workspaceDeleteBranchCommand = commandFor(workspaceDeleteBranch, 'workspace delete-branch', group, {
  present: shown<DeletedBranch>(({ branch, outcome, why, kept }) => {
    if (outcome !== 'deleted') return `Kept the branch ${branch}: ${why}.`
    return kept === null ? `${why}.` : `Deleted the branch ${branch}: ${why}. Its tip is kept as ${kept}.`
  }),
  exit: (result) => ((result as DeletedBranch).outcome === 'deleted' ? 0 : 1),
})
