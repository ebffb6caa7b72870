import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openWorld } from '../test/support/world.ts'
import { reapSites } from './open-target.ts'

it('a namespace of a cluster is looked through once, also where one target names the cluster and another one finds it', async () => {
  await using world = openWorld()
  const kubeconfig = world.path('kubeconfig')
  const parts = { clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }], users: [{ name: 'u', user: { token: 'x' } }] }
  const contexts = [{ name: 'c', context: { cluster: 'a', user: 'u' } }]
  writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...parts, contexts, 'current-context': 'c' }))
  const target = { backend: 'kubernetes', namespace: 'n', image: 'i' } as const
  const env = { KUBECONFIG: kubeconfig, HOME: world.home }
  const look = (...targets: Parameters<typeof reapSites>[0]) => reapSites(targets, true, env)
  expect((await look(target, { ...target, kubeconfig, context: 'c' })).problems).toHaveLength(1)
  expect((await look(target, { ...target, namespace: 'other' })).problems).toHaveLength(2)
})
