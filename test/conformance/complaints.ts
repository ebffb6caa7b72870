import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { type Bench, openBench, type Place } from './bench.ts'

/*
 * What users of other systems that run commands somewhere else complain about, each as the command that they gave, for backends that are
 * not this machine; test/cases/complaints.test.ts has them for this one. Numbers are those of the list of 58 complaints.
 *
 * Rows here:
 *    2 3 6 24  the next command after one that hangs, and beside it        5  a heredoc; a program that asks
 *    9 10 11 30  children that keep the pipes                             16 18 19  the whole output, also of what is over at once
 *   21 26 55  limits that leave no process there                       25 28  a stop reaches more than the shell
 *   22  no limit but those of the run
 *   29  nothing dead stays in the process table                     44 46 49  an empty directory, who owns what is made, worktrees
 *   50 51 52  our environment, and what is given in secret                 54  input that ends before the output does
 *
 * Rows of backend.ts and files.ts (D docker and podman, S ssh, K kubernetes: all of them):
 *    4 14 17  endings.wall, endings.idle, capabilities.reattach              8 13  endings.cancel, endings.idle
 *   12  parallel.20-at-once                                        20  bytes.delivered, capabilities.reattach
 *   45  paths.denied, write.in-place                      46 47  start.mask, write.mode, paths.links-inside, write.links-to-it
 *   48  transfer.sizes, transfer.case-B088, transfer.large, read.large       53  stdin.bytes-then-eof, stdin.none-is-eof
 *
 * Rows of test/cases/far.ts, by the library and the command line (D, S, K):
 *   27  a client that is killed, also in plain mode                  42  every way to a place leads to the same one
 *
 * Tests of the backends themselves:
 *    1 8 15 53 56  a way that dies, stalls or is silent:
 *        all: src/remote/open.test.ts ("loses no byte and no status in a hundred cuts", "survives a stall", "gives a run up as soon as")
 *        D: engine.test.ts ("never takes for an end what is none", "gives up on an engine that says nothing"), site.test.ts ("paused")
 *        S: site.test.ts ("survives a stall", B089, "goes on where the ssh that held"), far-runs.test.ts
 *        K: exec.test.ts ("notices a way that died" B089, "survives a stall", "gives the program its input" B073, "falls back to v4")
 *   12 23 31 to 35  leases and what is left over:
 *        D: site.test.ts ("found again by its key, also by two at once", "ends by itself", "lives as long as a run", "the reaper",
 *           "cannot be started leaves nothing"), crash.test.ts
 *        K: site.test.ts ("is one, however many open it", "ends by itself", "stays as long as it is kept", "is given up", "the reaper")
 *        S: nothing is made that could be left over; far-runs.test.ts ("held by the one supervisor of its account")
 *   27  S far-runs.test.ts, all open.test.ts ("what a process that was killed had not fetched")
 *   39 to 41  a network that is closed: D site.test.ts ("has no network"); S and K promise none
 *   49  git in a worktree: D conformance.test.ts with a real repository
 *   50 to 52  D site.test.ts ("tells nothing of our environment"), S site.test.ts ("gives ssh nothing of the environment"),
 *        K site.test.ts ("gets secrets as a Secret")
 *   55  memory: D site.test.ts ("lack of memory"), K site.test.ts ("thrown out by its node"), pod-state.test.ts; S has no limit of ours
 *   57  S site.test.ts ("follows the configuration of the person", "shares one connection")
 *
 * No sense here: 7 (durations are read by the surfaces, with their units), 36 to 38 (nothing is paused or restored from a snapshot),
 * 43 (no rules of a network are changed while it is used), 58 (a service of somebody else).
 */

interface Complaint {
  readonly id: string
  readonly sentence: string
  readonly body: (bench: Bench, test: TestContext) => Promise<void>
}

export interface ComplaintsSuite {
  /** Opens the one place of all rows; each gets a folder of its own in it. */
  open(): Promise<Place>
  /** Ids of rows that fail, each with the reason. */
  readonly knownFailures?: Readonly<Record<string, string>>
}

/** Only where it is set does the environment of this process hold it. */
const secret = { name: 'OH_SECRET_KEY', value: 'cipher-of-the-test-41d6c9' }

