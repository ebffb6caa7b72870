import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasProgram } from '../../../test/support/has-program.ts'
import { type Cluster, findAccess, type Kubeconfig, readKubeconfig, type User } from './kubeconfig.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-kubeconfig-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

const dev = `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: red
  cluster: {server: "https://red:6443", certificate-authority: pki/ca.pem}
users:
- name: me
  user: {token: first}
contexts:
- name: dev
  context: {cluster: red, user: me, namespace: apps}
`
const others = `
apiVersion: v1
kind: Config
current-context: ops
clusters:
- name: red
  cluster: {server: "https://other:6443", tls-server-name: other, proxy-url: "http://proxy:3128"}
- name: blue
  cluster:
    server: https://blue:6443
    insecure-skip-tls-verify: true
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: blue}
users:
- name: me
  user: {username: name, password: word}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: Never
      command: ./bin/plug
      args: [--cluster, blue]
      env: [{name: REGION, value: north}]
      provideClusterInfo: true
- name: files
  user: {client-certificate: pki/me.pem, client-key: pki/me.key, tokenFile: token, as: boss, as-groups: [chiefs]}
contexts:
- name: ops
  context: {cluster: blue, user: plugin}
`

/** In the shape of `kubectl config view --raw --flatten -o json`: what files hold is in it. */
function flattened({ clusters, users, contexts, currentContext }: Kubeconfig): unknown {
  const data = (inline: string | undefined, path: string | undefined): string | undefined =>
    inline ?? (path ? readFileSync(path).toString('base64') : undefined)
  const sorted = <T, U>(map: ReadonlyMap<string, T>, key: string, show: (value: T) => U) =>
    [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => ({ name, [key]: JSON.parse(JSON.stringify(show(value))) }))
  const showCluster = (each: Cluster) => ({
    server: each.server,
    'tls-server-name': each.tlsServerName,
    'insecure-skip-tls-verify': each.skipTlsVerify || undefined,
    'certificate-authority-data': data(each.caData, each.caFile),
    'proxy-url': each.proxyUrl,
    extensions: each.execConfig === undefined ? undefined : [{ name: 'client.authentication.k8s.io/exec', extension: each.execConfig }],
  })
  const showUser = (each: User) => ({
    'client-certificate-data': data(each.certificateData, each.certificateFile),
    'client-key-data': data(each.keyData, each.keyFile),
    token: each.token,
    tokenFile: each.tokenFile,
    as: each.impersonate?.user,
    'as-groups': each.impersonate?.groups,
    username: each.username,
    password: each.password,
    exec: each.exec && {
      command: each.exec.command,
      args: each.exec.args,
      env: Object.entries(each.exec.env).map(([name, value]) => ({ name, value })),
      apiVersion: each.exec.apiVersion,
      provideClusterInfo: each.exec.provideClusterInfo,
      interactiveMode: each.exec.interactiveMode,
    },
  })
  return {
    clusters: sorted(clusters, 'cluster', showCluster),
    users: sorted(users, 'user', showUser),
    contexts: sorted(contexts, 'context', (each) => each),
    'current-context': currentContext,
  }
}

/** kubectl leaves some paths as they are in the file. */
function withAbsolutePaths(value: unknown, base: string): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) =>
      (key === 'tokenFile' || (key === 'command' && String(each).includes('/'))) && !isAbsolute(each) ? join(base, each) : each,
    ),
  )
}

