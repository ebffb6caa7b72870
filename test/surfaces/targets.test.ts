import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { App, ExecInput } from '../../src/app/api.ts'
import { openApp } from '../../src/compose.ts'
import { failure } from '../../src/core/errors.ts'
import type { RunRecord } from '../../src/core/run.ts'
import { until } from '../cases/place.ts'
import { bundle } from '../support/bundle.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { isSupervised, whyPlain } from '../support/modes.ts'
import { openWorld, type World } from '../support/world.ts'

/*
 * Commands and files at a target, as the app has them on every surface. The site is a folder of this machine that is reached over pipes; real
 * containers, machines and pods are in the tests of their backends.
 */

interface Far extends AsyncDisposable {
  readonly world: World
  readonly siteRoot: string
  /** Each app is like a process of its own: it has connections of its own. */
  open(more?: Record<string, string>): Promise<App>
  /** What was opened. */
  readonly sites: LocalSite[]
  /** Instead of opening a site. */
  refuse: Error | undefined
  record(id: string): RunRecord
}

function openFar(): Far {
  const world = openWorld()
  const siteRoot = world.path('site')
  mkdirSync(join(siteRoot, 'sub'), { recursive: true })
  mkdirSync(join(world.root, 'sub'))
  writeFileSync(join(world.root, 'holdfast.json'), JSON.stringify({ targets: { box: { backend: 'ssh', host: 'here', root: siteRoot } } }))
  const apps: App[] = []
  const far: Far = {
    world,
    siteRoot,
    sites: [],
    refuse: undefined,
    async open(more = {}) {
      const app = await openApp({
        cwd: world.root,
        root: world.root,
        env: { ...world.env, ...more },
        surface: 'library',
        async openSite() {
          if (far.refuse) throw far.refuse
          const site = openLocalSite({ root: siteRoot, folder: world.path('far'), env: { SITE_VARIABLE: 'its own' } })
          far.sites.push(site)
          return site
        },
      })
      apps.push(app)
      return app
    },
    record: (id) => JSON.parse(readFileSync(world.path('root', '.holdfast', 'runs', id, 'run.json'), 'utf8')),
    async [Symbol.asyncDispose]() {
      await Promise.all(apps.map((app) => app.close()))
      for (const site of far.sites) await site[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
  mkdirSync(world.path('far'))
  return far
}

const outputOf = async (app: App, run: string): Promise<string> => (await app.output({ run })).text
const sh = (script: string, more: Partial<ExecInput> = {}): ExecInput => ({ argv: ['sh', '-c', script], target: 'box', ...more })
const slow = { timeout: 120_000 }

if (!isSupervised) console.warn(`runs at targets that live on are skipped: ${whyPlain}`)

describe('a command at a target', () => {
  it('runs at the root of the site, with the variables of the site, and is recorded here', slow, async () => {
    await using far = openFar()
    const app = await far.open({ TOKEN: 'hunter2hunter2', LANG: 'of-here' })
    const run = await app.exec(sh('pwd; echo "home $HOME"; echo "lang $LANG"; echo "token $TOKEN"', { passEnv: ['TOKEN'] }))
    expect(run).toMatchObject({ state: 'ended', outcome: { kind: 'exited', exitCode: 0 }, cwd: far.siteRoot, target: { backend: 'ssh', name: 'box' } })
    const text = await outputOf(app, run.id)
    expect(text).toContain(`${far.siteRoot}\nhome ${far.world.path('far')}\n`)
    expect(text).not.toContain('of-here')
    expect(text).not.toContain('hunter2')
    const log = readFileSync(run.stdout.path, 'utf8')
    expect(log).toContain('token hunter2hunter2')
    expect(JSON.stringify(far.record(run.id))).not.toContain('hunter2')
    expect((await app.runs({})).runs).toMatchObject([{ id: run.id, target: { backend: 'ssh', name: 'box' } }])
  })

  it('has its working directory mapped from here to there, and never outside', slow, async () => {
    await using far = openFar()
    symlinkSync('/etc', join(far.siteRoot, 'out'))
    const app = await far.open()
    expect((await app.exec(sh('pwd', { cwd: 'sub' }))).cwd).toBe(join(far.siteRoot, 'sub'))
    expect((await app.exec(sh('pwd', { cwd: join(far.world.root, 'sub') }))).cwd).toBe(join(far.siteRoot, 'sub'))
    expect((await app.exec(sh('pwd', { cwd: join(far.siteRoot, 'sub') }))).cwd).toBe(join(far.siteRoot, 'sub'))
    for (const cwd of ['..', '/etc', 'out']) await expect(app.exec(sh('pwd', { cwd })), cwd).rejects.toMatchObject({ details: { reason: 'cwd_outside' } })
    await expect(app.exec(sh('pwd', { cwd: 'nowhere' }))).rejects.toMatchObject({ details: { reason: 'cwd_missing' } })
  })

  it('says where a runtime is missing, and has no workspace of this machine where the files are its own', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    const refused = (input: ExecInput): Promise<string> =>
      app.exec(input).then(
        () => 'it ran',
        (error: Error) => error.message,
      )
    expect(await refused({ script: 'x', runtime: 'python', target: 'box', env: { PATH: '/no' } })).toMatch(
      /needs the program "python3", which is not installed at \S/,
    )
    expect(await refused(sh('pwd', { cwd: '/' }))).toContain(far.siteRoot)
  })

  it('may be a script, whose text is no argument', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    const script = 'tr "\\0" " " < /proc/$$/cmdline; echo; echo from a script'
    const run = await app.exec({ script, target: 'box' })
    const text = await outputOf(app, run.id)
    expect(text).toContain('from a script')
    expect(text.split('\n')[0]).toMatch(/^bash --noprofile --norc .*script\.sh$/)
  })

  it('that fails has its own exit status, and one that cannot be started says why', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    expect((await app.exec(sh('echo oh >&2; exit 7'))).outcome).toMatchObject({ kind: 'exited', exitCode: 7 })
    await expect(app.exec({ argv: ['no-such-program'], target: 'box' })).rejects.toMatchObject({ details: { reason: 'program_missing' } })
    await expect(app.exec({ argv: ['true'], target: 'bxo' })).rejects.toMatchObject({ code: 'not_found', details: { reason: 'target_unknown' } })
  })

  it('at a place that refuses for good gets the same answer at once, for commands and files', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    far.refuse = failure('target_mismatch', { target: 'ssh here', field: 'home', declared: '/a', found: '/b' })
    await expect(app.exec(sh('true'))).rejects.toMatchObject({ details: { reason: 'target_mismatch' } })
    far.refuse = undefined
    await expect(app.exec(sh('true'))).rejects.toMatchObject({ details: { reason: 'target_mismatch' } })
    await expect(app.readFile({ path: 'a', target: 'box' })).rejects.toMatchObject({ details: { reason: 'target_mismatch' } })
    expect(far.sites).toEqual([])
  })

  it('whose workspace is not where the target says is refused before it starts, and so are files', slow, async () => {
    await using far = openFar()
    rmSync(far.siteRoot, { recursive: true })
    for (const more of [{}, { HOLDFAST_SUPERVISOR: 'never' }]) {
      const app = await far.open(more)
      const refusal = { code: 'failed_precondition', details: { reason: 'target_mismatch', field: 'root', declared: far.siteRoot } }
      await expect(app.exec(sh('true'))).rejects.toMatchObject(refusal)
      const opened = far.sites.length
      await expect(app.readFile({ path: 'a', target: 'box' })).rejects.toMatchObject(refusal)
      await expect(app.writeFile({ path: 'a', content: 'x', target: 'box' })).rejects.toMatchObject(refusal)
      expect(far.sites.length).toBe(opened)
    }
    expect(existsSync(far.siteRoot)).toBe(false)
  })

  it('in plain mode says that nobody can take it up again', slow, async () => {
    await using far = openFar()
    const app = await far.open({ HOLDFAST_SUPERVISOR: 'never' })
    const run = await app.exec(sh('echo plain; exit 3'))
    expect(run).toMatchObject({ outcome: { exitCode: 3 }, target: { name: 'box' } })
    expect(run.warnings.join()).toContain('cannot be taken up again once this process is gone')
    expect(await outputOf(app, run.id)).toBe('plain\n')
  })
})

