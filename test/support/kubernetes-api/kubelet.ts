import { mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ContainerLog } from './container-log.ts'
import {
  type Condition,
  type ContainerSpec,
  type ContainerState,
  type ContainerStatus,
  type KubeObject,
  type Pod,
  type PodStatus,
  timestamp,
} from './kube-object.ts'
import { type ProcessTerms, type RunningContainer, StartError, type StartedProcess, startContainer } from './pod-process.ts'
import { NotYet, type PodPlace, termsOf } from './pod-terms.ts'
import { baseTypes, type ResourceType } from './resources.ts'
import type { Change, Store } from './store.ts'
import { type PodFault, type Switches, takeFault } from './switches.ts'

const typeOf = (plural: string): ResourceType => baseTypes.find((type) => type.plural === plural) as ResourceType
export const podType = typeOf('pods')
const eventType = typeOf('events')
const secretType = typeOf('secrets')
const configMapType = typeOf('configmaps')
export const nodeName = 'node1'

/** After so long the kubelet looks again for what a pod waits for. */
const lookAgainMs = 200
/** Before a container is started once more. */
const restartDelayMs = 1_000

interface Held {
  readonly spec: ContainerSpec
  readonly log: ContainerLog
  running?: RunningContainer
  terms?: ProcessTerms
  startedAt?: string
  restarts: number
}

/** Runs the pods of the store as processes of this machine, and tells the store how they are. */
export class Kubelet {
  private readonly runs = new Map<string, PodRun>()
  private isClosed = false
  private lastAddress = 1
  private readonly forget: () => void
  readonly store: Store
  readonly terms: { readonly folder: string; readonly imageRoot: string; readonly images: ReadonlySet<string>; readonly switches: Switches }

  constructor(store: Store, terms: Kubelet['terms']) {
    this.store = store
    this.terms = terms
    this.forget = store.onChange((change) => {
      if (change.type.plural === 'pods' && !this.isClosed) this.look(change)
    })
  }

  run(pod: KubeObject): PodRun | undefined {
    return this.runs.get(pod.metadata.uid ?? '')
  }

  hasNodeFor(pod: Pod): boolean {
    const wanted = Object.entries(pod.spec.nodeSelector ?? {})
    return this.store.list(typeOf('nodes')).some(({ metadata: { labels = {} } }) => wanted.every(([key, value]) => labels[key] === value))
  }

  nextAddress(): string {
    this.lastAddress += 1
    return `10.244.0.${this.lastAddress}`
  }

  tell(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { name, namespace = '', uid, resourceVersion } = pod.metadata
    const now = timestamp()
    try {
      this.store.create(eventType, {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `${name}.${Date.now().toString(16)}${Math.floor(Math.random() * 0xffff).toString(16)}`, namespace },
        involvedObject: { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion },
        reason,
        message,
        type,
        source: { component: reason === 'FailedScheduling' || reason === 'Scheduled' ? 'default-scheduler' : 'kubelet', host: nodeName },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      })
    } catch {
      // One with the same name was made in the same millisecond.
    }
  }

  /** Ends all pods, and waits for it. */
  async close(): Promise<void> {
    this.isClosed = true
    this.forget()
    await Promise.all([...this.runs.values()].map((run) => run.destroy()))
    this.runs.clear()
  }

  private look({ kind, object }: Change): void {
    const pod = object as Pod
    const uid = pod.metadata.uid ?? ''
    if (kind === 'ADDED') {
      const run = new PodRun(this, pod)
      this.runs.set(uid, run)
      run.begin()
      return
    }
    const run = this.runs.get(uid)
    if (!run) return
    if (kind === 'DELETED') {
      this.runs.delete(uid)
      void run.destroy()
    } else if (pod.metadata.deletionTimestamp) void run.terminate((pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000)
  }
}

