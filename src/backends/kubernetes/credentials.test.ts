import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openCredentials } from './credentials.ts'
import type { Access, Cluster, ExecPlugin, User } from './kubeconfig.ts'

let folder: string
let now = Date.parse('2030-01-01T00:00:00Z')
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-credentials-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const cluster: Cluster = { server: 'https://example:6443', caData: Buffer.from('CA').toString('base64'), skipTlsVerify: false, execConfig: { audience: 'x' } }
const open = (user: User) =>
  openCredentials({ cluster, user, namespace: undefined, from: 'a test' } satisfies Access, {
    env: { PATH: process.env.PATH, HOME: folder, OUTER: 'kept' },
    userHome: folder,
    now: () => now,
  })

function plugin(script: string, more: Partial<ExecPlugin> = {}): { exec: ExecPlugin } {
  const command = join(folder, 'plugin')
  writeFileSync(command, `#!/bin/sh\n${script}\n`)
  chmodSync(command, 0o755)
  const apiVersion = 'client.authentication.k8s.io/v1'
  return { exec: { apiVersion, command, args: [], env: {}, provideClusterInfo: false, interactiveMode: 'Never', installHint: undefined, ...more } }
}
const credential = (status: object, version = 'v1'): string =>
  `echo '${JSON.stringify({ kind: 'ExecCredential', apiVersion: `client.authentication.k8s.io/${version}`, status })}'`
const starts = (): number => readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').length

describe('credentials', () => {
  it('are a token, a name with a password, or nothing, and say on whose behalf', async () => {
    expect((await open({ token: 'abc', impersonate: { user: 'boss', groups: ['a', 'b'], extra: { 'x/y': ['z'] } } }).current()).headers).toEqual({
      authorization: 'Bearer abc',
      'impersonate-user': 'boss',
      'impersonate-group': ['a', 'b'],
      'impersonate-extra-x%2Fy': ['z'],
    })
    expect((await open({ username: 'me', password: 'pä:ss' }).current()).headers.authorization).toBe(`Basic ${Buffer.from('me:pä:ss').toString('base64')}`)
    expect((await open({}).current()).headers).toEqual({})
  })

  it('of a file are read anew when they are refused, and only then worth another request', async () => {
    const tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, 'one\n')
    const source = open({ tokenFile })
    const first = await source.current()
    expect(first.headers.authorization).toBe('Bearer one')
    expect(await source.renew(first)).toBe(false)
    writeFileSync(tokenFile, 'two\n')
    expect(await source.renew(first)).toBe(true)
    expect((await source.current()).headers.authorization).toBe('Bearer two')
    rmSync(tokenFile)
    expect(await source.renew(await source.current())).toBe(false)
  })

  it('that are a certificate come from data or a file', async () => {
    const keyFile = join(folder, 'key')
    writeFileSync(keyFile, 'KEY')
    const { certificate, key } = await open({ certificateData: Buffer.from('CERT').toString('base64'), keyFile }).current()
    expect(String(certificate)).toBe('CERT')
    expect(String(key)).toBe('KEY')
  })

  it('of an auth-provider are refused in a sentence', () => {
    expect(() => open({ authProvider: 'gcp' })).toThrow(/auth-provider gcp, which Kubernetes removed/)
  })
})

describe('an exec plugin', () => {
  it('is told what it needs, and asked once until what it gave is over or refused', async () => {
    const status = { token: 'fresh', expirationTimestamp: '2030-01-01T01:00:00Z' }
    const source = open(
      plugin(`echo x >>"$HOME/starts"; env >"$HOME/env"; echo "$@" >"$HOME/args"; ${credential(status)}`, {
        args: ['a', 'b'],
        env: { REGION: 'north' },
        provideClusterInfo: true,
      }),
    )
    const [first] = await Promise.all([source.current(), source.current(), source.current()])
    expect(first?.headers.authorization).toBe('Bearer fresh')
    await source.current()
    expect(starts()).toBe(1)
    const env = readFileSync(join(folder, 'env'), 'utf8')
    expect(env).toContain('REGION=north\n')
    expect(env).toContain('OUTER=kept\n')
    expect(JSON.parse(/^KUBERNETES_EXEC_INFO=(.*)$/m.exec(env)?.[1] ?? '')).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: {
        interactive: false,
        cluster: { server: 'https://example:6443', 'certificate-authority-data': Buffer.from('CA').toString('base64'), config: { audience: 'x' } },
      },
    })
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('a b\n')
    now = Date.parse('2030-01-01T02:00:00Z')
    const second = await source.current()
    expect(starts()).toBe(2)
    // Two requests that were refused with the same token ask once.
    now = Date.parse('2030-01-01T00:00:00Z')
    expect(await Promise.all([source.renew(second), source.renew(second)])).toEqual([true, true])
    expect(starts()).toBe(3)
  })

  it('may speak v1beta1 and give a certificate', async () => {
    const given = plugin(credential({ clientCertificateData: 'C', clientKeyData: 'K' }, 'v1beta1'), { apiVersion: 'client.authentication.k8s.io/v1beta1' })
    const { certificate, key, headers } = await open(given).current()
    expect([String(certificate), String(key), headers]).toEqual(['C', 'K', {}])
  })

  it.each<[string, () => { exec: ExecPlugin }, RegExp]>([
    ['is not there', () => ({ exec: { ...plugin('').exec, command: 'no-such-plugin', installHint: 'install it so' } }), /no such program/],
    ['fails', () => plugin('echo secret-token; echo "log in first" >&2; exit 2'), /exit code 2: log in first/],
    ['prints something else', () => plugin('echo secret-token'), /printed no ExecCredential/],
    ['answers in another version', () => plugin(credential({ token: 'secret-token' }, 'v1beta1')), /answers as .*v1beta1/],
    ['gives nothing', () => plugin(credential({})), /neither a token nor a client certificate/],
    ['gives half a certificate', () => plugin(credential({ clientKeyData: 'secret-token' })), /without its key, or a key alone/],
    ['wants to talk', () => plugin('', { interactiveMode: 'Always' }), /talk to a person/],
    ['is of another version', () => plugin('', { apiVersion: 'client.authentication.k8s.io/v1alpha1' }), /accepted: .*v1/],
  ])('that %s is refused in a sentence without secrets', async (_, user, sentence) => {
    const asked = (async () => open(user()).current())()
    await expect(asked).rejects.toThrow(sentence)
    await expect(asked).rejects.not.toThrow(/secret-token/)
    await expect(asked).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})