describe.skipIf(!isSupervised)('a run at a target', () => {
  it('is read, written to and ended by another process', slow, async () => {
    await using far = openFar()
    const [starter, other] = [await far.open(), await far.open()]
    const { id } = await starter.exec(sh('echo begun; read -r line; echo "got $line"; sleep 300', { interactive: true, waitMs: 0 }))
    await until('it began', async () => (await outputOf(other, id)).includes('begun'))
    await other.input({ run: id, text: 'word', enter: true })
    await until('it read', async () => (await outputOf(other, id)).includes('got word'))
    expect((await other.search({ query: 'got word' })).hits).toHaveLength(1)
    expect(await other.stop({ run: id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
    expect((await starter.wait({ run: id })).outcome).toMatchObject({ kind: 'canceled' })
  })

  it('goes on when whoever began it has gone, and the next one gets its whole output and its true end', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const { id } = await starter.exec(sh('echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 5', { detach: true }))
    await starter.close()
    const next = await far.open()
    expect((await next.show({ run: id })).state).toBe('running')
    writeFileSync(join(far.siteRoot, 'go'), '')
    expect((await next.wait({ run: id })).outcome).toMatchObject({ kind: 'exited', exitCode: 5 })
    expect(await outputOf(next, id)).toBe('one\ntwo\n')
  })

  it('that ended while nobody looked has its true end in the next list of runs', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const { id } = await starter.exec(sh('while [ ! -e go ]; do sleep 0.05; done; echo done > ended; exit 6', { detach: true }))
    await starter.close()
    writeFileSync(join(far.siteRoot, 'go'), '')
    await until('it ended', async () => existsSync(join(far.siteRoot, 'ended')))
    const next = await far.open()
    await until('its end is known', async () => (await next.runs({})).runs[0]?.outcome?.exitCode === 6)
    expect(id).toBe((await next.runs({})).runs[0]?.id)
  })

  it('loses nothing when the connection is cut', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    const running = app.exec(sh('for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.2; done; exit 9'))
    await until('it runs', async () => far.sites.length > 0 && (await app.runs({})).runs.length > 0)
    far.sites[0]?.cut()
    const run = await running
    expect(run.outcome).toMatchObject({ kind: 'exited', exitCode: 9 })
    expect(await outputOf(app, run.id)).toBe([1, 2, 3, 4, 5, 6, 7, 8].map((i) => `line ${i}\n`).join(''))
  })

  it('that is ephemeral, or is fed, says so where the cut of a connection ended it, or its input', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    const begun = (word: string) => until(`${word} runs`, async () => existsSync(join(far.siteRoot, word)))
    const bound = app.exec(sh('echo > bound; sleep 300', { ephemeral: true }))
    await begun('bound')
    far.sites.at(-1)?.cut()
    expect(await bound).toMatchObject({ outcome: { kind: 'canceled' }, warnings: [expect.stringContaining('ends when contact is lost')] })
    let isCut = (): void => {}
    const cut = new Promise<void>((resolve) => {
      isCut = resolve
    })
    async function* lines(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one\n')
      await cut
      for (let i = 0; i < 50; i += 1) yield Buffer.from('more\n')
    }
    const fed = app.exec(sh('echo > fed; cat; exit 3', { stdin: lines() }))
    await begun('fed')
    far.sites.at(-1)?.cut()
    isCut()
    const run = await fed
    expect(run).toMatchObject({ outcome: { exitCode: 3 }, warnings: [expect.stringContaining('standard input could not be written to its end')] })
  })

  it('is taken up also where its workspace was removed meanwhile', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const go = far.world.path('go')
    const { id } = await starter.exec(sh(`until test -e ${go}; do sleep 0.05; done; echo two; exit 5`, { detach: true }))
    await starter.close()
    rmSync(far.siteRoot, { recursive: true })
    writeFileSync(go, '')
    const next = await far.open()
    expect((await next.wait({ run: id })).outcome).toMatchObject({ kind: 'exited', exitCode: 5 })
    expect(await outputOf(next, id)).toBe('two\n')
  })

  it('whose site cannot be reached goes on, with a warning that says so', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const { id } = await starter.exec(sh('sleep 300', { detach: true }))
    await starter.close()
    const next = await far.open()
    far.refuse = failure('backend_unavailable', { target: 'ssh here', why: 'no route' })
    const shown = await next.show({ run: id })
    expect(shown.state).toBe('running')
    expect(shown.warnings.join()).toContain('cannot be reached now; the run may go on there')
    expect((await next.runs({})).runs[0]?.state).toBe('running')
    far.refuse = undefined
  })

  it('whose site is gone for good is interrupted, and says why', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const { id } = await starter.exec(sh('echo kept; sleep 300', { detach: true }))
    await until('it printed', async () => (await outputOf(starter, id)).includes('kept'))
    await starter.close()
    far.refuse = failure('site_gone', { target: 'ssh here', why: 'it was removed' })
    const next = await far.open()
    const shown = await next.show({ run: id })
    expect(shown).toMatchObject({ state: 'interrupted', outcome: { kind: 'lost' } })
    expect(shown.warnings.join()).toContain('it was removed')
    expect(await outputOf(next, id)).toBe('kept\n')
    far.refuse = undefined
  })

  it('is never looked for among the processes here: a pid of the site that is taken here is left alone', slow, async () => {
    await using far = openFar()
    const starter = await far.open()
    const { id } = await starter.exec(sh('sleep 300', { detach: true }))
    await starter.close()
    const record = far.record(id)
    // As if the pids there were those of this process.
    writeFileSync(far.world.path('root', '.holdfast', 'runs', id, 'run.json'), JSON.stringify({ ...record, process: { pid: process.pid, startTime: 'x' } }))
    far.refuse = failure('site_gone', { target: 'ssh here', why: 'it was removed' })
    const next = await far.open()
    expect(await next.show({ run: id })).toMatchObject({ state: 'interrupted', leftovers: [] })
    await expect(next.stop({ run: id })).rejects.toMatchObject({ details: { reason: 'run_ended' } })
    far.refuse = undefined
  })
})

