import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeBackend } from '../../../test/conformance/backend.ts'
import { describeComplaints } from '../../../test/conformance/complaints.ts'
import { describeFiles } from '../../../test/conformance/files.ts'
import { hasSshServer, openSshServer, type SshServer } from '../../../test/support/ssh-server.ts'
import { openWorld, type World } from '../../../test/support/world.ts'
import type { Site } from '../../core/channel.ts'
import { failure } from '../../core/errors.ts'
import { openRemote } from '../../remote/open.ts'
import { supervisorFor } from '../../supervisor/program.ts'
import { openSshSite } from './site.ts'

// Folders that the account may not enter would make each program that is not there one that may not be executed.
process.env.PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'

const supervisedFailures = { 'capabilities.shares-process-table': 'the server of the tests is this machine' }
const plainFailures = {
  ...Object.fromEntries(
    ['endings.signal', 'endings.wall', 'endings.stubborn-tree', 'endings.real-time-signal'].map((id) => [
      id,
      'the shell that starts a command in plain mode knows an end by a signal only as a status above 128',
    ]),
  ),
  'capabilities.pipes': 'the server of the tests gives pipes, which not every server does',
}

describe.skipIf(!hasSshServer('the conformance of ssh'))('over ssh', () => {
  let server: SshServer
  let world: World

  beforeAll(async () => {
    server = await openSshServer({ sshd: ['MaxSessions 100'] })
    world = openWorld()
  })

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  /** A session in a folder of its own; what is made in it here belongs to the account. */
  async function openPlace(supervisor: 'auto' | 'never', name: string, prepare = 'mkdir -p ws') {
    const parent = server.mkdir(`${server.home}/${name}`)
    const root = `${parent}/ws`
    const target = server.target({ root, supervisor })
    const site = await openSshSite(target, { env: process.env, runtimeFolder: world.folder, idleMs: 5_000 })
    const inParent = (script: string) => sh(site, `cd '${parent}' && { ${script}\n}`)
    await inParent(prepare)
    const folderOf = (run: string): string => {
      const folder = world.path('runs', run)
      mkdirSync(folder, { recursive: true })
      return folder
    }
    const session = await openRemote({ site, target, programFor: supervisorFor, folderOf })
    if (session.place.kind === 'plain' && supervisor === 'auto') throw new Error(session.place.why)
    return { root, session, inParent }
  }

  let count = 0
  /** The rows share a session until one of them closes it. */
  function rowsOf(supervisor: 'auto' | 'never', prepare?: string) {
    let shared: Awaited<ReturnType<typeof openPlace>> | undefined
    afterAll(() => shared?.session.close())
    return async () => {
      count += 1
      shared ??= await openPlace(supervisor, `rows-${supervisor}-${count}`, prepare)
      const { root, session } = shared
      const inner = session.place.session
      const close = async (): Promise<void> => {
        shared = undefined
        await session.close()
      }
      const place = { capabilities: session.capabilities, root: server.mkdir(`${root}/row-${count}`), close: async () => {} }
      return { ...place, session: { ...inner, close } as typeof inner }
    }
  }

  for (const supervisor of ['auto', 'never'] as const) {
    const mode = supervisor === 'auto' ? 'with a supervisor' : 'in plain mode'
    const knownFailures = supervisor === 'never' ? plainFailures : supervisedFailures
    describe(mode, () => {
      describeBackend('ssh, in a git worktree', { open: rowsOf(supervisor, worktree), knownFailures })
      describeComplaints('ssh', { open: rowsOf(supervisor, worktree) })
      describeFiles('ssh', {
        async open() {
          const { root, session, inParent } = await openPlace(supervisor, `files-${supervisor}`)
          return { files: session.files, root, capabilities: session.capabilities, sh: inParent, close: () => session.close() }
        },
      })
    })
  }
})

const git = 'git -c user.name=n -c user.email=e@example.org -c init.defaultBranch=main'
/** A worktree `ws` of a repository beside it. */
const worktree = `${git} init -q main && ${git} -C main commit -q --allow-empty -m first && ${git} -C main worktree add -q ../ws`

async function sh(site: Site, script: string): Promise<Buffer> {
  const channel = await site.open({ argv: ['sh', '-c', script] })
  const parts: Buffer[] = []
  let complaint = ''
  channel.stdout.on('data', (chunk: Buffer) => parts.push(chunk))
  channel.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  channel.stdin.end()
  const status = await channel.ended
  if (!('exitCode' in status) || status.exitCode !== 0) throw failure('internal', { what: `${JSON.stringify(status)}: ${complaint}` })
  return Buffer.concat(parts)
}
