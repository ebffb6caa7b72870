import { type Attributes, anonymous, forbidden, isAllowed, type User } from './access.ts'
import type { KubeObject } from './kube-object.ts'
import type { ResourceType } from './resources.ts'
import { fieldOf } from './selectors.ts'
import type { Switches } from './switches.ts'

/** Answers what one may do, in the words of access control. */
export function reviewOf(type: ResourceType, given: KubeObject, user: User, switches: Switches, types: readonly ResourceType[]): KubeObject {
  if (switches.reviews === 'forbidden') {
    throw forbidden(user, { verb: 'create', group: type.group, resource: type.plural }, type.plural)
  }
  const reviewed = { ...given, metadata: { ...given.metadata, creationTimestamp: null } } as unknown as KubeObject
  if (type.kind === 'SelfSubjectReview') return { ...reviewed, status: { userInfo: { username: user.name, groups: user.groups ?? [] } } }
  if (type.kind === 'SelfSubjectRulesReview') return { ...reviewed, status: rulesOf(user, String(fieldOf(given, 'spec.namespace') ?? ''), switches, types) }
  const asked = fieldOf(given, 'spec.resourceAttributes') as
    | { namespace?: string; verb?: string; group?: string; resource?: string; subresource?: string; name?: string }
    | undefined
  if (!asked) return { ...reviewed, status: { allowed: user.name !== anonymous.name } }
  const attributes: Attributes = {
    verb: asked.verb ?? '',
    group: asked.group ?? '',
    resource: `${asked.resource ?? ''}${asked.subresource ? `/${asked.subresource}` : ''}`,
    namespace: asked.namespace || undefined,
    name: asked.name || undefined,
  }
  const allowed = isAllowed(user, attributes, switches.denied)
  return {
    ...reviewed,
    status: allowed ? { allowed, reason: 'RBAC: allowed by ClusterRoleBinding "admins" of ClusterRole "cluster-admin" to User "admin"' } : { allowed },
  }
}

function rulesOf(user: User, namespace: string, switches: Switches, types: readonly ResourceType[]): object {
  const named = types.flatMap((type) => [
    { group: type.group, resource: type.plural, verbs: type.verbs },
    ...(type.subresources ?? []).map((own) => ({ group: type.group, resource: `${type.plural}/${own.name}`, verbs: own.verbs })),
  ])
  const resourceRules = named.flatMap(({ group, resource, verbs }) => {
    const allowed = verbs.filter((verb) => isAllowed(user, { verb, group, resource, namespace }, switches.denied))
    return allowed.length === 0 ? [] : [{ verbs: allowed, apiGroups: [group], resources: [resource] }]
  })
  const incomplete = switches.reviews === 'incomplete'
  return {
    resourceRules: incomplete ? [] : resourceRules,
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/version', '/version/'] }],
    incomplete,
    ...(incomplete ? { evaluationError: 'webhook authorizer does not support user rule resolution' } : {}),
  }
}