/** The rows run at the same time: one that holds another up is a complaint, too. */
export function describeComplaints(name: string, { open, knownFailures = {} }: ComplaintsSuite): void {
  describe(`complaints about others: ${name}`, () => {
    let place: Place
    const benches: Bench[] = []

    beforeAll(async () => {
      process.env[secret.name] = secret.value
      place = await open()
      const bench = openBench(place)
      benches.push(bench)
      await bench.run(['mkdir', ...complaints.map(({ id }) => folderOf(id))])
    }, 60_000)

    afterAll(async () => {
      delete process.env[secret.name]
      for (const bench of benches) await bench.end()
      await place?.close()
    }, 60_000)

    for (const { id, sentence, body } of complaints) {
      const reason = knownFailures[id]
      const declare = reason === undefined ? it.concurrent : it.concurrent.fails
      declare(
        `${id}: ${sentence}${reason === undefined ? '' : ` (known failure: ${reason})`}`,
        async (test) => {
          const bench = openBench({ ...place, root: `${place.root}/${folderOf(id)}` })
          benches.push(bench)
          await body(bench, test)
        },
        rowMs,
      )
    }

    it('has no known failure that the suite does not know', () => {
      const known = new Set(complaints.map(({ id }) => id))
      expect(Object.keys(knownFailures).filter((id) => !known.has(id))).toEqual([])
    })
  })
}

const folderOf = (id: string): string => `complaint-${id.replaceAll('/', '-')}`

const exited = (exitCode: number) => ({ kind: 'exited', exitCode, signal: null, limit: null })
const timedOut = { kind: 'timed_out', limit: 'wall' }
/** Comes when a row says so. */
const limits = { timeoutMs: 60_000, graceMs: 200 }

/** Longer than any wait of ours for a word of the other side, where all of it is tried. */
const silenceSeconds = process.env.HOLDFAST_TEST_ALL === '1' ? 75 : 1
const rowMs = 60_000 + silenceSeconds * 1_000

/** How many processes of a run are alive, by the place's own table and not by ours. */
async function aliveThere(bench: Bench, mark: string): Promise<number> {
  const { out } = await bench.run(
    `for f in /proc/[0-9]*; do
    if tr '\\0' '\\n' < $f/environ 2>/dev/null | grep -qx "HOLDFAST_RUN=$WANTED" && ! grep -q '^State:.Z' $f/status; then echo alive; fi
  done 2>/dev/null; echo end`,
    { env: { WANTED: mark } },
  )
  expect(out.toString()).toMatch(/end\n$/)
  return out.toString().split('alive').length - 1
}

/** Waits for a word of the script, lets its limit come, and looks for what is left there. */
async function cut(bench: Bench, script: string) {
  const run = await bench.start(script, { limits })
  await run.printed('begun')
  run.clock.jump(60_000)
  const { outcome, leftovers, out } = await run.result
  expect([outcome, leftovers]).toMatchObject([timedOut, []])
  expect(await aliveThere(bench, run.mark)).toBe(0)
  return out.toString()
}

