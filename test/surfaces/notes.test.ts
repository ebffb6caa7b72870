import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { HoldfastError, type SavedNote } from '../../src/index.ts'
import { openPlace, type Place, program, testsInPlace } from '../cases/place.ts'

const inPlace = testsInPlace(60_000)

/** One thing that is asked for, as the fields of the library; `#name` stands for the id of the note that a step gave. */
interface Step {
  readonly name: string
  readonly do: 'add' | 'list' | 'search' | 'update' | 'remove'
  readonly input: Readonly<Record<string, unknown>>
}

const story: readonly Step[] = [
  { name: 'redis', do: 'add', input: { text: 'tests need Redis 6 on port 6379', category: 'environment', tags: ['Tests', 'ci'], confidence: 0.6 } },
  { name: 'same', do: 'add', input: { text: 'Tests need  "Redis 6" on port 6379.' } },
  { name: 'newer', do: 'add', input: { text: 'tests need Redis 7 on port 6380' } },
  { name: 'mine', do: 'add', input: { text: '短い答えが好き', category: 'preference', scope: 'user' } },
  { name: 'all', do: 'list', input: {} },
  { name: 'found', do: 'search', input: { query: 'redis port' } },
  { name: 'found-cjk', do: 'search', input: { query: '答え' } },
  { name: 'found-none', do: 'search', input: { query: 'postgres' } },
  { name: 'successor', do: 'update', input: { note: '#newer', supersedes: ['#redis'], confidence: 0.9 } },
  { name: 'retired', do: 'list', input: { retired: true } },
  { name: 'found-retired', do: 'search', input: { query: 'redis', retired: true } },
  { name: 'restored', do: 'update', input: { note: '#redis', restore: true } },
  { name: 'of-the-person', do: 'list', input: { scope: 'user' } },
  { name: 'of-a-tag', do: 'list', input: { tag: 'CI' } },
  { name: 'gone', do: 'remove', input: { note: '#newer' } },
  { name: 'left', do: 'list', input: { category: 'convention' } },
  { name: 'no-text', do: 'add', input: { text: ' ' } },
  { name: 'long-text', do: 'add', input: { text: 'x'.repeat(2_001) } },
  { name: 'bad-scope', do: 'add', input: { text: 'x', scope: 'team' } },
  { name: 'no-workspace', do: 'add', input: { text: 'x', scope: 'workspace' } },
  { name: 'bad-tag', do: 'add', input: { text: 'x', tags: ['a b'] } },
  { name: 'unknown-old', do: 'add', input: { text: 'x', supersedes: ['zzz'] } },
  { name: 'unknown', do: 'update', input: { note: 'zzz', text: 'x' } },
  { name: 'gone-again', do: 'remove', input: { note: '#newer' } },
  { name: 'no-words', do: 'search', input: { query: ' -- ' } },
]

type Ask = (step: Step, input: Readonly<Record<string, unknown>>) => Promise<unknown>

const methods = { add: 'addNote', list: 'listNotes', search: 'searchNotes', update: 'updateNote', remove: 'removeNote' } as const

const throughLibrary =
  ({ holdfast }: Place): Ask =>
  async (step, input) => {
    try {
      return await (holdfast[methods[step.do]] as (input: unknown) => Promise<unknown>)(input)
    } catch (error) {
      if (error instanceof HoldfastError) return { error: error.toJSON() }
      throw error
    }
  }

const positionals = ['text', 'query', 'note']
const flagNames: Readonly<Record<string, string>> = { tags: 'tag' }

/** `note update` takes the id by its place and the text by its name. */
const isPlaced = (step: Step, key: string): boolean => positionals.includes(key) && !(step.do === 'update' && key === 'text')

const throughCli =
  (place: Place): Ask =>
  async (step, input) => {
    const flags = Object.entries(input).flatMap(([key, value]) => {
      if (isPlaced(step, key)) return []
      return (Array.isArray(value) ? value : [value]).map((each) => `--${flagNames[key] ?? key}${each === true ? '' : `=${each}`}`)
    })
    const placed = Object.entries(input).flatMap(([key, value]) => (isPlaced(step, key) ? [String(value)] : []))
    const { stdout, json } = await place.cli(['note', step.do, '--json', ...flags, '--', ...placed])
    expect(stdout).not.toBe('')
    return json<unknown>()
  }

