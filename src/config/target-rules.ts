import { looksSecret } from '../core/secret-names.ts'
import type { Target } from '../core/target.ts'

/** What is wrong with a target whose fields are right one by one, in words; undefined where nothing is. `key` names it. */
export function targetFault(target: Target, key: string): string | undefined {
  const given = (name: string): boolean => (target as unknown as Record<string, unknown>)[name] !== undefined
  const mixed = (name: 'container' | 'pod', what: string, of: readonly string[]): string | undefined => {
    const wrong = of.filter(given)
    return given(name) && wrong.length > 0 ? `${key}.${name} names ${what} that is used as it is, so ${wrong.join(', ')} cannot be set` : undefined
  }
  if (target.backend === 'docker') {
    if (!given('image') && !given('container')) return `${key} needs image (a container is made of it) or container (one that is there)`
    if (given('socket') && given('context')) return `${key} has socket and context; accepted: one of them`
    return mixed('container', 'a container', ofNewContainers)
  }
  if (target.backend === 'kubernetes') {
    if (!given('image') && !given('pod') && !given('warmPool')) return `${key} needs image (a pod is made of it) or pod (one that is there)`
    if (given('warmPool') && target.provider !== 'agent-sandbox') return `${key}.warmPool needs "provider": "agent-sandbox"`
    return mixed('pod', 'a pod', ofNewPods)
  }
  if (given('user') && target.host.includes('@')) return `${key} has user, and host names one too; accepted: one of them`
  return undefined
}

const ofNewContainers = ['image', 'pull', 'network', 'workspace', 'memory', 'cpus', 'pids', 'readOnly', 'capabilities', 'tmpfs', 'labels', 'idleMs']
const ofNewPods = [
  'image',
  'provider',
  'warmPool',
  'runtimeClass',
  'imagePullPolicy',
  'resources',
  'nodeSelector',
  'serviceAccount',
  'secrets',
  'patch',
  'labels',
  'idleMs',
]

/**
 * What the file of a project may not say of a target: it comes with a repository, which may be anyone's. That is what starts programs of
 * this machine (the configuration of ssh, a kubeconfig), reaches past a container, or hands out what is the person's.
 */
export function distrusted(target: Target, mayPass: (variable: string) => boolean): string[] {
  switch (target.backend) {
    case 'docker': {
      const network = target.network === 'host' || target.network?.startsWith('container:') ? ['network'] : []
      return [...named(target, ['socket']), ...network, ...(target.capabilities && target.capabilities.length > 0 ? ['capabilities'] : [])]
    }
    case 'ssh':
      return named(target, ['config'])
    case 'kubernetes': {
      const secrets = target.secrets?.some((name) => looksSecret(name) && !mayPass(name)) ? ['secrets'] : []
      return [...named(target, ['kubeconfig', 'serviceAccount', 'patch']), ...secrets, ...(target.skipTlsVerify ? ['skipTlsVerify'] : [])]
    }
    default:
      return target satisfies never
  }
}

const named = <T extends object>(target: T, names: readonly (keyof T & string)[]): string[] => names.filter((name) => target[name] !== undefined)
