import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Holdfast, RunResult } from '../../src/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/open.ts'
import { isSupervised } from '../support/modes.ts'
import { caseFile, describeCases, exited, expectNothingLeft, logOf, openPlace, type Place, runProgram, testsInPlace, until } from './place.ts'

const inPlace = testsInPlace(60_000)

const homeOf = (place: Place): string => place.world.path('root', '.holdfast')

/** A command runs and answers as ever, whatever is wrong around it. */
async function expectRuns(holdfast: Holdfast, text: string): Promise<RunResult> {
  const run = await holdfast.exec({ script: `echo ${text}; echo ${text}-error >&2; exit 3` })
  expect(run.outcome).toEqual(exited(3))
  expect(run.stdout.bytes).toBe(text.length + 1)
  expect(run.digest.split('\n')[0]).toContain('exit 3 (failed)')
  return run
}

const commands = async (holdfast: Holdfast): Promise<string[]> =>
  (await holdfast.runs({})).runs.map(({ command }) => /echo (\S+?);/.exec(command)?.[1] ?? command)

describeCases('G: searching', () => {
  it('B062: every text is a legal query, and finds what it should', async () => {
    await using place = await openPlace()
    const { holdfast, world, cli } = place
    const { stdout } = await runProgram(process.execPath, [caseFile('B062.js'), 'list'], { env: world.env })
    const cases = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { text: string; query: string; hit: boolean })
    const runs = new Map<string, string>()
    for (const { text } of cases) {
      if (!runs.has(text)) runs.set(text, (await holdfast.exec({ argv: ['cat'], stdin: `before\n${text}\nafter\n` })).id)
    }
    const wrong: string[] = []
    for (const { text, query, hit } of cases) {
      const found = await holdfast.search({ query }).catch((error: unknown) => error as Error)
      if (found instanceof Error) wrong.push(`${query.slice(0, 40)}: ${found.message}`)
      else if (hit && !found.hits.some((at) => at.run === runs.get(text) && at.line === 2 && at.stream === 'stdout')) wrong.push(`${query}: not found`)
      else if (!hit && found.hits.length > 0) wrong.push(`${query.slice(0, 40)}: found ${found.hits[0]?.text}`)
    }
    expect(wrong).toEqual([])
    for (const { text, query, hit } of cases.filter(({ query: word }) => !word.includes('\0'))) {
      if (query.length > 100 && hit) continue
      const found = await cli(['search', '--json', '--', query])
      expect([query.slice(0, 40), found.status]).toEqual([query.slice(0, 40), expect.any(Number)])
      const { hits } = found.json<{ hits: { run: string }[] }>()
      expect(hits.some(({ run }) => run === runs.get(text))).toBe(hit)
    }
  }, 60_000)

  inPlace('a hit is a place that output accepts', async ({ holdfast }) => {
    await holdfast.exec({ script: 'seq 1 50; echo needle-out; seq 1 50; echo needle-err >&2' })
    for (const [query, text] of [
      ['needle-out', 'needle-out'],
      ['needle-err', 'needle-err'],
    ] as const) {
      const [hit] = (await holdfast.search({ query })).hits
      const [run, stream, line] = /^(\w+):(?:(stderr):)?(\d+)$/.exec(hit?.ref ?? '')?.slice(1) ?? []
      const { lines } = await holdfast.output({ run: run!, lines: line, stream: (stream as 'stderr' | undefined) ?? 'stdout' })
      expect(lines.map((found) => found.text)).toEqual([text])
    }
  })
})

const sqlite = spawnSync('sqlite3', ['-version']).status === 0

