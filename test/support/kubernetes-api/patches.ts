import { ApiError, badRequest } from './api-status.ts'

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON merge patch, RFC 7396. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch
  const result: Fields = isFields(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return result
}

/** By which field the elements of a list are the same; lists that are not named are replaced whole. */
const mergeKeys: Record<string, string> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  ports: 'containerPort',
  imagePullSecrets: 'name',
  hostAliases: 'ip',
  conditions: 'type',
  ownerReferences: 'uid',
  podIPs: 'ip',
}
/** Lists of plain values that are joined. */
const joined = ['finalizers']

/** Strategic merge patch, as far as the lists of pods need it. */
export function strategicPatch(target: unknown, patch: unknown, key = ''): unknown {
  if (Array.isArray(patch)) return patchList(Array.isArray(target) ? target : [], patch, key)
  if (!isFields(patch)) return patch
  if (patch.$patch === 'replace') return withoutDirectives(patch)
  if (patch.$patch === 'delete') return undefined
  const result: Fields = isFields(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (name === '$retainKeys' && Array.isArray(value)) {
      for (const own of Object.keys(result)) if (!value.includes(own)) delete result[own]
    } else if (name.startsWith('$deleteFromPrimitiveList/')) {
      const list = name.slice('$deleteFromPrimitiveList/'.length)
      if (Array.isArray(result[list]) && Array.isArray(value)) result[list] = result[list].filter((element) => !value.includes(element))
    }
  }
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$')) continue
    if (value === null) delete result[name]
    else result[name] = strategicPatch(result[name], value, name)
  }
  return result
}

function patchList(target: readonly unknown[], patch: readonly unknown[], key: string): unknown[] {
  if (joined.includes(key)) return [...new Set([...target, ...patch])]
  const by = mergeKeys[key]
  if (by === undefined || !patch.every(isFields)) return [...patch]
  if (patch.some((element) => element.$patch === 'replace')) return patch.filter((element) => element.$patch !== 'replace')
  const result: unknown[] = [...target]
  const added: unknown[] = []
  for (const element of patch) {
    const index = result.findIndex((own) => isFields(own) && own[by] === element[by])
    if (element.$patch === 'delete') {
      if (index >= 0) result.splice(index, 1)
    } else if (index >= 0) result[index] = strategicPatch(result[index], element)
    else added.push(withoutDirectives(strategicPatch({}, element)))
  }
  // What is new stands first, as with the real one.
  return [...added, ...result]
}

function withoutDirectives(value: unknown): unknown {
  return isFields(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith('$'))) : value
}

/** RFC 6902. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch')
  let result = structuredClone(target)
  for (const operation of operations as { op: string; path: string; from?: string; value?: unknown }[]) {
    const { op, path } = operation
    if (op === 'test') {
      if (JSON.stringify(read(result, path)) !== JSON.stringify(operation.value)) throw unprocessable()
    } else if (op === 'add' || op === 'replace') result = write(result, path, operation.value, op)
    else if (op === 'remove') result = write(result, path, undefined, op)
    else if (op === 'copy' || op === 'move') {
      const value = structuredClone(read(result, operation.from ?? ''))
      if (op === 'move') result = write(result, operation.from ?? '', undefined, 'remove')
      result = write(result, path, value, 'add')
    } else throw badRequest(`Unexpected kind: ${op}`)
  }
  return result
}

const unprocessable = (): ApiError => new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
const keysOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))

function read(value: unknown, path: string): unknown {
  return keysOf(path).reduce<unknown>((within, key) => (within as Fields | undefined)?.[key], value)
}

function write(target: unknown, path: string, value: unknown, op: 'add' | 'replace' | 'remove'): unknown {
  const keys = keysOf(path)
  const last = keys.pop()
  if (last === undefined) return value
  const parent = keys.reduce<unknown>((within, key) => (within as Fields | undefined)?.[key], target)
  if (typeof parent !== 'object' || parent === null) throw unprocessable()
  if (Array.isArray(parent)) {
    const index = last === '-' ? parent.length : Number(last)
    if (op === 'remove') parent.splice(index, 1)
    else if (op === 'replace') parent[index] = value
    else parent.splice(index, 0, value)
  } else {
    const fields = parent as Fields
    if (op !== 'add' && !(last in fields)) throw unprocessable()
    if (op === 'remove') delete fields[last]
    else fields[last] = value
  }
  return target
}