describe('files of a target', () => {
  it('are read, written, listed, moved and removed there', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    const at = { target: 'box' }
    await app.writeFile({ path: 'notes/a.txt', content: 'one\n', ...at })
    await app.appendFile({ path: 'notes/a.txt', content: 'two\n', ...at })
    expect(readFileSync(join(far.siteRoot, 'notes/a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect((await app.readFile({ path: 'notes/a.txt', lines: '2', ...at })).content).toBe('two\n')
    expect((await app.moveFile({ path: 'notes/a.txt', to: 'b.txt', ...at })).path).toBe('b.txt')
    expect((await app.listFiles({ ...at })).entries.map(({ name }) => name)).toContain('b.txt')
    await app.removeFile({ path: 'b.txt', ...at })
    await expect(app.statFile({ path: 'b.txt', ...at })).rejects.toMatchObject({ details: { reason: 'file_missing' } })
    await expect(app.readFile({ path: '../world', ...at })).rejects.toMatchObject({ details: { reason: 'file_outside' } })
    expect(existsSync(join(far.world.root, 'notes'))).toBe(false)
  })

  it('are copied in both directions', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    writeFileSync(join(far.world.root, 'data.bin'), Buffer.alloc(2_500_000, 'x'))
    const there = await app.copyFiles({ from: 'data.bin', to: 'box:in/data.bin' })
    expect(there).toMatchObject({ path: 'in/data.bin', bytes: 2_500_000, files: 1 })
    expect(await app.copyFiles({ from: 'box:in', to: 'back' })).toMatchObject({ files: 1, directories: 1 })
    expect(readFileSync(join(far.world.root, 'back/data.bin')).equals(readFileSync(join(far.siteRoot, 'in/data.bin')))).toBe(true)
    await expect(app.copyFiles({ from: 'nowhere:a', to: 'a' })).rejects.toMatchObject({ details: { reason: 'target_unknown' } })
  })

  it('are copied to and from a target that is told beside them, as :PATH', slow, async () => {
    await using far = openFar()
    const app = await far.open()
    writeFileSync(join(far.world.root, 'data'), 'bytes')
    const target = { backend: 'ssh', host: 'told', root: far.siteRoot } as const
    expect(await app.copyFiles({ from: 'data', to: ':in/data', target })).toMatchObject({ path: 'in/data', files: 1 })
    expect(readFileSync(join(far.siteRoot, 'in/data'), 'utf8')).toBe('bytes')
    expect(await app.copyFiles({ from: ':in/data', to: 'host:back', target: 'box' })).toMatchObject({ path: 'back' })
    expect(readFileSync(join(far.world.root, 'back'), 'utf8')).toBe('bytes')
    for (const input of [
      { from: 'a', to: 'b', target },
      { from: ':a', to: 'b' },
      { from: ':a', to: 'b', target: 'host' },
    ])
      await expect(app.copyFiles(input), input.from).rejects.toMatchObject({ code: 'invalid_argument', details: { reason: 'invalid' } })
  })

  it('are those of a workspace only where it is what is there', slow, async () => {
    await using far = openFar()
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: far.world.root, env: far.world.env })
    git('init', '-q', '-b', 'main')
    git('commit', '-q', '--allow-empty', '-m', 'first')
    const app = await far.open()
    const { id } = await app.openWorkspace({ branch: 'topic', base: 'main' })
    const at = { path: 'a', workspace: id, target: 'box' }
    const refusal = { code: 'invalid_argument', details: { field: 'workspace', accepted: expect.stringContaining('has files of its own') } }
    await expect(app.readFile(at)).rejects.toMatchObject(refusal)
    await expect(app.writeFile({ ...at, content: 'x' })).rejects.toMatchObject(refusal)
    expect(existsSync(join(far.siteRoot, 'a'))).toBe(false)
    // A copy has one side here.
    await app.writeFile({ path: 'made', content: 'in the workspace', workspace: id })
    expect(await app.copyFiles({ from: 'made', to: 'box:there', workspace: id })).toMatchObject({ files: 1 })
    expect(readFileSync(join(far.siteRoot, 'there'), 'utf8')).toBe('in the workspace')
  })
})