const complaints: readonly Complaint[] = [
  {
    id: '2/3/6/24',
    sentence: 'a command that hangs holds up neither those beside it nor those after it',
    async body(bench) {
      const cancel = new AbortController()
      const hung = await bench.start('trap "" TERM; echo begun; while :; do sleep 60; done', { signal: cancel.signal, limits: { graceMs: 200 } })
      await hung.printed('begun')
      const beside = await Promise.all(Array.from({ length: 5 }, () => bench.run(['echo', 'hello'])))
      expect(beside.map(({ outcome, out }) => [outcome, out.toString()])).toEqual(Array.from({ length: 5 }, () => [exited(0), 'hello\n']))
      cancel.abort()
      expect((await hung.result).outcome).toMatchObject({ kind: 'canceled' })
      expect((await bench.run(['echo', 'hello'])).out.toString()).toBe('hello\n')
    },
  },
  {
    id: '5',
    sentence: 'a heredoc is written, and a program that asks gets an end of file',
    async body(bench) {
      const heredoc = "cat << 'EOF' > test.txt\nline $HOME\n  `two`\nEOF\ncat test.txt"
      const asks = 'printf "name? "; read -r name || echo nobody answers; cat; echo on'
      const [written, asked] = await Promise.all([bench.run(heredoc), bench.run(asks)])
      expect([written.outcome, written.out.toString()]).toEqual([exited(0), 'line $HOME\n  `two`\n'])
      expect([asked.outcome, asked.out.toString()]).toEqual([exited(0), 'name? nobody answers\non\n'])
    },
  },
  {
    id: '9',
    sentence: 'the child of a process substitution that keeps the pipe does not keep the answer',
    async body(bench) {
      const byName = 'mkfifo fifo; tee -a log < fifo & exec > fifo 2>&1 && echo "2 passed"'
      const inBash = 'exec > >(tee -a log-of-bash) 2>&1 && echo "2 passed"'
      const hasBash = (await bench.run('command -v bash')).outcome.exitCode === 0
      const runs = await Promise.all([bench.run(byName), ...(hasBash ? [bench.run(['bash', '-c', inBash])] : [])])
      for (const { outcome, out } of runs) expect([outcome, out.toString()]).toEqual([exited(0), '2 passed\n'])
    },
  },
  {
    id: '10/11/30',
    sentence: 'a child in the background is named and makes no time-out, or ends with its run where that was asked for',
    async body(bench) {
      const commands = [
        ['sh', '-c', 'sleep 80 &'],
        ['sh', '-c', `command -v nohup > /dev/null && exec nohup sh -c 'sleep 50 &'; trap '' HUP; sh -c 'sleep 50 &'`],
        ['sh', '-c', 'sleep 73 & exit 0'],
      ] as const
      await Promise.all(
        commands.map(async (argv) => {
          const { outcome, leftovers } = await bench.run(argv)
          expect([outcome, leftovers]).toMatchObject([exited(0), [{ name: 'sleep' }]])
        }),
      )
      const run = await bench.start(['sh', '-c', 'sleep 73 & exit 0'], { leftovers: 'kill' })
      const { outcome, leftovers } = await run.result
      expect([outcome, leftovers, await aliveThere(bench, run.mark)]).toEqual([exited(0), [], 0])
    },
  },
  {
    id: '16',
    sentence: 'a long stream is whole to its last line, also through a pipeline',
    async body(bench) {
      const [whole, tail] = await Promise.all([bench.run(['seq', '1', '2000000']), bench.run("sh -c 'seq 1 2000000' | tail -n1")])
      expect(whole).toMatchObject({ outcome: exited(0), stdout: { bytes: 14_888_896, lines: 2_000_000, droppedBytes: 0 } })
      let expected = ''
      for (let i = 1; i <= 2_000_000; i += 1) expected += `${i}\n`
      expect(whole.out.equals(Buffer.from(expected))).toBe(true)
      expect([tail.outcome, tail.out.toString()]).toEqual([exited(0), '2000000\n'])
    },
  },
  {
    id: '18',
    sentence: 'a command that is over at once has its output',
    async body(bench) {
      const runs = await Promise.all(Array.from({ length: 10 }, (_, i) => bench.run(['printf', `fast ${i}`])))
      expect(runs.map(({ outcome, out }) => [outcome, out.toString()])).toEqual(Array.from({ length: 10 }, (_, i) => [exited(0), `fast ${i}`]))
    },
  },
  {
    id: '19',
    sentence: 'characters that are split across pieces arrive whole',
    async body(bench) {
      const text = '漢字🙂é'.repeat(12_000)
      let seen = ''
      const script = 'cat > text; head -c 65537 text; sleep 0.1; tail -c +65538 text'
      const { outcome, out } = await bench.run(script, {
        stdin: Buffer.from(text),
        onOutput(chunk) {
          seen += chunk.text
        },
      })
      expect(outcome).toEqual(exited(0))
      expect([out.toString() === text, seen === text]).toEqual([true, true])
    },
  },
  {
    id: '21/26',
    sentence: 'a command that was cut is in no list of processes there, and a loop that never sleeps neither; what was printed is kept',
    async body(bench) {
      const sleeper = cut(bench, 'echo begun; printf half; sleep 300')
      const loop = cut(bench, 'echo begun; while :; do :; done')
      expect(await Promise.all([sleeper, loop])).toEqual(['begun\nhalf', 'begun\n'])
    },
  },
  {
    id: '22',
    sentence: 'a command that is silent for long and has long to go ends by itself, since nobody bounds it but its own limits',
    async body(bench) {
      const day = 24 * 3_600_000
      const run = await bench.start(`echo begun; sleep ${silenceSeconds}; until test -e go; do sleep 0.05; done; echo over; exit 4`, {
        limits: { timeoutMs: day, idleTimeoutMs: day },
      })
      await run.printed('begun\n')
      // By the clock of the engine; a supervisor has its own.
      run.clock.jump(day - 60_000 - silenceSeconds * 1_000)
      await bench.run('touch go')
      const { outcome, out } = await run.result
      expect([outcome, out.toString()]).toEqual([exited(4), 'begun\nover\n'])
    },
  },
  {
    id: '25/28',
    sentence: 'a stop ends what a shell has started, not the shell alone',
    async body(bench) {
      const cancel = new AbortController()
      const script = '(sleep 300 & sleep 301 & wait) & (exec sleep 302) & sleep 303 & echo begun; wait'
      const run = await bench.start(script, { signal: cancel.signal, limits: { graceMs: 200 } })
      await run.printed('begun')
      expect(await aliveThere(bench, run.mark)).toBeGreaterThan(1)
      cancel.abort()
      const { outcome, leftovers } = await run.result
      expect([outcome, leftovers]).toMatchObject([{ kind: 'canceled' }, []])
      expect(await aliveThere(bench, run.mark)).toBe(0)
    },
  },
  {
    id: '29',
    sentence: 'what loses its parent and ends does not stay in the process table',
    async body(bench) {
      const script = `printf '#!/bin/sh\\nsleep 0.1\\n' > complaint-29; chmod +x complaint-29
        for i in 1 2 3 4 5; do (./complaint-29 > /dev/null 2>&1 &); done; i=0
        while grep -l '^Name:.complaint-29$' /proc/[0-9]*/status 2> /dev/null; do i=$((i+1)); test $i -lt 100 || exit 1; sleep 0.1; done; echo none`
      const { outcome, out } = await bench.run(script)
      expect([outcome, out.toString()]).toEqual([exited(0), expect.stringMatching(/none\n$/)])
    },
  },
  {
    id: '44/46',
    sentence: 'an empty directory is empty, and what is made in it belongs to who made it',
    async body(bench) {
      const listed = await bench.run(['ls', '-A'])
      expect([listed.outcome, listed.out.toString()]).toEqual([exited(0), ''])
      const { outcome, out, err } = await bench.run(
        ': > made && mkdir -m 700 folder && : > folder/inside && ls -A && stat -c %u made folder folder/inside | sort -u && id -u',
      )
      expect([outcome, err.toString()]).toEqual([exited(0), ''])
      const user = out.toString().trim().split('\n').at(-1)
      expect(out.toString()).toBe(`folder\nmade\n${user}\n${user}\n`)
    },
  },
  {
    id: '49',
    sentence: 'git works where the commands run, when that is in a worktree',
    async body(bench, test) {
      const { outcome, out } = await bench.run('cd .. && test -e .git || cd .. && test -e .git && command -v git')
      if (outcome.exitCode !== 0) return test.skip('no git or no worktree there')
      expect(out.toString()).toContain('git')
      const status = await bench.run('git rev-parse --is-inside-work-tree && git status --porcelain && git stash list')
      expect([status.outcome, status.err.toString()]).toEqual([exited(0), ''])
      expect(status.out.toString()).toMatch(/^true\n/)
    },
  },
  {
    id: '50/51/52',
    sentence: 'nothing of our environment is there, and no list of processes shows what a command was given in secret',
    async body(bench) {
      expect(process.env[secret.name]).toBe(secret.value)
      const given = 'given-in-secret-77b1e0'
      const run = await bench.start('test -n "$KEY" && echo begun; sleep 300', { env: { KEY: given } })
      await run.printed('begun')
      const script = `echo "[$${secret.name}]"; env; cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n'; echo lists; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo end`
      const { out } = await bench.run(script)
      const [environments = '', lists = ''] = out.toString().split('\nlists\n')
      expect(environments).toMatch(/^\[\]\n/)
      expect([environments.includes(secret.value), lists.includes(given), lists.endsWith('end\n')]).toEqual([false, false, true])
      await run.running.signal('SIGKILL')
      await run.result
    },
  },
  {
    id: '54',
    sentence: 'the end of the input loses neither the rest of the output nor the end',
    async body(bench) {
      const [piped, fed] = await Promise.all([
        bench.run('echo test | wc -c'),
        bench.run('wc -c; echo late >&2; sleep 0.3; echo after; exit 7', { stdin: Buffer.from('test\n') }),
      ])
      expect([piped.outcome, piped.out.toString().trim()]).toEqual([exited(0), '5'])
      expect([fed.outcome, fed.out.toString().trim(), fed.err.toString()]).toEqual([exited(7), '5\nafter', 'late\n'])
    },
  },
  {
    id: '55',
    sentence: 'a loop that forks and never waits ends at its limit, and the next command runs',
    async body(bench) {
      await cut(bench, 'trap "" TERM; echo begun; while :; do (sleep 30 &); sleep 0.05; done')
      expect((await bench.run(['echo', 'hello'])).out.toString()).toBe('hello\n')
    },
  },
]