describeCases('G: a store that cannot be used', () => {
  if (!sqlite) console.warn('skipped: B064: there is no sqlite3 here to make the damaged files with')
  describe.skipIf(!sqlite)('B064', () => {
    for (const kind of ['header', 'pages', 'wal', 'empty'] as const) {
      inPlace(`B064: a store with a damaged ${kind} is put aside and made anew from the records`, async (place) => {
        const { holdfast, again, world } = place
        await expectRuns(holdfast, 'before')
        await holdfast.close()
        await putInPlace(place, kind)
        const next = await again()
        const run = await expectRuns(next, 'after')
        expect(logOf(run)).toBe('after\n')
        expect(await commands(next)).toEqual(['after', 'before'])
        expect((await next.search({ query: 'before-error' })).hits).not.toEqual([])
        const aside = readdirSync(homeOf(place)).filter((name) => /^index\.damaged-\d{8}-\d{6}/.test(name))
        const { warnings } = await next.runs({})
        if (kind === 'header' || kind === 'pages') {
          expect(aside.length).toBeGreaterThan(0)
          expect(readFileSync(join(homeOf(place), aside.find((name) => !/-(wal|shm)$/.test(name))!))).toEqual(readFileSync(world.path('damaged', `${kind}.db`)))
          expect(warnings).toHaveLength(1)
          expect(warnings[0]).toMatch(/damaged.*moved/)
        }
        await next.close()
        const last = await again()
        expect((await last.runs({})).warnings).toEqual([])
        expect(await commands(last)).toEqual(['after', 'before'])
      })
    }

    inPlace('B064: a store of a newer version is told and not written to', async (place) => {
      const { holdfast, again, world } = place
      await expectRuns(holdfast, 'before')
      await holdfast.close()
      await putInPlace(place, 'future')
      const bytes = readFileSync(join(homeOf(place), 'index.db'))
      const next = await again()
      const run = await expectRuns(next, 'after')
      expect(run.warnings.join()).toMatch(/newer Holdfast/)
      expect(await commands(next)).toEqual(['after', 'before'])
      expect((await next.search({ query: 'after-error' })).hits).not.toEqual([])
      await next.close()
      expect(readFileSync(join(homeOf(place), 'index.db'))).toEqual(bytes)
      rmSync(join(homeOf(place), 'index.db'))
      expect(await commands(await again())).toEqual(['after', 'before'])
      expect(existsSync(world.path('damaged', 'future.db'))).toBe(true)
    })
  })

  inPlace('a store that is removed while a run goes on is made anew with all earlier runs, in their order', async (place) => {
    const { holdfast, again } = place
    for (const text of ['first', 'second']) await expectRuns(holdfast, text)
    const going = holdfast.exec({ script: 'read -r line; echo $line; exit 3', stdin: 'third' })
    for (const name of readdirSync(homeOf(place))) if (name.startsWith('index.db')) rmSync(join(homeOf(place), name))
    const run = await going
    expect(run.warnings).toEqual([])
    const ids = (await holdfast.runs({})).runs.map(({ id, command }) => (id === run.id ? 'third' : command))
    expect(ids).toEqual(['third', expect.stringContaining('second'), expect.stringContaining('first')])
    expect((await holdfast.show({ run: 'last' })).id).toBe(run.id)
    expect((await (await again()).search({ query: 'first-error' })).hits).not.toEqual([])
  })

  inPlace('a store whose filling was cut short is filled by the next process', async (place) => {
    const { holdfast, again } = place
    await expectRuns(holdfast, 'before')
    await holdfast.close()
    // As a process leaves it that is killed right after it made the store.
    for (const name of readdirSync(homeOf(place))) if (name.startsWith('index.db')) rmSync(join(homeOf(place), name))
    await (await openSqliteStore(join(homeOf(place), 'index.db'))).store.close()
    mkdirSync(join(homeOf(place), 'pending'))
    writeFileSync(join(homeOf(place), 'pending', `${process.pid}.0.before-this-one`), 'all-runs\n')
    const next = await again()
    expect(await commands(next)).toEqual(['before'])
    expect(existsSync(join(homeOf(place), 'pending'))).toBe(false)
  })

  inPlace('a locked store delays nothing for long, and is told of the run by the next process', async (place) => {
    const { holdfast, again } = place
    await expectRuns(holdfast, 'before')
    const lock = spawn('sqlite3', [join(homeOf(place), 'index.db')], { stdio: ['pipe', 'pipe', 'inherit'] })
    lock.stdin.write('BEGIN EXCLUSIVE; SELECT 1;\n')
    await new Promise((resolve) => lock.stdout.once('data', resolve))
    const run = await expectRuns(holdfast, 'meanwhile')
    expect(run.warnings.join()).toMatch(/not in the index yet.*(lock|busy)/i)
    expect(run.digest).toContain('not in the index yet')
    expect((await commands(holdfast))[0]).toBe('meanwhile')
    expect((await holdfast.show({ run: run.id })).outcome).toEqual(exited(3))
    await holdfast.close()
    lock.stdin.end('ROLLBACK;\n')
    await new Promise((resolve) => lock.once('close', resolve))
    const next = await again()
    expect(await commands(next)).toEqual(['meanwhile', 'before'])
    expect((await next.search({ query: 'meanwhile-error' })).hits).not.toEqual([])
    expect((await next.runs({})).warnings).toEqual([])
    expect(existsSync(join(homeOf(place), 'pending'))).toBe(false)
  })
})

