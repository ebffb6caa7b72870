import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'vitest'
import { openHoldfast, type Target } from '../../src/index.ts'
import { findSupervisor } from '../../src/supervisor/program.ts'
import { engineKinds, startEngine, whyNoEngine } from '../support/docker-engine.ts'
import { hasCluster, openCluster } from '../support/kubernetes-cluster.ts'
import { hasSshServer, openSshServer } from '../support/ssh-server.ts'
import { openWorld } from '../support/world.ts'
import { describeFarCases, type FarPlace } from './far.ts'
import { fakeSecrets } from './place.ts'

/** In plain mode, where it is asked for, the same rows take a way of their own for each command. */
const supervisor = process.env.HOLDFAST_TEST_FAR === 'plain' || findSupervisor().kind === 'missing' ? 'never' : 'auto'
const isSupervised = supervisor === 'auto'
/** Podman differs from Docker in what its API answers, which the tests of the backend try. */
const kinds = process.env.HOLDFAST_TEST_ALL === '1' ? engineKinds : (['docker'] as const)
if (kinds.length === 1) console.warn('skipped: the cases on podman, and those that take long: HOLDFAST_TEST_ALL is not 1')

async function placeOf(target: Target, closeSite: () => Promise<void>, more: Readonly<Record<string, string>> = {}): Promise<FarPlace> {
  const world = openWorld()
  writeFileSync(
    join(world.home, '.config', 'holdfast', 'holdfast.json'),
    JSON.stringify({ supervisor: { idleMs: '10s' }, targets: { box: { ...target, supervisor } } }),
  )
  spawnSync('git', ['init', '-q', '-b', 'main'], { cwd: world.root, env: world.env })
  const env = { ...world.env, XDG_RUNTIME_DIR: world.tmp, ...more, ...fakeSecrets }
  const opened: { close(): Promise<void> }[] = []
  const again = async () => {
    const holdfast = await openHoldfast({ root: world.root, env })
    opened.push(holdfast)
    return holdfast
  }
  return {
    holdfast: await again(),
    target: { ...target, supervisor },
    root: world.root,
    env,
    again,
    async close() {
      for (const each of opened) await each.close()
      await closeSite()
      await world[Symbol.asyncDispose]()
    },
  }
}

for (const kind of kinds) {
  describe.skipIf(whyNoEngine(kind, 'the cases'))(`in a container of ${kind}`, () => {
    describeFarCases(kind, {
      async open() {
        const engine = await startEngine(kind)
        return placeOf({ backend: 'docker', image: engine.image }, () => engine.close(), { DOCKER_HOST: engine.address })
      },
      isSupervised,
      hasOwnInit: true,
    })
  })
}

describe.skipIf(!hasSshServer('the cases'))('under an account of another machine', () => {
  describeFarCases('ssh', {
    async open() {
      const server = await openSshServer({ sshd: ['MaxSessions 3'], files: { '.bashrc': 'echo a banner; echo another >&2\n' } })
      return placeOf(server.target({ root: server.mkdir(join(server.home, 'app')) }), async () => server[Symbol.asyncDispose]())
    },
    isSupervised,
    hasOwnInit: false,
  })
})

describe.skipIf(!hasCluster('the cases'))('in a pod', () => {
  describeFarCases('kubernetes', {
    async open() {
      const { kubeconfig, namespace, image, patch, close } = await openCluster()
      return placeOf({ backend: 'kubernetes', kubeconfig, namespace, image, imagePullPolicy: 'Never', patch }, close)
    },
    isSupervised,
    hasOwnInit: true,
  })
})