/** One pod, from its creation to its end. */
export class PodRun {
  private readonly kubelet: Kubelet
  private readonly first: Pod
  private readonly held = new Map<string, Held>()
  private readonly place: PodPlace
  private readonly wakers = new Set<() => void>()
  private isGone = false
  private isTerminating = false
  private address = ''
  private begun: Promise<void> = Promise.resolve()
  /** What ends the pod with words of its own: eviction. */
  private verdict: { readonly reason: string; readonly message: string } | undefined

  constructor(kubelet: Kubelet, pod: Pod) {
    this.kubelet = kubelet
    this.first = pod
    const { folder, imageRoot } = kubelet.terms
    this.place = {
      folder: join(folder, 'pods', pod.metadata.uid ?? ''),
      imageRoot,
      find: (kind, namespace, name) => kubelet.store.find(kind === 'Secret' ? secretType : configMapType, namespace, name),
    }
    for (const spec of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) this.held.set(spec.name, { spec, log: new ContainerLog(), restarts: 0 })
  }

  /** The container by name, or the first one. */
  container(name: string | undefined): Held | undefined {
    return this.held.get(name || (this.first.spec.containers[0] as ContainerSpec).name)
  }

  async exec(name: string | undefined, argv: readonly string[]): Promise<StartedProcess> {
    const held = this.container(name)
    if (!held?.running || !held.terms || held.running.isOver()) throw new StartError(128, `container not found ("${name || held?.spec.name}")`)
    return held.running.exec({ ...held.terms, argv })
  }

  /** What the container prints from now on; its input is that of the container. */
  attach(name: string | undefined): StartedProcess | undefined {
    const held = this.container(name)
    if (!held?.running || held.running.isOver()) return undefined
    const { running } = held
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    running.stdout.pipe(stdout)
    running.stderr.pipe(stderr)
    return { ...running, stdout, stderr }
  }

  pids(): number[] {
    return [...this.held.values()].flatMap(({ running }) => (running && !running.isOver() ? [running.pid] : []))
  }

  begin(): void {
    this.begun = this.live()
  }

  private async live(): Promise<void> {
    // The one who creates it is answered first.
    await this.wait(1)
    const fault = takeFault(this.kubelet.terms.switches.podFaults, ({ matches }) => matches?.(this.first) ?? true)
    if (this.isGone) return
    if (fault?.kind === 'unschedulable') {
      this.stayPending('1 Insufficient memory. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.')
      return
    }
    if (!this.kubelet.hasNodeFor(this.first)) {
      this.stayPending("1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.")
      return
    }
    this.address = this.first.spec.hostNetwork ? '127.0.0.1' : this.kubelet.nextAddress()
    this.update(
      () => ({ conditions: [condition('PodScheduled', true)] }),
      (pod) => ({ ...pod, spec: { ...pod.spec, nodeName: pod.spec.nodeName ?? nodeName } }),
    )
    this.kubelet.tell(this.first, 'Normal', 'Scheduled', `Successfully assigned ${this.first.metadata.namespace}/${this.first.metadata.name} to ${nodeName}`)
    const now = timestamp()
    this.update(() => ({
      phase: 'Pending',
      conditions: this.conditions(false, (this.first.spec.initContainers ?? []).length === 0),
      hostIP: '127.0.0.1',
      startTime: now,
      ...(this.first.spec.initContainers
        ? { initContainerStatuses: this.first.spec.initContainers.map((spec) => this.status(spec, { waiting: { reason: 'PodInitializing' } })) }
        : {}),
      containerStatuses: this.first.spec.containers.map((spec) =>
        this.status(spec, { waiting: { reason: this.first.spec.initContainers ? 'PodInitializing' : 'ContainerCreating' } }),
      ),
    }))
    if (fault && !(await this.suffer(fault))) return
    mkdirSync(this.place.folder, { recursive: true, mode: 0o755 })
    for (const spec of this.first.spec.initContainers ?? []) {
      if (!(await this.initialize(spec))) return
    }
    await Promise.all(this.first.spec.containers.map((spec) => this.keepRunning(spec)))
  }