async function putInPlace(place: Place, kind: string): Promise<void> {
  const made = place.world.path('damaged')
  await runProgram('bash', [caseFile('B064.sh'), made], { env: place.world.env })
  for (const end of ['', '-wal', '-shm']) {
    rmSync(join(homeOf(place), `index.db${end}`), { force: true })
    if (existsSync(join(made, `${kind}.db${end}`))) writeFileSync(join(homeOf(place), `index.db${end}`), readFileSync(join(made, `${kind}.db${end}`)))
  }
}

const isRoot = process.getuid?.() === 0
const mounts = isRoot && spawnSync('unshare', ['--mount', 'true']).status === 0
if (!mounts) console.warn('skipped: read-only and full disks: only root may mount them')

const withDisks = (title: string, body: (place: Place) => Promise<void>): void => (mounts ? inPlace(title, body) : it.skip(title))

/** A small disk of its own at `path`. Closing unmounts it. */
async function mountDisk(path: string, options: string) {
  mkdirSync(path, { recursive: true })
  const mount = async (more: string): Promise<void> => {
    const { status, stderr } = await runProgram('mount', ['-t', 'tmpfs', '-o', more, 'tmpfs', path], {})
    if (status !== 0) throw new Error(stderr)
  }
  await mount(options)
  return {
    remount: (more: string) => mount(`remount,${more}`),
    async [Symbol.asyncDispose]() {
      await runProgram('umount', ['-l', path], {})
    },
  }
}

