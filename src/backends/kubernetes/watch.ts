import type { IncomingMessage } from 'node:http'
import type { Api } from './api.ts'
import { ApiError, isApiError, type Status } from './api-error.ts'
import type { List, Resource } from './resources.ts'

export interface Followed {
  /** The collection: `/api/v1/namespaces/dev/pods`. */
  readonly path: string
  readonly name: string
  /** For sentences: `pods`. */
  readonly resource: string
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: T
}

/** A server ends a watch after so long, and it is begun anew where it ended. */
const watchSeconds = 30
/** Later than that it is the way that is broken. */
const silenceMs = watchSeconds * 1000 + 15_000
const maxEventBytes = 8 * 1024 * 1024
const pollMs = 1_000
const maxFailures = 5

/**
 * The states of one object, the present one first; undefined: it is not there (any more). Goes on until the signal, or until who reads it has
 * enough. Where watching is not allowed it asks again and again.
 */
export async function* followObject<T extends Resource>(api: Api, followed: Followed, signal: AbortSignal): AsyncGenerator<T | undefined, void, void> {
  const { path, name, resource } = followed
  const selection = { fieldSelector: `metadata.name=${name}` }
  let mayWatch = true
  for (;;) {
    if (!mayWatch) {
      yield await look<T>(api, followed, signal)
      await rest(pollMs, signal)
      continue
    }
    let version: string
    try {
      const list = await api.ask<List<T>>({ method: 'GET', path, query: selection, asked: `list ${resource}`, signal })
      version = list.metadata?.resourceVersion ?? '0'
      yield list.items?.find(({ metadata }) => metadata.name === name)
    } catch (error) {
      if (!isApiError(error, 403)) throw error
      mayWatch = false
      continue
    }
    try {
      let failures = 0
      while (version !== undefined) {
        const query = { ...selection, watch: true, allowWatchBookmarks: true, timeoutSeconds: watchSeconds, resourceVersion: version }
        let heard = false
        try {
          const stream = await api.openStream({ method: 'GET', path, query, asked: `watch ${resource}`, signal })
          for await (const { type, object } of eventsOf<T>(stream)) {
            heard = true
            if (type === 'ERROR') throw new ApiError((object as Status).code ?? 500, object as Status, `watch ${resource}`)
            version = object.metadata.resourceVersion ?? version
            if (type !== 'BOOKMARK' && object.metadata.name === name) yield type === 'DELETED' ? undefined : object
          }
        } catch (error) {
          // What the server says counts; a connection that broke is made again.
          failures += 1
          if (error instanceof ApiError || signal.aborted || failures > maxFailures) throw error
        }
        if (heard) failures = 0
        else await rest(100, signal)
      }
    } catch (error) {
      // Too old a version: everything is looked at anew.
      if (isApiError(error, 410)) continue
      if (!isApiError(error, 403)) throw error
      mayWatch = false
    }
  }
}

async function look<T extends Resource>(api: Api, { path, name, resource }: Followed, signal: AbortSignal): Promise<T | undefined> {
  return api.ask<T>({ method: 'GET', path: `${path}/${encodeURIComponent(name)}`, asked: `get ${resource}`, signal }).catch((error: unknown) => {
    if (isApiError(error, 404)) return undefined
    throw error
  })
}

/** One JSON object on each line. Ends with the stream; the stream ends when nobody reads on. */
async function* eventsOf<T>(stream: IncomingMessage): AsyncGenerator<WatchEvent<T>, void, void> {
  const broken = (): void => void stream.destroy(Object.assign(new Error('nothing was heard for too long'), { code: 'ETIMEDOUT' }))
  let timer = setTimeout(broken, silenceMs)
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      clearTimeout(timer)
      timer = setTimeout(broken, silenceMs)
      let from = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        const line = Buffer.concat([...parts.splice(0), chunk.subarray(from, end)])
        bytes = 0
        from = end + 1
        if (line.length > 0) yield JSON.parse(line.toString('utf8')) as WatchEvent<T>
      }
      parts.push(chunk.subarray(from))
      bytes += chunk.length - from
      if (bytes > maxEventBytes) throw new Error(`an event has more than ${maxEventBytes} bytes`)
    }
  } finally {
    clearTimeout(timer)
    stream.destroy()
  }
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