/** What differs from telling to telling: ids and times, and how a surface names a field. */
function normalized(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  let text = JSON.stringify(value)
  for (const [name, id] of ids) text = text.replaceAll(id, `<${name}>`)
  text = text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"field":"[^"]*"/g, '"field":"<field>"')
    .replace(/"message":"(?:--)?\w+ is/g, '"message":"<field> is')
  return JSON.parse(text)
}

async function tell(ask: Ask): Promise<Record<string, unknown>> {
  const ids = new Map<string, string>()
  const told: Record<string, unknown> = {}
  for (const step of story) {
    const filled = JSON.parse(JSON.stringify(step.input).replace(/#(\w+)/g, (_, name: string) => ids.get(name) ?? name)) as Record<string, unknown>
    const answer = (await ask(step, filled)) as Partial<SavedNote>
    if (typeof answer.id === 'string' && ![...ids.values()].includes(answer.id)) ids.set(step.name, answer.id)
    told[step.name] = normalized(answer, ids)
  }
  return told
}

describe('a story of notes', () => {
  let library: Record<string, unknown> = {}
  let cli: Record<string, unknown> = {}
  let mcp: Record<string, unknown> = {}

  beforeAll(async () => {
    await using a = await openPlace()
    await using b = await openPlace()
    await using c = await openPlace()
    const client = new Client({ name: 'story', version: '1' })
    const { root, env } = c.world
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: root, env: { ...env } }))
    const throughMcp: Ask = async (step, input) => (await client.callTool({ name: 'note', arguments: { action: step.do, ...input } })).structuredContent
    ;[library, cli, mcp] = (await Promise.all([tell(throughLibrary(a)), tell(throughCli(b)), tell(throughMcp)])) as [typeof library, typeof cli, typeof mcp]
    await client.close()
  }, 120_000)

  it.each(story.map(({ name }) => name))('has the same "%s" through library, command line and MCP', (name) => {
    expect(library[name]).toBeDefined()
    expect(cli[name]).toEqual(library[name])
    expect(mcp[name]).toEqual(library[name])
  })

  it('goes as it should', () => {
    const refused = (message: string) => ({ error: { code: 'invalid_argument', message: expect.stringContaining(message) } })
    expect(library).toMatchObject({
      redis: { saved: 'added', scope: 'project', tags: ['tests', 'ci'], confidence: 0.6, similar: [], retires: [] },
      same: { id: '<redis>', saved: 'confirmed', text: 'tests need Redis 6 on port 6379', confidence: 0.7, uses: 1 },
      newer: { saved: 'added', category: 'convention', similar: [{ id: '<redis>' }] },
      all: { notes: [{ id: '<redis>', uses: 1 }, { id: '<mine>' }, { id: '<newer>', uses: 0 }] },
      found: { notes: [{ id: '<redis>' }, { id: '<newer>' }], more: false },
      'found-cjk': { notes: [{ id: '<mine>' }] },
      'found-none': { notes: [], more: false },
      successor: { id: '<newer>', saved: 'updated', retires: [{ id: '<redis>', retired: { why: 'superseded', by: '<newer>' } }] },
      retired: { notes: [{ id: '<redis>' }] },
      'found-retired': { notes: [{ id: '<redis>' }] },
      restored: { id: '<redis>', saved: 'restored', retired: null },
      'of-the-person': { notes: [{ id: '<mine>', scope: 'user' }] },
      'of-a-tag': { notes: [{ id: '<redis>' }] },
      gone: { removed: '<newer>', text: 'tests need Redis 7 on port 6380' },
      left: { notes: [] },
      'no-text': refused('a text of 1 to 2,000 bytes'),
      'long-text': refused('this one has 2,001'),
      'bad-scope': refused('accepted: project, workspace, user'),
      'no-workspace': refused('project or user; workspace inside of one'),
      'bad-tag': refused('at most 10 tags'),
      'unknown-old': { error: { code: 'not_found', message: expect.stringContaining('no note "zzz"') } },
      unknown: { error: { code: 'not_found' } },
      'gone-again': { error: { code: 'not_found' } },
      'no-words': refused('text with at least one word'),
    })
  })
})

