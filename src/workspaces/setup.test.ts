import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { type GitWorld, noCommands, openGitWorld } from '../../test/support/git-world.ts'
import { type MadeWorkspace, makeWorkspace } from '../../test/support/made-workspace.ts'
import type { WorkspaceOptions } from '../core/workspace.ts'
import type { WorkspaceCommands, WorkspaceContext } from './context.ts'
import { readEvents } from './events.ts'
import { readRecord, removeRecord, writeRecord } from './records.ts'
import { rerunSetup, runSetup } from './setup.ts'

/** Runs the setup with bash, as the app does with its runs. */
function bashCommands(world: GitWorld, overrides: Partial<WorkspaceCommands> = {}): WorkspaceCommands {
  let runs = 0
  return {
    ...noCommands,
    async setup(record, script, { onBegin, signal }) {
      const run = `run${++runs}`
      onBegin(run)
      const bounds = { cwd: record.path, env: { PATH: process.env.PATH ?? '' }, timeoutMs: 30_000, maxOutputBytes: 65_536 }
      const { outcome } = await world.runProgram({ argv: ['bash', '-c', script], ...bounds, signal })
      return { run, ok: outcome.kind === 'exited' && outcome.exitCode === 0, ended: `${outcome.kind} ${outcome.exitCode}` }
    },
    ...overrides,
  }
}

interface Place extends MadeWorkspace {
  readonly context: WorkspaceContext
  run(call?: Parameters<typeof runSetup>[4]): ReturnType<typeof runSetup>
  state(): ReturnType<typeof readRecord>
  /** How often the setup was begun, as it counted itself outside of the tree. */
  count(): number
}

