import type { ServerResponse } from 'node:http'
import { expired, type StatusBody } from './api-status.ts'
import type { KubeObject } from './kube-object.ts'
import { apiVersionOf, type ResourceType, storageKey } from './resources.ts'
import type { Matcher } from './selectors.ts'
import type { Change, Store } from './store.ts'
import type { Switches } from './switches.ts'

export interface WatchTerms {
  readonly type: ResourceType
  readonly namespace: string | undefined
  readonly matches: Matcher
  readonly resourceVersion: string
  readonly bookmarks: boolean
  readonly sendInitialEvents: boolean
  readonly timeoutMs: number | undefined
  /** An object as the client wants to see it. */
  readonly render: (object: KubeObject, isFirst: boolean) => object
  readonly contentType: string
}

/** All watches that are open, so that tests can end them. */
export class Watches {
  private readonly open = new Set<{ end(): void; expire(): void; bookmark(): void }>()
  private readonly store: Store
  private readonly switches: Switches

  constructor(store: Store, switches: Switches) {
    this.store = store
    this.switches = switches
  }

  get size(): number {
    return this.open.size
  }

  endAll(): void {
    for (const watch of [...this.open]) watch.end()
  }

  /** All are told that their version has expired, and end. */
  expireAll(): void {
    this.store.forget()
    for (const watch of [...this.open]) watch.expire()
  }

  bookmarkAll(): void {
    for (const watch of [...this.open]) watch.bookmark()
  }

  serve(terms: WatchTerms, response: ServerResponse): void {
    const { type, namespace, matches, resourceVersion } = terms
    const { store, switches } = this
    response.writeHead(200, { 'content-type': terms.contentType, 'cache-control': 'no-cache, private' })
    response.flushHeaders()
    let isFirst = true
    const say = (kind: string, object: object): void => {
      if (!switches.watch.silent) response.write(`${JSON.stringify({ type: kind, object })}\n`)
    }
    const tell = (kind: string, object: KubeObject): void => {
      say(kind, terms.render(object, isFirst))
      isFirst = false
    }
    const concerns = (object: KubeObject): boolean => (namespace === undefined || object.metadata.namespace === namespace) && matches(object)
    const look = (change: Change): void => {
      if (storageKey(change.type) !== storageKey(type)) return
      const before = change.previous !== undefined && concerns(change.previous)
      const after = change.kind !== 'DELETED' && concerns(change.object)
      if (after) tell(before ? 'MODIFIED' : 'ADDED', change.object)
      else if (before) tell('DELETED', change.object)
    }
    const bookmark = (initial = false): void => {
      if (!terms.bookmarks) return
      const metadata = {
        resourceVersion: String(store.version),
        creationTimestamp: null,
        ...(initial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
      }
      say('BOOKMARK', { kind: type.kind, apiVersion: apiVersionOf(type), metadata })
    }
    const close = (): void => {
      forget()
      clearInterval(bookmarks)
      clearTimeout(end)
      this.open.delete(own)
    }
    const own = {
      end: () => {
        close()
        response.end()
      },
      expire: () => {
        const error: StatusBody = expired(resourceVersion, store.version).body
        response.write(`${JSON.stringify({ type: 'ERROR', object: error })}\n`)
        own.end()
      },
      bookmark,
    }
    const forget = store.onChange(look)
    const bookmarks = setInterval(bookmark, switches.watch.bookmarkEveryMs)
    const endMs = switches.watch.endAfterMs ?? terms.timeoutMs
    const end = endMs === undefined ? undefined : setTimeout(own.end, endMs)
    this.open.add(own)
    response.on('close', close)
    const from = Number(resourceVersion || '0')
    if (switches.watch.expireNext > 0 || (from > 0 && from < store.forgottenTo)) {
      if (switches.watch.expireNext > 0) switches.watch.expireNext -= 1
      own.expire()
      return
    }
    if (from === 0 || terms.sendInitialEvents) {
      for (const object of store.list(type, namespace)) if (matches(object)) tell('ADDED', object)
      if (terms.sendInitialEvents) bookmark(true)
    } else for (const change of store.changes) if (change.version > from) look(change)
  }
}
