import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { OpenedWorkspace, RunResult } from '../../src/index.ts'
import { describeSupervised, exited, logOf, type Place, testsInPlace, until } from '../cases/place.ts'

const inPlace = testsInPlace(60_000)

function gitIn({ world }: Place, cwd: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd, env: world.env, encoding: 'utf8' }).trim()
}

function repository(place: Place, folder = place.world.root): string {
  mkdirSync(join(folder, 'src'), { recursive: true })
  writeFileSync(join(folder, 'src/a'), 'a\n')
  writeFileSync(join(folder, '.gitignore'), '.holdfast/\n')
  gitIn(place, folder, 'init', '--quiet', '--initial-branch=main')
  gitIn(place, folder, 'add', '.')
  gitIn(place, folder, 'commit', '--quiet', '-m', 'first')
  return folder
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing was refused',
    (error: { details?: { reason?: string } }) => error.details?.reason,
  )

describe('a command in a workspace', () => {
  inPlace('begins at its top, stays inside of it, and says in its answer and in the list where it ran', async (place) => {
    repository(place)
    const { holdfast } = place
    const { id, path, ports } = await holdfast.openWorkspace({ branch: 'work', ports: 2 })
    const told = 'echo "$HOLDFAST_PORT $HOLDFAST_PORTS $HOLDFAST_PORT_1 $HOLDFAST_PORT_2"; env | grep -c ^HOLDFAST_PORT'
    const run = await holdfast.exec({ workspace: 'work', script: `pwd; echo "$HOLDFAST_WORKSPACE $HOLDFAST_BRANCH"; ${told}` })
    const [first, second] = ports
    expect(logOf(run)).toBe(`${path}\n${id} work\n${first} ${first},${second} ${first} ${second}\n4\n`)
    expect(run).toMatchObject({ workspace: id, branch: 'work', cwd: path, warnings: [] })
    expect((await holdfast.runs({})).runs[0]).toMatchObject({ id: run.id, workspace: id, branch: 'work' })
    expect((await holdfast.exec({ workspace: id, cwd: 'src', argv: ['pwd'] })).cwd).toBe(join(path, 'src'))
    expect(await reasonOf(holdfast.exec({ workspace: id, cwd: '..', argv: ['true'] }))).toBe('cwd_outside')
    expect(await reasonOf(holdfast.exec({ workspace: id, cwd: place.world.root, argv: ['true'] }))).toBe('cwd_outside')
    // The main checkout is no workspace.
    expect(await holdfast.exec({ argv: ['true'] })).toMatchObject({ workspace: null })
  })

  inPlace('is told when it was started in another workspace than the one that the caller stands in', async (place) => {
    repository(place)
    const { holdfast } = place
    const [one, two] = [await holdfast.openWorkspace({ branch: 'one' }), await holdfast.openWorkspace({ branch: 'two' })] as [OpenedWorkspace, OpenedWorkspace]
    const exec = async (cwd: string, ...args: string[]): Promise<RunResult> => (await place.cli(['exec', '--json', ...args, '--', 'pwd'], { cwd })).json()
    const elsewhere = await exec(join(one.path, 'src'), '--workspace', 'two')
    const warning = `this ran in workspace ${two.id} (branch two); the folder that you are in belongs to workspace ${one.id} (branch one)`
    expect(elsewhere).toMatchObject({ cwd: two.path, workspace: two.id, warnings: [warning] })
    expect(elsewhere.digest).toContain(warning)
    expect(await exec(join(two.path, 'src'), '--workspace', 'two')).toMatchObject({ cwd: two.path, warnings: [] })
    // Without a word about it, a command runs where its caller stands.
    expect(await exec(join(one.path, 'src'))).toMatchObject({ cwd: join(one.path, 'src'), workspace: one.id, branch: 'one', warnings: [] })
    const refused = await place.cli(['exec', '--cwd', two.path, '--', 'pwd'])
    expect([refused.status, refused.stderr]).toEqual([125, expect.stringContaining(`or workspace ${two.id}, which it belongs to`)])
  })

  inPlace('runs in a workspace of any repository, and its run stays with the caller', async (place) => {
    repository(place)
    const other = repository(place, place.world.path('other'))
    const { holdfast } = place
    const { id, path } = await holdfast.openWorkspace({ repo: other, branch: 'there' })
    const run = await holdfast.exec({ workspace: id, argv: ['pwd'] })
    expect(run).toMatchObject({ cwd: path, workspace: id, branch: 'there' })
    expect(run.stdout.path.startsWith(join(place.world.root, '.holdfast'))).toBe(true)
    expect(existsSync(join(other, '.holdfast'))).toBe(false)
  })

  inPlace('never runs in a tree that is dead, and lies in another repository', async (place) => {
    const root = repository(place)
    const { holdfast } = place
    const inside = await place.again({ env: { ...place.world.env, XDG_STATE_HOME: join(root, 'state') } })
    const { id, path } = await inside.openWorkspace({ branch: 'work' })
    expect(path.startsWith(root)).toBe(true)
    const link = readFileSync(join(path, '.git'), 'utf8')
    rmSync(join(path, '.git'))
    expect(await reasonOf(inside.exec({ workspace: id, script: 'touch here' }))).toBe('workspace_unusable')
    const { path: other } = await inside.openWorkspace({ branch: 'other' })
    writeFileSync(join(path, '.git'), readFileSync(join(other, '.git')))
    expect(await reasonOf(inside.exec({ workspace: id, script: 'touch here' }))).toBe('workspace_unusable')
    writeFileSync(join(path, '.git'), link)
    expect(await inside.exec({ workspace: id, argv: ['true'] })).toMatchObject({ outcome: exited(0), workspace: id })
    renameSync(path, `${path}-away`)
    expect(await reasonOf(inside.exec({ workspace: id, script: 'touch here' }))).toBe('workspace_unusable')
    expect(existsSync(join(root, 'here'))).toBe(false)
    expect(await reasonOf(holdfast.exec({ workspace: 'work', argv: ['true'] }))).toBe('workspace_unusable')
  })
})

