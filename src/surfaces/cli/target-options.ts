import { failure, hasReason } from '../../core/errors.ts'
import type { Given, Option } from './option.ts'

/**
 * A target that is told on the command line, field by field, by every command that takes one. What a field accepts, and which of them go together,
 * is checked where the target is read, as it is for one in a file.
 */

type Kind = 'text' | 'number' | 'flag'

interface TargetFlag {
  readonly flag: string
  readonly field: string
  readonly kind: Kind
  readonly value?: string
  readonly about: string
}

const flags: readonly TargetFlag[] = [
  { flag: '--backend', field: 'backend', kind: 'text', value: 'docker|ssh|kubernetes', about: 'Somewhere else, which the next options tell.' },
  { flag: '--image', field: 'image', kind: 'text', value: 'IMAGE', about: 'docker, kubernetes: what the container is made of.' },
  { flag: '--container', field: 'container', kind: 'text', value: 'NAME', about: 'docker: a container that is there. kubernetes: a container of the pod.' },
  { flag: '--pull', field: 'pull', kind: 'text', value: 'missing|always|never', about: 'docker: when the image is fetched.' },
  { flag: '--network', field: 'network', kind: 'text', value: 'NAME', about: 'docker: the network; default none.' },
  { flag: '--memory', field: 'memory', kind: 'text', value: 'SIZE', about: 'docker: the limit of memory.' },
  { flag: '--cpus', field: 'cpus', kind: 'number', value: 'N', about: 'docker: the limit of processors.' },
  { flag: '--pids', field: 'pids', kind: 'number', value: 'N', about: 'docker: the limit of processes.' },
  { flag: '--read-only', field: 'readOnly', kind: 'flag', about: 'docker: the root of the file system is not written to.' },
  { flag: '--socket', field: 'socket', kind: 'text', value: 'ADDRESS', about: 'docker: where the engine listens.' },
  { flag: '--host', field: 'host', kind: 'text', value: 'HOST', about: 'ssh: an alias of its configuration, or USER@HOST.' },
  { flag: '--port', field: 'port', kind: 'number', value: 'N', about: 'ssh: the port.' },
  { flag: '--user', field: 'user', kind: 'text', value: 'USER', about: 'docker, ssh: who commands run as.' },
  { flag: '--namespace', field: 'namespace', kind: 'text', value: 'NAME', about: 'kubernetes: the namespace.' },
  { flag: '--pod', field: 'pod', kind: 'text', value: 'NAME', about: 'kubernetes: a pod that is there.' },
  { flag: '--context', field: 'context', kind: 'text', value: 'NAME', about: 'docker, kubernetes: a context of the configuration.' },
  { flag: '--runtime-class', field: 'runtimeClass', kind: 'text', value: 'NAME', about: 'kubernetes: the runtime class.' },
  { flag: '--root', field: 'root', kind: 'text', value: 'DIR', about: 'Where the workspace is there.' },
  { flag: '--idle', field: 'idleMs', kind: 'text', value: 'TIME', about: 'docker, kubernetes: unused for so long, it ends.' },
]

export const targetOptions: readonly Option[] = flags.map(({ flag, field, kind, value, about }) => ({
  flag,
  ...(value === undefined ? {} : { value }),
  about,
  read: (given, text) => addField(given, flag, field, readField(kind, text)),
}))

/** What is wrong with a target that was told here, by the options that told it. */
export function withOptionNames(error: unknown): unknown {
  if (!hasReason(error, 'target_invalid')) return error
  const optionOf = new Map(flags.map(({ flag, field }) => [field, flag]))
  const problems = (error.details.problems as readonly string[]).map((problem) =>
    problem.replace(/\btarget\.(\w+)/g, (name, field: string) => optionOf.get(field) ?? name),
  )
  return failure('target_invalid', { problems }, error)
}

function addField({ input }: Given, flag: string, field: string, value: unknown): void {
  const { target } = input
  if (typeof target === 'string') throw failure('invalid', { field: flag, value, accepted: `--target ${target} alone, or --backend with what goes with it` })
  input.target = { ...(target as object | undefined), [field]: value }
}

function readField(kind: Kind, text: string): unknown {
  switch (kind) {
    case 'flag':
      return true
    case 'number':
      return /^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : text
    default:
      return text
  }
}
