/*
 * The binary form of the API, as far as kubectl sends it: its typed clients write reviews, secrets and options of deletes in it, and read
 * JSON.
 */

type Kind = 'text' | 'bytes' | 'number' | 'boolean' | 'textMap' | 'bytesMap' | readonly ['one' | 'many', string]
type Shape = Readonly<Record<number, readonly [name: string, kind: Kind]>>

const shapes: Readonly<Record<string, Shape>> = {
  Unknown: { 1: ['typeMeta', ['one', 'TypeMeta']], 2: ['raw', 'bytes'] },
  TypeMeta: { 1: ['apiVersion', 'text'], 2: ['kind', 'text'] },
  ObjectMeta: {
    1: ['name', 'text'],
    2: ['generateName', 'text'],
    3: ['namespace', 'text'],
    5: ['uid', 'text'],
    6: ['resourceVersion', 'text'],
    11: ['labels', 'textMap'],
    12: ['annotations', 'textMap'],
  },
  Secret: { 1: ['metadata', ['one', 'ObjectMeta']], 2: ['data', 'bytesMap'], 3: ['type', 'text'], 4: ['stringData', 'textMap'], 5: ['immutable', 'boolean'] },
  ConfigMap: { 1: ['metadata', ['one', 'ObjectMeta']], 2: ['data', 'textMap'], 3: ['binaryData', 'bytesMap'], 4: ['immutable', 'boolean'] },
  Namespace: { 1: ['metadata', ['one', 'ObjectMeta']] },
  ServiceAccount: { 1: ['metadata', ['one', 'ObjectMeta']] },
  DeleteOptions: {
    1: ['gracePeriodSeconds', 'number'],
    2: ['preconditions', ['one', 'Preconditions']],
    3: ['orphanDependents', 'boolean'],
    4: ['propagationPolicy', 'text'],
    5: ['dryRun', ['many', 'text']],
  },
  Preconditions: { 1: ['uid', 'text'], 2: ['resourceVersion', 'text'] },
  SelfSubjectAccessReview: { 1: ['metadata', ['one', 'ObjectMeta']], 2: ['spec', ['one', 'AccessSpec']] },
  AccessSpec: { 1: ['resourceAttributes', ['one', 'ResourceAttributes']], 2: ['nonResourceAttributes', ['one', 'PathAttributes']] },
  ResourceAttributes: {
    1: ['namespace', 'text'],
    2: ['verb', 'text'],
    3: ['group', 'text'],
    4: ['version', 'text'],
    5: ['resource', 'text'],
    6: ['subresource', 'text'],
    7: ['name', 'text'],
  },
  PathAttributes: { 1: ['path', 'text'], 2: ['verb', 'text'] },
  SelfSubjectRulesReview: { 1: ['metadata', ['one', 'ObjectMeta']], 2: ['spec', ['one', 'RulesSpec']] },
  RulesSpec: { 1: ['namespace', 'text'] },
  SelfSubjectReview: { 1: ['metadata', ['one', 'ObjectMeta']] },
}

export const isProtobuf = (contentType: string): boolean => contentType.startsWith('application/vnd.kubernetes.protobuf')

/** Undefined: an object of a kind that is not known in this form. */
export function readProtobuf(body: Buffer): Record<string, unknown> | undefined {
  // It begins with `k8s` and a NUL.
  const { typeMeta, raw } = readMessage(body.subarray(4), shapes.Unknown as Shape) as { typeMeta: { apiVersion: string; kind: string }; raw?: Buffer }
  const shape = shapes[typeMeta.kind]
  return shape && { ...typeMeta, metadata: {}, ...readMessage(raw ?? Buffer.alloc(0), shape) }
}

function readMessage(bytes: Buffer, shape: Shape): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at] ?? 0
      at += 1
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const wire = tag & 7
    if (wire === 1 || wire === 5) {
      at += wire === 1 ? 8 : 4
      continue
    }
    const number = varint()
    const piece = wire === 2 ? bytes.subarray(at, at + number) : undefined
    if (piece) at += number
    const field = shape[tag >>> 3]
    if (field) take(result, field[0], field[1], piece ?? number)
  }
  return result
}

function take(into: Record<string, unknown>, name: string, kind: Kind, value: Buffer | number): void {
  if (typeof value === 'number') into[name] = kind === 'boolean' ? value !== 0 : value
  else if (kind === 'text') {
    // Empty texts are fields that were not given.
    if (value.length > 0) into[name] = value.toString('utf8')
  } else if (kind === 'bytes') into[name] = value
  else if (kind === 'textMap' || kind === 'bytesMap') {
    const entry = readMessage(value, { 1: ['key', 'text'], 2: ['value', 'bytes'] }) as { key: string; value?: Buffer }
    const text = (entry.value ?? Buffer.alloc(0)).toString(kind === 'textMap' ? 'utf8' : 'base64')
    into[name] = { ...(into[name] as object | undefined), [entry.key]: text }
  } else if (Array.isArray(kind)) {
    const [count, shapeName] = kind as readonly ['one' | 'many', string]
    const read = shapeName === 'text' ? value.toString('utf8') : readMessage(value, shapes[shapeName] as Shape)
    into[name] = count === 'many' ? [...((into[name] as unknown[] | undefined) ?? []), read] : read
  }
}
