import { optional, strictObject } from 'valibot'
import { featureModes } from '../core/workspace.ts'
import { type OpenWorkspaceRequest, remotePolicies } from '../core/workspace-provider.ts'
import { choice, flag, folders, list, text, textOrNone, whole } from './fields.ts'
import { operation } from './operation.ts'
import { repoField, repoValue } from './workspace-fields.ts'

/** The configuration takes no more either. */
const mostPorts = 100

export const workspaceOpen = operation({
  name: 'workspace-open',
  summary: 'Make a working copy of a repository for a branch, or give back the one that is there.',
  description:
    'A new branch begins at the base as it is fetched now, and no ref of yours is moved. A branch that is there resumes at its tip, and what is in its workspace is never touched.',
  input: strictObject({
    repo: repoField(),
    base: optional(text('Where a new branch begins: a branch, a tag, a commit, or origin/x.', { default: 'the default branch' })),
    branch: optional(text('The branch to work on; made where it is not there.')),
    operator: optional(text('A sandbox of this name instead: no branch, and no credentials for its commands.')),
    setup: optional(textOrNone('A bash script that is run once in the new tree.', { default: 'of the configuration' })),
    copyOnWrite: optional(flag('Share what is not changed with a frozen copy, where the machine can.')),
    remote: optional(text('Where the base is fetched from.', { default: 'origin, or the only one' })),
    remotePolicy: optional(choice('Whether a base that cannot be fetched is taken from what is here.', remotePolicies, { default: 'prefer-remote' })),
    lfs: optional(choice('Files in Git LFS.', featureModes.lfs, { default: 'auto' })),
    submodules: optional(choice('Submodules.', featureModes.submodules, { default: 'init-offline' })),
    sparse: optional(folders('Which folders are checked out.', { default: 'inherit' })),
    carry: optional(list('Ignored files to carry over from the main checkout.', 'a list of paths inside the repository')),
    ports: optional(whole('How many ports to reserve.', 0, '', { default: '0' })),
    passEnv: optional(list('Names of variables that commands of a sandbox get.', 'a list of names of variables')),
  }),
  cli: {
    hidden: ['sparse', 'carry', 'passEnv'],
    values: { ...repoValue, base: 'REF', branch: 'NAME', operator: 'NAME', setup: 'SCRIPT', remote: 'NAME' },
    defaults: { repo: 'the current folder' },
    examples: [
      'holdfast workspace open --branch feature/login',
      'holdfast workspace open --repo ~/shop --base origin/main --branch fix/42',
      "holdfast workspace open --branch ui --setup 'npm ci' --ports 2",
      'holdfast workspace open --operator reviewer --base main',
    ],
  },
  check({ branch, operator, setup, ports = 0, passEnv = [] }) {
    if (branch !== undefined && operator !== undefined) return { field: 'operator', value: operator, accepted: 'a branch or an operator, not both' }
    if (branch === undefined && operator === undefined) return { field: 'branch', value: undefined, accepted: 'a name of a git branch, or an operator instead' }
    if (operator !== undefined && (operator.trim() === '' || operator.length > 200 || /\p{Cc}/u.test(operator))) {
      return { field: 'operator', value: operator, accepted: 'a name of 1 to 200 characters on one line' }
    }
    if (setup?.trim() === '') return { field: 'setup', value: setup, accepted: 'a script that is not empty' }
    if (ports > mostPorts) return { field: 'ports', value: ports, accepted: `a whole number from 0 to ${mostPorts}` }
    const noName = passEnv.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return noName === undefined ? undefined : { field: 'passEnv', value: noName, accepted: 'names of variables' }
  },
  // Fields without a value are left out by now.
  run: (app, input, call) => app.openWorkspace(input as OpenWorkspaceRequest, call),
})
