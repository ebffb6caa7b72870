import { describe, expect, it } from 'vitest'
import { podBody } from './pod-spec.ts'
import { judgePod, troubleOf } from './pod-state.ts'
import type { ContainerStatus, Pod } from './resources.ts'

const opened = { uid: 'u1', containerId: 'docker://1' }
const podWith = (status: Pod['status'], uid = 'u1'): Pod => ({ metadata: { name: 'p', uid }, status })
const container = (state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): Pod['status'] => ({
  phase: 'Running',
  containerStatuses: [{ name: 'main', containerID: 'docker://1', state, ...more }],
})

describe('the state of a pod', () => {
  it.each<[string, Pod, unknown]>([
    ['a pod that runs', podWith(container({ running: {} })), { kind: 'up' }],
    ['another pod of its name', podWith(container({ running: {} }), 'u2'), { kind: 'gone', why: 'it was deleted, and another pod has its name' }],
    [
      'a container that lack of memory ended',
      podWith({ ...container({ terminated: { reason: 'OOMKilled', exitCode: 137 } }), phase: 'Failed' }),
      { kind: 'gone', why: 'container main: OOMKilled, exit code 137', outOfMemory: true },
    ],
    [
      'a container that was started anew after such an end',
      podWith(container({ running: {} }, { containerID: 'docker://2', lastState: { terminated: { reason: 'OOMKilled' } } })),
      { kind: 'gone', why: 'container main was started anew (OOMKilled)', outOfMemory: true },
    ],
    [
      'a container that ended beside others',
      podWith(container({ terminated: { reason: 'Error', exitCode: 3 } })),
      { kind: 'gone', why: 'container main: Error, exit code 3' },
    ],
    [
      'an eviction',
      podWith({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      { kind: 'gone', why: 'Evicted: The node was low on resource: memory.' },
    ],
    [
      'a pod that was deleted, and has ended for that',
      { ...podWith({ phase: 'Succeeded' }), metadata: { name: 'p', uid: 'u1', deletionTimestamp: '2030-01-01T00:00:00Z' } },
      { kind: 'gone', why: 'it was deleted' },
    ],
    ['an end in order', podWith({ phase: 'Succeeded' }), { kind: 'gone', why: 'its phase is Succeeded' }],
    [
      'a node that is silent',
      podWith({ phase: 'Unknown', reason: 'NodeLost', message: 'Node n is unresponsive' }),
      { kind: 'unknown', why: 'Node n is unresponsive' },
    ],
  ])('is told of %s', (_, pod, state) => {
    expect(judgePod(pod, 'main', opened)).toEqual(state)
  })

  it.each<[string, Pod['status'], unknown]>([
    ['nothing', { phase: 'Pending' }, undefined],
    ['an image that the node has not', container({ waiting: { reason: 'ErrImageNeverPull', message: 'm' } }), { why: 'ErrImageNeverPull: m', lasts: 'image' }],
    ['a name that is none', container({ waiting: { reason: 'InvalidImageName' } }), { why: 'InvalidImageName', lasts: 'image' }],
    [
      'an image that is nowhere',
      container({ waiting: { reason: 'ErrImagePull', message: 'manifest unknown: manifest unknown' } }),
      { why: 'ErrImagePull: manifest unknown: manifest unknown', lasts: 'image' },
    ],
    [
      'a registry out of reach',
      container({ waiting: { reason: 'ImagePullBackOff', message: 'dial tcp: i/o timeout' } }),
      { why: 'ImagePullBackOff: dial tcp: i/o timeout', lasts: 'perhaps' },
    ],
    ['a start that takes its time', container({ waiting: { reason: 'ContainerCreating' } }), undefined],
    [
      'no node with room',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }] },
      { why: 'Unschedulable: 0/3 nodes', lasts: 'perhaps' },
    ],
    [
      'an end before it ran',
      { phase: 'Failed', containerStatuses: [{ name: 'main', state: { terminated: { reason: 'StartError', exitCode: 128, message: 'no sh' } } }] },
      { why: 'it ended before it ran: container main: StartError, exit code 128, no sh', lasts: 'never' },
    ],
  ])('tells what is in the way of it: %s', (_, status, trouble) => {
    expect(troubleOf(podWith(status))).toEqual(trouble)
  })
})

describe('the pod that is made', () => {
  it('never has the value of a secret in it, and is merged with the patch last', () => {
    const target = {
      backend: 'kubernetes',
      namespace: 'n',
      image: 'i',
      secrets: ['TOKEN'],
      serviceAccount: 'bot',
      runtimeClass: 'kata',
      nodeSelector: { disk: 'ssd' },
    } as const
    const body = podBody({
      target: { ...target, patch: { spec: { runtimeClassName: null, tolerations: [{ key: 'a' }] } } },
      name: 'p',
      owner: 'o',
      key: 'k',
      now: 0,
    })
    expect(body.spec).toMatchObject({
      serviceAccountName: 'bot',
      automountServiceAccountToken: true,
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'a' }],
    })
    expect(body.spec).not.toHaveProperty('runtimeClassName')
    expect((body.spec as { containers: { env: unknown }[] }).containers[0]?.env).toEqual([
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'p', key: 'TOKEN' } } },
    ])
  })
})
