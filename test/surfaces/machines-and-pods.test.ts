import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHoldfast } from '../../src/index.ts'
import { type Cluster, hasCluster, openCluster } from '../support/kubernetes-cluster.ts'
import { hasSshServer, openSshServer } from '../support/ssh-server.ts'
import { openWorld } from '../support/world.ts'

/** The library with an account on another machine, and with a pod that has a copy of the workspace. */

const slow = { timeout: 120_000 }

describe.skipIf(!hasSshServer('the library with another machine'))('an account on another machine', () => {
  it('runs commands and keeps files of its own, found again by its host', slow, async () => {
    await using server = await openSshServer()
    await using world = openWorld()
    const root = server.mkdir(join(server.home, 'app'))
    const target = server.target({ root })
    await using holdfast = await openHoldfast({ root: world.root, env: { ...world.env, XDG_RUNTIME_DIR: world.tmp } })
    const run = await holdfast.exec({ argv: ['sh', '-c', 'id -un; pwd; exit 255'], target })
    expect(run).toMatchObject({ outcome: { kind: 'exited', exitCode: 255 }, cwd: root, target: { backend: 'ssh' } })
    expect((await holdfast.output({ run: run.id })).text).toBe(`${server.account}\n${root}\n`)
    execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: world.root, env: world.env })
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-q', '--allow-empty', '-m', 'first'], {
      cwd: world.root,
      env: world.env,
    })
    await using inside = await openHoldfast({ root: world.root, env: { ...world.env, XDG_RUNTIME_DIR: world.tmp } })
    const { id } = await inside.openWorkspace({ branch: 'topic', base: 'main' })
    await expect(inside.exec({ argv: ['pwd'], workspace: id, target })).rejects.toThrow(/workspace is .*; accepted: none: .* has files of its own/)
    await holdfast.writeFile({ path: 'notes.txt', content: 'there\n', target })
    expect(readFileSync(join(root, 'notes.txt'), 'utf8')).toBe('there\n')
  })
})

describe.skipIf(!hasCluster('the library with a pod'))('a pod', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await openCluster()
  }, 90_000)
  afterAll(() => cluster?.close(), 60_000)

  const targetOf = ({ kubeconfig, namespace, image, patch }: Cluster) =>
    ({ backend: 'kubernetes', kubeconfig, namespace, image, imagePullPolicy: 'Never', patch }) as const

  it('gets a copy of what git tracks and would track, once, and says that it is one', slow, async () => {
    await using world = openWorld()
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env: world.env })
    git('init', '-q')
    mkdirSync(join(world.root, 'deep'))
    writeFileSync(join(world.root, '.gitignore'), 'secret.env\n.holdfast/\n')
    writeFileSync(join(world.root, 'deep/tracked'), 'tracked\n')
    writeFileSync(join(world.root, 'new file'), 'new\n')
    writeFileSync(join(world.root, 'secret.env'), 'TOKEN=1')
    symlinkSync('deep/tracked', join(world.root, 'link'))
    git('add', 'deep', '.gitignore')
    const target = targetOf(cluster)
    const steps: string[] = []
    const env = { ...world.env, HOME: world.home }
    await using holdfast = await openHoldfast({ root: world.root, env })
    const first = await holdfast.exec({ argv: ['sh', '-c', 'cat link "new file"; ls -A'], target, onStep: (what) => void steps.push(what) })
    expect(first).toMatchObject({ outcome: { exitCode: 0 }, target: { backend: 'kubernetes' } })
    expect(first.warnings.join()).toContain('is a copy')
    const { text } = await holdfast.output({ run: first.id })
    expect(text).toContain('tracked\nnew\n')
    expect(text).not.toContain('secret.env')
    expect(steps.join()).toContain('copying')
    await using next = await openHoldfast({ root: world.root, env })
    await next.exec({ argv: ['rm', 'link'], target })
    const again = await next.exec({ argv: ['ls'], target, onStep: (what) => void steps.push(`again: ${what}`) })
    expect((await next.output({ run: again.id })).text).not.toContain('link')
    expect(steps.join()).not.toContain('again: copying')
  })

  it('gives its commands the secrets of its target, which stand in no pod and in nothing that is shown', slow, async () => {
    await using world = openWorld()
    const secrets = { HOUSE_NUMBER: 'seventeen-and-a-half', DEPLOY_TOKEN: 'hunter2-of-the-cluster' }
    const target = targetOf(cluster)
    await using holdfast = await openHoldfast({ root: world.root, env: { ...world.env, HOME: world.home, ...secrets } })
    const run = await holdfast.exec({
      script: 'echo "$HOUSE_NUMBER" | wc -c; echo "$HOUSE_NUMBER $DEPLOY_TOKEN"',
      target: { ...target, secrets: Object.keys(secrets) },
    })
    expect(run.outcome).toMatchObject({ exitCode: 0 })
    expect((await holdfast.output({ run: run.id })).text).toMatch(/^21\n/)
    const pods = (await cluster.kubectl(['get', 'pods', '-o', 'json'])).text
    expect(pods).toContain('DEPLOY_TOKEN')
    for (const value of Object.values(secrets)) {
      expect(pods).not.toContain(value)
      expect(run.digest).not.toContain(value)
    }
  })
})
