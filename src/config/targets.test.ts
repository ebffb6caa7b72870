import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../core/errors.ts'
import { readTarget } from './check.ts'
import { loadConfig } from './load.ts'
import { targetVariants } from './targets.ts'

const projectFile = '/project/holdfast.json'
const personFile = '/person/holdfast.json'

function load(project?: object, person?: object) {
  const texts = new Map([
    [projectFile, project],
    [personFile, person],
  ])
  return loadConfig({
    projectFile,
    personFile,
    read: (path) => {
      const content = texts.get(path)
      return content && JSON.stringify(content)
    },
  })
}

async function problemsOf(project?: object, person?: object): Promise<readonly string[]> {
  const thrown = await load(project, person).then(
    () => undefined,
    (error: unknown) => error,
  )
  return thrown instanceof HoldfastError ? (thrown.details.problems as string[]) : []
}

describe('targets in holdfast.json', () => {
  it('are read with sizes and durations as they are written elsewhere', async () => {
    const { settings } = await load({
      targets: {
        box: { backend: 'docker', image: 'node:22', memory: '512MiB', idleMs: '5m', tmpfs: { '/cache': '1MiB' } },
        build: { backend: 'ssh', host: 'build-box', root: '/srv/app', connectTimeoutMs: 5000 },
        pod: { backend: 'kubernetes', namespace: 'agents', image: 'busybox', resources: { cpu: '500m', memory: '64Mi' } },
      },
      defaultTarget: 'box',
    })
    expect(settings.targets).toEqual({
      box: { backend: 'docker', image: 'node:22', memory: 512 * 1024 ** 2, idleMs: 300_000, tmpfs: { '/cache': 1024 ** 2 } },
      build: { backend: 'ssh', host: 'build-box', root: '/srv/app', connectTimeoutMs: 5000 },
      pod: { backend: 'kubernetes', namespace: 'agents', image: 'busybox', resources: { cpu: '500m', memory: '64Mi' } },
    })
    expect(settings.defaultTarget).toBe('box')
  })

  it('of the person are no other ones because of a project', async () => {
    const own = { targets: { box: { backend: 'ssh', host: 'mine' } } }
    expect((await load({ targets: { box: { backend: 'ssh', host: 'theirs' } } }, own)).settings.targets.box).toEqual({ backend: 'ssh', host: 'mine' })
  })

  it.each([
    [{ box: { backend: 'dcoker' } }, 'targets.box.backend is "dcoker"; accepted: docker, ssh, kubernetes'],
    [{ box: { image: 'busybox' } }, 'targets.box.backend is not there; accepted: docker, ssh, kubernetes'],
    [{ box: 'busybox' }, 'targets.box is "busybox"; accepted: an object with backend (docker, ssh, kubernetes)'],
    [{ box: { backend: 'docker', imgae: 'busybox', container: 'web' } }, 'targets.box.imgae is no setting; did you mean targets.box.image?'],
    [{ box: { backend: 'docker' } }, 'targets.box needs image (a container is made of it) or container (one that is there)'],
    [
      { box: { backend: 'docker', container: 'web', memory: '1GiB' } },
      'targets.box.container names a container that is used as it is, so memory cannot be set',
    ],
    [{ box: { backend: 'docker', image: 'busybox', memory: 'much' } }, 'targets.box.memory is "much"; accepted: a size like "512MiB"'],
    [{ pod: { backend: 'kubernetes', image: 'busybox' } }, 'targets.pod.namespace is not there; accepted: text'],
    [{ box: { backend: 'ssh', host: '-oProxyCommand=true' } }, 'targets.box.host is "-oProxyCommand=true"; accepted: text'],
    [{ host: { backend: 'ssh', host: 'x' } }, 'targets has the name "host"; accepted: a name'],
  ])('that are wrong are named with what is accepted: %j', async (targets, problem) => {
    expect(await problemsOf(undefined, { targets })).toEqual([expect.stringContaining(problem)])
  })

  it('of a project start no programs of this machine and reach not past a container', async () => {
    const targets = {
      a: { backend: 'docker', image: 'busybox', network: 'host', capabilities: ['SYS_ADMIN'], socket: 'tcp://10.0.0.1:2375' },
      b: { backend: 'ssh', host: 'box', config: '/srv/app/ssh_config' },
      c: { backend: 'kubernetes', namespace: 'n', image: 'busybox', kubeconfig: '/srv/app/kubeconfig', secrets: ['API_TOKEN'], skipTlsVerify: true },
    }
    const refused = await problemsOf({ targets })
    expect(refused.map((problem) => /targets\.\w\.\w+/.exec(problem)?.[0])).toEqual([
      'targets.a.socket',
      'targets.a.network',
      'targets.a.capabilities',
      'targets.b.config',
      'targets.c.kubeconfig',
      'targets.c.secrets',
      'targets.c.skipTlsVerify',
    ])
    expect(await problemsOf(undefined, { targets })).toEqual([])
  })

  it('a default target has to be one of them', async () => {
    expect(await problemsOf({ defaultTarget: 'box' })).toEqual([expect.stringContaining('defaultTarget is "box"; accepted: host')])
    expect(await problemsOf({ defaultTarget: 'host' })).toEqual([])
  })
})

it('a target that is given is read like one in a file, and all that is wrong is said in one sentence', () => {
  expect(readTarget({ backend: 'docker', image: 'busybox', memory: '64MiB' })).toEqual({ backend: 'docker', image: 'busybox', memory: 64 * 1024 ** 2 })
  expect(() => readTarget({ backend: 'docker', image: 7, nme: 1 })).toThrow(/target\.image is 7; accepted: .*; target\.nme is no setting/)
})

it.each(Object.entries(targetVariants))('docs/configuration.md has a row for every field of %s', (_, { entries }) => {
  const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const rows = new Set([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name))
  expect(Object.keys(entries).filter((name) => name !== 'backend' && !rows.has(name))).toEqual([])
})
