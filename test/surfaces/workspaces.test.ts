import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { safeParse } from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
import { toHoldfastError } from '../../src/core/errors.ts'
import { listedSchema, openedSchema, releasedSchema } from '../../src/operations/workspace-results.ts'
import { openPlace, type Place, program } from '../cases/place.ts'

/** One operation of the story. A value of the form `<name>` in an input stands for what an earlier step gave. */
interface Step {
  readonly name: string
  readonly do: keyof typeof commands
  readonly input: Readonly<Record<string, unknown>>
}

interface Command {
  readonly words: readonly string[]
  readonly positional?: string
  readonly tool?: string
  readonly action?: string
}

/** How each operation is typed, and, where a model may ask for it, by which tool; else the model's telling goes through the command line, too. */
const commands = {
  exec: { words: ['exec'], tool: 'exec' },
  stop: { words: ['stop'], positional: 'run', tool: 'stop' },
  openWorkspace: { words: ['workspace', 'open'], tool: 'workspace', action: 'open' },
  listWorkspaces: { words: ['workspace', 'list'], tool: 'workspace', action: 'list' },
  workspaceStatus: { words: ['workspace', 'status'], positional: 'workspace', tool: 'workspace', action: 'status' },
  showWorkspace: { words: ['workspace', 'show'], positional: 'workspace' },
  diffWorkspace: { words: ['workspace', 'diff'], positional: 'workspace', tool: 'workspace', action: 'diff' },
  setupWorkspace: { words: ['workspace', 'setup'], positional: 'workspace' },
  releaseWorkspace: { words: ['workspace', 'release'], positional: 'workspace', tool: 'workspace', action: 'release' },
  listRescues: { words: ['workspace', 'rescues'], tool: 'workspace', action: 'rescues' },
  showRescue: { words: ['workspace', 'show'], positional: 'rescue' },
  restoreRescue: { words: ['workspace', 'restore'], positional: 'rescue', tool: 'workspace', action: 'restore' },
  exportRescue: { words: ['workspace', 'export'], positional: 'rescue' },
  dropRescues: { words: ['workspace', 'drop'], positional: 'rescue' },
  collectWorkspaces: { words: ['workspace', 'gc'] },
  deleteBranch: { words: ['workspace', 'delete-branch'], positional: 'branch' },
} as const satisfies Record<string, Command>

