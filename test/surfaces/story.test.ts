import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { toHoldfastError } from '../../src/core/errors.ts'
import type { ExecInput, InputRequest, Note, OutputInput, RunResult } from '../../src/index.ts'
import { openPlace, type Place, program, until } from '../cases/place.ts'
import { isSupervised, whyPlain } from '../support/modes.ts'

/** One operation of the story, as data. `run` and `note` name earlier steps; each surface puts the ids in. */
type Step = { readonly name: string } & (
  | { readonly do: 'exec'; readonly input: ExecInput }
  | { readonly do: 'wait'; readonly run: string; readonly waitMs?: number }
  | { readonly do: 'show' | 'stop'; readonly run: string }
  | { readonly do: 'input'; readonly run: string; readonly input: Omit<InputRequest, 'run' | 'text'> & { text?: string } }
  | { readonly do: 'output'; readonly run: string; readonly input?: Omit<OutputInput, 'run'> }
  | { readonly do: 'search'; readonly input: { query: string; regex?: boolean; failing?: boolean; limit?: number } }
  | { readonly do: 'runs'; readonly input: { failing?: boolean; query?: string; runtime?: string; limit?: number } }
  | { readonly do: 'note-add'; readonly input: { text: string; category?: Note['category']; confidence?: number } }
  | { readonly do: 'note-list' | 'resume' }
  | { readonly do: 'note-remove'; readonly note: string }
  | { readonly do: 'snapshot'; readonly context: string }
)

if (!isSupervised) console.warn(`the story is told without terminals and input: ${whyPlain}`)

/** What only a supervisor can do: see to a terminal, and let others write to a run. */
const supervised: readonly Step[] = [
  {
    name: 'terminal',
    do: 'exec',
    input: { script: 'test -t 0 && test -t 1 && test -t 2 && stty size; printf "drawn 1\\rdrawn 2\\r\\033[Kall \\033[32mdrawn\\033[m\\nend\\n"', pty: true },
  },
  { name: 'terminal-output', do: 'output', run: 'terminal' },
  { name: 'terminal-line', do: 'output', run: 'terminal', input: { lines: '2' } },
  { name: 'terminal-found', do: 'search', input: { query: 'drawn' } },
  {
    name: 'asking',
    do: 'exec',
    input: { script: 'echo "name?"; read -r name; echo "hello $name"; tr a-z A-Z', interactive: true, detach: true },
  },
  { name: 'nothing-written', do: 'input', run: 'asking', input: { text: '' } },
  { name: 'answered', do: 'input', run: 'asking', input: { text: 'Ada', enter: true } },
  { name: 'more', do: 'input', run: 'asking', input: { text: '-- two\nlines' } },
  { name: 'no-more', do: 'input', run: 'asking', input: { end: true } },
  { name: 'asked', do: 'wait', run: 'asking' },
  { name: 'input-over', do: 'input', run: 'asking', input: { text: 'x' } },
]