describe('export and import', () => {
  inPlace('give the same notes and the same page on the command line and in the library', async (place) => {
    const { holdfast, world } = place
    await holdfast.addNote({ text: 'a <!-- note id=x --> b', category: 'gotcha', tags: ['t'] })
    const { id } = await holdfast.addNote({ text: 'old' })
    await holdfast.addNote({ text: 'new', supersedes: [id] })
    await holdfast.searchNotes({ query: 'new' })
    const made = await holdfast.exportNotes({ retired: true })
    expect((await place.cli(['note', 'export', '--retired'])).stdout).toBe(made.text)
    expect((await place.cli(['note', 'export', '--retired', 'NOTES.md'])).stdout).toBe('Wrote 3 notes to NOTES.md.\n')
    expect(readFileSync(join(world.root, 'NOTES.md'), 'utf8')).toBe(made.text)
    expect((await holdfast.exportNotes()).notes).toBe(2)

    const there = await holdfast.listNotes({})
    expect(await holdfast.importNotes({ text: made.text })).toMatchObject({ added: [], known: { length: 3 }, skipped: [], retires: [] })
    expect(await holdfast.listNotes({})).toEqual(there)

    await using other = await openPlace()
    writeFileSync(join(other.world.root, 'N.md'), made.text)
    expect((await other.cli(['note', 'import', 'N.md'])).stdout).toMatch(/3 notes taken, 0 known already, 0 lines not taken\.\n$/)
    expect((await other.holdfast.exportNotes({ retired: true })).text).toBe(made.text)
    const again = await other.cli(['note', 'import', '--json', '-'], { input: made.text })
    expect(again.json()).toMatchObject({ added: [], known: { length: 3 } })
  })

  inPlace('take lists that a person wrote, and tell what they left', async (place) => {
    writeFileSync(
      join(place.world.root, 'AGENTS.md'),
      '# Rules\n\nBe kind.\n\n## Setup\n\n- Run `npm ci`\n- Key: ghp_0123456789abcdefghijklmnopqrstuvwxyz\n\n```\n- no\n```\n',
    )
    const first = await place.cli(['note', 'import', 'AGENTS.md', '--scope', 'user'])
    expect(first.stdout).toContain('taken, environment:')
    expect(first.stdout).toMatch(/line 3, no item of a list: Be kind\./)
    expect(first.stdout).toMatch(/2 notes taken, 0 known already, 4 lines not taken\.\n$/)
    expect(first.stdout).not.toContain('ghp_0123')
    const second = await place.cli(['note', 'import', 'AGENTS.md', '--scope', 'user'])
    expect(second.stdout).toMatch(/0 notes taken, 2 known already/)
    expect((await place.holdfast.listNotes({})).notes.map(({ scope }) => scope)).toEqual(['user', 'user'])
    expect((await place.cli(['note', 'import', 'no-such.md'])).stderr).toContain('cannot be read')
    expect((await place.cli(['note', 'import'])).stderr).toContain('FILE is missing; accepted: a file of Markdown')
  })
})

describe('notes of the person', () => {
  inPlace('are the same in every project, and nothing of them is in one', async (place) => {
    const { world } = place
    const other = join(world.folder, 'other')
    mkdirSync(other)
    await place.holdfast.addNote({ text: 'answer in short', scope: 'user' })
    const second = await place.again({ root: other })
    expect((await second.listNotes({})).notes).toMatchObject([{ text: 'answer in short', scope: 'user' }])
    expect((await second.resume()).text).toContain('answer in short')
    expect(existsSync(join(other, '.holdfast'))).toBe(false)
    expect(readdirSync(join(world.home, '.local/state/holdfast/notes'))).toHaveLength(1)
  })
})

describe('the context snapshot', () => {
  inPlace('takes the best notes of all scopes, and that counts as use', async ({ holdfast }) => {
    for (let i = 0; i < 40; i += 1) await holdfast.addNote({ text: `fact ${i} ${'is long '.repeat(12)}`, confidence: 0.5 })
    await holdfast.addNote({ text: 'a sure one', confidence: 1 })
    await holdfast.addNote({ text: 'of the person', confidence: 1, scope: 'user' })
    const { text } = await holdfast.snapshot({})
    expect(text).toMatch(/- \[convention\] of the person[\s\S]*- \[convention\] a sure one|- \[convention\] a sure one[\s\S]*- \[convention\] of the person/)
    expect(text).toMatch(/more notes left out/)
    const { notes } = await holdfast.listNotes({})
    const lines = text.split('\n').filter((line) => line.startsWith('- [convention]'))
    expect(notes.filter(({ uses }) => uses === 1)).toHaveLength(lines.length)
    expect(notes.filter(({ uses }) => uses === 0)).toHaveLength(42 - lines.length)
  })
})

