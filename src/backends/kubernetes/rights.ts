import { failure } from '../../core/errors.ts'
import type { Api } from './api.ts'

/** `unverified`: nobody would say. */
export type Granted = 'granted' | 'denied' | 'unverified'

export interface Right {
  readonly verb: string
  /** `pods`, `pods/exec`. */
  readonly resource: string
  readonly group?: string | undefined
  /** Whether nothing goes without it. */
  readonly isNeeded: boolean
}

export interface Rights {
  /** Of all that are needed: one definite no outranks what nobody could say. */
  readonly all: Granted
  readonly each: ReadonlyMap<string, Granted>
}

export const podRights: readonly Right[] = [
  { verb: 'create', resource: 'pods', isNeeded: true },
  { verb: 'get', resource: 'pods', isNeeded: true },
  { verb: 'delete', resource: 'pods', isNeeded: true },
  { verb: 'get', resource: 'pods/exec', isNeeded: true },
  { verb: 'list', resource: 'pods', isNeeded: false },
  { verb: 'watch', resource: 'pods', isNeeded: false },
  { verb: 'patch', resource: 'pods', isNeeded: false },
]

export const secretRights: readonly Right[] = [
  { verb: 'create', resource: 'secrets', isNeeded: true },
  { verb: 'delete', resource: 'secrets', isNeeded: true },
  { verb: 'patch', resource: 'secrets', isNeeded: false },
]

const claims = { resource: 'sandboxclaims', group: 'extensions.agents.x-k8s.io' }
export const claimRights: readonly Right[] = [
  { ...claims, verb: 'create', isNeeded: true },
  { ...claims, verb: 'get', isNeeded: true },
  { ...claims, verb: 'delete', isNeeded: true },
  { ...claims, verb: 'patch', isNeeded: false },
  { verb: 'get', resource: 'sandboxes', group: 'agents.x-k8s.io', isNeeded: true },
  { verb: 'get', resource: 'pods', isNeeded: true },
  { verb: 'get', resource: 'pods/exec', isNeeded: true },
]

/** Asks the server what whoever asks may do there. Never rejects but for the signal. */
export async function askRights(api: Api, namespace: string, rights: readonly Right[], signal?: AbortSignal): Promise<Rights> {
  const answers = await Promise.all(rights.map(async (right) => [right, await askRight(api, namespace, right, signal)] as const))
  const each = new Map(answers.map(([{ verb, resource }, answer]) => [`${verb} ${resource}`, answer]))
  const needed = answers.flatMap(([{ isNeeded }, answer]) => (isNeeded ? [answer] : []))
  return { all: needed.includes('denied') ? 'denied' : needed.includes('unverified') ? 'unverified' : 'granted', each }
}

async function askRight(api: Api, namespace: string, { verb, resource, group = '' }: Right, signal?: AbortSignal): Promise<Granted> {
  const [name, subresource] = resource.split('/')
  const resourceAttributes = { namespace, verb, group, resource: name, ...(subresource ? { subresource } : {}) }
  try {
    const { status } = await api.ask<{ status?: { allowed?: boolean; denied?: boolean; evaluationError?: string } }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      asked: 'create selfsubjectaccessreviews',
      repeatable: true,
      signal,
    })
    if (status?.allowed === true) return 'granted'
    if (status?.denied === true) return 'denied'
    // Where somebody who decides could not be asked, a no is none.
    return status?.allowed === false && !status.evaluationError ? 'denied' : 'unverified'
  } catch (error) {
    if (signal?.aborted) throw error
    return 'unverified'
  }
}

/** The error for what surely will not go. */
export function refuseRights({ all, each }: Rights, rights: readonly Right[], target: string, namespace: string): Error | undefined {
  if (all !== 'denied') return undefined
  const missing = rights
    .filter(({ verb, resource, isNeeded }) => isNeeded && each.get(`${verb} ${resource}`) === 'denied')
    .map(({ verb, resource }) => `${verb} ${resource}`)
  return failure('backend_denied', {
    target,
    why: `nobody has given the right to ${missing.join(', ')} in the namespace ${namespace}`,
    help: 'a Role with all rights that are needed is in docs/backends/kubernetes.md',
  })
}
