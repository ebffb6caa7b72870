import { failure, HoldfastError } from '../../core/errors.ts'

/** The answer of an API server that is no success. */
export interface Status {
  readonly message?: string | undefined
  readonly reason?: string | undefined
  readonly code?: number | undefined
  readonly details?:
    | {
        readonly name?: string | undefined
        readonly kind?: string | undefined
        readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[] | undefined
        readonly retryAfterSeconds?: number | undefined
      }
    | undefined
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  constructor(
    readonly http: number,
    readonly status: Status,
    /** What was asked for: `create pods`. */
    readonly asked: string,
  ) {
    super(status.message || `${http}`)
  }
}

/** The status in the body of an answer, or in the place of one what the body says. */
export function readStatus(http: number, body: string): Status {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value === 'object' && value !== null && ('message' in value || 'reason' in value)) return value as Status
  } catch {
    // Proxies and old servers answer in text.
  }
  const text = body
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return { message: text.slice(0, 500) || `HTTP ${http}`, code: http }
}

export function isApiError(error: unknown, http: number): error is ApiError {
  return error instanceof ApiError && error.http === http
}

/** What went wrong as an error of ours. `target` is how people know the place. */
export function toFailure(error: unknown, target: string): HoldfastError {
  if (error instanceof HoldfastError) return error
  if (!(error instanceof ApiError)) return failure('backend_unavailable', { target, why: unwrap(error) }, error)
  const { http, status, asked } = error
  // Old servers go on with pieces of what they were sent.
  const why = (status.message || `HTTP ${http}`).replace(/, error found in #\d+ byte of [\s\S]*$/, '')
  if (http === 401) return failure('backend_unauthenticated', { target, why, help: 'log in again; kubectl auth whoami shows whether it helped' }, error)
  if (http === 403) return denied(error, target, why)
  if (http === 404) return missing(error, target, why)
  if (http === 422 || http === 400)
    return failure('backend_refused', { target, what: fieldsOf(status) ?? `the request to ${asked}`, why: causesOf(status) ?? why }, error)
  if (http === 409) return failure('backend_refused', { target, what: `the request to ${asked}`, why }, error)
  if (http === 429) return failure('backend_exhausted', { target, why: `the API server has too much to do: ${why}` }, error)
  return failure('backend_unavailable', { target, why: `the API server answers ${http} to ${asked}: ${why}` }, error)
}

function denied(error: ApiError, target: string, why: string): HoldfastError {
  if (/exceeded quota/i.test(why)) return failure('backend_exhausted', { target, why }, error)
  // Rights are not what these lack: the pod itself is not to their liking.
  if (/violates PodSecurity|(?:maximum|minimum) \w+ usage|failed quota|admission webhook/i.test(why))
    return failure('backend_refused', { target, what: 'the pod', why }, error)
  if (/being terminated/i.test(why)) return failure('backend_refused', { target, what: `the request to ${error.asked}`, why }, error)
  return failure(
    'backend_denied',
    { target, why: `nobody has given the right to ${error.asked}: ${why}`, help: 'a Role with all rights that are needed is in docs/backends/kubernetes.md' },
    error,
  )
}

const singular: Readonly<Record<string, string>> = {
  namespaces: 'namespace',
  pods: 'pod',
  secrets: 'secret',
  serviceaccounts: 'service account',
  runtimeclasses: 'runtime class',
}

function missing(error: ApiError, target: string, why: string): HoldfastError {
  const { name, kind } = error.status.details ?? {}
  if (kind && name) return failure('backend_missing', { target, what: `${singular[kind] ?? kind} ${name}` }, error)
  // Without details it is the resource itself that the server does not know.
  return failure(
    'backend_missing',
    { target, what: `way to ${error.asked}`, why, help: 'check the server of the kubeconfig, and whether what it needs is installed there' },
    error,
  )
}

function fieldsOf({ details }: Status): string | undefined {
  const fields = [...new Set((details?.causes ?? []).flatMap(({ field }) => (field ? [field] : [])))]
  return fields.length > 0 ? fields.join(', ') : undefined
}

function causesOf({ details }: Status): string | undefined {
  const messages = (details?.causes ?? []).flatMap(({ message }) => (message ? [message] : []))
  return messages.length > 0 ? messages.join('; ') : undefined
}

/** What a thrown value says, also where its own text says nothing: an event, a collection of errors, an answer with a body. */
export function unwrap(value: unknown, depth = 0): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  if (typeof value !== 'object' || value === null || depth > 4)
    return value === undefined || value === null || depth > 4 ? 'no reason was given' : String(value)
  const fields = value as {
    message?: unknown
    error?: unknown
    errors?: unknown
    cause?: unknown
    body?: unknown
    code?: unknown
    reason?: unknown
    type?: unknown
  }
  if (typeof fields.message === 'string' && fields.message.trim() !== '') return fields.message
  for (const inner of [fields.body, fields.error, fields.cause]) if (inner !== undefined && inner !== null) return unwrap(inner, depth + 1)
  if (Array.isArray(fields.errors) && fields.errors.length > 0) return [...new Set(fields.errors.map((each) => unwrap(each, depth + 1)))].join('; ')
  for (const word of [fields.reason, fields.code, fields.type]) if (typeof word === 'string' && word !== '') return word
  return 'no reason was given'
}
