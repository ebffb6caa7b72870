import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'yaml'
import {
  ApiError,
  alreadyExists,
  badRequest,
  changedMeanwhile,
  conflict,
  expired,
  methodNotAllowed,
  noSuchPath,
  notFound,
  precondition,
  success,
  unknownError,
  unsupportedMediaType,
} from './api-status.ts'
import type { KubeObject, Metadata, Pod } from './kube-object.ts'
import { timestamp } from './kube-object.ts'
import { jsonPatch, mergePatch, strategicPatch } from './patches.ts'
import { decode, validate, validatePodUpdate, withDefaults } from './pod-rules.ts'
import { isProtobuf, readProtobuf } from './protobuf.ts'
import { apiVersionOf, baseTypes, type ResourceType } from './resources.ts'
import { type Matcher, parseFieldSelector, parseLabelSelector } from './selectors.ts'
import type { Store } from './store.ts'
import { toTable } from './tables.ts'
import type { Watches } from './watches.ts'

const namespaceType = baseTypes.find(({ plural }) => plural === 'namespaces') as ResourceType

/** A request about objects, taken apart. */
export interface ResourceRequest {
  readonly type: ResourceType
  readonly verb: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
  readonly query: URLSearchParams
  readonly accept: string
  readonly contentType: string
  readonly body: Buffer
}

export interface Answer {
  readonly code: number
  readonly body: object
}

/** Where a path leads to. Undefined: to no resource. */
export function locate(path: string, types: readonly ResourceType[]): Pick<ResourceRequest, 'type' | 'namespace' | 'name' | 'subresource'> | undefined {
  const [, group = '', version, rest = ''] = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(.+)$/.exec(path) ?? []
  const parts = rest.split('/').map(decodeURIComponent)
  const find = (plural: string | undefined): ResourceType | undefined =>
    types.find((type) => type.group === group && type.version === version && type.plural === plural)
  if (parts[0] === 'namespaces' && parts.length > 2 && find(parts[2])?.namespaced) {
    return { type: find(parts[2]) as ResourceType, namespace: parts[1], name: parts[3], subresource: parts.slice(4).join('/') || undefined }
  }
  const type = find(parts[0])
  const subresource = parts.slice(2).join('/') || undefined
  const isKnown = subresource === undefined || ['status', 'finalize'].includes(subresource)
  if (!type || !isKnown || (type.namespaced && parts[1] !== undefined)) return undefined
  return { type, namespace: undefined, name: parts[1], subresource }
}

export function verbOf(method: string, name: string | undefined, query: URLSearchParams): string {
  if (method === 'GET' || method === 'HEAD') return /^(1|true)$/.test(query.get('watch') ?? '') ? 'watch' : name === undefined ? 'list' : 'get'
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete'
  return { POST: 'create', PUT: 'update', PATCH: 'patch' }[method] ?? method.toLowerCase()
}

/** Reads and writes of objects, the same for all kinds. */
export class ResourceRequests {
  private readonly store: Store
  private readonly watches: Watches
  private readonly allTypes: readonly ResourceType[]

  constructor(store: Store, watches: Watches, types: readonly ResourceType[]) {
    this.store = store
    this.watches = watches
    this.allTypes = types
  }

  /** Undefined: it has been answered, as a stream. */
  answer(request: ResourceRequest, response: ServerResponse): Answer | undefined {
    const { type, verb, subresource } = request
    if (subresource !== undefined && subresource !== 'status') throw noSuchPath()
    if (!type.verbs.includes(verb) || (request.name === undefined && ['update', 'patch'].includes(verb))) throw methodNotAllowed()
    for (const field of ['limit', 'timeoutSeconds']) if (request.query.get(field)) numberOf(request.query.get(field) as string)
    switch (verb) {
      case 'list':
        return this.list(request)
      case 'watch':
        this.watch(request, response)
        return undefined
      case 'get':
        return { code: 200, body: this.render(request, [this.store.require(type, request.namespace, request.name ?? '')], true) }
      case 'create':
        return this.create(request)
      case 'update':
        return this.update(request)
      case 'patch':
        return this.patch(request)
      case 'delete':
        return this.delete(request)
      case 'deletecollection':
        return this.deleteCollection(request)
      default:
        throw methodNotAllowed()
    }
  }

