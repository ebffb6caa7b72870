import { badRequest } from './api-status.ts'
import type { KubeObject } from './kube-object.ts'

export type Matcher = (object: KubeObject) => boolean

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k` */
export function parseLabelSelector(text: string): Matcher {
  const parts = text.match(/(?:[^,(]|\([^)]*\))+/g) ?? []
  const matchers = parts.map((part) => labelMatcher(part.trim()))
  return ({ metadata: { labels = {} } }) => matchers.every((matches) => matches(labels))
}

function labelMatcher(part: string): (labels: Record<string, string>) => boolean {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(part)
  if (set) {
    const [, key = '', word, list = ''] = set
    const values = list.split(',').map((value) => value.trim())
    return (labels) => (key in labels && values.includes(labels[key] as string)) === (word === 'in')
  }
  const equal = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/.exec(part)
  if (equal) {
    const [, key = '', word, value] = equal
    return (labels) => (labels[key] === value) === (word !== '!=')
  }
  if (/^![^\s=!]+$/.test(part)) return (labels) => !(part.slice(1) in labels)
  if (/^[^\s=!()]+$/.test(part)) return (labels) => part in labels
  const found = /^[=!]*/.exec(part)?.[0].slice(0, 2) ?? ''
  throw badRequest(`unable to parse requirement: found '${found}', expected: !, identifier, or 'end of string'`)
}

const podFields = ['spec.nodeName', 'spec.restartPolicy', 'spec.schedulerName', 'spec.serviceAccountName', 'spec.hostNetwork', 'status.phase', 'status.podIP']
const fieldsOf: Record<string, readonly string[]> = {
  pods: podFields,
  secrets: ['type'],
  namespaces: ['status.phase'],
  nodes: ['spec.unschedulable'],
  events: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((name) => `involvedObject.${name}`),
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
}

/** `metadata.name=a,status.phase!=Running` */
export function parseFieldSelector(text: string, plural: string): Matcher {
  const matchers = text
    .split(',')
    .filter((part) => part !== '')
    .map((part): Matcher => {
      const [, field = '', word, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? []
      if (!word) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`)
      if (!['metadata.name', 'metadata.namespace', ...(fieldsOf[plural] ?? [])].includes(field)) throw badRequest(`field label not supported: ${field}`)
      return (object) => (String(fieldOf(object, field) ?? '') === value) === (word !== '!=')
    })
  return (object) => matchers.every((matches) => matches(object))
}

export function fieldOf(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((within, key) => (within as Record<string, unknown> | undefined)?.[key], object)
}
