import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Holder, RunRecord } from '../../src/core/run.ts'
import { endSupervisor } from '../support/end-supervisors.ts'
import { hasProgram } from '../support/has-program.ts'
import {
  caseFile,
  describeSupervised,
  end,
  exited,
  expectNothingLeft,
  logOf,
  marked,
  named,
  type Place,
  program,
  runProgram,
  testsInPlace,
  until,
} from './place.ts'

const inPlace = testsInPlace(40_000)

const runFile = ({ world }: Place, run: string, name: string): string => world.path('root', '.holdfast', 'runs', run, name)
const recordOf = (place: Place, run: string): RunRecord => JSON.parse(readFileSync(runFile(place, run, 'run.json'), 'utf8'))
const holderOf = (place: Place, run: string): Holder => recordOf(place, run).holder

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

const childrenOf = (parent: number) =>
  readdirSync('/proc').flatMap((name) => {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    return stat?.parent === parent ? [{ pid: Number(name), state: stat.state }] : []
  })

describeSupervised('A: processes under a supervisor', () => {
  inPlace('B071: what loses its parent is waited for by the supervisor', async (place) => {
    const runs = await Promise.all(Array.from({ length: 5 }, () => place.holdfast.exec({ argv: ['bash', caseFile('B071.sh')] })))
    for (const run of runs) {
      expect(run).toMatchObject({ outcome: exited(0), leftovers: [] })
      expectNothingLeft(run)
    }
    const { pid } = holderOf(place, runs[0]?.id ?? '')
    await until('no zombie is left', () => childrenOf(pid).length === 0)
  })

  inPlace('a child that leaves its session, its group and its environment ends with its run', async ({ holdfast, world }) => {
    const script = `(setsid env -i bash -c 'echo $$ > ${world.path('escaped')}; trap "" TERM; while :; do sleep 0.05; done' > /dev/null 2>&1 &)
      while ! [ -s ${world.path('escaped')} ]; do sleep 0.02; done; echo up; exec sleep 60`
    const run = await holdfast.exec({ script, timeoutMs: 2_000, graceMs: 300 })
    expect(run).toMatchObject({ outcome: { kind: 'timed_out' }, leftovers: [], stdout: { bytes: 3 } })
    expect(statOf(Number(readFileSync(world.path('escaped'), 'utf8')))).toBeUndefined()
  })

  inPlace('the same child is named where its run ends by itself, and stop ends it', async ({ holdfast, world }) => {
    const script = `(setsid env -i bash -c 'echo $$ > ${world.path('escaped')}; exec -a b-escaped sleep 60' > /dev/null 2>&1 &)
      while ! [ -s ${world.path('escaped')} ]; do sleep 0.02; done`
    const run = await holdfast.exec({ script })
    const pid = Number(readFileSync(world.path('escaped'), 'utf8'))
    expect(run).toMatchObject({ outcome: exited(0), leftovers: [{ pid, name: 'sleep' }] })
    expect(await holdfast.stop({ run: run.id })).toMatchObject({ state: 'ended', leftovers: [] })
    expect(statOf(pid)).toBeUndefined()
    await expect(holdfast.stop({ run: run.id })).rejects.toMatchObject({ details: { reason: 'run_ended' } })
  })
})