describe('a home that cannot be written to', () => {
  withDisks('that is read-only: the command runs, the reply says where it is kept, and it comes home when it can', async (place) => {
    const home = place.world.path('disk')
    await using disk = await mountDisk(home, 'size=16m,ro')
    const env = { ...place.world.env, HOLDFAST_HOME: home }
    const holdfast = await place.again({ env })
    const run = await expectRuns(holdfast, 'read-only')
    expect(run.warnings.join()).toContain(`${home} cannot be written to; runs are kept in ${place.world.home}`)
    expect(run.digest).toContain('read-only-error')
    expect(run.digest).toContain('cannot be written to')
    const shell = await place.cli(['exec', '-c', 'echo in-shell; exit 4'], { env })
    expect(shell.status).toBe(4)
    expect(shell.stdout).toContain('in-shell')
    const detached = await place.cli(['exec', '--json', '--wait', '10s', '-c', 'echo in-background; exit 6'], { env })
    expect(detached.json().outcome).toEqual(exited(6))
    await holdfast.close()
    await disk.remount('rw')
    const next = await place.again({ env })
    await expectRuns(next, 'after')
    expect(await commands(next)).toEqual(['after', 'in-background', 'in-shell', 'read-only'])
    expect((await next.search({ query: 'read-only-error' })).hits).not.toEqual([])
    expect((await next.show({ run: run.id })).stdout.path.startsWith(home)).toBe(true)
    expect(logOf(await next.show({ run: run.id }))).toBe('read-only\n')
  })

  withDisks('that becomes read-only while it is open: the next command runs, and what was there is readable', async (place) => {
    const home = place.world.path('disk')
    await using disk = await mountDisk(home, 'size=16m')
    const env = { ...place.world.env, HOLDFAST_HOME: join(home, 'h') }
    // In a process of its own: the driver of the store lets go of its files only when memory is collected.
    const before = (await place.cli(['exec', '--json', '-c', 'echo before; echo before-error >&2; exit 3'], { env })).json()
    const open = await place.again({ env })
    await disk.remount('ro')
    const run = await expectRuns(open, 'read-only')
    expect(run.warnings.join()).toMatch(/cannot be written to.*the run is kept in/)
    expect(run.digest).toContain('read-only-error')
    expect((await open.show({ run: before.id })).digest).toContain('before-error')
    expect((await open.output({ run: before.id })).text).toBe('before\nbefore-error\n')
    expect((await open.search({ query: 'before-error' })).hits).not.toEqual([])
    await open.close()
    await disk.remount('rw')
    expect((await place.cli(['exec', '-c', 'echo after; exit 3'], { env })).status).toBe(3)
    const { runs } = (await place.cli(['runs', '--json'], { env })).json<{ runs: { command: string }[] }>()
    expect(runs.map(({ command }) => command.split(/[ ;]/)[1])).toEqual(['after', 'read-only', 'before'])
  })

  it.concurrent('that is a file: the command runs and the reply says where it is kept', async () => {
    await using place = await openPlace()
    const home = place.world.path('not-a-folder')
    writeFileSync(home, 'text')
    const env = { ...place.world.env, HOLDFAST_HOME: home }
    const run = await expectRuns(await place.again({ env }), 'no-home')
    expect(run.warnings.join()).toContain(home)
    expect(run.digest).toContain('no-home-error')
    expect((await place.cli(['exec', '-c', 'exit 5'], { env })).status).toBe(5)
    expect(readFileSync(home, 'utf8')).toBe('text')
  })

  it.concurrent('like every place of the person: the command runs all the same', async () => {
    await using place = await openPlace()
    const { world } = place
    const blocked = world.path('blocked')
    writeFileSync(blocked, '')
    const env = { ...world.env, HOLDFAST_HOME: blocked, XDG_STATE_HOME: blocked }
    const holdfast = await place.again({ env })
    const run = await expectRuns(holdfast, 'kept-somewhere')
    expect(run.stdout.path.startsWith(world.tmp)).toBe(true)
    expect(run.digest).toContain('kept-somewhere-error')
    expect((await holdfast.search({ query: 'kept-somewhere-error' })).hits).not.toEqual([])
    const nowhere = { ...env, TMPDIR: blocked }
    const lost = await (await place.again({ env: nowhere })).exec({ argv: ['sh', '-c', 'seq 1 5; echo kept-nowhere; exit 3'] })
    expect(lost).toMatchObject({ outcome: exited(3), stdout: { bytes: 23 } })
    expect(lost.digest).toContain('6 | kept-nowhere')
    expect(lost.warnings.join()).toMatch(/cannot be kept/)
    expect((await place.cli(['exec', '--', 'sh', '-c', 'exit 8'], { env: nowhere })).status).toBe(8)
  })

  it.concurrent('that is deleted while a command runs: the command ends as ever, and the next one is kept again', async () => {
    await using place = await openPlace()
    const { holdfast, world } = place
    const gate = world.path('gate')
    const started = holdfast.exec({ script: `echo begun; while ! [ -e ${gate} ]; do sleep 0.02; done; echo over; exit 3` })
    const home = homeOf(place)
    await until(
      'the run has printed',
      () =>
        existsSync(join(home, 'runs')) &&
        readdirSync(join(home, 'runs')).some(
          (id) => existsSync(join(home, 'runs', id, 'stdout.log')) && readFileSync(join(home, 'runs', id, 'stdout.log')).length > 0,
        ),
    )
    rmSync(home, { recursive: true })
    writeFileSync(gate, '')
    const run = await started
    expect(run.outcome).toEqual(exited(3))
    expect(run.stdout).toMatchObject({ bytes: 'begun\nover\n'.length, lines: 2 })
    expect(run.warnings.length).toBeGreaterThan(0)
    expectNothingLeft(run)
    const next = await expectRuns(holdfast, 'next')
    expect(logOf(next)).toBe('next\n')
    await holdfast.close()
    expect((await commands(await place.again())).at(0)).toBe('next')
  })

  withDisks('that gets full: the command runs to its end, its totals are right, and later ones come home when there is room', async (place) => {
    const home = place.world.path('disk')
    await using _disk = await mountDisk(home, 'size=6m')
    const env = { ...place.world.env, HOLDFAST_HOME: join(home, 'h') }
    const holdfast = await place.again({ env })
    await expectRuns(holdfast, 'before')
    const run = await holdfast.exec({ script: `head -c 8000000 /dev/zero | tr '\\0' x; echo; echo the-end; exit 7` })
    expect(run.outcome).toEqual(exited(7))
    expect(run.stdout.bytes).toBe(8_000_009)
    expect(run.stdout.droppedBytes).toBeGreaterThan(1_000_000)
    expect(run.warnings.join()).toMatch(/ENOSPC/)
    expect(run.digest).toContain('ENOSPC')
    expect(run.digest).toContain('2 | the-end')
    // A supervisor writes how it ended where its first process was noted.
    const told = await (await place.again({ env })).show({ run: run.id })
    if (isSupervised) expect(told).toMatchObject({ state: 'ended', outcome: exited(7), stdout: run.stdout })
    const small = await expectRuns(holdfast, 'small')
    expect(small.warnings.join()).toMatch(/no space is left on the disk.*the run is kept in/)
    expect(small.digest).toContain('small-error')
    const inShell = await place.cli(['exec', '-c', 'echo in-shell; exit 4'], { env })
    expect([inShell.status, inShell.stdout.includes('in-shell')]).toEqual([4, true])
    await holdfast.close()
    rmSync(join(home, 'h', 'runs', run.id), { recursive: true })
    const next = await place.again({ env })
    await expectRuns(next, 'after')
    expect((await commands(next)).filter((text) => text !== 'the-end')).toEqual(['after', 'in-shell', 'small', 'before'])
    expect((await next.runs({})).warnings).toEqual([])
    expect((await next.show({ run: small.id })).stdout.path.startsWith(home)).toBe(true)
  })

  it.concurrent('that is a folder of somebody else: a word about where runs are kept instead', async () => {
    await using place = await openPlace()
    const { world } = place
    chmodSync(world.root, 0o555)
    const canWrite = isRoot
    const script = `cd ${world.root} && node=${process.execPath}; exec "$node" ${new URL('../../dist/cli.js', import.meta.url).pathname} exec --json -- pwd`
    chmodSync(world.folder, 0o755)
    for (const folder of [world.home, world.tmp]) chmodSync(folder, 0o777)
    const asOther = canWrite ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--', 'bash', '-c', script] : ['bash', '-c', script]
    const result = await runProgram(asOther[0] as string, asOther.slice(1), { env: world.env })
    chmodSync(world.root, 0o755)
    const run = result.json()
    expect(run.outcome).toEqual(exited(0))
    expect(run.stdout.path.startsWith(join(world.home, '.local', 'state', 'holdfast'))).toBe(true)
    expect(run.warnings.join()).toContain('cannot be written to; runs are kept in')
  })
})