const story: readonly Step[] = [
  { name: 'opened', do: 'openWorkspace', input: { branch: 'feature/login', base: 'main' } },
  { name: 'opened again', do: 'openWorkspace', input: { branch: 'feature/login' } },
  {
    name: 'a second one',
    do: 'openWorkspace',
    input: { branch: 'feature-login', base: 'main', setup: 'echo installed >installed.txt; echo "set up by $HOLDFAST_BRANCH"' },
  },
  { name: 'nothing asked', do: 'openWorkspace', input: {} },
  { name: 'a bad name', do: 'openWorkspace', input: { branch: '../escape' } },
  { name: 'a bad base', do: 'openWorkspace', input: { branch: 'other', base: 'no-such-branch' } },
  { name: 'a sandbox', do: 'openWorkspace', input: { operator: 'reviewer', base: 'main' } },
  { name: 'written', do: 'exec', input: { workspace: 'feature/login', script: 'echo two >>README.md; echo new >"a new file"; git status --porcelain; pwd' } },
  { name: 'below', do: 'exec', input: { workspace: 'feature/login', cwd: 'src', argv: ['pwd'] } },
  { name: 'outside', do: 'exec', input: { workspace: 'feature/login', cwd: '../..', argv: ['true'] } },
  { name: 'in the sandbox', do: 'exec', input: { workspace: 'operator:reviewer', script: 'echo "token: $API_TOKEN"; git rev-parse --abbrev-ref HEAD' } },
  { name: 'nowhere', do: 'exec', input: { workspace: 'no-such-workspace', argv: ['true'] } },
  { name: 'list', do: 'listWorkspaces', input: {} },
  { name: 'list with a look', do: 'listWorkspaces', input: { status: true } },
  { name: 'status', do: 'workspaceStatus', input: { workspace: 'feature/login' } },
  { name: 'diff', do: 'diffWorkspace', input: { workspace: 'feature/login' } },
  { name: 'set up again', do: 'setupWorkspace', input: { workspace: 'feature-login' } },
  { name: 'background', do: 'exec', input: { workspace: 'feature/login', script: 'sleep 60', detach: true } },
  { name: 'busy', do: 'releaseWorkspace', input: { workspace: 'feature/login' } },
  { name: 'refused', do: 'releaseWorkspace', input: { workspace: 'feature/login', mode: 'refuse', stop: true } },
  { name: 'released', do: 'releaseWorkspace', input: { workspace: 'feature/login', stop: true } },
  { name: 'released again', do: 'releaseWorkspace', input: { workspace: '<opened>' } },
  { name: 'rescues', do: 'listRescues', input: {} },
  { name: 'what it holds', do: 'showRescue', input: { rescue: '<rescue>' } },
  { name: 'as a patch', do: 'exportRescue', input: { rescue: '<rescue>' } },
  { name: 'not dropped', do: 'dropRescues', input: { rescue: '<rescue>' } },
  { name: 'open for it', do: 'openWorkspace', input: { branch: 'feature/login' } },
  { name: 'restored', do: 'restoreRescue', input: { rescue: '<rescue>' } },
  { name: 'status again', do: 'workspaceStatus', input: { workspace: 'feature/login' } },
  { name: 'dropped', do: 'dropRescues', input: { rescue: '<rescue>', force: true } },
  { name: 'gc', do: 'collectWorkspaces', input: { dryRun: true } },
  { name: 'in use', do: 'deleteBranch', input: { branch: 'feature-login' } },
  { name: 'sandbox released', do: 'releaseWorkspace', input: { workspace: 'operator:reviewer' } },
]

const secret = 'tok-0123456789abcdef'
const withSecret = { API_TOKEN: secret }

function fill({ world }: Place): void {
  const date = '2026-01-02T03:04:05Z'
  const env = { ...world.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env, encoding: 'utf8' })
  mkdirSync(join(world.root, 'src'))
  writeFileSync(join(world.root, 'README.md'), 'one\n')
  writeFileSync(join(world.root, 'src', 'index.js'), 'console.log(1)\n')
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
}

type Tell = (step: Step, input: Record<string, unknown>) => Promise<unknown>

interface Surface extends AsyncDisposable {
  readonly place: Place
  readonly tell: Tell
}

