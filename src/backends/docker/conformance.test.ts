import { spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeBackend } from '../../../test/conformance/backend.ts'
import { describeComplaints } from '../../../test/conformance/complaints.ts'
import { describeFiles } from '../../../test/conformance/files.ts'
import { engineKinds, startEngine, type TestEngine, whyNoEngine } from '../../../test/support/docker-engine.ts'
import { openWorld, type World } from '../../../test/support/world.ts'
import type { Site } from '../../core/channel.ts'
import { openRemote } from '../../remote/open.ts'
import { supervisorFor } from '../../supervisor/program.ts'
import { openDockerSite } from './site.ts'

// What the rows give their commands; the image has its programs there.
process.env.PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'

/** All of it; else what takes little time, since each command of plain mode is an exec of the engine. */
const isWhole = process.env.HOLDFAST_TEST_ALL === '1'

const plainFailures = {
  ...Object.fromEntries(
    ['endings.signal', 'endings.wall', 'endings.stubborn-tree', 'endings.real-time-signal'].map((id) => [
      id,
      'the shell that starts a command in plain mode knows an end by a signal only as a status above 128',
    ]),
  ),
}

const uid = 4321
const gid = 4322

for (const kind of engineKinds) {
  describe.skipIf(whyNoEngine(kind, 'conformance'))(`in a container of ${kind}`, () => {
    let engine: TestEngine
    let world: World

    beforeAll(async () => {
      engine = await startEngine(kind)
      world = openWorld()
      chownSync(world.folder, uid, gid)
    }, 120_000)
    afterAll(async () => {
      await engine?.close()
      await world?.[Symbol.asyncDispose]()
    }, 60_000)

    const makeFolder = (path: string): string => {
      mkdirSync(path, { recursive: true })
      chownSync(path, uid, gid)
      return path
    }
    /** One container for all that ask for the same folder. */
    const openSite = (root: string, mounts: readonly string[] = []): Promise<Site> =>
      openDockerSite(
        { backend: 'docker', image: engine.image },
        { env: engine.env, root, mounts, owner: 'test', key: root, uid, gid, now: Date.now },
        new AbortController().signal,
      )
    const folderOf = (run: string): string => {
      const folder = world.path('runs', run)
      mkdirSync(folder, { recursive: true })
      return folder
    }

    async function openSession(site: Site, supervisor: 'auto' | 'never', mounted: string) {
      const session = await openRemote({ site, target: { supervisor }, programFor: supervisorFor, folderOf, mounted })
      if (session.place.kind === 'plain' && supervisor === 'auto') throw new Error(session.place.why)
      return session
    }

    let count = 0
    /** The rows share a session until one of them closes it. */
    function rowsOf(supervisor: 'auto' | 'never', place: () => { readonly root: string; readonly mounts: readonly string[] }) {
      let shared: { readonly root: string; readonly session: Awaited<ReturnType<typeof openSession>> } | undefined
      afterAll(() => shared?.session.close())
      return async () => {
        count += 1
        if (!shared) {
          const { root, mounts } = place()
          shared = { root, session: await openSession(await openSite(root, mounts), supervisor, root) }
        }
        const { root, session } = shared
        const inner = session.place.session
        const close = async (): Promise<void> => {
          shared = undefined
          await session.close()
        }
        const own = { capabilities: session.capabilities, root: makeFolder(`${root}/row-${supervisor}-${count}`), close: async () => {} }
        return { ...own, session: Object.create(inner, { close: { value: close } }) as typeof inner }
      }
    }

    const alone = () => ({ root: makeFolder(world.path('root')), mounts: [] })
    let worktree: { readonly root: string; readonly mounts: readonly string[] } | undefined
    const inWorktree = () => {
      worktree ??= makeWorktree(world, makeFolder)
      return worktree
    }

    const modes = (['auto', 'never'] as const).filter((supervisor) => isWhole || supervisor === 'auto' || kind === 'docker')
    if (!isWhole) console.warn(`skipped: files in plain mode${kind === 'podman' ? ', and plain mode' : ''} on ${kind}: HOLDFAST_TEST_ALL is not 1`)
    for (const supervisor of modes) {
      const mode = supervisor === 'auto' ? 'with a supervisor' : 'in plain mode'
      describe(mode, () => {
        describeBackend(`${kind}, ${supervisor === 'auto' ? 'in a git worktree' : 'alone'}`, {
          open: rowsOf(supervisor, supervisor === 'auto' ? inWorktree : alone),
          knownFailures: supervisor === 'auto' ? {} : plainFailures,
        })
        describeComplaints(kind, { open: rowsOf(supervisor, supervisor === 'auto' ? inWorktree : alone) })
        if (!isWhole && supervisor === 'never') return
        describeFiles(kind, {
          // In plain mode each call is an exec of its own, which takes Podman half a second.
          ...(supervisor === 'never' ? { rowMs: 300_000 } : {}),
          async open() {
            const parent = makeFolder(world.path(`files-${supervisor}`))
            const root = `${parent}/ws`
            const site = await openSite(parent)
            makeFolder(root)
            const session = await openSession({ ...site, root }, supervisor, root)
            return {
              files: session.files,
              root,
              capabilities: session.capabilities,
              sh: (script) => sh(site, `cd '${parent}' && { ${script}\n}`),
              close: () => session.close(),
            }
          },
        })
      })
    }

    it('in plain mode, too, what a command left behind is heard for a while', async () => {
      const { root } = alone()
      const session = await openSession(await openSite(root), 'never', root)
      if (session.place.kind !== 'plain') throw new Error('there is a supervisor')
      const script = '(until [ -e go ]; do sleep 0.05; done; echo late) & exit 3'
      const argv: [string, ...string[]] = ['sh', '-c', script]
      const command = { argv, cwd: root, env: { PATH: '/usr/bin:/bin' }, stdin: 'none', mark: 'left' } as const
      const run = await session.place.session.start(command, { stdout: '', stderr: '', maxBytes: 1 })
      let text = ''
      const heard = (async () => {
        for await (const { bytes } of run.output) text += Buffer.from(bytes).toString()
      })()
      expect(await run.ended).toEqual({ exitCode: 3 })
      writeFileSync(`${root}/go`, '')
      await heard
      expect(text).toBe('late\n')
      await session.close()
    })

    it('git works in a worktree whose repository is elsewhere', async () => {
      const { root, mounts } = inWorktree()
      const site = await openSite(root, mounts)
      expect((await sh(site, `cd ${root} && git rev-parse --is-inside-work-tree && git log --format=%s`)).toString()).toBe('true\nfirst\n')
    })
  })
}

function makeWorktree(world: World, makeFolder: (path: string) => string) {
  const folder = makeFolder(world.path('trees'))
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=n', '-c', 'user.email=e@example.org', '-c', 'init.defaultBranch=main']
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: folder, env: world.env, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
  }
  git('init', '-q', 'main')
  git('-C', 'main', 'commit', '-q', '--allow-empty', '-m', 'first')
  git('-C', 'main', 'worktree', 'add', '-q', '../ws')
  spawnSync('chown', ['-R', `${uid}:${gid}`, folder])
  return { root: `${folder}/ws`, mounts: [`${folder}/main/.git`] }
}

async function sh(site: Site, script: string): Promise<Buffer> {
  const channel = await site.open({ argv: ['sh', '-c', script] })
  const parts: Buffer[] = []
  let complaint = ''
  channel.stdout.on('data', (piece: Buffer) => parts.push(piece))
  channel.stderr.on('data', (piece: Buffer) => {
    complaint += piece.toString()
  })
  channel.stdin.end()
  const status = await channel.ended
  if (!('exitCode' in status) || status.exitCode !== 0) throw new Error(`${JSON.stringify(status)}: ${complaint}`)
  return Buffer.concat(parts)
}