const story: readonly Step[] = [
  { name: 'ok', do: 'exec', input: { argv: ['printf', '%s\n', 'one  two', "it's", ''], purpose: 'say hello' } },
  {
    name: 'failing',
    do: 'exec',
    input: { script: 'seq 1 500; echo "src/parse.ts:7: error: unexpected token" >&2; exit 3', purpose: 'build it', env: { LEVEL: 'debug' } },
  },
  { name: 'slow', do: 'exec', input: { script: 'echo started; printf unfinished; sleep 30', timeoutMs: 400, graceMs: 300 } },
  { name: 'silent', do: 'exec', input: { script: 'echo waiting; sleep 30', idleTimeoutMs: 300, timeoutMs: 20_000 } },
  { name: 'node', do: 'exec', input: { runtime: 'node', script: 'console.log(`${1 + 1} "quoted" ${"ü".repeat(3)}`); process.exitCode = 7' } },
  { name: 'reading', do: 'exec', input: { runtime: 'bash', script: 'tr a-z A-Z', stdin: 'what it reads\n' } },
  { name: 'signaled', do: 'exec', input: { script: 'kill -SEGV $$' } },
  { name: 'no-such-program', do: 'exec', input: { argv: ['no-such-program-anywhere'] } },
  { name: 'no-such-folder', do: 'exec', input: { argv: ['true'], cwd: 'not/there' } },
  { name: 'outside', do: 'exec', input: { argv: ['true'], cwd: '../..' } },
  { name: 'bad-runtime', do: 'exec', input: { script: 'puts 1', runtime: 'ruby' } },
  { name: 'small-digest', do: 'exec', input: { script: 'seq 1 1000; exit 1', budget: 200 } },
  ...(isSupervised ? supervised : []),
  { name: 'show', do: 'show', run: 'failing' },
  { name: 'whole-output', do: 'output', run: 'ok' },
  { name: 'some-lines', do: 'output', run: 'failing', input: { stream: 'stdout', lines: '10-12' } },
  { name: 'last-lines', do: 'output', run: 'failing', input: { lines: '-2' } },
  { name: 'some-bytes', do: 'output', run: 'failing', input: { stream: 'stdout', bytes: '0-5' } },
  { name: 'grep', do: 'output', run: 'failing', input: { grep: 'error|^500$' } },
  { name: 'cut-short', do: 'output', run: 'failing', input: { maxBytes: 50 } },
  { name: 'bad-lines', do: 'output', run: 'failing', input: { lines: '9-3' } },
  { name: 'bad-run', do: 'show', run: 'nowhere' },
  { name: 'search', do: 'search', input: { query: 'unexpected token' } },
  { name: 'search-failing', do: 'search', input: { query: 'hello', failing: true } },
  { name: 'search-regex', do: 'search', input: { query: 'parse\\.ts:\\d+', regex: true, limit: 5 } },
  { name: 'search-nothing', do: 'search', input: { query: '" -' } },
  { name: 'runs', do: 'runs', input: {} },
  { name: 'failing-runs', do: 'runs', input: { failing: true, limit: 3 } },
  { name: 'node-runs', do: 'runs', input: { runtime: 'node' } },
  { name: 'runs-with', do: 'runs', input: { query: 'BUILD' } },
  { name: 'a-note', do: 'note-add', input: { text: 'tests need a running Redis', category: 'environment', confidence: 0.9 } },
  { name: 'another-note', do: 'note-add', input: { text: 'nothing\n# a heading' } },
  { name: 'notes', do: 'note-list' },
  { name: 'removed', do: 'note-remove', note: 'another-note' },
  { name: 'background', do: 'exec', input: { script: 'echo serving; trap "" TERM; while :; do sleep 0.05; done', detach: true, purpose: 'dev server' } },
  { name: 'still-running', do: 'wait', run: 'background', waitMs: 700 },
  ...(isSupervised ? [{ name: 'input-closed', do: 'input', run: 'background', input: { text: 'x' } } as const] : []),
  { name: 'input-to-none', do: 'input', run: 'nowhere', input: { end: true } },
  { name: 'snapshot', do: 'snapshot', context: 'fixing the parser' },
  { name: 'resume', do: 'resume' },
  { name: 'stopped', do: 'stop', run: 'background' },
  { name: 'stopped-again', do: 'stop', run: 'background' },
  { name: 'over', do: 'wait', run: 'background', waitMs: 100 },
]

type Ids = ReadonlyMap<string, string>
type Tell = (step: Step, ids: Ids) => Promise<unknown>
interface Surface extends AsyncDisposable {
  readonly place: Place
  readonly tell: Tell
}

const idOf = (ids: Ids, name: string): string => ids.get(name) ?? name