async function throughLibrary(): Promise<Surface> {
  const place = await openPlace()
  const holdfast = await place.again({ env: { ...place.world.env, ...withSecret } })
  const tell: Tell = (step, input) =>
    (holdfast[step.do] as (input: unknown) => Promise<unknown>)(input).catch((error: unknown) => ({ error: toHoldfastError(error).toJSON() }))
  return { place, tell, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

function argsOf(step: Step, { argv, script, ...input }: Record<string, unknown>): string[] {
  const command: Command = commands[step.do]
  const { [command.positional ?? '']: positional, ...rest } = input
  const flags = Object.entries(rest).flatMap(([name, value]) => {
    const flag = `--${name.replace(/(?:Ms|Bytes)$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    return value === true ? [flag] : [flag, String(value)]
  })
  const tail = script === undefined ? (argv === undefined ? [] : ['--', ...(argv as string[])]) : ['-c', String(script)]
  // A detached command prints its id alone.
  return [...command.words, '--json', ...flags, ...(positional === undefined ? [] : [String(positional)]), ...tail]
}

async function throughCli(): Promise<Surface> {
  const place = await openPlace()
  const tell: Tell = async (step, input) => (await place.cli(argsOf(step, input), { env: withSecret })).json<unknown>()
  return { place, tell, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

async function throughMcp(): Promise<Surface> {
  const place = await openPlace()
  const client = new Client({ name: 'story', version: '1' })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: place.world.root, env: { ...place.world.env, ...withSecret } }),
  )
  const wire = (input: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(input).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]))
  const tell: Tell = async (step, input) => {
    const { tool, action }: Command = commands[step.do]
    if (tool === undefined) return (await place.cli(argsOf(step, input), { env: withSecret })).json<unknown>()
    const { structuredContent } = await client.callTool({ name: tool, arguments: { ...(action ? { action } : {}), ...wire(input) } })
    // Only objects can be given there.
    const { workspaces, rescues } = structuredContent as { workspaces?: unknown; rescues?: unknown }
    return (action === 'list' ? workspaces : action === 'rescues' ? rescues : undefined) ?? structuredContent
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

/** What differs from telling to telling: the folder and the ids that are made of it, times, durations. */
function normalize(value: unknown, folder: string): unknown {
  const text = JSON.stringify(value)
    .replaceAll(folder, '<folder>')
    .replace(/\b(?:[0-9a-f]{10})-\d{8}T\d{6}Z-[0-9a-z]+\b/g, '<rescue>')
    .replace(/\b(?:[0-9a-f]{10})\/\d{8}T\d{6}Z-[0-9a-z]+\b/g, '<rescue-ref>')
    .replace(/refs\/holdfast\/fetch\/[\w-]+/g, '<fetch-ref>')
    .replace(/"inputs":"[0-9a-f]+"/g, '"inputs":"<hash>"')
    .replace(/("ref":"refs\/holdfast\/rescue\/[^}]*?"sha":")[0-9a-f]{40}/g, '$1<sha>')
    .replace(/root-[0-9a-f]{6}\b/g, 'root-<hash>')
    .replace(/\b[0-9a-hjkmnp-tv-z]{12}\b/g, '<run>')
    .replace(/\b[0-9a-f]{10}\b/g, '<id>')
    .replace(/"durationMs":\d+/g, '"durationMs":0')
    .replace(/"(userMs|systemMs|peakMemoryBytes)":[\d.]+/g, '"$1":0')
    .replace(/"pid":\d+,"startTime":"\d+"/g, '"pid":0')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?/g, '<time>')
    .replace(/(?<![\w.])\d+(?:\.\d+)? (?:ms|s|min)(?: \d+ s)?\b/g, '<duration>')
    .replace(/"(field)":"(?:--)?(\w+)"/g, '"$1":"$2"')
    .replace(/"message":"--/g, '"message":"')
  return JSON.parse(text)
}

interface Told {
  readonly raw: Record<string, Record<string, unknown>>
  readonly plain: Record<string, unknown>
  readonly main: string
}

async function telling(open: () => Promise<Surface>): Promise<Told> {
  await using surface = await open()
  const { place, tell } = surface
  fill(place)
  const known = new Map<string, string>()
  const raw: Told['raw'] = {}
  const plain: Told['plain'] = {}
  for (const step of story) {
    const input = Object.fromEntries(Object.entries(step.input).map(([name, value]) => [name, typeof value === 'string' ? (known.get(value) ?? value) : value]))
    const result = (await tell(step, input)) as Record<string, unknown>
    if (typeof result.id === 'string') known.set(`<${step.name}>`, result.id)
    if (step.name === 'rescues') known.set('<rescue>', (result as unknown as { id: string }[])[0]?.id ?? '')
    raw[step.name] = result
    // How far it has come by the time of the answer is a matter of moments.
    plain[step.name] = normalize(step.name === 'background' ? { ...result, digest: '', durationMs: 0 } : result, place.world.folder)
  }
  const main = execFileSync('git', ['status', '--porcelain'], { cwd: place.world.root, env: place.world.env, encoding: 'utf8' })
  return { raw, plain, main }
}

describe('one story of workspaces', () => {
  let library: Told
  let cli: Told
  let mcp: Told
  beforeAll(async () => {
    ;[library, cli, mcp] = (await Promise.all([telling(throughLibrary), telling(throughCli), telling(throughMcp)])) as [Told, Told, Told]
  }, 120_000)

  it.each(story.map(({ name }) => name))('has the same "%s" through library, command line and MCP', (name) => {
    expect(library.plain[name]).toBeDefined()
    expect(cli.plain[name]).toEqual(library.plain[name])
    expect(mcp.plain[name]).toEqual(library.plain[name])
  })

  it('goes as it should', () => {
    const { raw, main } = library
    expect(raw.opened).toMatchObject({
      branch: 'feature/login',
      created: true,
      base: { source: 'local', ref: 'refs/heads/main', remoteError: expect.stringContaining('origin') },
    })
    expect(raw['opened again']).toMatchObject({ id: raw.opened?.id, path: raw.opened?.path, created: false, base: { source: 'existing', remoteError: null } })
    expect(raw['a second one']).toMatchObject({ created: true, setup: { state: 'done', attempt: 1 } })
    expect(raw['a second one']?.path).not.toBe(raw.opened?.path)
    expect(raw['a bad name']).toMatchObject({ error: { code: 'invalid_argument', details: { reason: 'invalid_branch' } } })
    expect(raw['a bad base']).toMatchObject({ error: { details: { reason: 'unknown_base' } } })
    expect(raw['a sandbox']).toMatchObject({ kind: 'sandbox', branch: null, operator: 'reviewer', isolation: 'env-only' })
    expect(raw.written).toMatchObject({ outcome: { exitCode: 0 }, branch: 'feature/login', workspace: raw.opened?.id, cwd: raw.opened?.path })
    expect(raw.written?.digest).toContain(`(branch feature/login, workspace ${raw.opened?.id})`)
    expect(raw.below).toMatchObject({ cwd: join(String(raw.opened?.path), 'src') })
    expect(raw.outside).toMatchObject({ error: { details: { reason: 'cwd_outside' } } })
    expect(raw.nowhere).toMatchObject({ error: { details: { reason: 'workspace_not_found' } } })
    expect(raw.list).toHaveLength(3)
    expect(raw.status).toMatchObject({ state: 'ready', dirty: { changed: 1, untracked: 1 } })
    expect(raw.diff?.patch).toContain('a new file')
    expect(raw['set up again']).toMatchObject({ setup: { state: 'done' } })
    expect(raw.busy).toMatchObject({ error: { details: { reason: 'workspace_busy' } } })
    expect(raw.refused).toMatchObject({ error: { details: { reason: 'workspace_dirty' } } })
    expect(raw.released).toMatchObject({ id: raw.opened?.id, released: true, rescue: expect.stringMatching(/^refs\/holdfast\/rescue\//) })
    expect(raw['released again']).toMatchObject({ released: false, rescue: null })
    expect(raw.rescues).toMatchObject([{ ref: raw.released?.rescue, branch: 'feature/login' }])
    expect(raw['not dropped']).toMatchObject({ error: { details: { reason: 'rescue_needed' } } })
    expect(raw['status again']).toMatchObject({ dirty: { changed: 1, untracked: 1 } })
    expect(raw.gc).toMatchObject({ dryRun: true })
    expect(raw['sandbox released']).toMatchObject({ released: true })
    expect(main).toBe('')
  })

  it('answers as the published schema says', () => {
    const { raw } = cli
    for (const name of ['opened', 'opened again', 'a second one', 'a sandbox']) expect(safeParse(openedSchema, raw[name]).issues).toBeUndefined()
    for (const name of ['released', 'released again']) expect(safeParse(releasedSchema, raw[name]).issues).toBeUndefined()
    for (const name of ['list', 'list with a look']) expect(safeParse(listedSchema, raw[name]).issues).toBeUndefined()
  })

  it('shows no secret of the person to a sandbox', () => {
    expect(JSON.stringify(library.raw)).not.toContain(secret)
  })
})
