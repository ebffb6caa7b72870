import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { fakeRun, play } from '../../../test/support/fake-cli.ts'
import type { App, OutputInput, OutputResult, RunSummary, SearchResult } from '../../app/api.ts'
import { streamOf } from '../../app/log-streams.ts'
import { type ByteSource, readBytes } from '../../core/byte-source.ts'
import { failure } from '../../core/errors.ts'
import { digestLog } from '../../digest/digest.ts'
import { createMasker } from '../../engine/redact.ts'
import { operations } from '../../operations/index.ts'
import { commandWords, loadCommands } from './commands.ts'
import { commandHelp, generalHelp } from './help.ts'
import { openLog } from './read-input.ts'
import { clip, widthOf } from './width.ts'

const commands = await loadCommands()

describe('help', () => {
  it('of one command', () => {
    expect(commandHelp(commands.find((command) => command.words === 'wait') ?? (commands[0] as (typeof commands)[number]))).toMatchInlineSnapshot(`
      "Usage: holdfast wait [options] RUN

      Wait until a run ends and answer with how it ended.

      If it still runs after the given time, the answer says so and holds the output
      so far; the run is not touched.

      Ctrl-C ends the waiting alone. The exit status is that of exec, whoever started
      the run; 0 while it goes on.

      Options:
        --timeout TIME  Longest time to wait. Default: until it ends.
        --budget BYTES  Most bytes of the digest. Default: 2048.
        --tokens N      Most tokens of the digest, by estimate; instead of a budget of
                        bytes.
        --json          Print one JSON object.
        -h, --help      Print this help.

      Examples:
        holdfast wait last --timeout 30s
      "
    `)
  })

  it.each([
    ['doctor', '[options] [HOST]'],
    ['uninstall', '[options] HOST'],
    ['files list', '[options] [PATH]'],
    ['pin', 'RUN'],
  ])('of %s puts an argument in brackets where it may be left out', (words, usage) => {
    expect(commands.find((command) => command.words === words)?.usage).toEqual([`${words} ${usage}`])
  })

  it('fits into 80 columns and names every option, with an example for each command', () => {
    for (const command of commands) {
      const text = commandHelp(command)
      for (const line of text.split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(80)
      for (const option of command.options) expect(text).toContain(option.flag)
      expect(command.examples.length, command.words).toBeGreaterThan(0)
    }
    for (const line of generalHelp(commands).split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(80)
  })

  it('has ids in its examples that look like real ones, and the short names of signals', () => {
    const help = (words: string): string => commandHelp(commands.find((command) => command.words === words) as (typeof commands)[number])
    for (const words of ['stop', 'output', 'unpin', 'note remove']) expect(help(words)).toMatch(/holdfast [a-z ]+ [0-9a-hjkmnp-tv-z]{12}\b/)
    expect(help('stop').replace(/\s+/g, ' ')).toContain('One of: SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGKILL, or without SIG, like INT.')
  })

  it('of search says what happens to lines with some of the words', () => {
    expect(commandHelp(commands.find((command) => command.words === 'search') as (typeof commands)[number]).replace(/\s+/g, ' ')).toContain(
      'Lines with all the words come first; where no line of a run has them all, its lines with some of them are shown.',
    )
  })

  it('has every operation', () => {
    expect(commands.map((command) => command.words)).toEqual(commandWords)
    const words = commands.map((command) => command.words.replace(' ', '-'))
    // These are no operations: they serve agents and their hosts, or need no project.
    expect(words.filter((word) => !['mcp', 'acp', 'hook', 'classify'].includes(word)).sort()).toEqual(operations.map((op) => op.name).sort())
    for (const command of commands) expect(generalHelp(commands)).toContain(`\n  ${command.words} `)
  })

  it.each([[[]], [['--help']], [['-h']], [['help']]])('%j prints the commands', async (argv) => {
    expect(await play(argv)).toMatchObject({ code: 0, stdout: generalHelp(commands), stderr: '', opened: [] })
  })

  it.each([[['exec', '--help']], [['exec', '-h']], [['help', 'exec']], [['exec', '--timeout', '1s', '-h']]])('%j prints that of exec', async (argv) => {
    const played = await play(argv)
    expect(played.stdout).toMatch(/^Usage: holdfast exec \[options\] -- COMMAND…\n/)
    expect(played).toMatchObject({ code: 0, opened: [] })
  })

  it.each([[['help', 'note']], [['note', '--help']], [['note', '-h']]])('%j prints that of all note commands', async (argv) => {
    expect((await play(argv)).stdout).toMatch(/note add[\s\S]*note list[\s\S]*note search[\s\S]*note remove[\s\S]*note import/)
  })
})

describe('a command line that cannot be used', () => {
  it.each([
    [['exce', '--', 'x'], 'there is no command "exce"; did you mean exec? (see holdfast --help)'],
    [['frobnicate'], 'there is no command "frobnicate" (see holdfast --help)'],
    [['notes'], 'there is no command "notes"; did you mean note? (see holdfast --help)'],
    [['note'], 'the word after note is missing; accepted: add, list, search, update, remove, export, import'],
    [['note', 'delete', 'x'], 'the word after note is "delete"; accepted: add, list, search, update, remove, export, import'],
    [['show'], 'RUN is missing; accepted: a run id, a unique prefix of one, or "last"'],
    [['show', 'a', 'b'], 'the argument is "b"; accepted: holdfast show [options] RUN'],
    [['runs', 'x'], 'the argument is "x"; accepted: holdfast runs [options]'],
    [['runs', '--limit', '0'], '--limit is 0; accepted: a whole number of runs from 1'],
    [['runs', '--limit', '1e3'], '--limit is "1e3"; accepted: a whole number of runs from 1'],
    [['stop', 'last', '--signal', 'USR1'], '--signal is "USR1"; accepted: SIGTERM'],
    [['wait', 'last', '--timeout', '5'], '--timeout is "5"; accepted: a positive duration'],
    [['search', 'x', '--since', 'yesterday'], '--since is "yesterday"; accepted: a time back'],
    [['search'], 'QUERY is missing; accepted: text'],
    [['note', 'add'], 'TEXT is missing; accepted: text'],
    [['note', 'remove'], 'NOTE is missing; accepted: text'],
    [['mcp', '--'], 'the argument is "--"; accepted: holdfast mcp'],
    [['note', 'add', 'x', '--confidence', '2'], '--confidence is 2; accepted: a number from 0 to 1'],
    [['output', 'last', '--raw', '--lines', '3'], '--raw is true; accepted: RUN and --stream together with --raw'],
    [['output', 'last', '--lines', '3', '--bytes', '4'], '--bytes is "4"; accepted: a range of bytes or of lines, not both'],
  ])('%j', async (argv, sentence) => {
    const played = await play(argv)
    expect(played.stderr).toContain(`holdfast: ${sentence}`)
    expect(played.stderr.split('\n')).toHaveLength(2)
    expect(played).toMatchObject({ code: 125, stdout: '' })
  })

  it('is refused as JSON where JSON was asked for', async () => {
    const played = await play(['runs', '--jason', '--json'])
    expect(JSON.parse(played.stdout)).toMatchObject({ error: { code: 'invalid_argument', details: { suggestion: '--json' } } })
  })

  it('asks mcp, whose answers are for an agent, for JSON', async () => {
    for (const argv of [
      ['mcp', '--json'],
      ['--json', 'mcp'],
    ]) {
      const played = await play(argv)
      expect(played.code).toBe(125)
      expect(JSON.parse(played.stdout)).toMatchObject({ error: { message: 'mcp has no option --json (see holdfast mcp --help)' } })
    }
  })

  it('whose answer cannot be written ends with 125 and says why, unless its reader has left', async () => {
    const breaking = (code: string) => play(['help'], { onReady: (_, { stdout }) => stdout.destroy(Object.assign(new Error(code), { code })) })
    expect(await breaking('ENOSPC')).toMatchObject({ code: 125, stderr: 'holdfast: internal error: standard output cannot be written (ENOSPC)\n' })
    expect(await breaking('EPIPE')).toMatchObject({ code: 0, stderr: '' })
  })

  it('is any on Windows, with a word about WSL', async () => {
    expect(await play(['runs'], { platform: 'win32' })).toMatchObject({ code: 125, stderr: expect.stringContaining('on Windows, use it inside WSL') })
  })
})

describe('commands', () => {
  it('hand their input to the app and close it', async () => {
    const app = { search: async () => ({ hits: [], groups: [], more: false, suggestions: [], warnings: [] }) }
    const played = await play(['--json', 'search', 'connection', 'refused', '--failing', '--limit', '5'], { app })
    expect(played.calls).toEqual([
      ['search', { query: 'connection refused', failing: true, limit: 5 }],
      ['close', undefined],
    ])
    expect(JSON.parse(played.stdout)).toEqual({ hits: [], groups: [], more: false, suggestions: [], warnings: [] })
  })

  it('wait ends as the run did, stop and show end with 0', async () => {
    const failed = fakeRun({ outcome: { kind: 'exited', exitCode: 3, signal: null, limit: null } })
    const app: Partial<App> = { wait: async () => failed, stop: async () => failed, show: async () => failed }
    expect((await play(['wait', 'last', '--timeout', '2s'], { app })).calls[0]).toEqual(['wait', { run: 'last', waitMs: 2000 }])
    expect([(await play(['wait', 'r'], { app })).code, (await play(['stop', 'r'], { app })).code, (await play(['show', 'r'], { app })).code]).toEqual([3, 0, 0])
  })

  it('wait has a live line on a terminal, which is gone in the end, and none elsewhere', async () => {
    let drawn: Promise<unknown> = Promise.resolve()
    const app: Partial<App> = {
      wait: async () => {
        await drawn
        return fakeRun()
      },
    }
    const played = await play(['wait', 'last'], {
      app,
      terminal: { stderr: true },
      onReady: (_, { stderr }) => {
        drawn = new Promise((resolve) => stderr.once('data', resolve))
      },
    })
    expect(played.stderr).toMatch(/^(\r\u001b\[K\d s · waiting for last)+\r\u001b\[K$/)
    expect(played.stdout).toBe('the digest\n')
    drawn = Promise.resolve()
    expect((await play(['wait', 'last'], { app })).stderr).toBe('')
  })

  it('doctor and config break long details at spaces, under their column', async () => {
    const detail = 'commands are started by this process itself: when it is killed, their later output is lost'
    const checks = [{ name: 'mode', status: 'ok' as const, detail }]
    const doctor = async () => ({ ok: true, checks })
    const shown = 'ok       mode  commands are started by this process itself: when it is killed,\n               their later output is lost\n'
    expect((await play(['doctor'], { app: { doctor } })).stdout).toContain(shown)
    expect((await play(['doctor'], { app: { doctor }, terminal: { stdout: true, columns: 80 } })).stdout).toContain(shown)
    const names = Array.from({ length: 12 }, (_, i) => `VARIABLE_${i}`)
    const settings = [
      { key: 'enabled', value: true, source: 'default' },
      { key: 'env.pass', value: names, source: '/home/someone/project/holdfast.json' },
      { key: 'mask.patterns', value: ['a [ b'], source: 'default' },
      { key: 'runtimes', value: {}, source: `/${'deep/'.repeat(20)}holdfast.json` },
    ]
    const { stdout } = await play(['config'], { app: { config: async () => ({ settings, files: [{ path: '/home/someone/holdfast.json', found: false }] }) } })
    expect(stdout).toMatchInlineSnapshot(`
      "SETTING        VALUE      FROM
      enabled        true       default
      env.pass       ["VARIABLE_0", "VARIABLE_1", "VARIABLE_2", "VARIABLE_3",
                     "VARIABLE_4", "VARIABLE_5", "VARIABLE_6", "VARIABLE_7",
                     "VARIABLE_8", "VARIABLE_9", "VARIABLE_10", "VARIABLE_11"]
                     from /home/someone/project/holdfast.json
      mask.patterns  ["a [ b"]  default
      runtimes       {}
                     from /deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/holdfast.json

      Files:
        /home/someone/holdfast.json (not there)
      "
    `)
  })

  it('resume breaks long items at spaces on a terminal, and prints what is stored elsewhere', async () => {
    const words = 'so many words '.repeat(6).trim()
    const text = `# Context\n\n> ${words}\n- ${words}\n`
    const resume = async () => ({ text, bytes: text.length, path: null, warnings: [] })
    expect((await play(['resume'], { app: { resume } })).stdout).toBe(text)
    const { stdout } = await play(['resume'], { app: { resume }, terminal: { stdout: true, columns: 40 } })
    expect(stdout).toBe(
      [
        '# Context',
        '',
        '> so many words so many words so many',
        '> words so many words so many words so',
        '> many words',
        '- so many words so many words so many',
        '  words so many words so many words so',
        '  many words',
        '',
      ].join('\n'),
    )
  })

  it('doctor ends with 1 when a check failed', async () => {
    const checks = [{ name: 'git', status: 'failed' as const, detail: 'missing' }]
    expect(await play(['doctor'], { app: { doctor: async () => ({ ok: false, checks }) } })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('failed   git  missing\n'),
    })
    expect((await play(['doctor'], { app: { doctor: async () => ({ ok: true, checks: [] }) } })).code).toBe(0)
  })

  it('runs are a table within the width', async () => {
    const run: RunSummary = {
      ...fakeRun(),
      command: `npm test ${'你好 '.repeat(60)}`,
      failing: true,
      outputBytes: 5,
      outcome: { kind: 'exited', exitCode: 1, signal: null, limit: null },
    }
    const list = async () => ({
      runs: [run, { ...run, id: 'r22', state: 'running' as const, outcome: null, durationMs: null, pinned: true }],
      total: 7,
      warnings: [],
    })
    const { stdout } = await play(['runs'], { app: { runs: list } })
    const [head, first, second, sum] = stdout.split('\n')
    expect(head).toBe('RUN  ENDED    TOOK  STARTED  COMMAND')
    expect(first).toMatch(/^r1 {3}exit 1 {3}5 ms {2}2 h ago {2}npm test 你好 .*…$/)
    expect(second).toMatch(/^r22 {2}running {2}- {5}2 h ago {2}\(pinned\) npm test/)
    expect(sum).toBe('(2 of 7 runs)')
    for (const line of stdout.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80)
    expect((await play(['runs'], { app: { runs: async () => ({ runs: [], total: 0, warnings: [] }) } })).stdout).toBe('No runs yet.\n')
  })

  /** A result of search with these hits, whose runs failed two hours ago. */
  const foundBy = (hits: SearchResult['hits'], more = false) => {
    const ids = [...new Set(hits.map(({ run }) => run))]
    const outcome = { kind: 'exited' as const, exitCode: 1, signal: null, limit: null }
    const facts = { state: 'ended' as const, outcome, durationMs: 5, command: 'npm test', runtime: null, purpose: null, cwd: '/p', branch: null }
    const startedAt = '2026-01-01T00:00:00.000Z'
    const rest = { ...facts, startedAt, pinned: false, target: null, workspace: null, failing: true, outputBytes: 9 }
    const groups = ids.map((id) => ({ ...rest, id, refs: hits.filter(({ run }) => run === id).map(({ ref }) => ref) }))
    return async () => ({ hits, groups, more, suggestions: [], warnings: [] })
  }

  it('search groups its hits by run, each with a reference', async () => {
    const hit = { run: 'r1', stream: 'stdout' as const, line: 7, text: 'boom\u001b[2J\nforged', command: 'npm test', failing: true, ref: 'r1:7' }
    const search = foundBy([hit, { ...hit, run: 'r2', ref: 'r2', stream: 'purpose' as const, line: null }, { ...hit, ref: 'r1:e:9' }], true)
    expect((await play(['search', 'boom'], { app: { search } })).stdout).toBe(
      'r1  exit 1  2 h ago  npm test\n  r1:7  boom forged\n  r1:e:9  boom forged\n\nr2  exit 1  2 h ago  npm test\n  r2  purpose: boom forged\n\n(there may be more; --limit N shows them)\n',
    )
  })

  it('search shows the lines around a hit with their own numbers', async () => {
    const hit = { run: 'r1', stream: 'stderr' as const, line: 7, text: 'boom', before: ['five', 'six'], after: ['eight'], command: 'make', failing: true }
    const search = foundBy([
      { ...hit, ref: 'r1:stderr:7' },
      { ...hit, line: 10, ref: 'r1:stderr:10', before: ['nine'], after: [] },
    ])
    expect((await play(['search', 'boom', '--context', '2'], { app: { search } })).stdout.split('\n').slice(1)).toEqual([
      '  r1:stderr:5- five',
      '  r1:stderr:6- six',
      '  r1:stderr:7  boom',
      '  r1:stderr:8- eight',
      '  --',
      '  r1:stderr:9- nine',
      '  r1:stderr:10  boom',
      '',
    ])
  })

  it('search asks whether another word was meant', async () => {
    const search = async () => ({ hits: [], groups: [], more: false, suggestions: [{ word: 'conection', instead: 'connection' }], warnings: [] })
    expect((await play(['search', 'conection'], { app: { search } })).stdout).toBe("Nothing found.\nNothing for 'conection'; did you mean 'connection'?\n")
  })

  it('search shows of a long line what was found in it, and of a regular expression the whole line', async () => {
    const text = `${'before '.repeat(30)}the needle is here ${'after '.repeat(30)}`
    const hit = { run: 'r1', stream: 'stdout' as const, line: 7, text, command: 'npm test', failing: false, ref: 'r1:7' }
    const wide = { ...hit, text: `${'前'.repeat(80)} needle ${'後'.repeat(80)}` }
    const search = foundBy([hit, { ...wide, ref: 'r1:8', line: 8 }])
    const lines = (await play(['search', 'needle'], { app: { search } })).stdout.trimEnd().split('\n').slice(1)
    for (const line of lines) {
      expect(line).toMatch(/^ {2}r1:[78] {2}….*needle.*…$/)
      expect(widthOf(line)).toBeLessThanOrEqual(80)
    }
    expect((await play(['search', '--regex', 'n.*e'], { app: { search } })).stdout).toContain(text.trim())
  })

  it('digest reads a file or standard input', async () => {
    const digest = async ({ text }: { text: string | Uint8Array | ByteSource }) => ({ digest: `of ${readBytes(text as ByteSource, 0, 100)}` })
    expect((await play(['digest', '--budget', '100'], { app: { digest }, stdin: 'piped' })).stdout).toBe('of piped\n')
    expect((await play(['digest', '/no/such'], { app: { digest } })).stderr).toBe('holdfast: the file /no/such cannot be read: ENOENT\n')
  })

  it('snapshot takes its context from standard input with -', async () => {
    const snapshot = async ({ context }: { context?: string | undefined }) => ({ text: `${context}\n`, bytes: 1, path: null, warnings: [] })
    expect((await play(['snapshot', '--context', '-'], { app: { snapshot }, stdin: 'busy' })).stdout).toBe('busy\n')
  })
})

describe('output', () => {
  it('names the option of a regular expression that is none', async () => {
    const output = ({ grep }: OutputInput) => Promise.reject(failure('invalid', { field: 'grep', value: grep, accepted: 'a regular expression' }))
    const played = await play(['output', 'last', '--grep', '('], { app: { output } })
    expect(played).toMatchObject({ code: 125, stderr: 'holdfast: --grep is "("; accepted: a regular expression\n' })
  })

  const pages: Partial<App> = {
    output: async ({ stream, lines }: OutputInput): Promise<OutputResult> => {
      const last = lines !== undefined || stream === 'stderr'
      const found = last
        ? ([
            ['stderr', 1],
            ['stdout', 2],
          ] as const)
        : ([['stdout', 1]] as const)
      const shown = found.map(([name, line]) => ({ stream: name, line, text: `${name} ${line}` })).filter((line) => stream === 'all' || stream === line.stream)
      const next = stream === 'all' ? 'stdout:2-,stderr:1-' : '2-'
      return { id: 'r1', state: 'ended', lines: shown, text: shown.map(({ text }) => `${text}\n`).join(''), truncated: !last, next: last ? null : next }
    },
  }

  it('prints all pages of both streams as they came, with numbers on a terminal only', async () => {
    expect((await play(['output', 'last'], { app: pages })).stdout).toBe('stdout 1\nstderr 1\nstdout 2\n')
    expect((await play(['output', 'last', '--stream', 'stdout'], { app: pages })).stdout).toBe('stdout 1\nstdout 2\n')
    const numbered = '      1  stdout 1\n    e:1  stderr 1\n      2  stdout 2\n'
    expect((await play(['output', 'last'], { app: pages, terminal: { stdout: true } })).stdout).toBe(numbered)
    expect((await play(['output', 'last', '--number'], { app: pages })).stdout).toBe(numbered)
  })

  it('shows a line of search with what is around it', async () => {
    const played = await play(['output', 'r1:e:30'], { app: pages })
    expect(played.calls[0]).toEqual(['output', expect.objectContaining({ run: 'r1', stream: 'stderr', lines: '20-40' })])
    expect(played.calls).toHaveLength(2)
  })

  it.each([
    ['1-5', '3-5'],
    ['-4', '3-'],
    ['2-', '3-'],
    [undefined, '3-'],
  ])('goes on within the range %s', async (lines, second) => {
    const asked: (string | undefined)[] = []
    const output = async (input: OutputInput): Promise<OutputResult> => {
      asked.push(input.lines)
      const more = asked.length === 1
      return { id: 'r1', state: 'ended', lines: [], text: '', truncated: more, next: more ? '3-' : null }
    }
    await play(['output', 'last', '--stream', 'stdout', ...(lines === undefined ? [] : ['--lines', lines])], { app: { output } })
    expect(asked).toEqual([lines, second])
  })

  it('says on standard error that --max-bytes cut it, and how to go on', async () => {
    const page = { id: 'r1', state: 'ended' as const, lines: [{ stream: 'stdout' as const, line: 3, text: 'x' }], text: 'x\n', truncated: true, next: '4-' }
    const cut = async (changes: Partial<OutputResult>, ...args: string[]) =>
      (await play(['output', 'last', '--stream', 'stdout', '--max-bytes', '60', ...args], { app: { output: async () => ({ ...page, ...changes }) } })).stderr
    expect(await cut({})).toBe('holdfast: stdout was cut by --max-bytes; go on with --stream stdout --lines 4-\n')
    expect(await cut({}, '--lines', '3-9')).toBe('holdfast: stdout was cut by --max-bytes; go on with --stream stdout --lines 4-9\n')
    expect(await cut({ next: null }, '--bytes', '0-99')).toBe('holdfast: stdout was cut by --max-bytes; raise it for more\n')
    expect(await cut({ lines: [], text: '', next: '1-' }, '--lines', '1')).toBe('holdfast: stdout was cut by --max-bytes; raise it for more\n')
    expect(await cut({ truncated: false, next: null })).toBe('')
  })

  it('says on standard error that there are no such lines, but not with --json or where all were asked for', async () => {
    const none = { id: 'r1', state: 'ended' as const, lines: [], text: '', truncated: false, next: null }
    const output = async (input: OutputInput): Promise<OutputResult> => ({ ...none, state: input.run === 'last' ? 'ended' : 'running' })
    const said = async (...args: string[]) => {
      const { code, stderr } = await play(['output', ...args], { app: { output } })
      expect(code).toBe(0)
      return stderr
    }
    expect(await said('last', '--lines', '5000')).toBe('holdfast: no such lines\n')
    expect(await said('last', '--grep', 'nothing')).toBe('holdfast: no such lines\n')
    expect(await said('r1', '--grep', 'nothing')).toBe('holdfast: no such lines so far\n')
    expect(await said('last', '--bytes', '9000-')).toBe('holdfast: no such bytes\n')
    expect(await said('last')).toBe('')
    expect(await said('last', '--lines', '5000', '--json')).toBe('')
  })

  it('copies the bytes of the log with --raw', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
    try {
      writeFileSync(join(folder, 'log'), 'a\u001b]0;title\u0007b\n')
      const stream = { ...fakeRun().stdout, bytes: 11, path: join(folder, 'log') }
      const app = { show: async () => fakeRun({ stdout: stream, stderr: { ...stream, path: join(folder, 'none') } }) }
      expect((await play(['output', 'r1', '--raw', '--stream', 'stdout'], { app })).stdout).toBe('a\u001b]0;title\u0007b\n')
      expect((await play(['output', 'r1', '--raw', '--stream', 'stderr'], { app })).stderr).toBe('holdfast: the stderr of run r1 is no longer on disk\n')
      const silent = { show: async () => fakeRun({ stdout: stream, stderr: { ...stream, bytes: 0, path: join(folder, 'none') } }) }
      expect(await play(['output', 'r1', '--raw'], { app: silent })).toMatchObject({ code: 0, stdout: 'a\u001b]0;title\u0007b\n', stderr: '' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('follows until the run ends', async () => {
    const follow: App['follow'] = async ({ streams }, { onOutput }) => onOutput({ stream: 'stdout', bytes: Buffer.from('x'), text: streams.join() })
    const show = async () => fakeRun()
    expect((await play(['output', 'r1', '--follow'], { app: { follow, show } })).stdout).toBe('stdout,stderr')
  })

  it('follows a run on a terminal line by line, in their last state, and as it is with --raw or on a terminal', async () => {
    const printed = ['10 %\r20', ' %\r\n\u001b[32mdone\u001b[0m', '\r\nname: ']
    const follow: App['follow'] = async (_, { onOutput }) => {
      for (const text of printed) onOutput({ stream: 'stdout', bytes: Buffer.from(text), text })
    }
    const app = { follow, show: async () => fakeRun({ pty: { rows: 24, columns: 80 } }) }
    expect((await play(['output', 'r1', '--follow'], { app })).stdout).toBe('20 %\ndone\nname:\n')
    expect((await play(['output', 'r1', '--follow', '--raw'], { app })).stdout).toBe(printed.join(''))
    expect((await play(['output', 'r1', '--follow'], { app, terminal: { stdout: true } })).stdout).toBe(printed.join(''))
  })
})

describe('small parts', () => {
  it('clips by columns, never inside a character', () => {
    expect([clip('你好你好', 5), clip('abc', 3), clip('abcd', 3), clip('é👩‍💻x', 9)]).toEqual(['你好…', 'abc', 'ab…', 'é👩💻x'])
  })

  it('keeps head and tail of a log that is too long, and says what is missing', async () => {
    const stdin = (async function* () {
      for (const letter of 'abcdefghij') yield Buffer.from(letter.repeat(10))
    })()
    const log = await openLog({ stdin } as never, '-', 40)
    expect(readBytes(log, 0, 100).toString()).toBe('a'.repeat(10) + 'b'.repeat(10) + 'i'.repeat(10) + 'j'.repeat(10))
    expect(log.gap).toEqual({ offset: 20, bytes: 60, lines: 0 })
  })

  it('gives the lines behind what is missing of a log their own numbers', async () => {
    const stdin = (async function* () {
      for (let i = 1; i <= 1000; i += 1) yield Buffer.from(`line ${i}\n`)
    })()
    const stream = streamOf(await openLog({ stdin } as never, '-', 400), createMasker({ secrets: [] }))
    const digest = digestLog([stream], { budget: 300, failed: true })
    expect(digest).toMatch(/^stdout 8,893 bytes, 1,000 lines, of which 8,4\d\d bytes in the middle were not kept:$/m)
    const numbered = [...digest.matchAll(/^(\d+) \| line (\d+)$/gm)]
    expect(numbered.length).toBeGreaterThan(1)
    for (const [, number, printed] of numbered) expect(number).toBe(printed)
  })

  it('holds no more of a long log than its ends', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const buffers: WeakRef<ArrayBuffer>[] = []
    let held = 0
    const stdin = (async function* () {
      for (let i = 0; i < 50; i += 1) {
        const chunk = new Uint8Array(1 << 20)
        buffers.push(new WeakRef(chunk.buffer))
        yield chunk
      }
      await new Promise((resolve) => setImmediate(resolve))
      collect()
      held = buffers.filter((buffer) => buffer.deref()).length
    })()
    expect((await openLog({ stdin } as never, '-', 4 << 20)).length).toBe(4 << 20)
    expect(held).toBeLessThan(10)
  })

  it('reads UTF-16 from a pipe, however it is cut', async () => {
    const bytes = Buffer.from('\ufeffhéllo 😀\n', 'utf16le')
    const stdin = (async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte)
    })()
    const log = await openLog({ stdin } as never, '-')
    expect(readBytes(log, 0, 100).toString()).toBe('héllo 😀\n')
  })

  it('lets a signal end a digest at once, as it ends any program that holds nothing', async () => {
    let send: (name: 'SIGTERM') => void = () => undefined
    const digest = async () => {
      send('SIGTERM')
      return { digest: 'made' }
    }
    const onReady = (signal: typeof send): void => {
      send = signal
    }
    // Whoever still listened would end with 143 here; without a listener the system ends a real process.
    expect(await play(['digest'], { stdin: 'x\n', app: { digest }, onReady })).toMatchObject({ code: 0, stdout: 'made\n' })
  })
})
