import { type GenericSchema, safeParse } from 'valibot'
import { closest } from '../core/closest.ts'
import { failure } from '../core/errors.ts'
import { shown } from '../core/reason.ts'
import { looksSecret, nameMatcher } from '../core/secret-names.ts'
import { type Target, thisMachine } from '../core/target.ts'
import { oneLine } from '../core/text.ts'
import { findJsonFault } from './json-fault.ts'
import { type ConfigFile, configSchema } from './schema.ts'
import { distrusted, targetFault } from './target-rules.ts'
import { targetSchema } from './targets.ts'

export interface ConfigText {
  readonly path: string
  readonly text: string
  /** The project's file belongs to the repository, which may come from anyone. */
  readonly owner: 'person' | 'project'
}

/** A file that was found, with what it sets. */
export interface ConfigLayer {
  readonly path: string
  readonly owner: 'person' | 'project'
  readonly config: ConfigFile
}

type Report = (problem: string) => void

const maxChars = 1024 * 1024
const maxProblems = 20

/** Checks all files. Throws `invalid_config` with everything that is wrong in any of them. */
export function checkConfig(texts: readonly ConfigText[]): ConfigLayer[] {
  const problems: string[] = []
  const layers = texts.map(({ path, text, owner }) => {
    const config = readFile(text, (problem) => problems.push(oneLine(`${path}${problem}`)))
    return { path, owner, config }
  })
  for (const layer of layers) {
    const report: Report = (problem) => problems.push(oneLine(`${layer.path}${problem}`))
    checkTrust(layer, layers, report)
    checkTargets(layer, layers, report)
  }
  if (problems.length === 0) return layers
  const more = problems.length - maxProblems
  throw failure('invalid_config', { problems: more > 0 ? [...problems.slice(0, maxProblems), `and ${more} more`] : problems })
}

function readFile(text: string, report: Report): ConfigFile {
  if (text.length > maxChars) {
    report(` has ${text.length} characters; accepted: at most ${maxChars}`)
    return {}
  }
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    return (readValue(configSchema, JSON.parse(json), '', (problem) => report(`: ${problem}`)) ?? {}) as ConfigFile
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const fault = findJsonFault(json)
    report(fault ? `, line ${fault.line}, column ${fault.column}: ${fault.why}` : ': this is not JSON')
    return {}
  }
}

/** What of `value` is as `schema` wants it, transformed; the rest is reported, each by its own key. */
function readValue(schema: GenericSchema, value: unknown, key: string, report: Report): unknown {
  const inner = schema as Partial<{
    type: string
    wrapped: GenericSchema
    entries: Record<string, GenericSchema>
    key: GenericSchema
    value: GenericSchema
    item: GenericSchema
    options: readonly GenericSchema[]
  }>
  if (inner.type === 'variant' && inner.options) return readVariant(inner.key as unknown as string, inner.options, value, key, report)
  if (inner.type === 'optional' && inner.wrapped) return readValue(inner.wrapped, value, key, report)
  if (inner.entries) return readGroup(inner.entries, value, key, report)
  if (inner.key && inner.value) return readMap(inner.key, inner.value, value, key, report)
  if (inner.item && Array.isArray(value)) {
    const { item } = inner
    return value.map((element, i) => readValue(item, element, `${key}[${i}]`, report)).filter((element) => element !== undefined)
  }
  const parsed = safeParse(schema, value)
  if (parsed.success) return parsed.output
  report(`${key} is ${display(value)}; accepted: ${parsed.issues[0].message}`)
  return undefined
}

function readGroup(entries: Record<string, GenericSchema>, value: unknown, key: string, report: Report): unknown {
  const known = Object.keys(entries)
  if (!isObject(value)) {
    report(`${key === '' ? 'what is in it' : key} is ${display(value)}; accepted: an object with ${known.join(', ')}`)
    return undefined
  }
  const found: [string, unknown][] = []
  for (const [name, given] of Object.entries(value)) {
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined
    if (entry) found.push([name, readValue(entry, given, join(key, name), report)])
    else report(unknownKey(name, key, known))
  }
  return Object.fromEntries(found.filter(([, read]) => read !== undefined))
}

/** Which of several groups it is, one entry says. */
function readVariant(name: string, options: readonly GenericSchema[], value: unknown, key: string, report: Report): unknown {
  const entriesOf = (option: GenericSchema): Record<string, GenericSchema & { literal?: unknown }> =>
    (option as unknown as { entries: Record<string, GenericSchema> }).entries
  const kinds = options.map((option) => String(entriesOf(option)[name]?.literal))
  if (!isObject(value)) {
    report(`${key} is ${display(value)}; accepted: an object with ${name} (${kinds.join(', ')})`)
    return undefined
  }
  const at = kinds.indexOf(String(value[name]))
  if (at === -1) {
    report(`${join(key, name)} is ${Object.hasOwn(value, name) ? display(value[name]) : 'not there'}; accepted: ${kinds.join(', ')}`)
    return undefined
  }
  const option = options[at] as GenericSchema
  const missing = Object.entries(entriesOf(option)).filter(([field, entry]) => entry.type !== 'optional' && !Object.hasOwn(value, field))
  for (const [field, entry] of missing) report(`${join(key, field)} is not there; accepted: ${expectedOf(entry)}`)
  const read = readGroup(entriesOf(option), value, key, report)
  return missing.length > 0 ? undefined : read
}

/** What is accepted, as the refusal of nothing says it. */
function expectedOf(schema: GenericSchema): string {
  const parsed = safeParse(schema, undefined)
  return parsed.success ? 'anything' : parsed.issues[0].message
}