describe('kubeconfig files', () => {
  it.skipIf(!hasProgram('kubectl', 'that kubeconfig files mean the same to kubectl')).each([
    ['one file', ['dev']],
    ['two files, of which the first one counts', ['dev', 'others']],
    ['the same files the other way round', ['others', 'dev']],
    ['a file that is not there, and one that is', ['missing', 'dev', 'dev']],
    ['JSON', ['json']],
    ['an empty file, and one with anchors', ['empty', 'anchors']],
  ])('mean the same here and to kubectl: %s', (_, names) => {
    for (const [name, text] of Object.entries({ 'pki/ca.pem': 'CA\n', 'pki/me.pem': 'CERTIFICATE\n', 'pki/me.key': 'KEY\n', token: 'secret\n' }))
      write(name, text)
    write('dev', dev)
    write('others', others)
    write('empty', '')
    write(
      'json',
      JSON.stringify({
        clusters: [{ name: 'j', cluster: { server: 'http://j' } }],
        contexts: [{ name: 'c', context: { cluster: 'j', user: '' } }],
        'current-context': 'c',
      }),
    )
    write('anchors', 'clusters:\n- name: a\n  cluster: &c {server: "https://a"}\n- name: b\n  cluster: *c\ncurrent-context: "no"\n')
    const KUBECONFIG = names.map((name) => join(folder, name)).join(':')
    const said = execFileSync('kubectl', ['config', 'view', '--raw', '--flatten', '-o', 'json'], {
      env: { PATH: process.env.PATH ?? '', HOME: folder, KUBECONFIG },
      encoding: 'utf8',
    })
    const { kind: _kind, apiVersion: _version, preferences: _preferences, ...theirs } = JSON.parse(said)
    const ours = flattened(readKubeconfig({ env: { KUBECONFIG }, userHome: folder }))
    for (const list of ['clusters', 'users', 'contexts']) theirs[list] ??= []
    // A context without a user: kubectl shows the empty text, which is none.
    for (const { context } of [...theirs.contexts, ...(ours as { contexts: { context: { user?: string } }[] }).contexts])
      if (context.user === '') delete context.user
    expect(ours).toEqual(withAbsolutePaths(theirs, folder))
  })

  it('are those of the home directory where KUBECONFIG names none', () => {
    write('home/.kube/config', dev)
    const access = findAccess({ env: {}, userHome: join(folder, 'home') })
    expect(access.cluster).toMatchObject({ server: 'https://red:6443', caFile: join(folder, 'home/.kube/pki/ca.pem') })
    expect(access).toMatchObject({ user: { token: 'first' }, namespace: 'apps' })
    expect(access.from).toContain('context dev of')
  })

  it('give way to the one that the target names', () => {
    write('home/.kube/config', dev)
    const file = write('named', others)
    expect(findAccess({ env: { KUBECONFIG: '/nowhere' }, userHome: folder, file, context: 'ops' }).user.exec).toMatchObject({
      command: join(folder, 'bin/plug'),
      args: ['--cluster', 'blue'],
      env: { REGION: 'north' },
    })
  })

  it('are not needed in a pod, whose account, certificate and namespace are taken', () => {
    for (const [name, text] of Object.entries({ token: 'rotates', 'ca.crt': 'CA', namespace: 'inside\n' })) write(`account/${name}`, text)
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
    expect(findAccess({ env, userHome: undefined, accountFolder: join(folder, 'account') })).toMatchObject({
      cluster: { server: 'https://[fd00::1]:443', caFile: join(folder, 'account/ca.crt') },
      user: { tokenFile: join(folder, 'account/token') },
      namespace: 'inside',
    })
  })

  it.each([
    ['is named and missing', () => join(folder, 'nowhere'), /kubeconfig is .*nowhere.*ENOENT/],
    ['is no YAML; what it holds is not shown', () => write('bad', 'users:\n- name: me\n  user: {token: hidden-value\n- x'), /line \d is no YAML/],
    [
      'names a cluster that is not there',
      () => write('bad', 'contexts: [{name: c, context: {cluster: x}}]\ncurrent-context: c'),
      /names the cluster "x", which is not there/,
    ],
    ['has no such context', () => write('bad', 'contexts: [{name: c, context: {}}]\ncurrent-context: d'), /context is "d"; accepted: c/],
    ['has no current context', () => write('bad', 'contexts: [{name: c, context: {}}]'), /has no current-context/],
    ['is a list', () => write('bad', '- a'), /no mapping/],
  ])('are refused in a sentence: one that %s', (_, file, sentence) => {
    const find = () => findAccess({ env: {}, userHome: folder, file: file() })
    expect(find).toThrow(sentence)
    expect(find).not.toThrow(/hidden-value/)
  })

  it('that are nowhere are told as such', () => {
    expect(() => findAccess({ env: {}, userHome: join(folder, 'nobody') })).toThrow(
      /KUBECONFIG is not set, .*nobody\/.kube\/config is not there, and this is not a pod/,
    )
  })
})
