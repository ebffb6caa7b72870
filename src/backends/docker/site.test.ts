import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { caseText } from '../../../test/cases/place.ts'
import { until } from '../../../test/support/clock.ts'
import { engineKinds, startEngine, type TestEngine, whyNoEngine } from '../../../test/support/docker-engine.ts'
import type { Channel, Site } from '../../core/channel.ts'
import { type HoldfastError, toHoldfastError } from '../../core/errors.ts'
import type { DockerTarget } from '../../core/target.ts'
import { hashOf } from './container.ts'
import { reapDocker } from './reap.ts'
import { type DockerTools, openDockerSite } from './site.ts'

/** Who calls, as a person: files that are made in a container must belong to this one. */
const uid = 4321
const gid = 4322
const never = new AbortController().signal
const present = existsSync(new URL('../../../../shared/cases/B051.sh', import.meta.url))

for (const kind of engineKinds) {
  describe.skipIf(whyNoEngine(kind, 'containers'))(`a container of ${kind}`, () => {
    let engine: TestEngine
    /** For the rows that only look at it. */
    let usual: Site
    let root: string
    const roots: string[] = []
    const sites: Site[] = []

    beforeAll(async () => {
      engine = await startEngine(kind)
      root = makeRoot()
      usual = await open({}, { root, key: root, env: { ...engine.env, API_TOKEN: 'a-secret-of-ours' } })
    }, 120_000)

    afterAll(async () => {
      await Promise.all(sites.map((site) => site.destroy()))
      const left = await engine?.containers()
      await engine?.close()
      for (const each of roots) rmSync(each, { recursive: true, force: true })
      expect(left).toEqual([])
    }, 60_000)

    function makeRoot(): string {
      const made = realpathSync(mkdtempSync(join(tmpdir(), 'hf-root-')))
      chownSync(made, uid, gid)
      roots.push(made)
      return made
    }

    /** A container of its own, unless a key is given. */
    async function open(target: Partial<DockerTarget> = {}, more: Partial<DockerTools> = {}): Promise<Site> {
      const own = more.root ?? makeRoot()
      const tools = { env: engine.env, root: own, mounts: [], owner: `${process.pid}`, key: own, uid, gid, now: Date.now, ...more }
      const site = await openDockerSite({ backend: 'docker', image: engine.image, ...target }, tools, never)
      sites.push(site)
      return site
    }
    const refusal = (...args: Parameters<typeof open>): Promise<HoldfastError> =>
      open(...args).then(
        () => Promise.reject(new Error('it was opened')),
        (error: unknown) => toHoldfastError(error),
      )
    const sh = async (site: Site, script: string, input?: Uint8Array) => collect(await site.open({ argv: ['sh', '-c', script] }), input)
    const idOf = (site: Site): string => (site.handle as DockerTarget).container ?? ''
    const containersFor = async (key: string): Promise<string[]> => (await engine.containers()).filter((name) => name.includes(hashOf(key)))

    it('has the workspace at the same path, and what is made in it belongs to the caller', async () => {
      const { out } = await sh(usual, `cd ${root} && mkdir -p a/b && echo made > a/b/file && id -u && id -g && echo "$HOME" && touch "$HOME/x" && pwd`)
      expect(out).toBe(`${uid}\n${gid}\n/run/holdfast/home\n${root}\n`)
      expect(usual).toMatchObject({ root, workspace: 'mounted', backend: 'docker', privateFolders: ['/run/holdfast'] })
      const { uid: owner, gid: group } = statSync(join(root, 'a/b/file'))
      expect([owner, group, readFileSync(join(root, 'a/b/file'), 'utf8')]).toEqual([uid, gid, 'made\n'])
    })

    it('has the workspace also where its folder was removed and made anew while a container of it was there', async () => {
      const own = makeRoot()
      const first = await open({}, { root: own })
      expect(idOf(await open({}, { root: own }))).toBe(idOf(first))
      rmSync(own, { recursive: true })
      mkdirSync(own)
      writeFileSync(join(own, 'new'), 'made anew')
      const second = await open({}, { root: own })
      expect([(await sh(second, `cat ${own}/new`)).out, idOf(second) === idOf(first)]).toEqual(['made anew', false])
    })

    it('has no network, no capability and no way to more rights, and tells nothing of our environment', async () => {
      const { out } = await sh(usual, 'grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status; ls /sys/class/net; env; cat /proc/1/environ')
      expect(out).toMatch(/CapEff:\s+0{16}\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1\nlo\n/)
      const listed = await engine.api('GET', '/containers/json?all=1')
      const inspected = await engine.api('GET', `/containers/${idOf(usual)}/json`)
      expect(out + listed.text + inspected.text + JSON.stringify(usual.handle)).not.toMatch(/a-secret-of-ours|API_TOKEN/)
    })

    it('carries a MiB of binary input to its end, and then the rest of the output and the status', async () => {
      const input = randomBytes(1024 * 1024)
      const { out, status } = await sh(usual, 'sha256sum | cut -c1-64; sleep 0.3; echo after; exit 7', input)
      expect(out).toBe(`${createHash('sha256').update(input).digest('hex')}\nafter\n`)
      expect(status).toEqual({ exitCode: 7 })
      expect((await sh(usual, 'wc -c')).out.trim()).toBe('0')
    })

    it('gives the right answers to cases where others failed: input and its end, and who owns what', async (test) => {
      if (!present) return test.skip('the inputs of the cases are not there')
      for (const name of ['B051', 'B073']) writeFileSync(join(root, name), caseText(`${name}.sh`))
      const run = async (name: string, input?: Uint8Array) => collect(await usual.open({ argv: ['bash', '-c', `cd ${root} && exec bash ./${name}`] }), input)
      const input = Buffer.from(Array.from({ length: 1024 * 1024 }, (_, i) => (i * 7 + (i >> 8)) & 255))
      const fed = await run('B073', input)
      const sum = createHash('sha256').update(input).digest('hex').slice(0, 16)
      expect([fed.out, fed.err, fed.status]).toEqual(['bytes=1048576\nafter-eof\n', `${sum}\n`, { exitCode: 0 }])
      expect((await run('B073')).out).toBe('bytes=0\nafter-eof\n')
      const git = (...args: string[]) => spawnSync('git', ['-C', root, ...args], { uid, gid, env: { PATH: process.env.PATH, HOME: root } }).status
      expect(git('init', '-q')).toBe(0)
      const { out } = await run('B051')
      expect(out).toMatch(new RegExp(`^uid=${uid} gid=${gid} dir-owner=${uid}:${gid}\nfile-owner=${uid}:${gid}\ntrue\n`))
      expect(out).not.toContain('dubious')
    })

    it('keeps both streams apart and in order, every byte of them, at the pace of the reader', async () => {
      const channel = await usual.open({ argv: ['sh', '-c', 'head -c 20000000 /dev/zero | tr "\\0" x; echo end >&2'] })
      await until(() => channel.stdout.readableLength > 0)
      // Nobody reads: what waits here stays small.
      await delay(200)
      expect(channel.stdout.readableLength).toBeLessThan(1_000_000)
      const { out, err } = await collect(channel)
      expect([out.length, out.replaceAll('x', ''), err]).toEqual([20_000_000, '', 'end\n'])
    })

    it('says what cannot be started, and never takes the words of the engine for a status of the program', async () => {
      const channel = await usual.open({ argv: ['no-such-program'] })
      await expect(collect(channel)).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining('no-such-program') })
      expect((await sh(usual, 'exit 127')).status).toEqual({ exitCode: 127 })
      expect((await sh(usual, 'exit 255')).status).toEqual({ exitCode: 255 })
    })

    it('takes in what loses its parent: nothing dead stays in its process table', async () => {
      await sh(usual, 'for i in 1 2 3 4 5; do (sleep 0.1 &) ; done; sleep 0.4')
      await until(async () => !(await sh(usual, 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null || :')).out)
    })

    it.concurrent('keeps limits: processes, memory, and a read-only root with a writable /tmp, home and folder of ours', async () => {
      const site = await open({ pids: 24, readOnly: true, memory: 64 * 1024 * 1024, cpus: 1.5 })
      const program = '/run/holdfast/p'
      const { out } = await sh(
        site,
        `touch /bin/x 2>&1; touch /tmp/y "$HOME/z" && printf '#!/bin/sh\\necho runs\\n' >${program} && chmod 755 ${program} && ${program}`,
      )
      expect(out).toMatch(/Read-only file system\nruns\n$/)
      const forks = await sh(site, 'for i in $(seq 60); do sleep 1 & done; wait; echo done')
      expect(forks.err).toMatch(/Resource temporarily unavailable|can't fork/)
      const { json } = await engine.api('GET', `/containers/${idOf(site)}/json`)
      const limits = { Memory: 64 * 1024 * 1024, MemorySwap: 64 * 1024 * 1024, PidsLimit: 24, NanoCpus: 1.5e9 }
      expect((json as { HostConfig: unknown }).HostConfig).toMatchObject(limits)
      // Podman says 125 where the kernel took the program while it was just becoming the command.
      expect([{ exitCode: 137 }, { exitCode: 125 }]).toContainEqual((await sh(site, 'tail -c 100000000 /dev/zero')).status)
      expect(await site.examine()).toEqual({ kind: 'up' })
    })

    it.concurrent('is found again by its key, also by two at once, and is another one for another wish', async () => {
      const own = makeRoot()
      const again = (target: Partial<DockerTarget> = {}) => open(target, { root: own, key: own })
      const [one, two, other] = await Promise.all([again(), again(), again({ pids: 100 })])
      const three = await again()
      expect([idOf(two), idOf(three)]).toEqual([idOf(one), idOf(one)])
      expect(idOf(other)).not.toBe(idOf(one))
      expect(await containersFor(own)).toHaveLength(2)
      const byHandle = await open(one.handle as DockerTarget, { root: own })
      expect([byHandle.root, byHandle.workspace, idOf(byHandle)]).toEqual([own, 'mounted', idOf(one)])
    })

    it.concurrent('ends by itself when nobody keeps it, and lives while somebody does', async () => {
      const own = makeRoot()
      const site = await open({ idleMs: 2_000 }, { root: own, key: own })
      const since = performance.now()
      while (performance.now() - since < 4_500) {
        await site.keep?.()
        await delay(50)
      }
      expect(await site.examine()).toEqual({ kind: 'up' })
      await until(async () => (await containersFor(own)).length === 0)
      expect(await site.examine()).toMatchObject({ kind: 'gone', why: 'the container ended with status 0, and was removed' })
      const error = toHoldfastError(await site.open({ argv: ['true'] }).catch((e: unknown) => e))
      expect(error.details.reason).toBe('site_gone')
    })

    it.concurrent('lives as long as a run goes on under a supervisor in it', async () => {
      const own = makeRoot()
      const site = await open({ idleMs: 1_000 }, { root: own, key: own })
      const record = '/run/holdfast/h/runs/one/process.json'
      await sh(site, `mkdir -p ${record.slice(0, -13)}; sleep 4 >/dev/null 2>&1 & printf '{"pid":%s,"startTime":"x:1"}' $! >${record}`)
      const since = performance.now()
      await until(async () => (await containersFor(own)).length === 0)
      expect(performance.now() - since).toBeGreaterThan(3_500)
    })

    it.concurrent('says that it is paused, and that it is gone', async () => {
      const site = await open()
      await engine.api('POST', `/containers/${idOf(site)}/pause`)
      expect(await site.examine()).toMatchObject({ kind: 'unknown', why: expect.stringContaining('paused') })
      await expect(site.open({ argv: ['true'] })).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('the container is paused') })
      await engine.api('POST', `/containers/${idOf(site)}/unpause`)
      expect(await site.examine()).toEqual({ kind: 'up' })
      const channel = await site.open({ argv: ['sh', '-c', 'echo before; sleep 60'] })
      const first = await new Promise<Buffer>((resolve) => channel.stdout.once('data', resolve))
      expect(first.toString()).toBe('before\n')
      await engine.api('DELETE', `/containers/${idOf(site)}?force=1`)
      // Killed with its container, or cut off: in no case a success.
      const end = await channel.ended.catch((error: unknown) => toHoldfastError(error).details.reason)
      expect([{ exitCode: 137 }, 'contact_lost']).toContainEqual(end)
      expect(await site.examine()).toMatchObject({ kind: 'gone' })
      await expect(site.open({ argv: ['true'] })).rejects.toMatchObject({ details: { reason: 'site_gone' } })
    })

    it.concurrent('that lack of memory ended says so', async () => {
      const name = 'hungry'
      const script = 'while ! [ -e /tmp/go ]; do sleep 0.1; done; exec tail -c 1000000000 /dev/zero'
      const limits = { Memory: 32 * 1024 * 1024, MemorySwap: 32 * 1024 * 1024, NetworkMode: 'none' }
      await engine.api('POST', `/containers/create?name=${name}`, { Image: engine.image, Cmd: ['sh', '-c', script], HostConfig: limits })
      try {
        await engine.api('POST', `/containers/${name}/start`)
        const site = await open({ image: undefined, container: name })
        await sh(site, 'touch /tmp/go')
        await until(async () => (await site.examine()).kind === 'gone')
        // Podman does not see it where control groups are of version 1.
        const told = kind === 'podman' && !existsSync('/sys/fs/cgroup/cgroup.controllers') ? {} : { outOfMemory: true }
        const words = told.outOfMemory ? ' for lack of memory' : ''
        expect(await site.examine()).toEqual({ kind: 'gone', why: `the container ended with status 137${words}`, ...told })
      } finally {
        await engine.api('DELETE', `/containers/${name}?force=1`)
      }
    })

    it.concurrent('that somebody else made is used as it is and never removed', async () => {
      const own = makeRoot()
      await engine.api('POST', '/containers/create?name=mine', {
        Image: engine.image,
        Cmd: ['sleep', '1000'],
        WorkingDir: '/var/tmp',
        HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'bind', Source: own, Target: '/srv/app' }] },
      })
      try {
        const target = { image: undefined, container: 'mine' }
        expect(await refusal(target, { root: own })).toMatchObject({ code: 'unavailable', details: { remedy: 'docker start mine' } })
        await engine.api('POST', '/containers/mine/start')
        const site = await open(target, { root: own })
        expect(site).toMatchObject({ root: '/srv/app', workspace: 'mounted', privateFolders: [] })
        expect((await sh(site, 'id -u; ls /run')).out).toBe('0\n')
        // A stopped one is to be started by whoever names it; what ran in it before is gone for good, and so is whoever looks for that.
        await engine.api('POST', '/containers/mine/stop?t=0')
        expect(await site.examine()).toMatchObject({ kind: 'gone', why: expect.stringContaining('the container ended with status 137') })
        expect(await refusal(site.handle as DockerTarget, { root: own })).toMatchObject({
          details: { reason: 'site_gone', why: expect.stringContaining('ended with status 137') },
        })
        await expect(site.open({ argv: ['true'] })).rejects.toMatchObject({ details: { reason: 'site_gone', why: 'the container ended with status 137' } })
        expect(await refusal(target, { root: own })).toMatchObject({ details: { reason: 'backend_unavailable' } })
        await site.destroy()
        const reaped = await reapDocker({}, { env: engine.env, uid, now: Date.now, isAlive: () => false }, { dryRun: true })
        expect([...reaped.removed, ...reaped.kept].map(({ name }) => name)).not.toContain('mine')
        expect(await engine.containers()).toContain('mine')
      } finally {
        await engine.api('DELETE', '/containers/mine?force=1')
      }
    })

    it.concurrent('has a workspace of its own to be copied into, for an engine elsewhere', async () => {
      for (const [readOnly, mode] of [
        [false, `${uid}:755`],
        [true, '0:1777'],
      ] as const) {
        const site = await open({ workspace: 'copy', root: '/srv/app', readOnly })
        expect(site).toMatchObject({ root: '/srv/app', workspace: 'copied' })
        expect((await sh(site, 'cd /srv/app && mkdir x && stat -c %u:%a . x')).out).toBe(`${mode}\n${uid}:755\n`)
      }
    })

    it.concurrent('sees further folders at their own paths, and each only once', async () => {
      const [own, common] = [makeRoot(), makeRoot()]
      writeFileSync(join(common, 'word'), 'seen')
      mkdirSync(join(own, 'inside'))
      const site = await open({}, { root: own, mounts: [common, join(own, 'inside')] })
      expect((await sh(site, `cat ${common}/word; grep -c -e ' ${own} ' -e ' ${own}/' /proc/self/mounts`)).out).toBe('seen1\n')
    })

    it.concurrent('that was created and never started is removed by the reaper once its owner is dead, and is told before', async () => {
      const labels = { 'dev.holdfast.key': 'k', 'dev.holdfast.owner': 'the dead', 'dev.holdfast.lease': '1000' }
      await engine.api('POST', '/containers/create?name=half', { Image: engine.image, Cmd: ['true'], Labels: labels })
      const reap = async (alive: boolean | undefined, dryRun: boolean) => {
        const isAlive = (owner: string) => (owner === 'the dead' ? alive : true)
        const { removed, kept, problems } = await reapDocker({}, { env: engine.env, uid, now: Date.now, isAlive }, { dryRun })
        expect(problems).toEqual([])
        return { removed: removed.map(({ name, why }) => `${name} ${why}`), kept: kept.filter(({ name }) => name === 'half').map(({ why }) => why) }
      }
      expect(await reap(true, false)).toEqual({ removed: [], kept: ['is just being made'] })
      expect(await reap(undefined, false)).toEqual({ removed: [], kept: ['is just being made'] })
      expect(await reap(false, true)).toEqual({ removed: ['half was never started, and who created it is dead'], kept: [] })
      expect(await engine.containers()).toContain('half')
      expect((await reap(false, false)).removed).toHaveLength(1)
      expect(await engine.containers()).not.toContain('half')
    })

    it.concurrent('with an image that is not there, or without a registry to ask, says so', async () => {
      const absent = await refusal({ image: 'holdfast/none:1', pull: 'never' })
      expect(absent).toMatchObject({ code: 'not_found', message: expect.stringContaining('holdfast/none:1') })
      const lines: string[] = []
      const error = await refusal({ image: 'registry.invalid/none' }, { progress: (line) => lines.push(line) })
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('registry cannot be reached') })
      expect(lines[0]).toBe('pulling registry.invalid/none:latest')
      expect((await refusal({ image: 'registry.invalid/none', pull: 'always' })).message).toContain('"pull" is "always", and the registry cannot be reached')
    })

    it.concurrent('that cannot be started leaves nothing', async () => {
      const own = makeRoot()
      expect((await refusal({}, { root: join(own, 'missing') })).code).toBe('not_found')
      expect((await refusal({ user: 'nobody-here' }, { root: own, key: own })).code).toBe('failed_precondition')
      expect((await refusal({ network: 'no-such-network' }, { root: own, key: own })).code).toBe('failed_precondition')
      expect((await refusal({ capabilities: ['NO_SUCH'] }, { root: own, key: own })).code).toBe('failed_precondition')
      expect(await containersFor(own)).toEqual([])
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