describeSupervised('B080: a pid that was given again', () => {
  /** An innocent process whose pid is written wherever the record of the run names one. */
  async function accuse(place: Place, run: string, more: (record: RunRecord, pid: number) => Partial<RunRecord>): Promise<number> {
    const { world } = place
    await runProgram('bash', [caseFile('B080.sh'), world.path('innocent')], { env: world.env })
    const pid = Number(readFileSync(world.path('innocent', 'pid'), 'utf8'))
    const record = recordOf(place, run)
    const noted = runFile(place, run, 'process.json')
    // Of a run that is over the first process is not noted any more.
    const started = existsSync(noted) ? JSON.parse(readFileSync(noted, 'utf8')) : { startTime: record.holder.startTime }
    writeFileSync(runFile(place, run, 'process.json'), JSON.stringify({ ...started, pid }))
    const endFile = runFile(place, run, 'end.json')
    const leftovers = [{ pid, startTime: started.startTime, name: 'sleep', ageMs: 1 }]
    if (existsSync(endFile)) writeFileSync(endFile, JSON.stringify({ ...JSON.parse(readFileSync(endFile, 'utf8')), leftovers }))
    const edited = { ...record, process: { ...started, pid }, leftovers: [{ pid, name: 'sleep' }], ...more(record, pid) }
    writeFileSync(runFile(place, run, 'run.json'), JSON.stringify(edited))
    return pid
  }

  async function expectUnharmed(place: Place, run: string, innocent: number, state: 'ended' | 'interrupted'): Promise<void> {
    const next = await place.again()
    const stopped = await next.stop({ run }).catch((error: unknown) => error)
    const alive = named('b080-innocent').some(({ pid }) => pid === innocent)
    end(innocent)
    expect(alive).toBe(true)
    if (stopped instanceof Error) expect(stopped).toMatchObject({ code: 'failed_precondition', details: { reason: 'run_ended' } })
    else expect(stopped).toMatchObject({ state, leftovers: [] })
    expect(await next.show({ run })).toMatchObject({ state })
  }

  inPlace('in the record of a run that ended harms nobody', async (place) => {
    const run = await place.holdfast.exec({ argv: ['true'] })
    const innocent = await accuse(place, run.id, () => ({}))
    await expectUnharmed(place, run.id, innocent, 'ended')
  })

  inPlace('in the record of a run whose supervisor died harms nobody', async (place) => {
    const run = await place.holdfast.exec({ argv: ['sleep', '60'], detach: true })
    end(holderOf(place, run.id).pid)
    await until('the command has ended', () => marked(run.id).length === 0)
    const innocent = await accuse(place, run.id, (record, pid) => ({ holder: { ...record.holder, pid } }))
    await expectUnharmed(place, run.id, innocent, 'interrupted')
  })

  inPlace('in a record that names the next supervisor harms nobody, and no run of that one', async (place) => {
    const lost = await place.holdfast.exec({ argv: ['sleep', '60'], detach: true })
    end(holderOf(place, lost.id).pid)
    await until('the command has ended', () => marked(lost.id).length === 0)
    const running = await place.holdfast.exec({ script: 'echo $$; exec sleep 60', detach: true })
    const { holder, process } = { ...recordOf(place, running.id), process: JSON.parse(readFileSync(runFile(place, running.id, 'process.json'), 'utf8')) }
    const innocent = await accuse(place, lost.id, (record) => ({ holder, process: { ...process, startTime: record.holder.startTime } }))
    await expectUnharmed(place, lost.id, innocent, 'interrupted')
    expect(await place.holdfast.show({ run: running.id })).toMatchObject({ state: 'running' })
    await place.holdfast.stop({ run: running.id })
    expectNothingLeft(running)
  })

  inPlace('in the file of the first process of a run that goes on harms nobody: the supervisor knows by itself', async (place) => {
    const run = await place.holdfast.exec({ argv: ['sleep', '60'], detach: true })
    const innocent = await accuse(place, run.id, () => ({ leftovers: [] }))
    await expectUnharmed(place, run.id, innocent, 'ended')
    expectNothingLeft(run)
  })
})

const withPgrep = testsInPlace(40_000, hasProgram('pgrep', 'texts that a command looks for') ? it : it.skip)

