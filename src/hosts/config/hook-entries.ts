import { displayArgv } from '../../core/command.ts'
import { eventNames, type Moment } from '../events.ts'
import type { HostName } from '../host.ts'
import { type Document, isObject, valueAt } from './document.ts'
import type { Path } from './editing.ts'
import { isHookCommand } from './ours.ts'

/** How a host writes down the commands that it runs at its events: lists of them by event, in an object. */
export interface HooksShape {
  readonly host: HostName
  readonly path: Path
  /** Whether the handlers of an event stand in groups, each with a matcher. */
  readonly isGrouped: boolean
  /** What a handler has besides its command. */
  readonly handler: Readonly<Record<string, unknown>>
  /** Moments besides those of every host. */
  readonly also?: readonly Moment[] | undefined
  /** They belong into another file: in this one they are removed. */
  readonly elsewhere?: boolean | undefined
}

/** At which moments a host asks us. */
const moments = [
  'session-start',
  'after-tool',
  'after-failed-tool',
  'before-compaction',
  'after-compaction',
  'session-end',
] as const satisfies readonly Moment[]

/** What a host runs at an event, as a line for its shell. */
export const hookCommand = (launcher: readonly string[], host: HostName, event: string): string => displayArgv([...launcher, 'hook', host, event])

interface FoundHook {
  readonly event: string
  readonly command: string
  /** Of the handler; and what goes with it when it goes: its group, where it is alone there. */
  readonly at: Path
  readonly whole: Path
}

/** All handlers of ours, in whatever version, in the order of the file. */
export function findHooks(document: Document, { host, path, isGrouped }: HooksShape): FoundHook[] {
  const events = valueAt(document.value, path)
  if (!isObject(events)) return []
  return Object.entries(events).flatMap(([event, list]) =>
    (Array.isArray(list) ? list : []).flatMap((element: unknown, place): FoundHook[] => {
      const at = [...path, event, place]
      if (!isGrouped) return handlersIn(host, event, [element], () => at, at)
      const handlers = isObject(element) && Array.isArray(element.hooks) ? element.hooks : []
      return handlersIn(host, event, handlers, (index) => [...at, 'hooks', index], handlers.length === 1 ? at : undefined)
    }),
  )
}

function handlersIn(host: HostName, event: string, handlers: readonly unknown[], placeOf: (index: number) => Path, group: Path | undefined): FoundHook[] {
  return handlers.flatMap((handler, index) => {
    const command = isObject(handler) ? handler.command : undefined
    return isHookCommand(command, host) ? [{ event, command: command as string, at: placeOf(index), whole: group ?? placeOf(index) }] : []
  })
}

/**
 * Writes one handler for each moment that the host tells of; older ones of ours are brought up to date, needless ones go. Gives the events
 * that lost one.
 */
export function putHooks(document: Document, shape: HooksShape, launcher: readonly string[]): string[] {
  const names = eventNames[shape.host]
  const wanted = new Set([...moments, ...(shape.also ?? [])].flatMap((moment) => names[moment] ?? []))
  const lost = removeHooks(document, shape, ({ event }, place, all) => !wanted.has(event) || all.findIndex((other) => other.event === event) !== place)
  const kept = findHooks(document, shape)
  for (const event of wanted) {
    const command = hookCommand(launcher, shape.host, event)
    const own = kept.find((hook) => hook.event === event)
    if (!own) document.append([...shape.path, event], toElement(shape, command))
    else if (own.command !== command) document.set([...own.at, 'command'], command)
  }
  return lost
}

function toElement({ isGrouped, handler }: HooksShape, command: string): Readonly<Record<string, unknown>> {
  const { type, ...rest } = handler
  const own = { ...(type === undefined ? {} : { type }), command, ...rest }
  return isGrouped ? { hooks: [own] } : own
}

/** Takes handlers of ours away; gives the events that lost one. */
export function removeHooks(
  document: Document,
  shape: HooksShape,
  isMeant: (hook: FoundHook, place: number, all: readonly FoundHook[]) => boolean = () => true,
): string[] {
  const meant = findHooks(document, shape).filter(isMeant)
  // From the end, so that the places of those before stay what they are.
  for (const { whole } of meant.toReversed()) document.remove(whole)
  return [...new Set(meant.map(({ event }) => event))]
}
