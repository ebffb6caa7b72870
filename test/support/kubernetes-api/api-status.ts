/** A field that was refused, as `details.causes` has it. */
export interface Cause {
  readonly reason?: string
  readonly message: string
  readonly field?: string
}

export interface StatusBody {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: Record<string, never>
  readonly status: 'Success' | 'Failure'
  readonly message?: string
  readonly reason?: string
  readonly details?: {
    readonly name?: string
    readonly group?: string
    readonly kind?: string
    readonly uid?: string
    readonly causes?: readonly Cause[]
    readonly retryAfterSeconds?: number
  }
  readonly code?: number
}

/** What the server answers with where it does not do what it was asked for. */
export class ApiError extends Error {
  readonly body: StatusBody

  constructor(code: number, reason: string | undefined, message: string, details?: StatusBody['details']) {
    super(message)
    this.body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason ? { reason } : {}),
      ...(details ? { details } : {}),
      code,
    }
  }
}

export const success = (details?: StatusBody['details']): StatusBody => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  ...(details ? { details } : {}),
})

interface Named {
  readonly group: string
  readonly plural: string
  readonly kind: string
}

const qualified = ({ plural, group }: Named): string => (group === '' ? plural : `${plural}.${group}`)
const detailsOf = (type: Named, name: string): StatusBody['details'] => ({ name, ...(type.group === '' ? {} : { group: type.group }), kind: type.plural })

export const notFound = (type: Named, name: string): ApiError => new ApiError(404, 'NotFound', `${qualified(type)} "${name}" not found`, detailsOf(type, name))

export const noSuchPath = (): ApiError => new ApiError(404, 'NotFound', 'the server could not find the requested resource', {})

export const alreadyExists = (type: Named, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${qualified(type)} "${name}" already exists`, detailsOf(type, name))

export const conflict = (type: Named, name: string, why: string): ApiError =>
  new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(type)} "${name}": ${why}`, detailsOf(type, name))

/** As an ordered deletion says it: by the kind, not by the resource. */
export const precondition = (type: Named, name: string, why: string): ApiError => conflict({ ...type, plural: type.kind }, name, why)

export const changedMeanwhile = (type: Named, name: string): ApiError =>
  conflict(type, name, 'the object has been modified; please apply your changes to the latest version and try again')

export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized')

/** What no part of the server had words for. */
export const unknownError = (message: string): ApiError => new ApiError(500, undefined, message)

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message)

export const methodNotAllowed = (): ApiError => new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})

export const unsupportedMediaType = (): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  )

export const expired = (asked: string, oldest: number): ApiError => new ApiError(410, 'Expired', `too old resource version: ${asked} (${oldest})`)

export const tooManyRequests = (retryAfterSeconds: number): ApiError =>
  new ApiError(429, 'TooManyRequests', 'Too many requests, please try again later.', { retryAfterSeconds })

export const internalError = (message: string): ApiError => new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })

export function invalid(type: Named, name: string, causes: readonly Cause[]): ApiError {
  const said = causes.map(({ field, message }) => (field ? `${field}: ${message}` : message))
  const all = said.length === 1 ? said[0] : `[${said.join(', ')}]`
  return new ApiError(422, 'Invalid', `${type.kind}${type.group === '' ? '' : `.${type.group}`} "${name}" is invalid: ${all}`, {
    ...(name === '' ? {} : { name }),
    ...(type.group === '' ? {} : { group: type.group }),
    kind: type.kind,
    causes,
  })
}