describeSupervised('B082: a command that looks for a text in the command lines of others', () => {
  withPgrep('finds neither supervisor nor Holdfast by its own text, by a path, by its id or by a common word', async (place) => {
    const { world, holdfast, cli } = place
    const client = spawn(process.execPath, [program, 'mcp'], { cwd: world.root, env: world.env, stdio: ['pipe', 'pipe', 'ignore'] })
    client.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' })}\n`)
    await new Promise((resolve) => client.stdout.once('data', resolve))
    try {
      const begun = await holdfast.exec({ argv: ['sleep', '60'], detach: true })
      const holder = holderOf(place, begun.id)
      const outer = statOf(holder.pid)?.parent ?? 0
      const controllers: number[] = []
      const onStart = (pid: number): void => void controllers.push(pid)
      const other = cli(['wait', begun.id], { onStart })
      const texts = [
        'b082-unique-text',
        'pgrep -f',
        'while read',
        'exec --json',
        begun.id,
        world.root,
        world.folder,
        `${world.root}/.holdfast`,
        holder.socket ?? '',
        '\\.sock',
        '--idle-ms',
        'cli\\.js',
        'dist/',
        'node',
        'bash',
        'sleep',
        'python',
        'wait',
        'mcp',
        '/work',
        '/tmp',
      ]
      const script = `: b082-unique-text; while read -r text; do echo "$text: $(pgrep -f -- "$text" | tr '\\n' ' ')"; done <<'END'\n${texts.join('\n')}\nEND`
      for (const args of [
        ['-c', script],
        ['--', 'bash', '-c', script],
      ]) {
        const given = await cli(['exec', '--json', ...args], { onStart })
        const ours = [holder.pid, outer, client.pid ?? 0, ...controllers]
        expect(ours.every((pid) => pid > 1)).toBe(true)
        const lines = logOf(given.json()).trimEnd().split('\n')
        expect(lines).toHaveLength(texts.length)
        const hits = lines.flatMap((line) => {
          const [text = '', pids = ''] = line.split(/: (?=[\d ]*$)/)
          return pids.split(' ').some((pid) => ours.includes(Number(pid))) ? [text] : []
        })
        expect(hits).toEqual([])
      }
      await holdfast.stop({ run: begun.id })
      await other
    } finally {
      client.kill('SIGKILL')
    }
  })
})

describeSupervised('D: background runs across processes and restarts', () => {
  inPlace('a command that is asked for in the very moment after its supervisor was killed runs under the next one', async (place) => {
    const first = await place.holdfast.exec({ argv: ['echo', 'first'] })
    const { pid } = holderOf(place, first.id)
    end(pid)
    // Without a turn of our own loop, in which the end of the connection could be heard.
    for (const deadline = performance.now() + 5_000; (statOf(pid)?.state ?? 'Z') !== 'Z' && performance.now() < deadline; );
    const next = await place.holdfast.exec({ argv: ['echo', 'next'] })
    expect(next).toMatchObject({ state: 'ended', outcome: exited(0), stdout: { bytes: 5 }, warnings: [] })
    expect(holderOf(place, next.id).pid).not.toBe(pid)
  })

  inPlace('B085: a background run that is over can be read also when its supervisor is gone', async (place) => {
    const started = await place.holdfast.exec({ argv: ['bash', caseFile('B085.sh')], detach: true })
    await until('it is over', async () => (await place.holdfast.show({ run: started.id })).state === 'ended')
    await place.holdfast.close()
    await endSupervisor(holderOf(place, started.id))
    const next = await place.again()
    for (const run of [await next.show({ run: started.id }), (await place.cli(['wait', '--json', started.id])).json()]) {
      expect(run).toMatchObject({ state: 'ended', outcome: exited(4) })
      expect([logOf(run), logOf(run, 'stderr')]).toEqual(['b085 quick result\n', 'b085 warning\n'])
    }
  })

  inPlace('B086: every answer of a run that reads arrives, in order and once, whoever writes to it and whoever listens', async (place) => {
    const { cli, again } = place
    const { id } = (await cli(['exec', '--json', '--detach', '--interactive', '--', process.execPath, caseFile('B086.js')])).json()
    const send = async (text: string): Promise<void> => expect((await cli(['input', id, text, '--enter'])).status).toBe(0)
    const first = cli(['output', id, '--follow'])
    await send('one')
    const holdfast = await again()
    await until('it has answered', async () => (await holdfast.output({ run: id })).text.endsWith('echo one\n'))
    await holdfast.close()
    const second = cli(['output', id, '--follow'])
    await send('BIG')
    for (const text of ['1', '2', '3', '4', '5']) await send(text)
    expect((await cli(['input', id, '--end'])).status).toBe(0)
    expect((await cli(['wait', id])).status).toBe(0)
    const expected = `ready\necho one\n${'X'.repeat(9_000)}\n${[1, 2, 3, 4, 5].map((n) => `echo ${n}\n`).join('')}`
    for (const { stdout } of await Promise.all([first, second])) expect(stdout === expected).toBe(true)
    expectNothingLeft(id)
  })
})
