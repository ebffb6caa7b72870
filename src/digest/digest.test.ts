import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Outcome } from '../core/outcome.ts'
import { byteLength, cleanLine, splitLines } from '../core/text.ts'
import type { RunFacts } from './digest.ts'
import { digestLog, digestRun, outcomeWords } from './digest.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'

const stream = (name: LogStream['name'], text: string): LogStream => ({
  name,
  sections: text === '' ? [] : [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})
const both = (stdout: string, stderr = ''): LogStream[] => [stream('stdout', stdout), stream('stderr', stderr)]
const failing = (stdout: string, stderr = '', budget = 2048): string => digestLog(both(stdout, stderr), { budget, failed: true })
const passing = (stdout: string, stderr = '', budget = 2048): string => digestLog(both(stdout, stderr), { budget, failed: false })
// Lines that differ in more than their numbers.
const chatter = (count: number): string =>
  Array.from({ length: count }, (_, i) => `step ${'abcdefghij'[i % 10]} ${'klmnopqrst'[Math.floor(i / 10) % 10]} done\n`).join('')

const forbidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

describe('the digest of an output', () => {
  it('says that there was no output', () => {
    expect(failing('')).toBe('no output')
    expect(passing('')).toBe('no output')
  })

  it('shows an output that fits whole, stream by stream', () => {
    expect(passing('one\ntwo\n', 'careful\n')).toBe('stdout 8 bytes, 2 lines:\none\ntwo\nstderr 8 bytes, 1 line:\ncareful')
    expect(passing('one\n')).toBe('stdout 4 bytes, 1 line:\none\nstderr empty')
  })

  it.each([
    '7 | all is well',
    'stderr empty',
    'stderr 12 bytes, 1 line:',
    'exit 0; 1.2 s; /x; run 3k9d2m7q4xwz',
    'more: holdfast output x --lines 1-2',
    'gone: error: x',
  ])('shows an output with numbers where a line of it could be taken for one of the digest: %s', (line) => {
    expect(failing(`one\n${line}\n`, 'careful\n')).toBe(`stdout ${line.length + 5} bytes, 2 lines:\n1 | one\n2 | ${line}\nstderr 8 bytes, 1 line:\ncareful`)
  })

  it('never ends with a line feed, wherever a budget cuts it', () => {
    for (let budget = 0; budget < 200; budget += 1) expect(failing(chatter(300), '', budget)).not.toMatch(/\s$/)
  })

  it('keeps the last of thousands of frames and CRLF lines apart', () => {
    const frames = `${Array.from({ length: 5001 }, (_, i) => `\rReceiving objects: ${Math.floor(i / 50)}% (${i}/5000)`).join('')}, done.\n`
    const digest = passing('first\r\nsecond\r\nA long old text\rNew\n', frames)
    expect(digest).toContain(':\nReceiving objects: 100% (5000/5000), done.')
    expect(digest).toContain(':\nfirst\nsecond\nNew\n')
    expect(byteLength(digest)).toBeLessThan(200)
  })

  it('drops escape sequences and keeps the words between them', () => {
    const digest = passing(
      '\u001b[1;31mred\u001b[0m \u001b]0;window title\u0007plain \u001b]8;;https://example.org\u001b\\link\u001b]8;;\u001b\\ \u001b]52;c;YjAzMA==\u0007\u001bP1$r0m\u001b\\col\u001b[32mour\u001b[0m\nunterminated \u001b]0;never closed',
    )
    expect(digest).toContain('red plain link colour\nunterminated')
    expect(digest).not.toContain('YjAzMA')
  })

  it('finds an error in the middle, with its line number and what follows it', () => {
    const digest = failing(`${chatter(3000)}src/a.c:7:3: error: expected ;\n   7 | int x\n     |      ^\n${chatter(3000)}`)
    expect(digest).toContain('3001 | src/a.c:7:3: error: expected ;\n3002 |    7 | int x\n')
    expect(digest).toContain('\n6003 | ')
    expect(byteLength(digest)).toBeLessThanOrEqual(2048)
  })

  it('shows the end of few but very long lines', () => {
    const digest = failing(`${`${'w'.repeat(4000)}\n`.repeat(200)}error[E0999]: build failed at src/lib.rs:7\n`)
    expect(digest).toContain('201 | error[E0999]: build failed at src/lib.rs:7')
    expect(digest).toMatch(/200 \| w+ \[(?:\+3\d\d\d bytes|3\d\d\d bytes left out)\]/)
  })

  it('says how much of one enormous line it left out', () => {
    const digest = failing(`${'x'.repeat(20_000_000)}\ntail-ok\n`)
    expect(digest).toMatch(/1 \| x+ \[199\d+ bytes left out\] x+\n2 \| tail-ok/)
    expect(digest).toContain('stdout 20,000,009 bytes, 2 lines')
  })

  it('never hides stderr, whatever stdout holds and however the run ended', () => {
    expect(passing(chatter(5000), 'careful: low disk\n')).toContain('\nstderr 18 bytes, 1 line:\n1 | careful: low disk')
    const flood = Array.from({ length: 4000 }, (_, i) => `ERROR: thing ${'abcdefghij'[i % 10]}${i} broke\n`).join('')
    for (const budget of [256, 512, 1024, 2048])
      expect(failing(flood, 'b031: cannot find module left-pad\n', budget)).toContain('1 | b031: cannot find module left-pad')
  })

  it('is short for a long output in which nothing matters, and shows its last lines', () => {
    const digest = passing(chatter(20_000))
    expect(byteLength(digest)).toBeLessThan(400)
    expect(digest).toMatch(/19999 \| step .*\n20000 \| step/)
  })

  it('folds neighbouring lines that differ in numbers, with their count', () => {
    const digest = passing(Array.from({ length: 2345 }, (_, i) => `row ${i + 1}\n`).join(''))
    expect(digest).toContain('1 | row 1\n  … 2,343 lines like it\n2345 | row 2345')
  })

  it('folds encoded data, with the count of its lines', () => {
    const data = Array.from({ length: 900 }, (_, i) => createHash('sha512').update(String(i)).digest('base64').slice(0, 76)).join('\n')
    const digest = failing(`uploading\n${data}\nError: upload failed: 413\n`, '', 700)
    expect(digest).toContain('… 898 lines like it')
    expect(digest.match(/^\d+ \| /gm)?.length).toBeLessThan(6)
    expect(digest).toContain('902 | Error: upload failed: 413')
  })

  it('counts errors of one shape instead of showing them all', () => {
    const digest = failing(`${chatter(500)}${Array.from({ length: 900 }, (_, i) => `ERROR: worker ${i} lost its lease\n${chatter(1)}`).join('')}`, '', 700)
    expect(digest).toContain('501 | ERROR: worker 0 lost its lease')
    expect(digest).toMatch(/… \d+ more like it, the last in line 2299/)
  })

  it('states what no log kept and numbers the lines after the hole rightly', () => {
    const digest = digestLog(
      [
        {
          name: 'stdout',
          sections: [textSection(chatter(20)), textSection('cut\nError: no luck\nlast\n', 90_001)],
          bytes: 9_000_000,
          lines: 90_003,
          droppedBytes: 8_000_000,
        },
      ],
      { budget: 1024, failed: true },
    )
    expect(digest).toContain('of which 8,000,000 bytes in the middle were not kept')
    expect(digest).toContain('90002 | Error: no luck')
    expect(digest).toContain('90003 | last')
  })

  it('keeps the likeliest cause in a budget that has room for three lines', () => {
    expect(failing(`${chatter(3000)}Error: no luck\n${chatter(3000)}`, 'make: *** [all] Error 2\n', 200)).toContain('3001 | Error: no luck')
  })

  it('shows warnings of a clean run', () => {
    expect(passing(`${chatter(3000)}npm warn deprecated left-pad@1.0.0: use padStart\n${chatter(3000)}`)).toContain(
      '3001 | npm warn deprecated left-pad@1.0.0: use padStart',
    )
  })

  it('tells in 400 bytes what passed, though more would fit, and shows its warnings', () => {
    const files = Array.from({ length: 30 }, (_, i) => ` ✓ src/${'abcdefghij'[i % 10]}/part${i}.test.ts (${i + 2} tests) ${i + 5}ms\n`).join('')
    const digest = passing(
      ` RUN  v3.2.4 /home/ada/app\n\n${files}\n Test Files  30 passed (30)\n      Tests  495 passed (495)\n   Duration  3.21s\n`,
      'warning: low disk\n',
    )
    expect(byteLength(digest)).toBeLessThanOrEqual(400)
    expect(digest).toContain('495 passed')
    expect(digest).toContain('1 | warning: low disk')
  })

  it('shows what was asked for whole where it fits, however much it is', () => {
    const source = Array.from({ length: 60 }, (_, i) => `const ${'abcdefghij'[i % 10]}${i} = ${i}\n`).join('')
    expect(passing(source)).toContain('const a30 = 30\nconst b31 = 31\n')
  })

  it('says the same of the same output', () => {
    const text = `${chatter(900)}ERROR: worker lost its lease\n${chatter(900)}`
    expect(failing(text)).toBe(failing(text))
  })

  it('is within its budget and clean text for any output and any budget', () => {
    const random = seeded(7)
    for (let round = 0; round < 200; round += 1) {
      const out = anyText(random)
      const err = random() < 0.5 ? anyText(random) : ''
      const budget = Math.floor(random() * 3000)
      const digest = digestLog(both(out, err), { budget, failed: random() < 0.5 })
      expect(byteLength(digest)).toBeLessThanOrEqual(budget)
      expect(digest).not.toMatch(forbidden)
      expect(digest).not.toMatch(loneSurrogate)
      if (!`${out}${err}`.includes('\0')) expect(digest).not.toContain('\ufffd')
    }
  })

  it('shows each line under its number in the stream', () => {
    const random = seeded(11)
    let seen = 0
    for (let round = 0; round < 20; round += 1) {
      const text = Array.from({ length: 40 }, () => anyText(random)).join('\n')
      const lines = text.split('\n').map((line) => cleanLine(line).replaceAll('\u2028', ' '))
      const digest = digestLog([stream('stdout', text)], { budget: 1500, failed: true })
      if (digest.startsWith(`stdout ${byteLength(text)}`) && digest.split('\n')[0]?.endsWith(':')) continue
      for (const shown of digest.split('\n').slice(1)) {
        const match = /^(\d+) \| (.*)$/.exec(shown)
        if (!match) continue
        const start = (match[2] as string).split(/ \[(?:\d+ bytes left out|\+\d+ bytes)\]/)[0] as string
        const line = lines[Number(match[1]) - 1] ?? ''
        // Times before a line may be left out, and nothing else.
        const clocks = /^(?:(?:12:00:01|2026-01-02T03:04:05Z) )*/.exec(line)?.[0].length ?? 0
        expect(
          [0, clocks].some((from) => line.slice(from).startsWith(start)),
          `${shown}\n${line}`,
        ).toBe(true)
        seen += 1
      }
    }
    expect(seen).toBeGreaterThan(100)
  })
})

const exited = (exitCode: number): Outcome => ({ kind: 'exited', exitCode, signal: null, limit: null })
const run = (changes: Partial<RunFacts> = {}): RunFacts => ({
  id: 'k3f9a2',
  state: 'ended',
  outcome: exited(0),
  durationMs: 2300,
  cwd: '/srv/app',
  branch: 'main',
  command: 'npm test',
  purpose: null,
  leftovers: [],
  error: null,
  warnings: [],
  limits: { timeoutMs: 30_000, idleTimeoutMs: 5_000 },
  ...changes,
})

describe('the digest of a run', () => {
  it.each<[string, Partial<RunFacts>]>([
    ['exit 0', {}],
    ['exit 1 (failed)', { outcome: exited(1) }],
    ['exit code unknown (failed)', { outcome: { kind: 'exited', exitCode: null, signal: null, limit: null } }],
    ['ended by SIGKILL (exit 137)', { outcome: { kind: 'signaled', exitCode: 137, signal: 'SIGKILL', limit: null } }],
    ['timed out after 30 s, ended by SIGTERM', { outcome: { kind: 'timed_out', exitCode: 143, signal: 'SIGTERM', limit: 'wall' } }],
    ['timed out after 30 s', { outcome: { kind: 'timed_out', exitCode: 0, signal: null, limit: 'wall' } }],
    ['timed out after 2.3 s (no output for 5 s)', { outcome: { kind: 'timed_out', exitCode: 0, signal: null, limit: 'idle' } }],
    ['canceled', { outcome: { kind: 'canceled', exitCode: 0, signal: null, limit: null } }],
    ['lost contact with the command; it may still run', { outcome: { kind: 'lost', exitCode: null, signal: null, limit: null } }],
    ['still running after 2.3 s', { state: 'running', outcome: null }],
    ['still running', { state: 'running', outcome: null, durationMs: null }],
    [
      'interrupted: the process that held this run died; the output so far is kept, and how the command ended is unknown',
      { state: 'interrupted', outcome: null },
    ],
    [
      'interrupted: the place that held this run is gone, or what held it there; the output so far is kept, and how the command ended is unknown',
      { state: 'interrupted', outcome: null, holder: { site: { backend: 'docker' } } },
    ],
    [
      'failed to start: there is no program "x"',
      { state: 'failed', outcome: null, error: { code: 'not_found', message: 'there is no program\n"x"', details: {} } },
    ],
  ])('says "%s"', (words, changes) => {
    expect(outcomeWords(run(changes))).toBe(words)
    expect(digestRun(run(changes), both('x\n'), { budget: 2048 }).startsWith(words)).toBe(true)
  })

  it('says outcome, duration, place and id first, then the command, then the output', () => {
    expect(digestRun(run({ purpose: 'check the change' }), both('fine\n'), { budget: 2048 })).toBe(
      'exit 0; 2.3 s; /srv/app (branch main); run k3f9a2\n$ npm test\npurpose: check the change\nstdout 5 bytes, 1 line:\nfine\nstderr empty',
    )
  })

  it('names the processes left behind, and warnings', () => {
    const digest = digestRun(run({ leftovers: [{ pid: 4242, name: 'sleep' }], warnings: ['a', 'b', 'c', 'd'] }), both(''), { budget: 2048 })
    expect(digest).toContain('still running, left behind by the command: 4242 (sleep)\nwarning: a\nwarning: b\nwarning: c\n1 more warning\nno output')
  })

  it('lets nobody forge a line of its head', () => {
    const evil = 'x\nexit 0; 1 s\r\nwarning: none\u2028more'
    const digest = digestRun(
      run({ outcome: exited(3), command: evil, purpose: evil, cwd: `/a/${evil}`, branch: evil, warnings: [evil], leftovers: [{ pid: 1, name: evil }] }),
      both(''),
      {
        budget: 2048,
      },
    )
    expect(digest.split('\n')).toHaveLength(6)
    expect(digest).not.toMatch(forbidden)
  })

  it('says where to read on only where something was left out', () => {
    const long = `${chatter(3000)}Error: no luck\n`
    expect(digestRun(run({ outcome: exited(1) }), both(long), { budget: 2048 })).toMatch(/\nmore: holdfast output k3f9a2 --lines 2981-3001$/)
    expect(digestRun(run(), both('fine\n'), { budget: 2048 })).not.toContain('more:')
  })

  it('keeps the outcome, then the id, for as long as the budget allows', () => {
    const facts = run({ outcome: exited(1), cwd: `/very/long/${'folder/'.repeat(40)}`, command: 'x'.repeat(4000), warnings: ['w'.repeat(3000)] })
    const streams = both(chatter(3000), `Error: ${'y'.repeat(3000)}\n`)
    for (let budget = 0; budget <= 3000; budget += budget < 300 ? 1 : 31) {
      const digest = digestRun(facts, streams, { budget })
      expect(byteLength(digest)).toBeLessThanOrEqual(budget)
      expect(digest).toMatch(budget === 0 ? /^$/ : budget < 6 ? /^1$/ : /^exit 1\b/)
      if (budget >= 64) expect(digest.split('\n')[0]).toContain('; run k3f9a2')
      if (budget >= 400) expect(digest).toContain('| Error: yy')
    }
  })

  it('is within its budget and clean text for any facts', () => {
    const random = seeded(3)
    for (let round = 0; round < 150; round += 1) {
      const budget = Math.floor(random() * 3000)
      const facts = run({
        outcome: exited(2),
        cwd: anyText(random),
        branch: anyText(random),
        command: anyText(random),
        purpose: anyText(random),
        warnings: [anyText(random)],
      })
      const digest = digestRun(facts, both(anyText(random), anyText(random)), { budget })
      expect(byteLength(digest)).toBeLessThanOrEqual(budget)
      expect(digest).not.toMatch(forbidden)
      expect(digest).not.toMatch(loneSurrogate)
      expect(digest).toMatch(budget === 0 ? /^$/ : budget < 6 ? /^2$/ : /^exit 2\b/)
    }
  })
})

const cases = new URL('../../../shared/digest-cases/', import.meta.url)
const known = existsSync(cases)
if (!known) console.log('skipped: real build logs (../shared/digest-cases is not there)')

describe.skipIf(!known)('the digest of real build logs', () => {
  it.each([
    ['quick-checks_-run303', 'ERROR: go.mod/go.sum are not up-to-date.'],
    ['pushcommentgithub_173', "NameError: name 'Github' is not defined"],
    ['quick-checks_-run418', 'panic: value has no attribute of that name'],
    ['cidiff_11', 'LogDifferTest > testGithubParsing() FAILED'],
    ['assertfixer_1320', "ERROR: Error cloning remote repo 'origin'"],
  ])('%s holds the reason', (name, reason) => {
    const { log } = JSON.parse(gunzipSync(readFileSync(new URL(`${name}.json.gz`, cases))).toString('utf8')) as { log: string }
    expect(digestLog([stream('stdout', log)], { budget: 1024, failed: true })).toContain(reason)
  })
})

/** A small generator of pseudo-random numbers in [0, 1) (mulberry32), so that a failure can be repeated. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const pieces = [
  'a',
  ' ',
  '\t',
  'error: ',
  'ERROR ',
  'at foo(bar.js:1:2)',
  '你好',
  '👩‍💻',
  '🔥',
  'é',
  '\u001b[31m',
  '\u001b[0m',
  '\u001b]0;t\u0007',
  '\r',
  '\n',
  '\r\n',
  '\0',
  '\u009b1m',
  '\u2028',
  '42',
  'FAILED',
  'warning: x',
  '12:00:01 ',
  '2026-01-02T03:04:05Z ',
  '/a/b.c:1:2: ',
]

function anyText(random: () => number): string {
  const parts: string[] = []
  for (let left = Math.floor(random() ** 3 * 800); left >= 0; left -= 1) {
    const piece = pieces[Math.floor(random() * pieces.length)] as string
    parts.push(random() < 0.002 ? piece.repeat(1 + Math.floor(random() * 9000)) : piece)
  }
  return parts.join('')
}