describe('a release and commands that begin at the same time', () => {
  inPlace('never meet: a command runs to its end in a whole tree, or is refused', async (place) => {
    repository(place)
    const other = await place.again()
    let [ran, refused] = [0, 0]
    for (let round = 0; round < 6; round += 1) {
      const { id, path } = await place.holdfast.openWorkspace({ branch: 'work' })
      const script = 'sleep 0.1; test -e src/a && git status --porcelain >/dev/null && pwd'
      const execs = [place.holdfast, other, place.holdfast].map((holdfast) =>
        holdfast.exec({ workspace: id, script }).then(
          (run) => {
            expect([run.outcome, logOf(run)]).toEqual([exited(0), `${path}\n`])
            ran += 1
          },
          (error: { details: { reason: string } }) => {
            expect(['workspace_unusable', 'workspace_not_found']).toContain(error.details.reason)
            refused += 1
          },
        ),
      )
      if (round % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 10 * round))
      const released = await other.releaseWorkspace({ workspace: id }).catch((error: { details: { reason: string } }) => error.details.reason)
      await Promise.all(execs)
      expect([released === 'workspace_busy', existsSync(path)]).toEqual([typeof released === 'string', typeof released === 'string'])
      if (typeof released === 'string') await other.releaseWorkspace({ workspace: id })
    }
    expect(ran + refused).toBe(18)
  })
})