describe('any number of processes at once', () => {
  /** A program that uses the library in the world of a place: `holdfast` is open there, `sync` are Node's functions of files. */
  async function startProgram({ world }: Place, body: string) {
    const library = new URL('../../dist/index.mjs', import.meta.url).href
    const program = world.path('program.mjs')
    writeFileSync(
      program,
      `import * as sync from 'node:fs'
       const { openHoldfast } = await import(${JSON.stringify(library)})
       const holdfast = await openHoldfast({ root: ${JSON.stringify(world.root)} })
       ${body}`,
    )
    const child = spawn(process.execPath, [program], { cwd: world.root, env: world.env, stdio: ['pipe', 'pipe', 'inherit'] })
    return { child, closed: new Promise<unknown>((resolve) => child.once('close', (_, signal) => resolve(signal))) }
  }

  it('know of a run whose process was killed as soon as it had begun', async () => {
    await using place = await openPlace()
    const { closed } = await startProgram(
      place,
      `await holdfast.exec({ argv: ['echo', 'earlier'] })
       await holdfast.runs({})
       await holdfast.exec({ argv: ['echo', 'killed'], onBegin: () => process.kill(process.pid, 'SIGKILL') })`,
    )
    expect(await closed).toBe('SIGKILL')
    expect((await place.holdfast.runs({})).runs.map(({ command }) => command)).toEqual(['echo killed', 'echo earlier'])
    await expectRuns(place.holdfast, 'next')
    await place.holdfast.close()
    expect(existsSync(join(homeOf(place), 'pending'))).toBe(false)
  })

  it('see the runs of one that does nothing any more but lives', async () => {
    await using place = await openPlace()
    const { child, closed } = await startProgram(
      place,
      `await holdfast.runs({})
       await holdfast.exec({ argv: ['echo', 'just-now'] })
       sync.writeSync(1, 'over')
       sync.readSync(0, Buffer.alloc(1))
       await holdfast.close()`,
    )
    await new Promise((resolve) => child.stdout.once('data', resolve))
    expect((await place.holdfast.runs({})).runs).toMatchObject([{ command: 'echo just-now', state: 'ended' }])
    expect((await place.cli(['runs'])).stdout).toContain('just-now')
    child.stdin.end()
    expect(await closed).toBeNull()
    expect((await place.holdfast.runs({})).total).toBe(1)
  })

  it('lose no run and read nothing torn', async () => {
    await using place = await openPlace()
    const { world, cli, holdfast } = place
    const library = new URL('../../dist/index.mjs', import.meta.url).href
    const program = world.path('many.mjs')
    writeFileSync(
      program,
      `const { openHoldfast } = await import(${JSON.stringify(library)})
       const holdfast = await openHoldfast({ root: process.argv[2] })
       for (let i = 0; i < 10; i += 1) {
         const run = await holdfast.exec({ argv: ['echo', 'many-' + process.argv[3] + '-' + i] })
         if (run.outcome.exitCode !== 0 || run.warnings.length > 0) { console.error(JSON.stringify(run)); process.exitCode = 1 }
       }
       await holdfast.close()`,
    )
    let over = false
    const writers = Promise.all(
      Array.from({ length: 6 }, (_, i) => runProgram(process.execPath, [program, world.root, String(i)], { cwd: world.root, env: world.env })),
    ).finally(() => {
      over = true
    })
    let seen = 0
    while (!over) {
      const { total, runs, warnings } = await holdfast.runs({ limit: 200 })
      expect(warnings).toEqual([])
      expect(total).toBeGreaterThanOrEqual(seen)
      expect(runs.every(({ command }) => /^echo many-\d-\d$/.test(command))).toBe(true)
      seen = total
      await holdfast.search({ query: 'many-3-7' })
      // Nothing above waits for anything but the disk, and the ends of the writers have to be seen.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    for (const { status, stderr } of await writers) expect([status, stderr]).toEqual([0, ''])
    expect((await holdfast.runs({})).total).toBe(60)
    const { runs } = (await cli(['runs', '--json', '--limit', '100'])).json<{ runs: { command: string }[] }>()
    expect(new Set(runs.map(({ command }) => command)).size).toBe(60)
    rmSync(join(homeOf(place), 'index.db'))
    await holdfast.close()
    const again = (await cli(['runs', '--json', '--limit', '100'])).json<{ runs: { command: string }[] }>().runs
    expect(again).toHaveLength(60)
  }, 60_000)
})