const actor = (far: Far): string => `
import { openApp } from './src/compose.ts'
import { openLocalSite } from './test/support/local-site.ts'
const app = await openApp({ cwd: ${JSON.stringify(far.world.root)}, root: ${JSON.stringify(far.world.root)}, env: ${JSON.stringify(far.world.env)}, surface: 'library',
  openSite: async () => openLocalSite({ root: ${JSON.stringify(far.siteRoot)}, folder: ${JSON.stringify(far.world.path('far'))} }) })
await app.exec({ argv: ['sh', '-c', 'echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 4'], target: 'box' }, { onBegin: ({ id }) => process.stdout.write(id + '\\n') })
`

it.skipIf(!isSupervised)(
  'kill -9 of whoever follows a run at a target ends nothing: the next one reads all of it and gets its true exit status',
  slow,
  async () => {
    await using far = openFar()
    // It looks for the supervisor beside itself.
    symlinkSync(fileURLToPath(new URL('../../dist/native', import.meta.url)), far.world.path('native'))
    const program = await bundle(actor(far), far.world.path('actor.mjs'))
    const child = spawn(process.execPath, [program], { cwd: far.world.root, env: far.world.env, stdio: ['ignore', 'pipe', 'inherit'] })
    const id = await new Promise<string>((resolve) => child.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim())))
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    writeFileSync(join(far.siteRoot, 'go'), '')
    const next = await far.open()
    expect((await next.wait({ run: id })).outcome).toMatchObject({ kind: 'exited', exitCode: 4 })
    expect(await outputOf(next, id)).toBe('one\ntwo\n')
  },
)
