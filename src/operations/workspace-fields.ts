import { optional } from 'valibot'
import { text } from './fields.ts'

/** The fields that name a workspace, a rescue and a repository, the same in every operation. */

export const workspaceAccepted = 'the id, branch or folder of a workspace, or operator:NAME'

export function workspaceField() {
  return text('The workspace: its id, branch or folder, or operator:NAME.', { accepted: workspaceAccepted })
}

export function rescueField() {
  return text('The rescue: its id, or its ref.', { accepted: 'the id or the ref of a rescue' })
}

export function repoField() {
  return optional(text('A folder of the repository.', { default: 'where Holdfast works' }))
}

export const repoValue = { repo: 'DIR' } as const
