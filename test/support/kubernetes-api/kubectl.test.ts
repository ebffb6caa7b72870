import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, hasCluster, openCluster } from '../kubernetes-cluster.ts'

/** Version of the client: exec over WebSocket is the default of 1.31 and later. */
function minorOfKubectl(): number | undefined {
  try {
    const said = JSON.parse(execFileSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
    return Number.parseInt((said as { clientVersion: { minor: string } }).clientVersion.minor, 10)
  } catch {
    return undefined
  }
}

const minor = minorOfKubectl()
if (minor === undefined) console.warn('skipped: tests of the fake cluster with kubectl: there is no kubectl here')
const isThere = hasCluster('tests of the cluster with kubectl') && minor !== undefined
const speaksWebSocket = minor !== undefined && minor >= 31
if (isThere && !speaksWebSocket) console.warn(`skipped: exec and cp of kubectl: kubectl 1.${minor} has no WebSocket`)

describe.skipIf(!isThere)('kubectl', () => {
  let cluster: Cluster
  let folder: string
  const kubectl: Cluster['kubectl'] = (args, input) => cluster.kubectl(args, input)

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
    cluster = await openCluster()
    await cluster.openPod('box')
  }, 120_000)
  afterAll(async () => {
    await cluster?.close()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  it('prints pods as a table, wide, as JSON and by name', async () => {
    expect((await kubectl(['get', 'pods'])).text).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\nbox +1\/1 +Running +0 +\d+s\n$/)
    expect((await kubectl(['get', 'pod', 'box', '-o', 'wide'])).text).toMatch(/ NODE .*\n.* node1 /)
    expect((await kubectl(['get', 'pods', '-o', 'name'])).text).toBe('pod/box\n')
    const { items } = JSON.parse((await kubectl(['get', 'pods', '-o', 'json'])).text) as { items: { kind: string; status: { phase: string } }[] }
    expect(items).toMatchObject([{ kind: 'Pod', status: { phase: 'Running' } }])
  })

  it('says that there is no such pod as the real server does', async () => {
    expect(await kubectl(['get', 'pod', 'nobody'])).toMatchObject({ code: 1, stderr: 'Error from server (NotFound): pods "nobody" not found\n' })
  })

  it('describes a pod with its events', async () => {
    const { text } = await kubectl(['describe', 'pod', 'box'])
    expect(text).toMatch(/^Status: +Running$/m)
    expect(text).toMatch(/Normal +Started .* Started container main/)
  })

  it('runs a pod to its end, waits for it and reads its log', async () => {
    const overrides = JSON.stringify({ apiVersion: 'v1', ...cluster.patch })
    const run = ['run', 'once', `--image=${cluster.image}`, '--restart=Never', '--image-pull-policy=Never', `--overrides=${overrides}`]
    expect(await kubectl([...run, '--', 'sh', '-c', 'for n in 1 2 3; do echo line $n; done; echo odd >&2; exit 3'])).toMatchObject({
      code: 0,
      text: 'pod/once created\n',
    })
    const phase = async (): Promise<string> => (await kubectl(['get', 'pod', 'once', '-o', 'jsonpath={.status.phase}'])).text
    await expect.poll(phase, { timeout: 20_000, interval: 200 }).toBe('Failed')
    expect((await kubectl(['logs', 'once'])).text.split('\n').sort().join(' ')).toBe(' line 1 line 2 line 3 odd')
    expect((await kubectl(['logs', 'once', '--tail=1'])).text.split('\n')).toHaveLength(2)
    const path = 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode} {.status.containerStatuses[0].state.terminated.reason}'
    expect((await kubectl(['get', 'pod', 'once', '-o', path])).text).toBe('3 Error')
    expect((await kubectl(['get', 'pod', 'once'])).text).toMatch(/once +0\/1 +Error /)
  })

  it('follows a log until the end of the container', async () => {
    await cluster.openPod('talker', { command: ['sh', '-c', 'echo first; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo last'] })
    const following = kubectl(['logs', '-f', 'talker'])
    // Ended by another exec: the log is followed meanwhile.
    if (speaksWebSocket) await kubectl(['exec', 'talker', '--', 'touch', '/tmp/go'])
    else await kubectl(['delete', 'pod', 'talker', '--grace-period=1'])
    expect((await following).text).toMatch(speaksWebSocket ? /^first\nlast\n$/ : /^first\n/)
  })

  it('applies, changes and labels objects, finds them by label, and deletes them', async () => {
    const write = (value: string): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', labels: { app: 'test' } }, data: { value, kept: 'yes' } })
    expect((await kubectl(['apply', '-f', '-'], write('1'))).text).toBe('configmap/settings created\n')
    expect((await kubectl(['apply', '-f', '-'], write('1'))).text).toBe('configmap/settings unchanged\n')
    expect((await kubectl(['apply', '-f', '-'], write('2'))).text).toBe('configmap/settings configured\n')
    expect((await kubectl(['label', 'configmap', 'settings', 'tier=low'])).text).toBe('configmap/settings labeled\n')
    expect((await kubectl(['get', 'configmaps', '-l', 'app=test,tier in (low,high),!none', '-o', 'jsonpath={.items[0].data.value}'])).text).toBe('2')
    expect((await kubectl(['delete', 'configmap', 'settings'])).text).toContain('configmap "settings" deleted')
  })

  it('makes secrets, and pods that get them as variables and as files', async () => {
    await kubectl(['create', 'secret', 'generic', 'keys', '--from-literal=TOKEN=s e;cret$'])
    await cluster.openPod(
      'holder',
      {
        command: ['sh', '-c', 'echo "$TOKEN-$ONE"; cat /keys/TOKEN; echo; exec /bin/idle'],
        envFrom: [{ secretRef: { name: 'keys' } }],
        env: [{ name: 'ONE', value: '$(TOKEN)!' }],
        volumeMounts: [{ name: 'keys', mountPath: '/keys' }],
      },
      { volumes: [{ name: 'keys', secret: { secretName: 'keys' } }] },
    )
    expect((await kubectl(['logs', 'holder'])).text).toBe('s e;cret$-s e;cret$!\ns e;cret$\n')
    expect((await kubectl(['get', 'secret', 'keys'])).text).toMatch(/keys +Opaque +1 /)
  })

  it('is told what is wrong with a pod, field by field', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'Bad_Name' }, spec: { containers: [{ name: 'main' }] } }
    const { code, stderr } = await kubectl(['create', '-f', '-'], JSON.stringify(pod))
    expect(code).toBe(1)
    expect(stderr).toMatch(/The Pod "Bad_Name" is invalid/)
    expect(stderr).toMatch(/metadata.name: Invalid value: "Bad_Name": a .*RFC.?1123 subdomain must consist of/)
    expect(stderr).toMatch(/spec.containers\[0\].image: Required value/)
  })

  it('knows what it may do', async () => {
    expect(await kubectl(['auth', 'can-i', 'create', 'pods', '--subresource=exec'])).toMatchObject({ code: 0, text: 'yes\n' })
    expect((await kubectl(['auth', 'can-i', '--list'])).code).toBe(0)
  })

  it('watches pods come and go', async () => {
    const columns = 'custom-columns=PHASE:.status.phase,GOING:.metadata.deletionTimestamp'
    const watching = kubectl(['get', 'pods', '--field-selector=metadata.name=passing', '--watch', '--no-headers', '-o', columns, '--request-timeout=8s'])
    await cluster.openPod('passing')
    await kubectl(['delete', 'pod', 'passing', '--grace-period=1'])
    cluster.fake?.watches.endAll()
    const seen = (await watching).text.split('\n').filter((word) => word !== '')
    expect(seen.map((line) => line.replace(/ +/, ' ').replace(/ \d.*/, ' going'))).toEqual(
      expect.arrayContaining(['Pending <none>', 'Running <none>', 'Running going']),
    )
  })

  it('deletes a pod and waits until it is gone; what ran in it got a TERM first', async () => {
    await cluster.openPod('polite', { command: ['sh', '-c', "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"] })
    const following = kubectl(['logs', '-f', 'polite'])
    expect((await kubectl(['delete', 'pod', 'polite'])).text).toContain('pod "polite" deleted')
    expect((await following).text).toBe('up\nbye\n')
    expect((await kubectl(['get', 'pod', 'polite'])).code).toBe(1)
  }, 60_000)

  describe.skipIf(!speaksWebSocket)('exec', () => {
    it('keeps output and errors apart and tells the exit code', async () => {
      expect(await kubectl(['exec', 'box', '--', 'sh', '-c', 'echo out; echo err >&2; exit 9'])).toMatchObject({
        code: 9,
        text: 'out\n',
        stderr: 'err\ncommand terminated with exit code 9\n',
      })
      expect((await kubectl(['exec', 'box', '--', 'sh', '-c', 'kill -9 $$'])).code).toBe(137)
    })

    it('carries 1 MiB of binary input to its end, and what is said after it', async () => {
      const input = randomBytes(1024 * 1024)
      const { code, text } = await kubectl(['exec', '-i', 'box', '--', 'sh', '-c', 'sha256sum; echo after-eof'], input)
      expect({ code, text }).toEqual({ code: 0, text: `${createHash('sha256').update(input).digest('hex')}  -\nafter-eof\n` })
      expect((await kubectl(['exec', '-i', 'box', '--', 'wc', '-c'], '')).text).toBe('0\n')
    })

    it('carries much output whole', async () => {
      const { stdout } = await kubectl(['exec', 'box', '--', 'sh', '-c', 'seq 1 200000'])
      expect(stdout.toString().split('\n')).toHaveLength(200_001)
      expect(stdout.toString().endsWith('\n200000\n')).toBe(true)
    })

    it('runs in namespaces and with a root of its own', async () => {
      const { text } = await kubectl(['exec', 'box', '--', 'sh', '-c', 'pwd; id -u; cat /proc/1/comm; ls -d /workspace /bin/idle'])
      expect(text).toBe('/workspace\n0\nidle\n/bin/idle\n/workspace\n')
    })

    it('says that there is no such program', async () => {
      const { code, text, stderr } = await kubectl(['exec', 'box', '--', 'no-such-program'])
      expect(code).not.toBe(0)
      expect(text + stderr).toContain('exec: "no-such-program": executable file not found in $PATH')
    })

    it('copies files both ways', async () => {
      const bytes = randomBytes(300_000)
      writeFileSync(join(folder, 'there'), bytes)
      expect((await kubectl(['cp', join(folder, 'there'), 'box:/workspace/copied'])).code).toBe(0)
      expect((await kubectl(['cp', 'box:/workspace/copied', join(folder, 'back')])).code).toBe(0)
      expect(readFileSync(join(folder, 'back')).equals(bytes)).toBe(true)
    })

    it('attaches to a pod that it runs, and removes it', async () => {
      const overrides = JSON.stringify({ apiVersion: 'v1', ...cluster.patch })
      const run = [
        'run',
        'shell',
        '-i',
        '--rm',
        '--quiet',
        `--image=${cluster.image}`,
        '--restart=Never',
        '--image-pull-policy=Never',
        `--overrides=${overrides}`,
      ]
      const { text } = await kubectl([...run, '--', 'sh', '-c', 'read word; echo "heard $word"'], 'hello\n')
      expect(text).toContain('heard hello\n')
      expect((await kubectl(['get', 'pod', 'shell'])).code).toBe(1)
    }, 60_000)
  })
})
