import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { until } from '../../../test/support/clock.ts'
import { hasSshServer, openSshServer, type SshServer } from '../../../test/support/ssh-server.ts'
import { openRemote } from '../../remote/open.ts'
import { findSupervisor, supervisorFor } from '../../supervisor/program.ts'
import { openSshSite } from './site.ts'

const supervisor = findSupervisor()
if (supervisor.kind === 'missing') console.warn(`skipped: the way to a supervisor over ssh: ${supervisor.why}`)

describe.skipIf(supervisor.kind === 'missing' || !hasSshServer('the way to a supervisor over ssh'))('a supervisor over ssh', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'hf-')))
  const servers: SshServer[] = []

  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  async function openAccount(sshd: readonly string[]) {
    const server = await openSshServer({ sshd })
    servers.push(server)
    const site = await openSshSite(server.target(), { env: process.env, runtimeFolder: folder, idleMs: 2_000 })
    const folderOf = (id: string): string => join(folder, `${server.account}-${id}`)
    const session = await openRemote({ site, target: {}, programFor: supervisorFor, folderOf })
    const { place } = session
    if (place.kind === 'plain') throw new Error(place.why)
    const runOnce = async (id: string): Promise<string> => {
      mkdirSync(folderOf(id))
      const limits = { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 1_000, maxOutputBytes: 1e6 }
      const terms = { id, folder: folderOf(id), limits, leftovers: 'report', input: undefined, inputEnds: true, bound: false } as const
      const command = { argv: ['sh', '-c', 'echo $0; exit 3', id], cwd: server.home, env: { PATH: '/usr/bin:/bin' }, stdin: 'none', mark: id } as const
      const run = await place.session.start({ ...command, argv: [...command.argv] }, { ...terms, listen: { kind: 'everything' } })
      let out = ''
      for await (const { bytes } of run.output) out += Buffer.from(bytes).toString()
      return `${out}${(await run.ended).exitCode}`
    }
    // The shell that started ours; ours itself has no command line that others could read.
    const bridges = (): number => {
      const listed = execFileSync('ps', ['-ww', '-u', server.account, '-o', 'args='], { encoding: 'utf8' })
      return listed.split('\n').filter((line) => line.includes('holdfast-begin')).length
    }
    return { session, runOnce, bridges }
  }

  it('is reached by the server itself, without a program between, also again', async () => {
    const { session, runOnce, bridges } = await openAccount([])
    expect(await runOnce('first')).toBe('first\n3')
    await until(() => bridges() === 0)
    expect(await runOnce('second')).toBe('second\n3')
    await session.close()
  })

  it('is reached over a program of ours where the server carries nothing to a socket', async () => {
    const { session, runOnce, bridges } = await openAccount(['DisableForwarding yes'])
    expect(await runOnce('only')).toBe('only\n3')
    expect(bridges()).toBe(1)
    await session.close()
  })
})
