import type { KubeObject, Pod } from './kube-object.ts'
import { fieldOf } from './selectors.ts'

interface Column {
  readonly name: string
  readonly priority?: number
  readonly type?: string
  readonly format?: string
  cell(object: KubeObject): unknown
}

const text = (value: unknown): string => (value === undefined || value === null || value === '' ? '<none>' : String(value))
const name: Column = { name: 'Name', format: 'name', cell: ({ metadata }) => metadata.name }
const age: Column = { name: 'Age', cell: ({ metadata }) => ageOf(metadata.creationTimestamp) }
const field = (title: string, path: string, priority = 0): Column => ({ name: title, priority, cell: (object) => text(fieldOf(object, path)) })
const count = (title: string, path: string): Column => ({
  name: title,
  cell: (object) => Object.keys((fieldOf(object, path) as object | undefined) ?? {}).length,
})

const columnsOf: Record<string, readonly Column[]> = {
  Pod: [
    name,
    { name: 'Ready', cell: (object) => readyOf(object as Pod) },
    { name: 'Status', cell: (object) => statusOf(object as Pod) },
    { name: 'Restarts', cell: (object) => ((object as Pod).status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0) },
    age,
    field('IP', 'status.podIP', 1),
    field('Node', 'spec.nodeName', 1),
    field('Nominated Node', 'status.nominatedNodeName', 1),
    field('Readiness Gates', 'spec.readinessGates', 1),
  ],
  Namespace: [name, { name: 'Status', cell: (object) => fieldOf(object, 'status.phase') }, age],
  Node: [name, { name: 'Status', cell: () => 'Ready' }, { name: 'Roles', cell: () => '<none>' }, age, field('Version', 'status.nodeInfo.kubeletVersion')],
  Secret: [name, field('Type', 'type'), count('Data', 'data'), age],
  ConfigMap: [name, count('Data', 'data'), age],
  Lease: [name, field('Holder', 'spec.holderIdentity'), age],
  Event: [
    { name: 'Last Seen', cell: (object) => ageOf(String(object.lastTimestamp)) },
    field('Type', 'type'),
    field('Reason', 'reason'),
    { name: 'Object', cell: (object) => `${String(fieldOf(object, 'involvedObject.kind')).toLowerCase()}/${fieldOf(object, 'involvedObject.name')}` },
    { name: 'Message', cell: ({ message }) => String(message).trim() },
  ],
}

/** Objects as kubectl prints them: rows of cells. `columns`: a watch names them only once. */
export function toTable(kind: string, objects: readonly KubeObject[], resourceVersion: string, include = 'Metadata', withColumns = true): object {
  const columns = columnsOf[kind] ?? [name, { name: 'Age', type: 'date', cell: ({ metadata }) => metadata.creationTimestamp }]
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion },
    columnDefinitions: withColumns
      ? columns.map((column) => ({
          name: column.name,
          type: column.type ?? 'string',
          format: column.format ?? '',
          description: '',
          priority: column.priority ?? 0,
        }))
      : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object)),
      ...(include === 'None'
        ? {}
        : { object: include === 'Object' ? object : { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata } }),
    })),
  }
}

function readyOf({ spec, status }: Pod): string {
  return `${(status.containerStatuses ?? []).filter(({ ready }) => ready).length}/${spec.containers.length}`
}

/** The word of kubectl for the state of a pod, made from its containers. */
export function statusOf({ metadata, status }: Pod): string {
  if (metadata.deletionTimestamp) return 'Terminating'
  let word = status.reason ?? status.phase
  if (status.phase === 'Pending' && status.conditions?.some(({ reason }) => reason === 'SchedulingGated')) word = 'SchedulingGated'
  for (const [index, { state }] of (status.initContainerStatuses ?? []).entries()) {
    if (state.terminated?.exitCode === 0) continue
    if (state.terminated) return `Init:${state.terminated.reason || `ExitCode:${state.terminated.exitCode}`}`
    if (state.waiting && state.waiting.reason !== 'PodInitializing') return `Init:${state.waiting.reason}`
    return `Init:${index}/${status.initContainerStatuses?.length}`
  }
  for (const { state } of [...(status.containerStatuses ?? [])].reverse()) {
    if (state.waiting) word = state.waiting.reason
    else if (state.terminated) word = state.terminated.reason || `ExitCode:${state.terminated.exitCode}`
  }
  return word
}

function ageOf(from: string | undefined): string {
  if (from === undefined) return '<unknown>'
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(from)) / 1000))
  if (Number.isNaN(seconds)) return '<unknown>'
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}
