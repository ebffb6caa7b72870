import { randomBytes, randomUUID } from 'node:crypto'
import { alreadyExists, changedMeanwhile, notFound } from './api-status.ts'
import { type KubeObject, timestamp } from './kube-object.ts'
import { type ResourceType, storageKey } from './resources.ts'

export interface Change {
  readonly kind: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly type: ResourceType
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
  readonly version: number
}

/** Past so many changes the oldest are forgotten, and a watch from before them is expired. */
const keptChanges = 2_000

/** All objects, in versions that are never changed once they are stored. */
export class Store {
  version = 100
  readonly changes: Change[] = []
  /** Changes up to and with this version are not known any more. */
  forgottenTo = 0
  private readonly objects = new Map<string, Map<string, KubeObject>>()
  private readonly listeners = new Set<(change: Change) => void>()

  find(type: ResourceType, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.within(type).get(keyOf(type, namespace, name))
  }

  require(type: ResourceType, namespace: string | undefined, name: string): KubeObject {
    const found = this.find(type, namespace, name)
    if (!found) throw notFound(type, name)
    return found
  }

  list(type: ResourceType, namespace?: string): KubeObject[] {
    const found = [...this.within(type).values()]
    const inHere = namespace === undefined ? found : found.filter(({ metadata }) => metadata.namespace === namespace)
    return inHere.sort((a, b) => compare(keyOf(type, a.metadata.namespace, a.metadata.name), keyOf(type, b.metadata.namespace, b.metadata.name)))
  }

  create(type: ResourceType, object: KubeObject): KubeObject {
    const name = object.metadata.name || `${object.metadata.generateName ?? ''}${suffix()}`
    const metadata = { ...object.metadata, name, uid: randomUUID() as string, creationTimestamp: timestamp() }
    const key = keyOf(type, metadata.namespace, name)
    if (this.within(type).has(key)) throw alreadyExists(type, name)
    return this.put('ADDED', type, { ...object, metadata }, undefined)
  }

  /** `expected`: the version that the caller saw; undefined: whichever there is. */
  update(type: ResourceType, object: KubeObject, expected?: string): KubeObject {
    const { namespace, name } = object.metadata
    const previous = this.require(type, namespace, name)
    if (expected !== undefined && expected !== previous.metadata.resourceVersion) throw changedMeanwhile(type, name)
    if (
      JSON.stringify({ ...object, metadata: { ...object.metadata, resourceVersion: '' } }) ===
      JSON.stringify({ ...previous, metadata: { ...previous.metadata, resourceVersion: '' } })
    ) {
      return previous
    }
    return this.put('MODIFIED', type, object, previous)
  }

  remove(type: ResourceType, namespace: string | undefined, name: string): KubeObject {
    const previous = this.require(type, namespace, name)
    this.within(type).delete(keyOf(type, namespace, name))
    return this.put('DELETED', type, previous, previous)
  }

  onChange(listener: (change: Change) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** As if many changes had been made since: whoever watches from an older version is told that it has expired. */
  forget(): void {
    this.changes.length = 0
    this.forgottenTo = this.version
  }

  private put(kind: Change['kind'], type: ResourceType, object: KubeObject, previous: KubeObject | undefined): KubeObject {
    this.version += 1
    const stored: KubeObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } }
    if (kind !== 'DELETED') this.within(type).set(keyOf(type, stored.metadata.namespace, stored.metadata.name), stored)
    const change: Change = { kind, type, object: stored, previous, version: this.version }
    this.changes.push(change)
    while (this.changes.length > keptChanges) this.forgottenTo = this.changes.shift()?.version ?? 0
    for (const tell of [...this.listeners]) tell(change)
    return stored
  }

  private within(type: ResourceType): Map<string, KubeObject> {
    const key = storageKey(type)
    const found = this.objects.get(key) ?? new Map<string, KubeObject>()
    this.objects.set(key, found)
    return found
  }
}

const keyOf = (type: ResourceType, namespace: string | undefined, name: string): string => (type.namespaced ? `${namespace}/${name}` : name)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
/** Without vowels and digits that look like letters, as the real one does it. */
const letters = 'bcdfghjklmnpqrstvwxz2456789'
const suffix = (): string => [...randomBytes(5)].map((byte) => letters[byte % letters.length]).join('')