  private stayPending(why: string): void {
    const message = `0/1 nodes are available: ${why}`
    this.update(() => ({ phase: 'Pending', conditions: [condition('PodScheduled', false, 'Unschedulable', message)] }))
    this.kubelet.tell(this.first, 'Warning', 'FailedScheduling', message)
  }

  /** Whether it goes on. */
  private async suffer({ kind, delayMs = 1_000 }: PodFault): Promise<boolean> {
    const [spec] = this.first.spec.containers as [ContainerSpec]
    if (kind === 'slow') {
      await this.wait(delayMs)
      return !this.isGone
    }
    if (kind === 'image-never') this.waiting(spec, 'ErrImageNeverPull', `Container image "${spec.image}" is not present with pull policy of Never`)
    else if (kind === 'image-pull') await this.failToPull(spec)
    else if (kind === 'start-error') this.failToStart(spec, new StartError(128, 'the start of the container was refused'))
    else if (kind === 'failed')
      this.update(() => ({ phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to no devices, which is unexpected' }))
    else this.evict()
    return false
  }

  /** Taken from the node: its containers are ended and the pod has failed. */
  evict(reason = 'Evicted', message = 'The node was low on resource: memory.'): void {
    this.verdict = { reason, message }
    this.update(() => ({ phase: 'Failed', reason, message }))
    for (const { running } of this.held.values()) running?.signal('SIGKILL')
  }

  private async initialize(spec: ContainerSpec): Promise<boolean> {
    const state = await this.runOnce(spec)
    if (state?.terminated?.exitCode === 0) return true
    if (state && !this.isTerminating) this.update(() => ({ phase: 'Failed' }))
    return false
  }

  private async keepRunning(spec: ContainerSpec): Promise<void> {
    const { restartPolicy = 'Always' } = this.first.spec
    for (;;) {
      const state = await this.runOnce(spec)
      if (!state || this.isGone || this.isTerminating || this.verdict) break
      if (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && state.terminated?.exitCode === 0)) break
      const held = this.held.get(spec.name) as Held
      held.restarts += 1
      this.setStatus(spec, { waiting: { reason: 'CrashLoopBackOff', message: `back-off 1s restarting failed container=${spec.name}` } }, state)
      await this.wait(restartDelayMs)
      if (this.isGone || this.isTerminating) break
    }
    this.settle()
  }

  /** The phase once all containers are over for good. */
  private settle(): void {
    if (this.verdict) return
    this.update((status) => {
      const states = (status.containerStatuses ?? []).map(({ state }) => state.terminated)
      if (states.length === 0 || states.some((state) => !state)) return {}
      const isFine = states.every((state) => state?.exitCode === 0)
      return { phase: isFine ? 'Succeeded' : 'Failed', conditions: this.conditions(false, true, isFine ? 'PodCompleted' : 'PodFailed') }
    })
  }

  /** Undefined where it never ran because the pod is gone. */
  private async runOnce(spec: ContainerSpec): Promise<ContainerState | undefined> {
    const held = this.held.get(spec.name) as Held
    if (!this.kubelet.terms.images.has(spec.image)) {
      if (spec.imagePullPolicy === 'Never') this.waiting(spec, 'ErrImageNeverPull', `Container image "${spec.image}" is not present with pull policy of Never`)
      else await this.failToPull(spec)
      return undefined
    }
    const terms = await this.findTerms(spec)
    if (!terms) return undefined
    try {
      held.running = await startContainer({ ...terms, folder: held.restarts === 0 ? terms.folder : `${terms.folder}.${held.restarts}` })
    } catch (error) {
      return this.failToStart(spec, error as Error)
    }
    held.terms = terms
    held.startedAt = timestamp()
    const { running } = held
    if (this.isGone || this.isTerminating || this.verdict) running.signal('SIGKILL')
    for (const stream of [running.stdout, running.stderr]) stream.on('data', (piece: Buffer) => held.log.write(piece)).on('error', () => {})
    this.kubelet.tell(this.first, 'Normal', 'Started', `Started container ${spec.name}`)
    this.setStatus(spec, { running: { startedAt: held.startedAt } })
    const code = await running.exited
    await Promise.all([finished(running.stdout), finished(running.stderr)].map((end) => end.catch(() => {})))
    const reason = code === 137 && running.outOfMemoryKills() > 0 ? 'OOMKilled' : code === 0 ? 'Completed' : 'Error'
    await running.forget()
    const willRunAgain = this.first.spec.restartPolicy === 'Always' && !this.isTerminating && !this.isGone
    if (!willRunAgain) held.log.end()
    const state = this.terminated(spec, code, reason)
    this.setStatus(spec, state)
    return state
  }

  private terminated(spec: ContainerSpec, exitCode: number, reason: string, message?: string): ContainerState {
    const startedAt = this.held.get(spec.name)?.startedAt ?? null
    return { terminated: { exitCode, reason, ...(message ? { message } : {}), startedAt, finishedAt: timestamp(), containerID: this.containerId(spec) } }
  }

  private async findTerms(spec: ContainerSpec): Promise<ReturnType<typeof termsOf> | undefined> {
    let said = ''
    while (!this.isGone && !this.isTerminating) {
      try {
        return termsOf({ ...this.first, status: { ...this.first.status, podIP: this.address } }, spec, this.place)
      } catch (error) {
        if (!(error instanceof NotYet)) throw error
        if (said !== error.message) {
          said = error.message
          if (error.isVolume) this.kubelet.tell(this.first, 'Warning', 'FailedMount', `MountVolume.SetUp failed: ${said}`)
          else this.waiting(spec, 'CreateContainerConfigError', said)
        }
        await this.wait(lookAgainMs)
      }
    }
    return undefined
  }

  private async failToPull(spec: ContainerSpec): Promise<void> {
    const message = `failed to pull and unpack image "${spec.image}": failed to resolve reference: not found`
    this.waiting(spec, 'ErrImagePull', message)
    this.kubelet.tell(this.first, 'Warning', 'Failed', `Failed to pull image "${spec.image}": ${message}`)
    await this.wait(restartDelayMs)
    if (!this.isGone && !this.isTerminating) this.waiting(spec, 'ImagePullBackOff', `Back-off pulling image "${spec.image}"`)
  }

  private failToStart(spec: ContainerSpec, error: Error): ContainerState {
    const argv = spec.command ?? spec.args ?? []
    const message = `failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "${argv[0]}": ${error.message}: unknown`
    const state = this.terminated(spec, 128, 'StartError', message)
    this.held.get(spec.name)?.log.end()
    this.setStatus(spec, state)
    this.kubelet.tell(this.first, 'Warning', 'Failed', `Error: ${message}`)
    this.settle()
    return state
  }

  /** TERM, then KILL after the grace, then the object is gone. */
  async terminate(graceMs: number): Promise<void> {
    if (this.isTerminating) return
    this.isTerminating = true
    this.wake()
    const running = [...this.held.values()].flatMap((held) => (held.running && !held.running.isOver() ? [held.running] : []))
    for (const { spec, running: own } of this.held.values()) {
      if (own && !own.isOver()) this.kubelet.tell(this.first, 'Normal', 'Killing', `Stopping container ${spec.name}`)
      own?.signal('SIGTERM')
    }
    const kill = (): void => {
      for (const own of running) own.signal('SIGKILL')
    }
    const timer = setTimeout(kill, Math.max(graceMs, 1))
    await Promise.all(running.map((own) => own.ended))
    await this.begun
    clearTimeout(timer)
    // The last states of the containers are told before the object goes.
    await this.wait(5)
    const current = this.current()
    if (current) this.kubelet.store.remove(podType, current.metadata.namespace, current.metadata.name)
  }

  /** The object is gone already: what is left of the pod ends at once. */
  async destroy(): Promise<void> {
    if (this.isGone) return
    this.isGone = true
    this.wake()
    const running = [...this.held.values()].flatMap((held) => (held.running ? [held.running] : []))
    for (const own of running) own.signal('SIGKILL')
    await Promise.all(running.map((own) => own.ended))
    await this.begun
    for (const { log } of this.held.values()) log.end()
    await rm(this.place.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
  }

  private waiting(spec: ContainerSpec, reason: string, message: string): void {
    this.setStatus(spec, { waiting: { reason, message } })
  }

  private setStatus(spec: ContainerSpec, state: ContainerState, lastState?: ContainerState): void {
    const isInitial = (this.first.spec.initContainers ?? []).some(({ name }) => name === spec.name)
    this.update((status) => {
      const list = (isInitial ? status.initContainerStatuses : status.containerStatuses) ?? []
      const next = list.map((own) => (own.name === spec.name ? this.status(spec, state, lastState ?? own.lastState) : own))
      const statuses = isInitial ? { initContainerStatuses: next } : { containerStatuses: next }
      if (isInitial) return statuses
      const isReady = next.every(({ ready }) => ready)
      const began = next.some((own) => own.state.running)
      const running: Partial<PodStatus> =
        began || (this.first.spec.restartPolicy === 'Always' && status.phase === 'Running')
          ? { phase: 'Running', podIP: this.address, podIPs: [{ ip: this.address }], conditions: this.conditions(isReady, true) }
          : {}
      return { ...statuses, ...(this.verdict ? {} : running) }
    })
  }

  private status(spec: ContainerSpec, state: ContainerState, lastState: ContainerState = {}): ContainerStatus {
    const restartCount = this.held.get(spec.name)?.restarts ?? 0
    return {
      name: spec.name,
      image: spec.image,
      imageID: state.waiting ? '' : `${spec.image}@sha256:${'0'.repeat(64)}`,
      ...(state.waiting ? {} : { containerID: this.containerId(spec) }),
      ready: state.running !== undefined,
      started: state.running !== undefined,
      restartCount,
      state,
      lastState,
    }
  }

  private containerId(spec: ContainerSpec): string {
    return `containerd://${Buffer.from(`${this.held.get(spec.name)?.restarts ?? 0}/${this.first.metadata.uid}/${spec.name}`)
      .toString('hex')
      .padEnd(64, '0')
      .slice(0, 64)}`
  }

  private conditions(isReady: boolean, isInitialized: boolean, reason = isReady ? undefined : 'ContainersNotReady'): Condition[] {
    const names = this.first.spec.containers.map(({ name }) => name).join(' ')
    const message = reason === 'ContainersNotReady' ? `containers with unready status: [${names}]` : undefined
    return [
      condition('PodReadyToStartContainers', true),
      condition('Initialized', isInitialized),
      condition('Ready', isReady, reason, message),
      condition('ContainersReady', isReady, reason, message),
      condition('PodScheduled', true),
    ]
  }

  private current(): Pod | undefined {
    const found = this.kubelet.store.find(podType, this.first.metadata.namespace, this.first.metadata.name)
    return found?.metadata.uid === this.first.metadata.uid ? (found as Pod) : undefined
  }

  private update(change: (status: PodStatus) => Partial<PodStatus>, also: (pod: Pod) => Pod = (pod) => pod): void {
    const current = this.current()
    if (!current || this.isGone) return
    this.kubelet.store.update(podType, also({ ...current, status: { ...current.status, ...change(current.status) } }))
  }

  /** Ends early when the pod is to end. */
  private wait(ms: number): Promise<void> {
    if (this.isGone) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.wakers.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.wakers.add(done)
    })
  }

  private wake(): void {
    for (const done of [...this.wakers]) done()
  }
}

function condition(type: string, holds: boolean, reason?: string, message?: string): Condition {
  return {
    type,
    status: holds ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: timestamp(),
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
  }
}