async function throughLibrary(): Promise<Surface> {
  const place = await openPlace()
  const { holdfast } = place
  const call: Tell = async (step, ids) => {
    switch (step.do) {
      case 'exec':
        return holdfast.exec(step.input)
      case 'wait':
        return holdfast.wait({ run: idOf(ids, step.run), waitMs: step.waitMs })
      case 'show':
        return holdfast.show({ run: idOf(ids, step.run) })
      case 'stop':
        return holdfast.stop({ run: idOf(ids, step.run) })
      case 'input':
        return holdfast.input({ ...step.input, run: idOf(ids, step.run) })
      case 'output':
        return holdfast.output({ ...step.input, run: idOf(ids, step.run) })
      case 'search':
        return holdfast.search(step.input)
      case 'runs':
        return holdfast.runs(step.input)
      case 'note-add':
        return holdfast.addNote(step.input)
      case 'note-list':
        return holdfast.listNotes()
      case 'note-remove':
        return holdfast.removeNote({ note: idOf(ids, step.note) })
      case 'snapshot':
        return holdfast.snapshot({ context: step.context })
      case 'resume':
        return holdfast.resume()
    }
  }
  const tell: Tell = (step, ids) => call(step, ids).catch((error: unknown) => ({ error: toHoldfastError(error).toJSON() }))
  return { place, tell, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

async function throughCli(): Promise<Surface> {
  const place = await openPlace()
  const flags = (input: object): string[] =>
    Object.entries(input).flatMap(([name, value]) => {
      const flag = `--${name.replace(/(?:Ms|Bytes)$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      if (value === undefined || value === false) return []
      if (value === true) return [flag]
      if (name === 'maxBytes') return ['--max-bytes', String(value)]
      return [flag, name.endsWith('Ms') ? `${value}ms` : String(value)]
    })
  const tell: Tell = async (step, ids) => {
    const args = argsOf(step, ids)
    const stdin = step.do === 'exec' && typeof step.input.stdin === 'string' ? { input: step.input.stdin } : {}
    return (await place.cli(args, stdin)).json<unknown>()
  }
  const argsOf = (step: Step, ids: Ids): string[] => {
    switch (step.do) {
      case 'exec': {
        const { argv, script, env = {}, stdin, ...rest } = step.input
        const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])
        const input = stdin === undefined ? [] : ['--stdin', '-']
        return ['exec', '--json', ...flags(rest), ...variables, ...input, ...(argv ? ['--', ...argv] : ['-c', script ?? ''])]
      }
      case 'wait':
        return ['wait', '--json', idOf(ids, step.run), ...(step.waitMs === undefined ? [] : ['--timeout', `${step.waitMs}ms`])]
      case 'show':
      case 'stop':
        return [step.do, '--json', idOf(ids, step.run)]
      case 'input': {
        const { text, ...rest } = step.input
        return ['input', '--json', ...flags(rest), '--', idOf(ids, step.run), ...(text === undefined ? [] : [text])]
      }
      case 'output':
        return ['output', '--json', idOf(ids, step.run), ...flags(step.input ?? {})]
      case 'search': {
        const { query, ...rest } = step.input
        return ['search', '--json', ...flags(rest), '--', query]
      }
      case 'runs':
        return ['runs', '--json', ...flags(step.input)]
      case 'note-add': {
        const { text, ...rest } = step.input
        return ['note', 'add', '--json', ...flags(rest), text]
      }
      case 'note-list':
        return ['note', 'list', '--json']
      case 'note-remove':
        return ['note', 'remove', '--json', idOf(ids, step.note)]
      case 'snapshot':
        return ['snapshot', '--json', '--context', step.context]
      case 'resume':
        return ['resume', '--json']
    }
  }
  return { place, tell, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

async function throughMcp(): Promise<Surface> {
  const place = await openPlace()
  const { root, env } = place.world
  const client = new Client({ name: 'story', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: root, env: { ...env } }))
  const wire = (input: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(input).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]))
  const toolCall = (step: Step, ids: Ids): [string, Record<string, unknown>] => {
    switch (step.do) {
      case 'exec':
      case 'search':
      case 'runs':
        return [step.do, wire(step.input)]
      case 'wait':
        return ['wait', wire({ run: idOf(ids, step.run), waitMs: step.waitMs })]
      // There is no tool for it: waiting for a run that is over gives the same.
      case 'show':
        return ['wait', { run: idOf(ids, step.run), wait_ms: 0 }]
      case 'stop':
        return ['stop', { run: idOf(ids, step.run) }]
      case 'input':
        return ['input', { ...step.input, run: idOf(ids, step.run) }]
      case 'output':
        return ['output', { ...wire(step.input ?? {}), run: idOf(ids, step.run) }]
      case 'note-add':
        return ['note', { action: 'add', ...step.input }]
      case 'note-list':
        return ['note', { action: 'list' }]
      case 'note-remove':
        return ['note', { action: 'remove', note: idOf(ids, step.note) }]
      case 'resume':
        return ['resume', {}]
      case 'snapshot':
        throw new Error('there is no tool for it')
    }
  }
  const tell: Tell = async (step, ids) => {
    // A snapshot is written by whoever sees the context go, which is not the model.
    if (step.do === 'snapshot') return (await place.cli(['snapshot', '--json', '--context', step.context])).json<unknown>()
    const [name, args] = toolCall(step, ids)
    return (await client.callTool({ name, arguments: args })).structuredContent
  }
  return {
    place,
    tell,
    async [Symbol.asyncDispose]() {
      await client.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

/** What differs from telling to telling: ids, times, durations, the folder. */
function normalize(value: unknown, ids: Ids, folder: string): unknown {
  let text = JSON.stringify(value)
  for (const [name, id] of ids) text = text.replaceAll(id, `<${name}>`)
  text = text
    // Runs that were refused only after they had begun: their ids are in no answer.
    .replace(/\b[0-9a-hjkmnp-tv-z]{12}\b/g, '<other>')
    .replaceAll(folder, '<folder>')
    // Each surface names a field as its callers do.
    .replace(/"--lines/g, '"lines')
    .replace(/"durationMs":\d+/g, '"durationMs":0')
    .replace(/"(userMs|systemMs|peakMemoryBytes)":[\d.]+/g, '"$1":0')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?/g, '<time>')
    .replace(/(?<![\w.])\d+(?:\.\d+)? (?:ms|s|min)(?: \d+ s)?\b/g, '<duration>')
  return JSON.parse(text)
}

async function telling(open: () => Promise<Surface>): Promise<Record<string, unknown>> {
  await using surface = await open()
  const { place, tell } = surface
  const ids = new Map<string, string>()
  const told: Record<string, unknown> = {}
  for (const step of story) {
    const result = (await tell(step, ids)) as Partial<RunResult> & { bytes?: number; error?: unknown }
    if (typeof result.id === 'string' && (step.do === 'exec' || step.do === 'note-add')) ids.set(step.name, result.id)
    const printed = async (): Promise<string> => (await place.holdfast.output({ run: 'last' })).text
    if (step.name === 'background') await until('it serves', async () => (await printed()) === 'serving\n')
    if (step.name === 'asking') await until('it asks', async () => (await printed()) === 'name?\n')
    if (step.do === 'snapshot' || step.do === 'resume') {
      const { text, bytes } = result as { text: string; bytes: number }
      expect(bytes).toBe(Buffer.byteLength(text))
      expect(bytes).toBeLessThanOrEqual(2_048)
      delete result.bytes
    }
    if (step.name === 'background' || step.name === 'asking') {
      // How much it has printed by the time of the answer is a matter of moments.
      Object.assign(result, { digest: '', stdout: null })
    }
    // So is whether the command is over already by the time that its input has ended.
    if (step.name === 'no-more') delete (result as { state?: unknown }).state
    told[step.name] = normalize(result, ids, place.world.folder)
  }
  return told
}

describe('one story', () => {
  let library: Record<string, unknown> = {}
  let cli: Record<string, unknown> = {}
  let mcp: Record<string, unknown> = {}
  beforeAll(async () => {
    ;[library, cli, mcp] = (await Promise.all([telling(throughLibrary), telling(throughCli), telling(throughMcp)])) as [typeof library, typeof cli, typeof mcp]
  }, 60_000)

  it.each(story.map(({ name }) => name))('has the same "%s" through library, command line and MCP', (name) => {
    expect(library[name]).toBeDefined()
    expect(cli[name]).toEqual(library[name])
    expect(mcp[name]).toEqual(library[name])
  })

  it('goes as it should', () => {
    expect(library).toMatchObject({
      ok: { outcome: { kind: 'exited', exitCode: 0 }, stdout: { bytes: 15, lines: 3 }, purpose: 'say hello' },
      failing: { outcome: { kind: 'exited', exitCode: 3 }, stderr: { lines: 1 }, digest: expect.stringContaining('unexpected token') },
      slow: { outcome: { kind: 'timed_out', limit: 'wall' }, stdout: { bytes: 18 } },
      silent: { outcome: { kind: 'timed_out', limit: 'idle' } },
      node: { outcome: { exitCode: 7 }, digest: expect.stringContaining('2 "quoted" üüü'), runtime: 'node' },
      reading: { outcome: { exitCode: 0 }, digest: expect.stringContaining('WHAT IT READS') },
      signaled: { outcome: { kind: 'signaled', signal: 'SIGSEGV', exitCode: 139 } },
      'no-such-program': { error: { code: 'not_found' } },
      'no-such-folder': { error: { code: 'not_found' } },
      outside: { error: { code: 'invalid_argument' } },
      'bad-runtime': { error: { code: 'invalid_argument' } },
      'some-lines': { text: '10\n11\n12\n' },
      grep: { text: '500\nsrc/parse.ts:7: error: unexpected token\n' },
      'cut-short': { truncated: true },
      search: {
        hits: [
          { run: '<failing>', ref: expect.stringMatching(/^<failing>:(e|stderr):1$/) },
          { run: '<failing>', ref: '<failing>' },
        ],
      },
      'search-nothing': { hits: [] },
      runs: { total: isSupervised ? 11 : 9 },
      'runs-with': { runs: [{ id: '<failing>' }] },
      notes: { notes: [{ category: 'environment', confidence: 0.9 }, { text: 'nothing # a heading' }] },
      background: { state: 'running' },
      'still-running': { state: 'running', digest: expect.stringContaining('serving') },
      snapshot: { text: expect.stringMatching(/fixing the parser[\s\S]*Redis/) },
      resume: { text: expect.stringContaining('<background>') },
      stopped: { state: 'ended', outcome: { kind: 'canceled', signal: 'SIGKILL' } },
      'stopped-again': { error: { code: 'failed_precondition' } },
      over: { state: 'ended' },
      'input-to-none': { error: { code: 'not_found' } },
    })
  })

  it.runIf(isSupervised)('goes as it should with a terminal and with input', () => {
    expect(library).toMatchObject({
      terminal: {
        outcome: { exitCode: 0 },
        pty: { rows: 24, columns: 80 },
        digest: expect.stringContaining('3 lines on the terminal:\n24 80\nall drawn\nend'),
      },
      'terminal-output': { text: '24 80\nall drawn\nend\n' },
      'terminal-line': { text: 'all drawn\n' },
      'terminal-found': { hits: [{ ref: '<terminal>:2', text: 'all drawn' }, { line: null }] },
      asking: { state: 'running' },
      'nothing-written': { id: '<asking>', bytes: 0, open: true },
      answered: { id: '<asking>', state: 'running', bytes: 4, open: true },
      more: { bytes: 12, open: true },
      'no-more': { bytes: 0, open: false },
      asked: { state: 'ended', outcome: { exitCode: 0 }, digest: expect.stringContaining('name?\nhello Ada\n-- TWO\nLINES') },
      'input-closed': { error: { code: 'failed_precondition', details: { reason: 'input_closed' } } },
      'input-over': { error: { code: 'failed_precondition', details: { reason: 'input_over' } } },
    })
  })
})