  private matcherOf({ type, query, name }: ResourceRequest): Matcher {
    const labels = parseLabelSelector(query.get('labelSelector') ?? '')
    const fields = parseFieldSelector(query.get('fieldSelector') ?? '', type.custom ? '' : type.plural)
    return (object) => labels(object) && fields(object) && (name === undefined || object.metadata.name === name)
  }

  private list(request: ResourceRequest): Answer {
    const { type, namespace, query } = request
    const found = this.store.list(type, namespace).filter(this.matcherOf(request))
    const token = query.get('continue')
    const [, version, at] = token ? (/^(\d+):(\d+)$/.exec(Buffer.from(token, 'base64url').toString()) ?? []) : ['', String(this.store.version), '0']
    if (version === undefined || at === undefined) throw badRequest('invalid continue token: continue key is not valid')
    if (Number(version) < this.store.forgottenTo) throw expired(token ?? '', this.store.forgottenTo)
    const start = Number(at)
    const limit = Number(query.get('limit') ?? 0) || found.length
    const items = found.slice(start, start + limit)
    const left = found.length - start - items.length
    const more = left > 0 ? { continue: Buffer.from(`${this.store.version}:${start + items.length}`).toString('base64url'), remainingItemCount: left } : {}
    return { code: 200, body: this.render(request, items, false, more) }
  }

