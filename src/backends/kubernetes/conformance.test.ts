import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeBackend } from '../../../test/conformance/backend.ts'
import { describeComplaints } from '../../../test/conformance/complaints.ts'
import { describeFiles } from '../../../test/conformance/files.ts'
import { type Cluster, hasCluster, openCluster } from '../../../test/support/kubernetes-cluster.ts'
import { openWorld, type World } from '../../../test/support/world.ts'
import type { Site } from '../../core/channel.ts'
import { failure } from '../../core/errors.ts'
import type { KubernetesTarget } from '../../core/target.ts'
import { openRemote } from '../../remote/open.ts'
import { supervisorFor } from '../../supervisor/program.ts'
import { openKubernetesSite } from './site.ts'

const isReal = Boolean(process.env.HOLDFAST_TEST_KUBECONFIG)

const plainFailures: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['endings.signal', 'endings.wall', 'endings.stubborn-tree', 'endings.real-time-signal'].map((id) => [
      id,
      'the shell that starts a command in plain mode knows an end by a signal only as a status above 128',
    ]),
  ),
  ...(isReal
    ? {
        'capabilities.pipes': 'the runtime gives pipes, which not every one does',
        'stdin.held-by-leftover': 'over Kubernetes 1.20 an exec goes on as long as somebody holds its input',
      }
    : { 'bytes.dev-stderr': 'the server of the tests gives sockets in the place of pipes' }),
}
const plainFilesFailures: Readonly<Record<string, string>> = {
  'paths.denied': 'the busybox of the image takes root for somebody who may write anything, also without that capability',
}

/** Against the cluster of HOLDFAST_TEST_KUBECONFIG, else against the one of this machine. */
describe.skipIf(!hasCluster('the conformance of kubernetes'))('in a pod', () => {
  let cluster: Cluster
  let world: World
  let site: Site
  let count = 0

  beforeAll(async () => {
    cluster = await openCluster()
    world = openWorld()
    const target: KubernetesTarget = {
      backend: 'kubernetes',
      kubeconfig: cluster.kubeconfig,
      namespace: cluster.namespace,
      image: cluster.image,
      imagePullPolicy: 'Never',
      patch: cluster.patch,
    }
    const env = { PATH: process.env.PATH, HOME: world.home }
    site = await openKubernetesSite({ ...target, idleMs: 3_600_000 }, { env, owner: 'the conformance suite' }, new AbortController().signal)
  }, 90_000)

  afterAll(async () => {
    await site?.destroy()
    await world?.[Symbol.asyncDispose]()
    await cluster?.close()
  }, 60_000)

  /** A folder of its own in the one pod of all rows. */
  async function openPlace(supervisor: 'auto' | 'never', place: 'alone' | 'worktree', name?: string) {
    count += 1
    const parent = `/workspace/${name ?? `place-${count}`}`
    const root = `${parent}/ws`
    await sh(site, `mkdir '${parent}' && cd '${parent}' && ${place === 'alone' ? 'mkdir ws' : worktree}`)
    // All rows share the site, so none of them closes it.
    const shared: Site = Object.create(site, { root: { value: root }, close: { value: async () => {} } })
    const folderOf = (run: string): string => {
      const folder = world.path('runs', run)
      mkdirSync(folder, { recursive: true })
      return folder
    }
    const session = await openRemote({ site: shared, target: { root, supervisor }, programFor: supervisorFor, folderOf })
    if (session.place.kind === 'plain' && supervisor === 'auto') throw new Error(session.place.why)
    return { parent, root, session }
  }

  for (const supervisor of ['auto', 'never'] as const) {
    const mode = supervisor === 'auto' ? 'with a supervisor' : 'in plain mode'
    const isPlain = supervisor === 'never'
    const knownFailures = isPlain ? plainFailures : {}
    // Every combination takes its time: all of them over a real cluster, half of them otherwise.
    for (const where of isReal ? (['alone', 'worktree'] as const) : ([supervisor === 'auto' ? 'worktree' : 'alone'] as const)) {
      describeBackend(`kubernetes ${mode}${where === 'alone' ? '' : ', in a worktree'}`, {
        async open() {
          const { root, session } = await openPlace(supervisor, where)
          return { session: session.place.session, capabilities: session.capabilities, root, close: () => session.close() }
        },
        knownFailures,
      })
    }

    describeComplaints(`kubernetes ${mode}`, {
      async open() {
        const { root, session } = await openPlace(supervisor, 'worktree')
        return { session: session.place.session, capabilities: session.capabilities, root, close: () => session.close() }
      },
    })

    describeFiles(`kubernetes ${mode}`, {
      async open() {
        const { parent, root, session } = await openPlace(supervisor, 'alone', `files-${supervisor}`)
        return {
          files: session.files,
          root,
          capabilities: session.capabilities,
          sh: (script) => sh(site, `cd '${parent}' && { ${script}\n}`),
          close: () => session.close(),
        }
      },
      knownFailures: isPlain ? plainFilesFailures : {},
      // In plain mode each call is an exec of its own, which over a cluster that is busy takes half a second.
      ...(isReal ? { rowMs: 300_000 } : {}),
    })
  }
})

/** The layout of a worktree `ws` of a repository beside it; the image of the tests has no git. */
const worktree = `mkdir -p ws main/.git/objects main/.git/refs main/.git/worktrees/ws && echo 'ref: refs/heads/main' >main/.git/HEAD &&
echo "gitdir: $PWD/main/.git/worktrees/ws" >ws/.git && echo "$PWD/ws/.git" >main/.git/worktrees/ws/gitdir &&
echo ../.. >main/.git/worktrees/ws/commondir && echo 'ref: refs/heads/ws' >main/.git/worktrees/ws/HEAD`

async function sh(site: Site, script: string): Promise<Buffer> {
  const channel = await site.open({ argv: ['sh', '-c', script] })
  const parts: Buffer[] = []
  let complaint = ''
  channel.stdout.on('data', (chunk: Buffer) => parts.push(chunk))
  channel.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString()
  })
  const status = await channel.ended
  if (!('exitCode' in status) || status.exitCode !== 0) throw failure('internal', { what: `${JSON.stringify(status)}: ${complaint}` })
  return Buffer.concat(parts)
}