describe('more notes than there is room for', () => {
  inPlace('retire the least useful one, which is told, listed, and comes back', async (place) => {
    const settings = join(place.world.home, '.config/holdfast/holdfast.json')
    writeFileSync(settings, JSON.stringify({ ...JSON.parse(readFileSync(settings, 'utf8')), notes: { maxPerScope: 2 } }))
    for (const [text, confidence] of Object.entries({ weak: '0.1', sure: '1' })) await place.cli(['note', 'add', text, '--confidence', confidence])
    const { stdout } = await place.cli(['note', 'add', 'newest'])
    const weak = /retired, least useful: (\w{12}) {2}weak/.exec(stdout)?.[1] ?? ''
    expect(weak).not.toBe('')
    expect((await place.cli(['note', 'list', '--retired'])).stdout).toMatch(/convention 0\.1 \(retired, least useful\): weak/)
    expect((await place.cli(['note', 'update', weak, '--restore'])).stdout).toMatch(/^Restored note \w+\.\n {2}retired, least useful: \w+ {2}newest\n/)
    // What a project says counts for nobody else.
    writeFileSync(join(place.world.root, 'holdfast.json'), JSON.stringify({ notes: { maxPerScope: 1 } }))
    expect((await place.cli(['note', 'list'])).stderr).toContain('notes.maxPerScope is not for the file of a project')
  })
})

describe('notes of a workspace', () => {
  inPlace('are for whoever works there, and are retired with its release', async (place) => {
    const { root, env } = place.world
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: root, env })
    writeFileSync(join(root, 'a'), 'a\n')
    git('init', '--quiet', '--initial-branch=main')
    git('add', '.')
    git('commit', '--quiet', '-m', 'first')
    const holdfast = await place.again()
    const { id, path } = await holdfast.openWorkspace({ branch: 'topic' })
    const there = await place.again({ root: path })
    expect(await there.addNote({ text: 'half of the parser is rewritten', scope: 'workspace' })).toMatchObject({ scope: 'workspace', workspace: id })
    expect(await holdfast.addNote({ text: 'the lexer is next', workspace: 'topic' })).toMatchObject({ scope: 'workspace', workspace: id })
    await expect(holdfast.addNote({ text: 'x', workspace: 'topic', scope: 'user' })).rejects.toThrow('nothing, or the scope workspace')
    expect((await there.resume()).text).toMatch(/parser[\s\S]*lexer|lexer[\s\S]*parser/)
    expect((await holdfast.resume()).text).not.toMatch(/parser|lexer/)
    expect((await holdfast.listNotes({ workspace: id })).notes).toHaveLength(2)

    const released = await place.cli(['workspace', 'release', 'topic'])
    expect(released.stdout.replace(/\s+/g, ' ')).toContain('retired-notes: 2 notes of the workspace are retired; holdfast note list --retired has them')
    expect((await holdfast.listNotes({})).notes).toEqual([])
    expect((await holdfast.listNotes({ retired: true, workspace: id })).notes.map(({ retired }) => retired?.why)).toEqual(['released', 'released'])
  })

  inPlace('are retired also where it is released from another project', async (place) => {
    const { root, env, folder } = place.world
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: root, env })
    git('init', '--quiet', '--initial-branch=main')
    git('commit', '--quiet', '--allow-empty', '-m', 'first')
    const other = join(folder, 'other')
    mkdirSync(other)
    const holdfast = await place.again()
    for (const branch of ['one', 'two']) {
      await holdfast.openWorkspace({ branch })
      await holdfast.addNote({ text: `about ${branch}`, workspace: branch })
    }
    const elsewhere = await place.again({ root: other })
    expect((await elsewhere.releaseWorkspace({ workspace: 'one' })).actions).toContainEqual(expect.objectContaining({ name: 'retired-notes' }))
    expect((await holdfast.listNotes({})).notes.map(({ text }) => text)).toEqual(['about two'])
    expect((await holdfast.listNotes({ retired: true })).notes.map(({ text }) => text)).toEqual(['about one'])
  })
})