function unknownKey(name: string, group: string, known: readonly string[]): string {
  const near = closest(name, known)
  const elsewhere = near ? undefined : settingKeys().find((key) => key.split('.').at(-1) === name)
  const meant = near ? join(group, near) : elsewhere
  return `${join(group, name)} is no setting${meant ? `; did you mean ${meant}?` : ''} (accepted${group ? ` in ${group}` : ''}: ${known.join(', ')})`
}

function readMap(names: GenericSchema, values: GenericSchema, value: unknown, key: string, report: Report): unknown {
  if (!isObject(value)) {
    report(`${key} is ${display(value)}; accepted: an object of values by name`)
    return undefined
  }
  const found: [string, unknown][] = []
  for (const [name, given] of Object.entries(value)) {
    const checked = safeParse(names, name)
    // What stands beside a secret name is never shown.
    if (key === 'env.set' && looksSecret(name))
      report(`${join(key, name)} would be a secret in a file; pass it by name instead ("env": { "pass": [${display(name)}] })`)
    else if (!checked.success) report(`${key} has the name ${display(name)}; accepted: ${checked.issues[0].message}`)
    else found.push([name, readValue(values, given, join(key, name), report)])
  }
  return Object.fromEntries(found.filter(([, read]) => read !== undefined))
}

/** A repository that was merely cloned must not get at the secrets of the person who runs a command in it. */
function checkTrust(layer: ConfigLayer, layers: readonly ConfigLayer[], report: Report): void {
  if (layer.owner !== 'project') return
  const person = layers.filter(({ owner }) => owner === 'person')
  const passed = new Set(person.flatMap(({ config }) => config.env?.pass ?? []))
  const declared = nameMatcher(person.flatMap(({ config }) => config.mask?.names ?? []))
  for (const name of layer.config.env?.pass ?? []) {
    if (passed.has(name) || !(looksSecret(name) || declared(name))) continue
    report(`: env.pass has ${name}, which looks secret, and this file belongs to the project; put it into your own file, or use --env ${name}`)
  }
  const { workspaces = {} } = layer.config
  const given = new Set(person.flatMap(({ config }) => config.workspaces?.passEnv ?? []))
  for (const name of workspaces.passEnv ?? []) {
    if (given.has(name) || !(looksSecret(name) || declared(name))) continue
    report(`: workspaces.passEnv has ${name}, which looks secret, and this file belongs to the project; put it into your own file`)
  }
  for (const key of ofThePerson) {
    if (workspaces[key] !== undefined) report(`: workspaces.${key} is not for the file of a project; put it into your own file`)
  }
  // It counts for the notes of the person too.
  if (layer.config.notes?.maxPerScope !== undefined) report(': notes.maxPerScope is not for the file of a project; put it into your own file')
}

function checkTargets(layer: ConfigLayer, layers: readonly ConfigLayer[], report: Report): void {
  const passed = new Set(layers.filter(({ owner }) => owner === 'person').flatMap(({ config }) => config.env?.pass ?? []))
  for (const [name, target] of Object.entries(layer.config.targets ?? {})) {
    const key = `targets.${name}`
    const fault = targetFault(target as Target, key)
    if (fault !== undefined) report(`: ${fault}`)
    if (layer.owner !== 'project') continue
    for (const field of distrusted(target as Target, (variable) => passed.has(variable)))
      report(`: ${key}.${field} is not for the file of a project; put the target into your own file`)
  }
  const { defaultTarget } = layer.config
  const known = layers.flatMap(({ config }) => Object.keys(config.targets ?? {}))
  if (defaultTarget === undefined || defaultTarget === thisMachine || known.includes(defaultTarget)) return
  report(`: defaultTarget is ${shown(defaultTarget)}; accepted: ${[thisMachine, ...new Set(known)].join(', ')}`)
}

/** A target that somebody gives, like one in a file. Throws `target_invalid` with all that is wrong. */
export function readTarget(value: unknown): Target {
  const problems: string[] = []
  const read = readValue(targetSchema, value, 'target', (problem) => problems.push(problem)) as Target | undefined
  const fault = read && problems.length === 0 ? targetFault(read, 'target') : undefined
  if (fault !== undefined) problems.push(fault)
  if (!read || problems.length > 0) throw failure('target_invalid', { problems: problems.map(oneLine) })
  return read
}

/** Where things are put, whose repositories are trusted, and what the disk of the person is used for. */
const ofThePerson = ['root', 'trusted', 'maxBytes', 'minFree', 'keepRescues'] as const

/** Every key by which a single setting is known, `limits.timeoutMs`. */
export function settingKeys(): string[] {
  const keysOf = (schema: GenericSchema, key: string): string[] => {
    const inner = schema as Partial<{ wrapped: GenericSchema; entries: Record<string, GenericSchema> }>
    if (inner.wrapped) return keysOf(inner.wrapped, key)
    return inner.entries ? Object.entries(inner.entries).flatMap(([name, entry]) => keysOf(entry, join(key, name))) : [key]
  }
  return keysOf(configSchema, '')
}

function join(group: string, name: string): string {
  const shownName = /^[\w$-]{1,64}$/.test(name) ? name : shown(name)
  return group === '' ? shownName : `${group}.${shownName}`
}

/** A value in a report. What may be a secret behind its name, or is too large to be read, is not shown. */
function display(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (isObject(value)) return 'an object'
  const assigned = typeof value === 'string' ? /^\s*(?:export\s+)?([A-Za-z_]\w*)=./s.exec(value) : null
  return assigned ? `"${assigned[1]}=..."` : shown(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
