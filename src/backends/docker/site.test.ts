import { createHash, randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { engineKinds, startEngine, type TestEngine, whyNoEngine } from '../../../test/support/docker-engine.ts'
import type { Channel, Site } from '../../core/channel.ts'
import { toHoldfastError } from '../../core/errors.ts'
import type { DockerTarget } from '../../core/target.ts'
import { reapDocker } from './reap.ts'
import { type DockerTools, openDockerSite } from './site.ts'

/** Who calls, as a person: files that are made in a container must belong to this one. */
const uid = 4321
const gid = 4322

for (const kind of engineKinds) {
  describe.skipIf(whyNoEngine(kind, 'containers'))(`a container of ${kind}`, () => {
    let engine: TestEngine
    let root: string
    let tools: DockerTools
    let sites: Site[]
    const never = new AbortController().signal

    beforeAll(async () => {
      engine = await startEngine(kind)
    }, 120_000)
    afterAll(() => engine?.close(), 60_000)

    beforeEach(() => {
      root = realpathSync(mkdtempSync(join(tmpdir(), 'hf-root-')))
      chownSync(root, uid, gid)
      sites = []
      tools = { env: engine.env, root, mounts: [], owner: `${process.pid}`, key: root, uid, gid, now: Date.now }
    })
    afterEach(async () => {
      await Promise.all(sites.map((site) => site.destroy()))
      rmSync(root, { recursive: true, force: true })
      expect(await engine.containers()).toEqual([])
    })

    async function open(target: Partial<DockerTarget> = {}, more: Partial<DockerTools> = {}): Promise<Site> {
      const site = await openDockerSite({ backend: 'docker', image: engine.image, ...target }, { ...tools, ...more }, never)
      sites.push(site)
      return site
    }
    const sh = async (site: Site, script: string, input?: Uint8Array) => collect(await site.open({ argv: ['sh', '-c', script] }), input)

    it('has the workspace at the same path, and what is made in it belongs to the caller', async () => {
      const site = await open()
      const { out } = await sh(site, `cd ${root} && mkdir -p a/b && echo made > a/b/file && id -u && id -g && echo "$HOME" && touch "$HOME/x" && pwd`)
      expect(out).toBe(`${uid}\n${gid}\n/run/holdfast/home\n${root}\n`)
      expect(site).toMatchObject({ root, workspace: 'mounted', backend: 'docker', privateFolders: ['/run/holdfast'] })
      const { uid: owner, gid: group } = statSync(join(root, 'a/b/file'))
      expect([owner, group, readFileSync(join(root, 'a/b/file'), 'utf8')]).toEqual([uid, gid, 'made\n'])
    })

    it('has no network, no capability and no way to more rights, and tells nothing of our environment', async () => {
      const secret = `s-${randomBytes(12).toString('hex')}`
      const site = await open({}, { env: { ...engine.env, API_TOKEN: secret } })
      const { out } = await sh(site, 'grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status; ls /sys/class/net; env; tr "\\\\0" "\\\\n" </proc/1/environ')
      expect(out).toMatch(/CapEff:\s+0{16}\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1\nlo\n/)
      expect(out).not.toContain(secret)
      const { text } = await engine.api('GET', '/containers/json?all=1')
      const inspected = await engine.api('GET', `/containers/${(site.handle as DockerTarget).container}/json`)
      expect(text + inspected.text + JSON.stringify(site.handle)).not.toContain(secret)
    })

    it('carries a MiB of binary input to its end, and then the rest of the output and the status', async () => {
      const site = await open()
      const input = randomBytes(1024 * 1024)
      const { out, status } = await sh(site, 'sha256sum | cut -c1-64; sleep 0.3; echo after; exit 7', input)
      expect(out).toBe(`${createHash('sha256').update(input).digest('hex')}\nafter\n`)
      expect(status).toEqual({ exitCode: 7 })
      expect((await sh(site, 'wc -c')).out.trim()).toBe('0')
    })

    it('keeps both streams apart and in order, every byte of them, at the pace of the reader', async () => {
      const site = await open()
      const channel = await site.open({ argv: ['sh', '-c', 'head -c 20000000 /dev/zero | tr "\\0" x; echo end >&2'] })
      await until(() => channel.stdout.readableLength > 0)
      const held = channel.stdout.readableLength
      // Nobody reads: what waits here stays small.
      await new Promise((resolve) => setTimeout(resolve, 200))
      expect(Math.max(held, channel.stdout.readableLength)).toBeLessThan(1_000_000)
      const { out, err } = await collect(channel)
      expect([out.length, out.replaceAll('x', ''), err]).toEqual([20_000_000, '', 'end\n'])
    })

    it('says what cannot be started, and never takes the words of the engine for a status of the program', async () => {
      const site = await open()
      const channel = await site.open({ argv: ['no-such-program'] })
      await expect(collect(channel)).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('no-such-program') })
      expect((await sh(site, 'exit 127')).status).toEqual({ exitCode: 127 })
      expect((await sh(site, 'exit 255')).status).toEqual({ exitCode: 255 })
    })

    it('takes in what loses its parent: nothing dead stays in its process table', async () => {
      const site = await open()
      await sh(site, 'for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; sleep 0.6')
      await until(async () => !(await sh(site, 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null || :')).out)
    })

    it('keeps limits: processes, and a read-only root with a writable /tmp and home', async () => {
      const site = await open({ pids: 24, readOnly: true, memory: 64 * 1024 * 1024, cpus: 1.5 })
      const { out } = await sh(
        site,
        'touch /bin/x 2>&1; touch /tmp/y "$HOME/z" && printf "#!/bin/sh\\necho runs\\n" >/run/holdfast/p && chmod 755 /run/holdfast/p && /run/holdfast/p',
      )
      expect(out).toMatch(/Read-only file system\nruns\n$/)
      expect(
        (await sh(site, 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sleep 3 & done 2>&1; echo done')).out +
          '',
      ).toMatch(/Resource temporarily unavailable|can't fork|done/)
      const { json } = await engine.api('GET', `/containers/${(site.handle as DockerTarget).container}/json`)
      expect((json as { HostConfig: unknown }).HostConfig).toMatchObject({
        Memory: 64 * 1024 * 1024,
        MemorySwap: 64 * 1024 * 1024,
        PidsLimit: 24,
        NanoCpus: 1.5e9,
      })
    })

    it('is found again by its key, also by two at once, and is another one for another wish', async () => {
      const [one, two] = await Promise.all([open(), open()])
      const again = await open()
      const other = await open({ pids: 100 })
      const ids = [one, two, again, other].map((site) => (site.handle as DockerTarget).container)
      expect(new Set(ids).size).toBe(2)
      expect(ids.slice(0, 3)).toEqual([ids[0], ids[0], ids[0]])
      expect(await engine.containers()).toHaveLength(2)
      const byHandle = await openDockerSite(one.handle as DockerTarget, tools, never)
      expect([byHandle.root, byHandle.workspace, (byHandle.handle as DockerTarget).container]).toEqual([root, 'mounted', ids[0]])
    })

    it('ends by itself when nobody keeps it, and lives while somebody does', async () => {
      const site = await open({ idleMs: 2_000 })
      const since = performance.now()
      const kept = setInterval(() => void site.keep?.(), 100)
      await until(() => performance.now() - since > 4_500)
      expect(await site.examine()).toEqual({ kind: 'up' })
      clearInterval(kept)
      await until(async () => (await engine.containers()).length === 0)
      expect(await site.examine()).toMatchObject({ kind: 'gone', why: expect.stringContaining('the container ended') })
      const error = toHoldfastError(await site.open({ argv: ['true'] }).catch((e: unknown) => e))
      expect(error.details.reason).toBe('site_gone')
    })

    it('lives as long as a run goes on under a supervisor in it', async () => {
      const site = await open({ idleMs: 1_000 })
      await sh(site, `mkdir -p /run/holdfast/h/runs/one; sleep 4 >/dev/null 2>&1 & printf '{"pid":%s,"startTime":"x:1"}' $! >/run/holdfast/h/runs/one/process.json`)
      const since = performance.now()
      await until(async () => (await engine.containers()).length === 0)
      expect(performance.now() - since).toBeGreaterThan(3_500)
    })

    it('says that it is paused, and that it is gone', async () => {
      const site = await open()
      const { container } = site.handle as DockerTarget
      await engine.api('POST', `/containers/${container}/pause`)
      expect(await site.examine()).toMatchObject({ kind: 'unknown', why: expect.stringContaining('paused') })
      await expect(site.open({ argv: ['true'] })).rejects.toMatchObject({ code: 'unavailable' })
      await engine.api('POST', `/containers/${container}/unpause`)
      expect(await site.examine()).toEqual({ kind: 'up' })
      const channel = await site.open({ argv: ['sh', '-c', 'echo before; sleep 60'] })
      const [first] = (await new Promise<Buffer[]>((resolve) => channel.stdout.once('data', (piece: Buffer) => resolve([piece])))) as [Buffer]
      expect(first.toString()).toBe('before\n')
      await engine.api('DELETE', `/containers/${container}?force=1`)
      // Killed with its container, or cut off: in no case a success.
      const end = await channel.ended.catch((error: unknown) => toHoldfastError(error).details.reason)
      expect([{ exitCode: 137 }, 'contact_lost']).toContainEqual(end)
      expect(await site.examine()).toMatchObject({ kind: 'gone' })
    })

    it('that somebody else made is used as it is and never removed', async () => {
      const { json } = await engine.api('POST', '/containers/create?name=mine', {
        Image: engine.image,
        Cmd: ['sleep', '1000'],
        WorkingDir: '/var/tmp',
        HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'bind', Source: root, Target: '/srv/app' }] },
      })
      const { Id } = json as { Id: string }
      try {
        const stopped = toHoldfastError(await open({ image: undefined, container: 'mine' }).catch((error: unknown) => error))
        expect(stopped).toMatchObject({ code: 'unavailable', details: { remedy: 'docker start mine' } })
        await engine.api('POST', `/containers/${Id}/start`)
        const site = await open({ image: undefined, container: 'mine' })
        expect(site).toMatchObject({ root: '/srv/app', workspace: 'mounted', privateFolders: [] })
        expect((await sh(site, 'id -u; ls /run')).out).toMatch(/^0\n/)
        await site.destroy()
        expect(await engine.containers()).toEqual(['mine'])
        const reaped = await reapDocker({}, { env: engine.env, uid, now: Date.now, isAlive: () => false }, { dryRun: false })
        expect(reaped).toEqual({ removed: [], kept: [], problems: [] })
      } finally {
        await engine.api('DELETE', `/containers/${Id}?force=1`)
      }
    })

    it('has a workspace of its own to be copied into, for an engine elsewhere', async () => {
      for (const readOnly of [false, true]) {
        const site = await open({ workspace: 'copy', root: '/srv/app', readOnly })
        expect(site).toMatchObject({ root: '/srv/app', workspace: 'copied' })
        expect((await sh(site, 'cd /srv/app && mkdir x && stat -c %u:%a . x')).out).toBe(`${uid}:755\n${uid}:755\n`)
        await site.destroy()
      }
    })

    it('sees further folders at their own paths, and each only once', async () => {
      const common = join(root, '..', `${root.slice(root.lastIndexOf('/') + 1)}-common`)
      mkdirSync(common)
      writeFileSync(join(common, 'word'), 'seen')
      mkdirSync(join(root, 'inside'))
      try {
        const site = await open({}, { mounts: [common, join(root, 'inside')] })
        expect((await sh(site, `cat ${common}/word; grep -c -e ' ${root} ' -e ' ${root}/' /proc/self/mounts`)).out).toBe('seen1\n')
      } finally {
        rmSync(common, { recursive: true })
      }
    })

    it('that was created and never started is removed by the reaper once its owner is dead, and is told before', async () => {
      await engine.api('POST', '/containers/create?name=half', {
        Image: engine.image,
        Cmd: ['true'],
        Labels: { 'dev.holdfast.key': 'k', 'dev.holdfast.owner': 'the dead', 'dev.holdfast.lease': '1000' },
      })
      const reap = (isAlive: boolean | undefined, dryRun: boolean) =>
        reapDocker({}, { env: engine.env, uid, now: Date.now, isAlive: () => isAlive }, { dryRun })
      expect(await reap(true, false)).toMatchObject({ removed: [], kept: [{ name: 'half', why: 'is just being made' }] })
      expect(await reap(undefined, false)).toMatchObject({ removed: [] })
      expect(await reap(false, true)).toMatchObject({ removed: [{ name: 'half', why: expect.stringContaining('never started') }] })
      expect(await engine.containers()).toEqual(['half'])
      expect(await reap(false, false)).toMatchObject({ removed: [{ name: 'half' }], problems: [] })
    })

    it('with an image that is not there, or without a registry to ask, says so', async () => {
      await expect(open({ image: 'holdfast/none:1', pull: 'never' })).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('holdfast/none:1'),
      })
      const lines: string[] = []
      const error = toHoldfastError(await open({ image: 'registry.invalid/none:1' }, { progress: (line) => lines.push(line) }).catch((e: unknown) => e))
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('registry cannot be reached') })
      expect(lines[0]).toBe('pulling registry.invalid/none:1')
    })

    it('that cannot be started leaves nothing', async () => {
      const gone = toHoldfastError(await open({}, { root: join(root, 'missing') }).catch((error: unknown) => error))
      expect(gone.code).toBe('failed_precondition')
      const user = toHoldfastError(await open({ user: 'nobody-here' }).catch((error: unknown) => error))
      expect(user.code).toBe('failed_precondition')
      expect(await engine.containers()).toEqual([])
    })
  })
}

async function collect(channel: Channel, input?: Uint8Array): Promise<{ out: string; err: string; status: Awaited<Channel['ended']> }> {
  const texts = { out: '', err: '' }
  channel.stdout.on('data', (piece: Buffer) => {
    texts.out += piece.toString('latin1')
  })
  channel.stderr.on('data', (piece: Buffer) => {
    texts.err += piece.toString('latin1')
  })
  channel.stdin.end(input)
  const status = await channel.ended
  return { ...texts, status }
}