describe('the history of a workspace', () => {
  inPlace('tells of each thing that happened to it in order, with the commits and how long each took', async (place) => {
    const { holdfast, world } = place
    writeFileSync(join(world.root, '.worktreeinclude'), 'local.txt\n')
    repository(place)
    writeFileSync(join(world.root, '.git/info/exclude'), 'local.txt\nfresh\n')
    writeFileSync(join(world.root, 'local.txt'), 'local\n')
    gitIn(place, world.folder, 'clone', '--quiet', '--bare', world.root, world.path('remote.git'))
    gitIn(place, world.root, 'remote', 'add', 'origin', world.path('remote.git'))
    const sha = gitIn(place, world.root, 'rev-parse', 'main')
    const { id, setup } = await holdfast.openWorkspace({ branch: 'work', base: 'main', setup: 'echo set up >fresh' })
    const run = await holdfast.exec({ workspace: id, script: 'echo mine >mine.txt' })
    const before = await holdfast.showWorkspace({ workspace: id })
    expect(before.events.map(({ name }) => name)).toEqual([
      ...['requested', 'fetched', 'created', 'carried-over', 'ready'],
      ...['leased', 'setup-started', 'setup-finished', 'setup', 'leased'],
    ])
    const told = (name: string) => before.events.findLast((event) => event.name === name)
    for (const name of ['fetched', 'created', 'ready']) expect(told(name)).toMatchObject({ durationMs: expect.any(Number), facts: { sha } })
    expect(told('setup-finished')).toMatchObject({ durationMs: expect.any(Number), facts: { run: setup?.run, attempt: 1, ok: true } })
    expect(told('leased')).toMatchObject({ workspace: id, facts: { run: run.id } })
    const { rescue } = await holdfast.releaseWorkspace({ workspace: id })
    await holdfast.openWorkspace({ branch: 'work', setup: null })
    const { events } = await holdfast.showWorkspace({ workspace: id })
    expect(events.slice(0, before.events.length)).toEqual(before.events)
    expect(events.slice(before.events.length).map(({ name }) => name)).toEqual([
      ...['releasing', 'rescued', 'removed', 'released'],
      ...['requested', 'checked-out', 'carried-over', 'ready'],
    ])
    expect(events.find(({ name }) => name === 'rescued')).toMatchObject({
      durationMs: expect.any(Number),
      facts: { ref: rescue, sha: gitIn(place, world.root, 'rev-parse', String(rescue)) },
    })
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort())
  })
})

describeSupervised('a workspace with commands in the background', () => {
  inPlace('is in use as long as one of any project goes on in it, and stops those for its release', async (place) => {
    repository(place)
    const elsewhere = place.world.path('elsewhere')
    mkdirSync(elsewhere)
    const other = await place.again({ root: elsewhere })
    const { holdfast } = place
    const { id, path } = await holdfast.openWorkspace({ branch: 'work' })
    const own = await holdfast.exec({ workspace: id, script: 'echo own; sleep 60', detach: true })
    const foreign = await other.exec({ workspace: id, script: 'echo foreign; sleep 60', detach: true })
    expect(foreign.stdout.path.startsWith(elsewhere)).toBe(true)
    await other.close()
    const running = async (): Promise<string[] | undefined> => (await holdfast.listWorkspaces({}))[0]?.running.map(({ run }) => run).sort()
    expect(await running()).toEqual([own.id, foreign.id].sort())
    expect(await reasonOf(holdfast.releaseWorkspace({ workspace: id }))).toBe('workspace_busy')
    await holdfast.stop({ run: own.id })
    expect(await running()).toEqual([foreign.id])
    const released = await holdfast.releaseWorkspace({ workspace: id, stop: true })
    expect(released).toMatchObject({ released: true, stopped: [foreign.id], rescue: null })
    expect(existsSync(path)).toBe(false)
    const again = await place.again({ root: elsewhere })
    expect(await again.show({ run: foreign.id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
  })

  inPlace('is in use by what a command left behind in it', async (place) => {
    repository(place)
    const { holdfast } = place
    const { id } = await holdfast.openWorkspace({ branch: 'work' })
    const run = await holdfast.exec({ workspace: id, script: 'sleep 60 >/dev/null 2>&1 & echo over' })
    expect([run.outcome, run.leftovers.length]).toEqual([exited(0), 1])
    expect(await reasonOf(holdfast.releaseWorkspace({ workspace: id }))).toBe('workspace_busy')
    expect(await holdfast.releaseWorkspace({ workspace: id, stop: true })).toMatchObject({ released: true })
    await until('nothing is left', async () => (await reasonOf(holdfast.stop({ run: run.id }))) === 'run_ended')
  })
})
