import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Cluster, hasCluster, openCluster } from '../kubernetes-cluster.ts'
import { type BareClient, type ExecAsk, type Execution, openBareClient } from './bare-client.ts'
import type { FakeCluster } from './open-fake-cluster.ts'
import { type ExecFault, initialSwitches } from './switches.ts'

const isReal = Boolean(process.env.HOLDFAST_TEST_KUBECONFIG)
const v4 = ['v4.channel.k8s.io']
const success = { metadata: {}, status: 'Success' }

describe.skipIf(!hasCluster('tests of exec at the cluster'))('exec over a bare WebSocket', () => {
  let cluster: Cluster
  let client: BareClient
  const sh = (script: string, ask?: ExecAsk): Promise<Execution> => client.exec('box', ['sh', '-c', script], ask)
  const statusOf = (execution: Execution): unknown => JSON.parse(execution.text(3))

  beforeAll(async () => {
    cluster = await openCluster()
    client = openBareClient(cluster.kubeconfig, cluster.namespace)
    await cluster.openPod('box')
  }, 120_000)
  afterAll(() => cluster?.close(), 60_000)

  it('begins with an empty message to the first channel, keeps channels apart, tells the status last and closes with 1000', async () => {
    const execution = await sh('echo out; echo err >&2; exit 9', { protocols: v4 })
    expect(await execution.closed).toBe(1000)
    expect(execution.protocol).toBe('v4.channel.k8s.io')
    expect(execution.messages[0]).toMatchObject({ channel: 1, bytes: Buffer.alloc(0) })
    expect([execution.text(1), execution.text(2)]).toEqual(['out\n', 'err\n'])
    expect(execution.messages.at(-1)?.channel).toBe(3)
    expect(statusOf(execution)).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '9' }] } })
  })

  it('tells an end with 0 as Success, and an end by a signal as 128 and its number', async () => {
    const fine = await sh('true', { protocols: v4 })
    await fine.closed
    expect(statusOf(fine)).toEqual(success)
    const killed = await sh('kill -9 $$', { protocols: v4 })
    await killed.closed
    expect(statusOf(killed)).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '137' }] } })
  })

  it('cannot end the input alone with v4: a counted input is read whole, and the output comes after it', async () => {
    const input = randomBytes(100_000)
    const execution = await sh('head -c 100000 | sha256sum; echo after', { protocols: v4, stdin: true })
    for (let start = 0; start < input.length; start += 30_000) execution.send(0, input.subarray(start, start + 30_000))
    await execution.closed
    expect(execution.text(1)).toBe(`${createHash('sha256').update(input).digest('hex')}  -\nafter\n`)
    expect(statusOf(execution)).toMatchObject({ status: 'Success' })
  })

  it('does not end the command when the client goes; its input ends', async () => {
    const execution = await sh('echo $$; cat >/dev/null; echo eof >/tmp/saw; sleep 0.1; echo still >/tmp/alive', { protocols: v4, stdin: true })
    await execution.heard(1, '\n')
    execution.socket.terminate()
    const look = await sh('n=0; until [ -s /tmp/alive ] || [ $n = 200 ]; do sleep 0.05; n=$((n+1)); done; cat /tmp/saw /tmp/alive', { protocols: v4 })
    await look.closed
    expect(look.text(1)).toBe('eof\nstill\n')
  })

  it('refuses what is not there before anything is agreed on', async () => {
    await expect(client.exec('nobody', ['true'], { protocols: v4 })).rejects.toThrow(/^404 .*pods \\"nobody\\" not found/)
    await expect(client.exec('box', ['true'], { protocols: v4, container: 'other' })).rejects.toThrow(/^400 .*container other is not valid for pod box/)
    await expect(sh('true', { protocols: ['v9.channel.k8s.io'] })).rejects.toThrow(/^403 $/)
  })

  it('tells what the node cannot start as a status without an exit code', async () => {
    const execution = await client.exec('box', [], { protocols: v4 })
    await execution.closed
    expect(statusOf(execution)).toMatchObject({ status: 'Failure', reason: 'InternalError', code: 500 })
    expect(execution.text(3)).not.toContain('ExitCode')
  })

  it('tells the end of a command whose child holds the output after two seconds', async () => {
    const execution = await sh('sleep 30 & echo hi; exit 4', { protocols: v4 })
    await execution.closed
    expect(execution.text(1)).toBe('hi\n')
    expect(statusOf(execution)).toMatchObject({ details: { causes: [{ message: '4' }] } })
    const other = await sh('(sleep 0.5; echo late) & echo hi', { protocols: v4 })
    await other.closed
    expect(other.text(1)).toBe('hi\nlate\n')
  })

  describe.skipIf(isReal)('of the fake cluster', () => {
    let fake: FakeCluster
    const faulty = async (fault: ExecFault, script: string, ask?: ExecAsk): Promise<Execution> => {
      fake.switches.execFaults.push({ times: 1, ...fault })
      return sh(script, ask)
    }

    beforeEach(() => {
      fake = cluster.fake as FakeCluster
      Object.assign(fake.switches, initialSwitches())
    })

    it('ends the input alone with v5', async () => {
      const execution = await sh('sha256sum; echo after-eof', { stdin: true })
      expect(execution.protocol).toBe('v5.channel.k8s.io')
      execution.send(0, 'some input')
      execution.send(255, Uint8Array.of(0))
      expect(await execution.closed).toBe(1000)
      expect(execution.text(1)).toBe(`${createHash('sha256').update('some input').digest('hex')}  -\nafter-eof\n`)
    })

    it('speaks v4 alone when told so', async () => {
      fake.switches.execProtocols = v4
      expect((await sh('true')).protocol).toBe('v4.channel.k8s.io')
      await expect(sh('true', { protocols: ['v5.channel.k8s.io'] })).rejects.toThrow(/^403 /)
    })

    it('tells an unknown program as an error without an exit code, or as Docker does', async () => {
      const execution = await client.exec('box', ['no-such-program'])
      await execution.closed
      expect(statusOf(execution)).toMatchObject({ reason: 'InternalError', message: expect.stringContaining('executable file not found in $PATH') })
      expect(statusOf(execution)).not.toMatchObject({ details: { causes: [{ reason: 'ExitCode' }] } })
      fake.switches.unknownProgram = 'status'
      const other = await client.exec('box', ['no-such-program'])
      await other.closed
      expect(other.text(1)).toContain('executable file not found in $PATH')
    })

    it('drops the connection after so many bytes of output, and the command goes on', async () => {
      const execution = await faulty({ dropAfterBytes: 1000 }, 'seq 1 100000; echo done >/tmp/dropped')
      expect(await execution.closed).toBe(1006)
      expect(execution.bytes(1)).toHaveLength(1000)
      expect(execution.text(3)).toBe('')
      const look = await sh('n=0; until [ -s /tmp/dropped ] || [ $n = 200 ]; do sleep 0.05; n=$((n+1)); done; cat /tmp/dropped')
      await look.closed
      expect(look.text(1)).toBe('done\n')
    })

    it.each([
      [1000, 1000],
      [1011, 1011],
      ['abrupt', 1006],
    ] as const)('closes without a status: %s', async (end, code) => {
      const execution = await faulty({ status: 'none', end }, 'echo all of it')
      expect(await execution.closed).toBe(code)
      expect(execution.messages.map(({ channel }) => channel)).not.toContain(3)
      expect(execution.text(1)).toBe('all of it\n')
    })

    it('tells the status before the last piece of output', async () => {
      const execution = await faulty({ status: 'early' }, 'echo one; sleep 0.1; echo two')
      await execution.closed
      expect(execution.messages.map(({ channel }) => channel)).toEqual([1, 1, 3, 1])
      expect(execution.text(1)).toBe('one\ntwo\n')
      expect(statusOf(execution)).toMatchObject(success)
    })

    it('tells the status as plain text', async () => {
      const execution = await faulty({ status: 'text' }, 'exit 4')
      await execution.closed
      expect(execution.text(3)).toBe('command terminated with exit code 4')
    })

    it('splits output into messages and messages into frames, and gathers what belongs together', async () => {
      const split = await faulty({ messageBytes: 3, fragmentBytes: 2 }, 'printf 0123456789')
      await split.closed
      expect(split.messages.filter(({ channel, bytes }) => channel === 1 && bytes.length > 0).map(({ bytes }) => bytes.toString())).toEqual([
        '012',
        '345',
        '678',
        '9',
      ])
      expect(statusOf(split)).toMatchObject(success)
      const gathered = await faulty({ gatherBytes: 1000 }, 'for n in 1 2 3 4; do echo $n; sleep 0.02; done')
      await gathered.closed
      expect(gathered.messages.filter(({ channel, bytes }) => channel === 1 && bytes.length > 0)).toMatchObject([{ bytes: Buffer.from('1\n2\n3\n4\n') }])
    })

    it('stalls for a while, and loses nothing', async () => {
      const before = performance.now()
      const execution = await faulty({ stall: { afterBytes: 10, forMs: 400 } }, 'seq 1 20000')
      await execution.closed
      expect(performance.now() - before).toBeGreaterThan(400)
      expect(execution.bytes(1)).toHaveLength(108_894)
      expect(statusOf(execution)).toMatchObject(success)
    })

    it('cuts and closes all connections at once', async () => {
      const [one, two] = [await sh('echo up; sleep 60'), await sh('echo up; sleep 60')]
      await Promise.all([one.heard(1, 'up'), two.heard(1, 'up')])
      expect(fake.openExecs).toBe(2)
      fake.cutExecs()
      expect(await Promise.all([one.closed, two.closed])).toEqual([1006, 1006])
      const three = await sh('echo up; sleep 60')
      await three.heard(1, 'up')
      fake.cutExecs(1001)
      expect(await three.closed).toBe(1001)
    })

    it('ends commands with their pod, as killed', async () => {
      await cluster.openPod('victim')
      const execution = await client.exec('victim', ['sh', '-c', 'echo up; sleep 60'])
      await execution.heard(1, 'up')
      await cluster.kubectl(['delete', 'pod', 'victim', '--grace-period=0', '--force'])
      await execution.closed
      expect(statusOf(execution)).toMatchObject({ details: { causes: [{ message: '137' }] } })
      await expect(client.exec('victim', ['true'])).rejects.toThrow(/^404 /)
    })

    it('says that a container has ended: with v4 before anything is agreed on, with v5 as a status', async () => {
      await cluster.openPod('ended', { command: ['sh', '-c', 'while [ ! -e /tmp/go ]; do sleep 0.05; done'] })
      await (await client.exec('ended', ['touch', '/tmp/go'])).closed
      await fake.waitForPod('ended', ({ status }) => status.phase === 'Succeeded')
      await expect(client.exec('ended', ['true'], { protocols: v4 })).rejects.toThrow(/^500 .*container not found/)
      const execution = await client.exec('ended', ['true'])
      await execution.closed
      expect(statusOf(execution)).toMatchObject({
        reason: 'InternalError',
        message: expect.stringContaining('container not found (\\"main\\")'.replaceAll('\\', '')),
      })
    })

    it('waits with a command whose output nobody takes', async () => {
      const execution = await sh('yes | head -c 30000000 & sleep 0.5; echo begun >&2; wait')
      execution.socket.pause()
      const look = await sh('sleep 1; pidof yes >/dev/null && echo waits')
      await look.closed
      expect(look.text(1)).toBe('waits\n')
      execution.socket.resume()
      await execution.closed
      expect(execution.bytes(1)).toHaveLength(30_000_000)
    })

    it('waits with input that nobody reads', async () => {
      const execution = await sh('sleep 0.5; wc -c', { stdin: true })
      for (let piece = 0; piece < 100; piece += 1) execution.send(0, Buffer.alloc(32 * 1024))
      execution.send(255, Uint8Array.of(0))
      await execution.closed
      expect(execution.text(1)).toBe(`${100 * 32 * 1024}\n`)
    })
  })
})