  private render({ type, accept, query }: ResourceRequest, objects: readonly KubeObject[], isSingle: boolean, more: object = {}, withColumns = true): object {
    const version = isSingle ? (objects[0]?.metadata.resourceVersion ?? '') : String(this.store.version)
    if (/as=Table/.test(accept)) {
      const table = toTable(type.kind, objects, version, query.get('includeObject') ?? undefined, withColumns)
      return { ...table, metadata: { resourceVersion: version, ...more } }
    }
    const apiVersion = apiVersionOf(type)
    if (/as=PartialObjectMetadata/.test(accept)) {
      const partial = objects.map(({ metadata }) => ({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }))
      return isSingle
        ? (partial[0] as object)
        : { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: version, ...more }, items: partial }
    }
    const versioned = objects.map((object) => (object.apiVersion === apiVersion ? object : { ...object, apiVersion }))
    if (isSingle) return versioned[0] as object
    return {
      kind: `${type.kind}List`,
      apiVersion,
      metadata: { resourceVersion: version, ...more },
      items: type.custom ? versioned : versioned.map(({ kind: _, apiVersion: __, ...rest }) => rest),
    }
  }

  private watch(request: ResourceRequest, response: ServerResponse): void {
    const { type, namespace, query, accept } = request
    const timeout = Number(query.get('timeoutSeconds') ?? 0)
    const version = query.get('resourceVersion') ?? ''
    if (!/^\d*$/.test(version)) {
      throw unknownError(`resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": invalid syntax`)
    }
    this.watches.serve(
      {
        type,
        namespace,
        matches: this.matcherOf(request),
        resourceVersion: version,
        bookmarks: query.get('allowWatchBookmarks') === 'true',
        sendInitialEvents: query.get('sendInitialEvents') === 'true',
        timeoutMs: timeout > 0 ? timeout * 1000 : undefined,
        render: (object, isFirst) => this.render(request, [object], true, {}, isFirst),
        contentType: /as=Table/.test(accept) ? 'application/json;as=Table;g=meta.k8s.io;v=v1' : 'application/json',
      },
      response,
    )
  }

  private create(request: ResourceRequest): Answer {
    const { type, query, namespace, name } = request
    if (name !== undefined) throw methodNotAllowed()
    const given = { apiVersion: apiVersionOf(type), kind: type.kind, ...(readBody(request) as object) } as KubeObject
    decode(type, given, query.get('fieldValidation') === 'Strict')
    return { code: 201, body: this.render(request, [this.make(request, given, namespace)], true) }
  }

  private make({ type, query }: ResourceRequest, given: KubeObject, namespace: string | undefined): KubeObject {
    const { uid: _, resourceVersion, creationTimestamp: __, deletionTimestamp: ___, ...metadata } = given.metadata
    if (resourceVersion) throw unknownError('resourceVersion should not be set on objects to be created')
    this.checkNamespace(type, given, namespace)
    const object: KubeObject = { ...given, metadata: { ...metadata, ...(type.namespaced ? { namespace: namespace as string } : {}) } as Metadata }
    validate(type, object)
    if (type.plural === 'pods') this.admitPod(type, object as Pod)
    const { status: ____, ...rest } = object
    const filled = withDefaults(type.plural === 'nodes' ? object : (rest as KubeObject))
    if (query.getAll('dryRun').includes('All')) {
      if (this.store.find(type, namespace, object.metadata.name)) throw alreadyExists(type, object.metadata.name)
      return { ...filled, metadata: { ...filled.metadata, uid: '00000000-0000-0000-0000-000000000000', creationTimestamp: timestamp() } }
    }
    return this.store.create(type, filled)
  }

  /** What has to be there before a pod may be made. */
  private admitPod(type: ResourceType, { metadata: { name, namespace }, spec }: Pod): void {
    const find = (plural: string, within: string | undefined, wanted: string): boolean =>
      this.store.find(baseTypes.find((own) => own.plural === plural) as ResourceType, within, wanted) !== undefined
    const refuse = (why: string): ApiError => new ApiError(403, 'Forbidden', `pods "${name}" is forbidden: ${why}`, { name, kind: type.plural })
    const { runtimeClassName, serviceAccountName = 'default' } = spec
    if (runtimeClassName && !find('runtimeclasses', undefined, runtimeClassName)) throw refuse(`pod rejected: RuntimeClass "${runtimeClassName}" not found`)
    if (!find('serviceaccounts', namespace, serviceAccountName)) {
      throw refuse(`error looking up service account ${namespace}/${serviceAccountName}: serviceaccount "${serviceAccountName}" not found`)
    }
  }

  private checkNamespace(type: ResourceType, { metadata }: KubeObject, namespace: string | undefined): void {
    if (!type.namespaced) return
    if (namespace === undefined) throw methodNotAllowed()
    if (metadata.namespace && metadata.namespace !== namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
    }
    const found = this.store.require(namespaceType, undefined, namespace)
    if (found.metadata.deletionTimestamp) {
      const text = `${type.plural} "${metadata.name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`
      throw new ApiError(403, 'Forbidden', text, {
        name: metadata.name,
        kind: type.plural,
        causes: [{ reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }],
      })
    }
  }

  private update(request: ResourceRequest): Answer {
    const { type, namespace, name = '' } = request
    const given = readBody(request) as KubeObject
    decode(type, given, false)
    const previous = this.store.require(type, namespace, name)
    return { code: 200, body: this.render(request, [this.replace(request, previous, given)], true) }
  }

  private patch(request: ResourceRequest): Answer {
    const { type, namespace, name = '', contentType, query } = request
    const isApply = contentType.startsWith('application/apply-patch')
    const previous = this.store.find(type, namespace, name)
    if (!previous && isApply) {
      const given = readBody(request) as KubeObject
      decode(type, given, query.get('fieldValidation') === 'Strict')
      return { code: 201, body: this.render(request, [this.make(request, given, namespace)], true) }
    }
    if (!previous) throw notFound(type, name)
    const patch = readBody(request)
    let next: unknown
    if (contentType.startsWith('application/json-patch')) next = jsonPatch(previous, patch)
    else if (contentType.startsWith('application/merge-patch')) next = mergePatch(previous, patch)
    else if (contentType.startsWith('application/strategic-merge-patch') || isApply) {
      if (type.custom && !isApply) throw unsupportedMediaType()
      next = type.custom ? mergePatch(previous, patch) : strategicPatch(previous, patch)
    } else throw unsupportedMediaType()
    decode(type, next as KubeObject, query.get('fieldValidation') === 'Strict')
    return { code: 200, body: this.render(request, [this.replace(request, previous, next as KubeObject)], true) }
  }

  /** What a client may not set stays as it was. */
  private replace({ type, subresource, query }: ResourceRequest, previous: KubeObject, given: KubeObject): KubeObject {
    const { uid, creationTimestamp, namespace, name, deletionTimestamp, deletionGracePeriodSeconds } = previous.metadata
    if (given.metadata.name !== name) throw badRequest(`the name of the object (${given.metadata.name}) does not match the name on the URL (${name})`)
    if (given.metadata.uid && given.metadata.uid !== uid) {
      throw conflict(type, name, `Precondition failed: UID in precondition: ${given.metadata.uid}, UID in object meta: ${uid}`)
    }
    const expected = given.metadata.resourceVersion || undefined
    if (expected !== undefined && expected !== previous.metadata.resourceVersion) throw changedMeanwhile(type, name)
    const fixed = {
      uid,
      creationTimestamp,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(deletionTimestamp ? { deletionTimestamp, deletionGracePeriodSeconds } : {}),
    }
    const hasStatus = type.subresources?.some((own) => own.name === 'status')
    const next = (
      subresource === 'status'
        ? { ...previous, status: given.status }
        : {
            ...given,
            apiVersion: previous.apiVersion,
            metadata: { ...given.metadata, ...fixed },
            ...(hasStatus && previous.status !== undefined ? { status: previous.status } : {}),
          }
    ) as KubeObject
    validate(type, next)
    const filled = type.plural === 'secrets' ? withDefaults(next) : next
    if (type.plural === 'pods' && subresource === undefined) validatePodUpdate(type, previous as Pod, filled as Pod)
    if (type.plural === 'secrets' && previous.immutable === true && JSON.stringify(previous.data) !== JSON.stringify(filled.data)) {
      throw new ApiError(422, 'Invalid', `Secret "${name}" is invalid: data: Forbidden: field is immutable when \`immutable\` is set`, { name, kind: 'Secret' })
    }
    return query.getAll('dryRun').includes('All') ? filled : this.store.update(type, filled, previous.metadata.resourceVersion)
  }

  private optionsOf(request: ResourceRequest): { gracePeriodSeconds?: number; preconditions?: { uid?: string; resourceVersion?: string }; dryRun?: string[] } {
    const given = request.body.length > 0 ? (readBody(request) as object) : {}
    const grace = request.query.get('gracePeriodSeconds')
    return { ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }), ...given }
  }

  private delete(request: ResourceRequest): Answer {
    const { type, namespace, name = '' } = request
    const found = this.store.require(type, namespace, name)
    const options = this.optionsOf(request)
    for (const [field, title] of [
      ['uid', 'UID'],
      ['resourceVersion', 'ResourceVersion'],
    ] as const) {
      const wanted = options.preconditions?.[field]
      if (wanted && wanted !== found.metadata[field]) {
        const more = field === 'uid' ? 'deleted and then recreated' : 'modified'
        throw type.plural === 'pods'
          ? precondition(
              type,
              name,
              `the ${title} in the precondition (${wanted}) does not match the ${title} in record (${found.metadata[field]}). The object might have been ${more}`,
            )
          : conflict(type, name, `Precondition failed: ${title} in precondition: ${wanted}, ${title} in object meta: ${found.metadata[field]}`)
      }
    }
    if (options.dryRun?.includes('All') || request.query.getAll('dryRun').includes('All')) return { code: 200, body: found }
    const left = this.remove(type, found, options.gracePeriodSeconds)
    const details = { name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural, ...(found.metadata.uid ? { uid: found.metadata.uid } : {}) }
    return { code: 200, body: left ? this.render(request, [left], true) : success(details) }
  }

  /** The object while it is still there. */
  private remove(type: ResourceType, object: KubeObject, graceSeconds: number | undefined): KubeObject | undefined {
    const { namespace, name } = object.metadata
    const grace = type.plural === 'pods' ? this.graceOf(object as Pod, graceSeconds) : 0
    const waits = type.plural === 'namespaces' || (object.metadata.finalizers ?? []).length > 0 || grace > 0
    if (!waits) {
      const removed = this.store.remove(type, namespace, name)
      return type.plural === 'pods' ? removed : undefined
    }
    if (object.metadata.deletionTimestamp) {
      const { deletionGracePeriodSeconds = 0 } = object.metadata
      return grace < deletionGracePeriodSeconds
        ? this.store.update(type, { ...object, metadata: { ...object.metadata, deletionGracePeriodSeconds: grace } })
        : object
    }
    const metadata = {
      ...object.metadata,
      deletionTimestamp: timestamp(new Date(Date.now() + grace * 1000)),
      ...(type.plural === 'pods' ? { deletionGracePeriodSeconds: grace } : {}),
    }
    return this.store.update(type, { ...object, metadata, ...(type.plural === 'namespaces' ? { status: { phase: 'Terminating' } } : {}) })
  }

  private graceOf(pod: Pod, asked: number | undefined): number {
    // What was never placed, or is over, needs no grace.
    if (!pod.spec.nodeName || ['Succeeded', 'Failed'].includes(pod.status.phase)) return 0
    return Math.max(0, asked ?? pod.spec.terminationGracePeriodSeconds ?? 30)
  }

  private deleteCollection(request: ResourceRequest): Answer {
    const { type, namespace } = request
    const options = this.optionsOf(request)
    const found = this.store.list(type, namespace).filter(this.matcherOf(request))
    for (const object of found) this.remove(type, object, options.gracePeriodSeconds)
    return { code: 200, body: this.render(request, found, false) }
  }

  /** Deleted by the control plane. */
  discard(type: ResourceType, object: KubeObject): void {
    if (!object.metadata.deletionTimestamp) this.remove(type, object, undefined)
  }

  /** Created by the control plane; what is not valid is left out. */
  makeOwned(type: ResourceType, object: KubeObject): void {
    if (!this.store.find(type, object.metadata.namespace, object.metadata.name)) this.store.create(type, withDefaults(object))
  }

  /** All that is in a namespace, removed at once where that is possible. */
  empty(namespace: string): number {
    let left = 0
    for (const type of this.allTypes.filter((own) => own.namespaced && own.verbs.includes('list'))) {
      for (const object of this.store.list(type, namespace)) {
        if (!object.metadata.deletionTimestamp) this.remove(type, object, undefined)
        if (this.store.find(type, namespace, object.metadata.name)) left += 1
      }
    }
    return left
  }
}

/** A number of a query. */
export function numberOf(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`)
}

/** The object in a body, in whichever form it came. */
export function readBody({ body, contentType }: Pick<ResourceRequest, 'body' | 'contentType'>): unknown {
  if (/^application\/(json|[a-z-]+-patch\+json)/.test(contentType) || contentType === '') return parseJson(body)
  if (/yaml/.test(contentType)) return parse(body.toString('utf8'))
  const found = isProtobuf(contentType) ? readProtobuf(body) : undefined
  if (found === undefined) throw unsupportedMediaType()
  return found
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: couldn't get version/kind; json parse error: ${(error as Error).message}`)
  }
}

/** The whole body of a request; 3 MiB at most, as the real one takes it. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += (piece as Buffer).length
    if (size > 3 * 1024 * 1024) throw new ApiError(413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728')
    pieces.push(piece as Buffer)
  }
  return Buffer.concat(pieces)
}