function place(world: GitWorld, script: string, overrides: Partial<WorkspaceContext> = {}): Place {
  const context = world.context({ commands: bashCommands(world), ...overrides })
  const counter = world.path('counter')
  const setup = `echo x >> ${counter}\n${script}`
  const options: WorkspaceOptions = { ...context.settings.options, setup }
  const made = makeWorkspace(world, context, world.repository('repo', { 'README.md': 'r\n', 'package-lock.json': '{}\n' }), 'topic', { options })
  return {
    ...made,
    context,
    run: (call) =>
      runSetup(context, { commonDir: made.commonDir, mainRoot: world.path('repo') }, made.key, readRecord(made.commonDir, made.key) ?? made.record, call),
    state: () => readRecord(made.commonDir, made.key),
    count: () => (existsSync(counter) ? readFileSync(counter, 'utf8').length / 2 : 0),
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let looks = 0; !isSo(); looks++) {
    if (looks > 2_000) throw new Error('it did not come to pass')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const failedSetup = (attempt: number) => ({ details: { reason: 'setup_failed', attempt } })

it('a setup is run once in a tree, its state is on record outside of the tree, and the tree stays clean', async () => {
  await using world = openGitWorld()
  const { run, state, count, path, commonDir, key } = place(world, 'pwd > ../where')
  const first = await run()
  expect(first).toMatchObject({ state: 'done', attempt: 1, run: 'run1', ended: 'exited 0', holder: null })
  expect([state()?.setup, await run(), count()]).toEqual([first, first, 1])
  expect(readFileSync(join(path, '../where'), 'utf8').trim()).toBe(path)
  expect(world.sh(path, 'status', '--porcelain', '--ignored')).toBe('')
  expect(readEvents(commonDir, key).map(({ name, facts }) => [name, facts])).toEqual([
    ['setup-started', { run: 'run1', attempt: 1 }],
    ['setup-finished', { run: 'run1', attempt: 1, ok: true, ended: 'exited 0' }],
  ])
})

it('a workspace without a setup has none', async () => {
  await using world = openGitWorld()
  const { context, commonDir, key, record } = place(world, '')
  const without = { ...record, options: { ...record.options, setup: null } }
  expect(await runSetup(context, { commonDir, mainRoot: commonDir }, key, without)).toBeNull()
})

it('while it runs the record says so, with the run and its holder', async () => {
  await using world = openGitWorld()
  const base = bashCommands(world)
  let seen: unknown
  const { run, state, context } = place(world, '', {
    commands: {
      ...base,
      async setup(record, script, options) {
        const result = await base.setup(record, script, options)
        await until(() => state()?.setup?.run !== null)
        seen = state()?.setup
        return result
      },
    },
  })
  await run()
  expect(seen).toMatchObject({ state: 'running', attempt: 1, run: 'run1', holder: context.machine.self })
})

it('it is run again where the command, a lock file or the tree is another, and not where anything else changed', async () => {
  await using world = openGitWorld()
  const { run, count, path, record, commonDir, key } = place(world, '')
  await run()
  writeFileSync(join(path, 'README.md'), 'changed\n')
  await run()
  expect(count()).toBe(1)
  writeFileSync(join(path, 'package-lock.json'), '{"changed":1}\n')
  await run()
  expect(count()).toBe(2)
  const again = { ...record, setup: (await run()) ?? null }
  writeRecord(commonDir, key, { ...again, options: { ...record.options, setup: `${record.options.setup}\ntrue` } })
  expect(await run()).toMatchObject({ state: 'done', attempt: 1 })
  expect(count()).toBe(3)
  writeRecord(commonDir, key, { ...again, nonce: 'an0thern0nce' })
  await run()
  expect(count()).toBe(4)
})

it('a setup that itself changes a lock file is run once all the same', async () => {
  await using world = openGitWorld()
  const { run, count } = place(world, 'date +%s%N > package-lock.json')
  await run()
  await run()
  expect(count()).toBe(1)
})

it('a failed one is told with its run, is tried twice more by itself, then only when asked; the tree stays', async () => {
  await using world = openGitWorld()
  const { run, state, count, path, context, record } = place(world, 'touch kept; test -e ../mended')
  await expect(run()).rejects.toMatchObject({ code: 'failed_precondition', details: { reason: 'setup_failed', run: 'run1', ended: 'exited 1', attempt: 1 } })
  expect([state()?.setup?.state, existsSync(join(path, 'kept'))]).toEqual(['failed', true])
  await expect(run()).rejects.toMatchObject(failedSetup(2))
  await expect(run()).rejects.toMatchObject(failedSetup(3))
  await expect(run()).rejects.toMatchObject(failedSetup(3))
  expect(count()).toBe(3)
  await expect(rerunSetup(context, { workspace: record.id, repo: world.path('repo') })).rejects.toMatchObject(failedSetup(4))
  await expect(run()).rejects.toMatchObject(failedSetup(4))
  writeFileSync(join(path, '../mended'), '')
  expect(await rerunSetup(context, { workspace: 'topic', repo: world.path('repo') })).toMatchObject({ id: record.id, setup: { state: 'done', attempt: 5 } })
  expect([await run(), count()]).toEqual([expect.objectContaining({ state: 'done' }), 5])
})

it('what was mended in the lock file or the command gives new tries', async () => {
  await using world = openGitWorld()
  const { run, count, path } = place(world, 'grep -q mended package-lock.json')
  for (let attempt = 1; attempt <= 4; attempt++) await expect(run()).rejects.toMatchObject(failedSetup(Math.min(attempt, 3)))
  writeFileSync(join(path, 'package-lock.json'), 'mended\n')
  expect([await run(), count()]).toEqual([expect.objectContaining({ state: 'done', attempt: 1 }), 4])
})

it('one that is done is run again when that is asked for; without one that is refused', async () => {
  await using world = openGitWorld()
  const { run, count, context, record, commonDir, key } = place(world, '')
  await run()
  await rerunSetup(context, { workspace: record.id, repo: world.path('repo') })
  expect(count()).toBe(2)
  writeRecord(commonDir, key, { ...record, options: { ...record.options, setup: null } })
  await expect(rerunSetup(context, { workspace: record.id, repo: world.path('repo') })).rejects.toMatchObject({ details: { reason: 'invalid' } })
})

it('of two callers at once the second waits for the first and has the same result, also where it fails', async () => {
  await using world = openGitWorld()
  const { run, count, path } = place(world, 'touch ../begun; until test -e ../go; do sleep 0.02; done; test -e ../good')
  const at = (name: string): string => join(path, '..', name)
  const both = Promise.allSettled([run(), run()])
  await until(() => existsSync(at('begun')))
  writeFileSync(at('go'), '')
  const [one, two] = await both
  expect([one, two]).toMatchObject([
    { status: 'rejected', reason: failedSetup(1) },
    { status: 'rejected', reason: failedSetup(1) },
  ])
  expect(count()).toBe(1)
  writeFileSync(at('good'), '')
  const [three, four] = await Promise.all([run(), run()])
  expect([three?.state, four, count()]).toEqual(['done', three, 2])
})

it('a cancellation is no failure: the next call runs it whole', async () => {
  await using world = openGitWorld()
  const { run, state, count, path } = place(world, 'touch ../begun; test -e ../go || sleep 60')
  const stop = new AbortController()
  const running = run({ signal: stop.signal })
  await until(() => existsSync(join(path, '../begun')))
  stop.abort()
  await expect(running).rejects.toMatchObject({ details: { reason: 'canceled' } })
  expect(state()?.setup).toMatchObject({ state: 'pending', attempt: 0, run: 'run1' })
  writeFileSync(join(path, '../go'), '')
  expect([await run(), count()]).toEqual([expect.objectContaining({ state: 'done', attempt: 1, run: 'run2' }), 2])
})

it('what never ran was no attempt, and its reason is told', async () => {
  await using world = openGitWorld()
  const { run, state } = place(world, '', { commands: noCommands })
  await expect(run()).rejects.toThrow('nothing that runs a setup')
  expect(state()?.setup).toMatchObject({ state: 'pending', attempt: 0 })
})

it('a workspace that was released meanwhile is not brought back by the end of its setup', async () => {
  await using world = openGitWorld()
  const base = bashCommands(world)
  const made: Place = place(world, '', {
    commands: {
      ...base,
      async setup(record, script, options) {
        removeRecord(made.commonDir, made.key)
        return base.setup(record, script, options)
      },
    },
  })
  await expect(made.run()).rejects.toMatchObject({ details: { reason: 'workspace_unusable' } })
  expect(made.state()).toBeUndefined()
})

it('a run that goes on although its holder died is waited for before the setup is run again', async () => {
  await using world = openGitWorld()
  const order: string[] = []
  const base = bashCommands(world)
  let asked = 0
  const { run, record, commonDir, key } = place(world, '', {
    commands: {
      ...base,
      running: async () => (asked++ < 2 ? [{ run: 'old', command: 'setup' }] : []),
      setup: (...given) => {
        order.push(`after ${asked} looks`)
        return base.setup(...given)
      },
    },
  })
  const left = {
    command: record.options.setup as string,
    state: 'running',
    attempt: 1,
    run: 'old',
    ended: null,
    holder: { pid: 1, startTime: 'gone' },
  } as const
  writeRecord(commonDir, key, { ...record, setup: left })
  await run()
  expect(order).toEqual(['after 3 looks'])
})

/** A process that runs the setup of a workspace and says `done` or the reason of its failure. */
async function inOwnProcess(world: GitWorld, made: MadeWorkspace): Promise<() => ChildProcess> {
  // The driver of the locks is found from where the program is.
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), world.path('node_modules'))
  const program = await bundle(
    `import { openGitWorld } from './test/support/git-world.ts'
     import { runSetup } from './src/workspaces/setup.ts'
     import { readRecord } from './src/workspaces/records.ts'
     import { spawn } from 'node:child_process'
     import { once } from 'node:events'
     const [commonDir, key] = process.argv.slice(2)
     const world = openGitWorld()
     const setup = async (record, script, { onBegin }) => {
       onBegin('run-of-' + process.pid)
       const child = spawn('bash', ['-c', script], { cwd: record.path, stdio: 'ignore' })
       const [code] = await once(child, 'exit')
       return { run: 'run-of-' + process.pid, ok: code === 0, ended: 'exited ' + code }
     }
     const context = world.context({ commands: { running: async () => [], stop: async () => [], setup } })
     try {
       const { state, attempt } = await runSetup(context, { commonDir, mainRoot: commonDir }, key, readRecord(commonDir, key))
       console.log(state + ' ' + attempt)
     } catch (error) {
       console.log(error.details?.reason ?? error)
     }
     await world[Symbol.asyncDispose]()`,
    world.path('setup-process.mjs'),
  )
  return () =>
    spawn(process.execPath, [program, made.commonDir, made.key], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TMPDIR: world.tmp } })
}

async function saidBy(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout?.on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  return text.trim()
}

it('killed with -9 while it runs, it is run again whole, once, by eight processes that ask at the same time', { timeout: 60_000 }, async () => {
  await using world = openGitWorld()
  const made = place(world, 'touch ../begun; until test -e ../go; do sleep 0.02; done')
  const start = await inOwnProcess(world, made)
  const first = start()
  await until(() => existsSync(join(made.path, '../begun')) && made.state()?.setup?.run !== null)
  const holder = made.state()?.setup?.holder
  expect(holder?.pid).toBe(first.pid)
  first.kill('SIGKILL')
  await once(first, 'close')
  expect(made.state()?.setup).toMatchObject({ state: 'running', attempt: 1, run: `run-of-${first.pid}` })
  writeFileSync(join(made.path, '../go'), '')
  const answers = await Promise.all(Array.from({ length: 8 }, () => saidBy(start())))
  expect(answers).toEqual(Array.from({ length: 8 }, () => 'done 2'))
  expect(made.count()).toBe(2)
})
