import { createHash } from 'node:crypto'
import { apiVersionOf, type ResourceType } from './resources.ts'

/** What a client asks for to learn which resources there are. Undefined: another path. */
export function discover(
  path: string,
  accept: string,
  types: readonly ResourceType[],
  version: object,
): object | { raw: object; contentType: string } | undefined {
  const wanted = /as=APIGroupDiscoveryList/.test(accept) ? (/v=(v2\w*)/.exec(accept)?.[1] ?? 'v2') : undefined
  if (path === '/version') return version
  if (path === '/api' || path === '/apis') {
    const inHere = types.filter(({ group }) => (group === '') === (path === '/api'))
    if (wanted) {
      return { raw: aggregated(inHere, wanted), contentType: `application/json;g=apidiscovery.k8s.io;v=${wanted};as=APIGroupDiscoveryList` }
    }
    if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupsOf(inHere).map((group) => groupEntry(group, inHere)) }
  }
  if (path === '/openapi/v3') {
    const paths = Object.fromEntries([...new Set(types.map(pathOf))].map((own) => [own, { serverRelativeURL: `/openapi/v3/${own}?hash=${hashOf(own)}` }]))
    return { paths }
  }
  if (path.startsWith('/openapi/v3/')) return openApi(types.filter((type) => pathOf(type) === path.slice('/openapi/v3/'.length)))
  const group = /^\/apis\/([^/]+)$/.exec(path)?.[1]
  if (group !== undefined && types.some((type) => type.group === group)) return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, types) }
  const ofVersion = types.filter((type) => path === `/${pathOf(type)}`)
  if (ofVersion.length > 0) return resourceList(ofVersion)
  return undefined
}

const pathOf = (type: ResourceType): string => (type.group === '' ? 'api/v1' : `apis/${apiVersionOf(type)}`)
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
const groupsOf = (types: readonly ResourceType[]): string[] => [...new Set(types.map(({ group }) => group))]

function versionsOf(group: string, types: readonly ResourceType[]): string[] {
  return [...new Set(types.filter((type) => type.group === group).map(({ version }) => version))].sort((a, b) => rank(b) - rank(a))
}

const rank = (version: string): number => (/alpha/.test(version) ? 0 : /beta/.test(version) ? 1 : 2)

function groupEntry(group: string, types: readonly ResourceType[]): object {
  const versions = versionsOf(group, types).map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions, preferredVersion: versions[0] }
}

function resourceList(types: readonly ResourceType[]): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf(types[0] as ResourceType),
    resources: types.flatMap((type) => [
      {
        name: type.plural,
        singularName: type.singular,
        namespaced: type.namespaced,
        kind: type.kind,
        verbs: type.verbs,
        ...(type.shortNames ? { shortNames: type.shortNames } : {}),
        ...(type.categories ? { categories: type.categories } : {}),
      },
      ...(type.subresources ?? []).map(({ name, kind, verbs }) => ({
        name: `${type.plural}/${name}`,
        singularName: '',
        namespaced: type.namespaced,
        kind,
        verbs,
      })),
    ]),
  }
}

function aggregated(types: readonly ResourceType[], version: string): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groupsOf(types).map((group) => ({
      metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
      versions: versionsOf(group, types).map((own) => ({
        version: own,
        freshness: 'Current',
        resources: types.filter((type) => type.group === group && type.version === own).map(aggregatedResource),
      })),
    })),
  }
}

function aggregatedResource(type: ResourceType): object {
  const { group, version, kind } = type
  return {
    resource: type.plural,
    responseKind: { group, version, kind },
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: type.singular,
    verbs: type.verbs,
    ...(type.shortNames ? { shortNames: type.shortNames } : {}),
    ...(type.categories ? { categories: type.categories } : {}),
    ...(type.subresources
      ? { subresources: type.subresources.map((own) => ({ subresource: own.name, responseKind: { group, version, kind: own.kind }, verbs: own.verbs })) }
      : {}),
  }
}

/** A description without any kinds, in the binary form that older clients ask for: they leave the validation of fields to the server then. */
export const emptyOpenApi = {
  // Its own name has characters that old clients cannot read.
  contentType: 'application/octet-stream',
  // swagger: "2.0", info: { title: "Kubernetes", version: "v1" }
  bytes: Buffer.concat([
    Buffer.from([0x0a, 3]),
    Buffer.from('2.0'),
    Buffer.from([0x12, 16, 0x0a, 10]),
    Buffer.from('Kubernetes'),
    Buffer.from([0x12, 2]),
    Buffer.from('v1'),
  ]),
}

/** As much as kubectl reads before it leaves the validation of fields to the server. */
function openApi(types: readonly ResourceType[]): object {
  const parameter = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } })
  const paths = types.map((type) => {
    const gvk = { group: type.group, version: type.version, kind: type.kind }
    const operation = {
      'x-kubernetes-group-version-kind': gvk,
      parameters: [parameter('dryRun'), parameter('fieldValidation'), parameter('fieldManager')],
      responses: {},
    }
    const prefix = `/${pathOf(type)}/${type.namespaced ? 'namespaces/{namespace}/' : ''}${type.plural}`
    return [
      [prefix, { post: { ...operation, 'x-kubernetes-action': 'post' } }],
      [`${prefix}/{name}`, { patch: { ...operation, 'x-kubernetes-action': 'patch' }, put: { ...operation, 'x-kubernetes-action': 'put' } }],
    ] as const
  })
  const schemas = types.map((type) => [
    `${type.group || 'core'}.${type.version}.${type.kind}`,
    { type: 'object', 'x-kubernetes-group-version-kind': [{ group: type.group, version: type.version, kind: type.kind }] },
  ])
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1' },
    paths: Object.fromEntries(paths.flat()),
    components: { schemas: Object.fromEntries(schemas) },
  }
}
