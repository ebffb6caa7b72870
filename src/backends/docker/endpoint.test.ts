import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toHoldfastError } from '../../core/errors.ts'
import { findEndpoints, isLocal } from './endpoint.ts'

describe('the place of an engine', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'hf-place-'))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))

  const addressFor = (target: { socket?: string; context?: string }, env: Record<string, string> = {}): string =>
    findEndpoints(target, { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), ...env }, 1000)[0].address

  function makeContext(name: string, host: string): void {
    const folder = join(home, '.docker/contexts/meta', createHash('sha256').update(name).digest('hex'))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'meta.json'), JSON.stringify({ Name: name, Endpoints: { docker: { Host: host, SkipTLSVerify: false } } }))
  }

  it('is the one that the target names, then DOCKER_HOST, then the context', () => {
    makeContext('box', 'tcp://box:2375')
    makeContext('other', 'unix:///run/other.sock')
    mkdirSync(join(home, '.docker'), { recursive: true })
    writeFileSync(join(home, '.docker/config.json'), '{"currentContext":"box"}')
    expect(addressFor({ socket: 'unix:///a.sock', context: 'other' }, { DOCKER_HOST: 'tcp://x:1' })).toBe('unix:///a.sock')
    expect(addressFor({ context: 'other' }, { DOCKER_HOST: 'tcp://x:1' })).toBe('unix:///run/other.sock')
    expect(addressFor({}, { DOCKER_HOST: 'tcp://x:1' })).toBe('tcp://x:1')
    expect(addressFor({})).toBe('tcp://box:2375')
    expect(addressFor({}, { DOCKER_CONTEXT: 'other' })).toBe('unix:///run/other.sock')
    const [endpoint] = findEndpoints({ context: 'box' }, { HOME: home }, 1000)
    expect([isLocal(endpoint), endpoint.namedBy]).toEqual([false, 'the context box'])
  })

  it('is a usual socket that is there, else the first one, for the message', async () => {
    expect(findEndpoints({}, { HOME: home, XDG_RUNTIME_DIR: join(home, 'run') }, 1000)[0].address).toMatch(/^unix:\/\/\/(var\/)?run\//)
    mkdirSync(join(home, 'run/podman'), { recursive: true })
    const server = createServer().listen(join(home, 'run/podman/podman.sock'))
    await new Promise((resolve) => server.once('listening', resolve))
    const found = findEndpoints({}, { HOME: home, XDG_RUNTIME_DIR: join(home, 'run') }, 1000).map(({ address }) => address)
    expect(found).toContain(`unix://${home}/run/podman/podman.sock`)
    await new Promise((resolve) => server.close(resolve))
  })

  it('speaks TLS where that is asked for, with the files that are there', () => {
    writeFileSync(join(home, 'ca.pem'), 'the ca')
    const [endpoint] = findEndpoints({}, { DOCKER_HOST: 'tcp://box', DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: home }, 1000)
    expect(endpoint.at).toMatchObject({ host: 'box', port: 2376, tls: { ca: Buffer.from('the ca'), cert: undefined, verify: true } })
    const [plain] = findEndpoints({}, { DOCKER_HOST: 'tcp://[::1]:99' }, 1000)
    expect(plain.at).toEqual({ host: '::1', port: 99, tls: undefined })
  })

  it.each([
    [{ socket: 'ssh://me@box' }, 'use the backend ssh'],
    [{ socket: 'npipe:////./pipe/docker' }, 'unix:///path or tcp://host:port'],
    [{ socket: 'unix://relative' }, 'absolute path'],
    [{ context: 'nope' }, 'docker context ls'],
  ])('that cannot be used is refused with what is accepted: %o', (target, words) => {
    expect(() => addressFor(target)).toThrow(words)
    try {
      addressFor(target)
    } catch (error) {
      expect(toHoldfastError(error).code).toBe('invalid_argument')
    }
  })
})
