import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { Site } from '../core/channel.ts'
import { failure } from '../core/errors.ts'
import type { DockerTarget } from '../core/target.ts'
import type { AppContext } from './context.ts'
import type { FarPlace, OpenTargetRequest } from './far.ts'
import { isKnownSite, rememberSite } from './known-sites.ts'
import type { AppSettings } from './settings.ts'
import { createSites } from './sites.ts'

const box: DockerTarget = { backend: 'docker', image: 'busybox' }

function farPlace(handle: DockerTarget, part: Partial<Site> = {}): FarPlace & { lose(): void; closed: number } {
  const session = { logs: 'written', handle: '/socket', open: true, close: async () => {} }
  const place = {
    site: { backend: 'docker', handle, title: 'docker image busybox', root: '/srv/app', workspace: 'mounted', examine: async () => ({ kind: 'up' }), ...part },
    place: { kind: 'supervised', session },
    closed: 0,
    lose() {
      session.open = false
    },
    async close() {
      place.closed += 1
    },
  }
  return place as unknown as FarPlace & { lose(): void; closed: number }
}

function sitesWith(open: (request: OpenTargetRequest) => Promise<FarPlace>, settings: Partial<AppSettings> = {}) {
  const asked: OpenTargetRequest[] = []
  const sites = createSites({
    root: '/srv/app',
    homePlace: { state } as AppContext['homePlace'],
    settings: { targets: { box }, defaultTarget: null, ...settings } as AppSettings,
    openTarget: (request) => {
      asked.push(request)
      return open(request)
    },
    workspaces: {} as AppContext['workspaces'],
    ownEnv: {},
    repositoryOf: () => undefined,
  })
  return { sites, asked }
}

const state = mkdtempSync(join(tmpdir(), 'holdfast-state-'))
afterAll(() => rmSync(state, { recursive: true }))
const request = { name: 'box', target: box, tree: '/srv/app', mounts: [] }

describe('a target', () => {
  it('is found by its name, or read as it is told; host is this machine', async () => {
    const { sites } = sitesWith(async () => farPlace(box))
    expect(await sites.find(undefined)).toBeUndefined()
    expect(await sites.find('host')).toBeUndefined()
    expect(await sites.find('box')).toEqual({ name: 'box', target: box })
    expect(await sites.find({ backend: 'ssh', host: 'build-box' })).toEqual({ name: 'build-box', target: { backend: 'ssh', host: 'build-box' } })
    await expect(sites.find('bxo')).rejects.toThrow('there is no target "bxo"; accepted: host, box')
    await expect(sites.find({ backend: 'docker' } as DockerTarget)).rejects.toThrow('target needs image')
  })

  it('is the default where none is named, and host leads back to this machine', async () => {
    const { sites } = sitesWith(async () => farPlace(box), { defaultTarget: 'box' })
    expect(await sites.find(undefined)).toEqual({ name: 'box', target: box })
    expect(await sites.find('host')).toBeUndefined()
  })

  it('is opened once for a tree, however many come at the same time', async () => {
    const { sites, asked } = sitesWith(async () => farPlace(box))
    const [first, second] = await Promise.all([sites.open(request), sites.open(request)])
    expect(second).toBe(first)
    expect(await sites.open(request)).toBe(first)
    await sites.open({ ...request, tree: '/srv/other' })
    expect(asked.map(({ tree }) => tree)).toEqual(['/srv/app', '/srv/other'])
  })

  it('whose contact was lost is opened as the very site that it was', async () => {
    const handle = { ...box, container: '3f2a' }
    const places = [farPlace(handle), farPlace(handle)]
    const { sites, asked } = sitesWith(async () => places[asked.length - 1] as FarPlace)
    const first = places[0] as ReturnType<typeof farPlace>
    await sites.open(request)
    first.lose()
    expect(await sites.open(request)).toBe(places[1])
    expect(asked.map(({ target }) => target)).toEqual([box, handle])
    await sites.close()
    expect(first.closed).toBe(1)
  })

  it.each(['target_mismatch', 'backend_refused', 'backend_denied'] as const)('that answers %s is not asked again', async (reason) => {
    const facts = { target: 'docker image busybox', field: 'home', declared: '/a', found: '/b', what: 'it', why: 'no' }
    const { sites, asked } = sitesWith(() => Promise.reject(failure(reason, facts)))
    const error = await sites.open(request).catch((thrown: unknown) => thrown)
    await expect(sites.open(request)).rejects.toBe(error)
    expect(asked.length).toBe(1)
  })

  it('that cannot be reached is asked again', async () => {
    const { sites, asked } = sitesWith(() => Promise.reject(failure('backend_unavailable', { target: 'x', why: 'down' })))
    await expect(sites.open(request)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(sites.open(request)).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked.length).toBe(2)
  })
})

describe('the site of a run', () => {
  const holder = { pid: 7, startTime: 'x:1', socket: '/s', site: { ...box, container: '3f2a' } }
  const elsewhere = { ...box, container: '9999' }

  beforeEach(() => {
    for (const site of [holder.site, elsewhere]) rememberSite(state, site)
  })

  it('that was never opened from here is not opened because a record names it', async () => {
    const { sites, asked } = sitesWith(async () => farPlace(box))
    const strange = { backend: 'ssh', host: 'box', config: '/srv/app/ssh_config' } as const
    await expect(sites.reach({ ...holder, site: strange })).rejects.toThrow('was never opened from here')
    expect(asked).toEqual([])
    expect(isKnownSite(state, strange)).toBe(false)
  })

  it('is the one that is open, or is opened by what the record says', async () => {
    const { sites, asked } = sitesWith(async ({ target }) => farPlace(target === box ? holder.site : (target as DockerTarget)))
    const open = await sites.open(request)
    expect(await sites.reach(holder)).toBe(open)
    await sites.reach({ ...holder, site: elsewhere })
    expect(asked.map(({ target }) => target)).toEqual([box, elsewhere])
  })

  it('is gone where the backend says so, with why, and is not asked again', async () => {
    const { sites, asked } = sitesWith(() => Promise.reject(failure('site_gone', { target: 'docker container 3f2a', why: 'it was removed' })))
    expect(await sites.reach(holder)).toEqual({ gone: 'it was removed', outOfMemory: false })
    await sites.reach(holder)
    expect(asked.length).toBe(1)
  })

  it('that was started again is not gone any more', async () => {
    let isUp = false
    const { sites } = sitesWith(async () => {
      if (isUp) return farPlace(holder.site)
      throw failure('site_gone', { target: 'docker container 3f2a', why: 'the container ended with status 0' })
    })
    expect(await sites.reach(holder)).toMatchObject({ gone: 'the container ended with status 0' })
    isUp = true
    const open = await sites.open(request)
    expect(await sites.reach(holder)).toBe(open)
  })

  it('that ended for lack of memory says so', async () => {
    const examine = async () => ({ kind: 'gone', why: 'it exited with 137', outOfMemory: true }) as const
    const place = farPlace(holder.site, { examine })
    const { sites } = sitesWith(async () => place)
    await sites.open(request)
    place.lose()
    expect(await sites.reach(holder)).toEqual({ gone: 'it exited with 137', outOfMemory: true })
  })
})
