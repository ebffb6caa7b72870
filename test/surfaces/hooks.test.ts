import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventNames } from '../../src/hosts/events.ts'
import { hostNames } from '../../src/hosts/host.ts'
import { type Place, program, testsInPlace } from '../cases/place.ts'
import { openWorld, type World } from '../support/world.ts'

const inPlace = testsInPlace(60_000)

interface Answer {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the real command line as a host does: JSON in, JSON out. There is time enough, also on a busy machine. */
function hook(world: World, args: readonly string[], input: unknown, env: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, 'hook', ...args], {
      cwd: world.root,
      env: { ...world.env, HOLDFAST_HOOK_MS: '20000', ...env },
      stdio: 'pipe',
    })
    const chunks = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (chunk) => (chunks[name] += chunk))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, ...chunks }))
    child.stdin.on('error', () => {})
    child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input))
  })
}

const silence = { status: 0, stdout: '', stderr: '' }
const contextOf = ({ stdout }: Answer): string => JSON.parse(stdout).hookSpecificOutput.additionalContext

function transcriptOf(world: World, ...entries: readonly object[]): string {
  const path = world.path('tmp', `transcript-${entries.length}.jsonl`)
  writeFileSync(path, `${entries.map((entry) => JSON.stringify(entry)).join('\n')}\n{"type":"user","mess`)
  return path
}
const asked = (text: string) => ({ type: 'user', message: { role: 'user', content: text } })
const edited = (path: string) => [
  { type: 'assistant', message: { role: 'assistant', content: [{ type: 'tool_use', id: path, name: 'Edit', input: { file_path: path } }] } },
  { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: path, content: 'ok' }] } },
]

const sessions = ({ world }: Place): string => join(world.root, '.holdfast', 'sessions')

describe('hooks', () => {
  inPlace('keep where a session stands before a compaction, and put it back', async (place) => {
    const { world, cli } = place
    await cli(['exec', '--purpose', 'try the door', '--', 'false'])
    const about = { session_id: 's-1', cwd: world.root, transcript_path: transcriptOf(world, asked('mend the door'), ...edited(join(world.root, 'door.ts'))) }
    expect(await hook(world, ['claude-code', 'PreCompact'], { ...about, trigger: 'auto' })).toEqual(silence)
    const page = contextOf(await hook(world, ['claude-code', 'SessionStart'], { ...about, source: 'compact' }))
    for (const part of ['session s-1 of Claude Code', '“mend the door”', '- door.ts (edited)', 'exit 1: false', 'for: try the door'])
      expect(page).toContain(part)
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(2_048)
    const folder = join(sessions(place), 'claude-code-s-1')
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600)
  })

  inPlace('put back notes and runs of a session of which nothing else is known, and keep nothing of one that says nothing', async (place) => {
    const { world, cli } = place
    const about = { session_id: 's-2', cwd: world.root }
    expect(await hook(world, ['claude-code', 'SessionStart'], { ...about, source: 'compact' })).toEqual(silence)
    await cli(['note', 'add', 'the door opens inwards'])
    const page = contextOf(await hook(world, ['claude-code', 'SessionStart'], { ...about, source: 'compact' }))
    expect(page).toContain('the door opens inwards')
    expect(await hook(world, ['claude-code', 'SessionEnd'], about)).toEqual(silence)
    expect(existsSync(join(sessions(place), 'claude-code-s-2', 'snapshot.md'))).toBe(false)
    expect(await hook(world, ['claude-code', 'PreCompact'], about)).toEqual(silence)
    expect(readFileSync(join(sessions(place), 'claude-code-s-2', 'snapshot.md'), 'utf8')).toContain('the door opens inwards')
  })

  inPlace('of two sessions at once keep both apart, and resume gives the latest or the one that is named', async (place) => {
    const { world, cli } = place
    const pre = (id: string, text: string) =>
      hook(world, ['claude-code', 'PreCompact'], {
        session_id: id,
        cwd: world.root,
        transcript_path: transcriptOf(world, asked(text), ...Array(id.length).fill({})),
      })
    await Promise.all([pre('a', 'paint the door'), pre('bb', 'mend the roof')])
    await hook(world, ['claude-code', 'UserPromptSubmit'], { session_id: 'bb', cwd: world.root, prompt: 'and the gutter' })
    const latest = (await cli(['resume', '--json'])).json<{ text: string; session: { id: string; host: string; ageMs: number } }>()
    expect(latest.session).toMatchObject({ id: 'bb', host: 'claude-code', ageMs: expect.any(Number) })
    for (const part of ['mend the roof', 'and the gutter', 'session bb of Claude Code, as it was ']) expect(latest.text).toContain(part)
    expect((await cli(['resume', '--session', 'a'])).stdout).toContain('paint the door')
    const wrong = await cli(['resume', '--session', 'c'])
    expect([wrong.status, wrong.stderr]).toEqual([
      125,
      expect.stringContaining('accepted: the id of a session of an agent, or a beginning that only one has: '),
    ])
  })

  inPlace('give a new session a word of the last one, and no more', async ({ world }) => {
    const start = (id: string, source: string) => hook(world, ['codex', 'SessionStart'], { session_id: id, cwd: world.root, source })
    expect(await start('one', 'startup')).toEqual(silence)
    await hook(world, ['codex', 'UserPromptSubmit'], { session_id: 'one', cwd: world.root, prompt: 'mend the door' })
    const word = contextOf(await start('two', 'startup'))
    expect(word).toMatch(
      /^An earlier session in this project \(Codex CLI, .* ago\) is kept by Holdfast\. It was last asked: “mend the door”\. .*holdfast resume/,
    )
    expect(Buffer.byteLength(word)).toBeLessThan(500)
    expect(await start('two', 'clear')).toEqual(silence)
    // Of itself a session needs no word.
    expect(await start('one', 'startup')).toEqual(silence)
  })

  inPlace('record what tools do, so that a host without transcripts gets a page too, once', async ({ world }) => {
    const about = { conversation_id: 'c-1', workspace_roots: [world.root], transcript_path: null }
    const used = (tool_name: string, tool_input: object, tool_output: object) =>
      hook(world, ['cursor', 'postToolUse'], { ...about, tool_name, tool_input, tool_output: JSON.stringify(tool_output) })
    await hook(world, ['cursor', 'beforeSubmitPrompt'], { ...about, prompt: 'mend the door' })
    expect((await used('Write', { file_path: 'door.ts' }, {})).stdout).toBe('{}\n')
    await used('Shell', { command: 'npm test' }, { exitCode: 1, stdout: 'Error: it sticks\nTests: 1 failed, 2 passed' })
    expect(await hook(world, ['cursor', 'preCompact'], { ...about, trigger: 'auto' })).toEqual({ ...silence, stdout: '{}\n' })
    const [first, second] = [await used('Read', { path: 'door.ts' }, {}), await used('Read', { path: 'door.ts' }, {})]
    const page = JSON.parse(first.stdout).additional_context as string
    for (const part of ['“mend the door”', '- npm test: exit 1: Error: it sticks', '- door.ts (edited)', 'Tests: 1 failed, 2 passed'])
      expect(page).toContain(part)
    expect(second.stdout).toBe('{}\n')
  })

  inPlace('lead to exec only where that is wanted, and not again and again', async ({ world }) => {
    const used = () =>
      hook(world, ['claude-code', 'PostToolUse'], {
        session_id: 's',
        cwd: world.root,
        tool_name: 'Bash',
        tool_input: { command: 'make' },
        tool_response: { stdout: 'x\n'.repeat(10_000) },
      })
    expect(await used()).toEqual(silence)
    writeFileSync(join(world.root, 'holdfast.json'), JSON.stringify({ hooks: { leadToExec: true } }))
    expect(contextOf(await used())).toMatch(/^That output took about 20 KiB of the context\. .*exec/)
    expect(await used()).toEqual(silence)
  })

  inPlace('show and keep no secrets', async (place) => {
    const { world, cli } = place
    const secret = 'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEf'
    const value = 'hunter2-hunter2'
    const about = { session_id: 's', cwd: world.root, transcript_path: transcriptOf(world, asked(`use ${secret} and ${value}`)) }
    const env = { DEPLOY_TOKEN: value }
    await hook(world, ['claude-code', 'UserPromptSubmit'], { ...about, prompt: `use ${secret} and ${value}` }, env)
    await hook(
      world,
      ['claude-code', 'PostToolUseFailure'],
      { ...about, tool_name: 'Bash', tool_input: { command: `curl -H ${value}` }, error: `Exit code 1\nError: ${secret}` },
      env,
    )
    await hook(world, ['claude-code', 'PreCompact'], about, env)
    const kept = readdirSync(join(sessions(place), 'claude-code-s')).map((name) => readFileSync(join(sessions(place), 'claude-code-s', name), 'utf8'))
    const shown = (await cli(['resume'])).stdout
    for (const text of [...kept, shown]) for (const hidden of [secret, value]) expect(text).not.toContain(hidden)
    expect(shown).toContain('[masked]')
  })

  inPlace('keep the old snapshot whole when they are killed', async (place) => {
    const { world } = place
    const about = { session_id: 's', cwd: world.root, transcript_path: transcriptOf(world, asked('mend the door')) }
    await hook(world, ['claude-code', 'PreCompact'], about)
    const folder = join(sessions(place), 'claude-code-s')
    for (let round = 0; round < 12; round += 1) {
      const child = spawn(process.execPath, [program, 'hook', 'claude-code', 'PreCompact'], {
        cwd: world.root,
        env: { ...world.env },
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      // It may be over before it is killed.
      const gone = new Promise((resolve) => child.once('close', resolve))
      child.stdin.on('error', () => {})
      child.stdin.end(JSON.stringify(about))
      await new Promise((resolve) => setTimeout(resolve, round * 25))
      child.kill('SIGKILL')
      await gone
      expect(JSON.parse(readFileSync(join(folder, 'snapshot.json'), 'utf8')).facts.task).toBe('mend the door')
      expect(readFileSync(join(folder, 'snapshot.md'), 'utf8')).toMatch(/^# Context snapshot, [\s\S]*“mend the door”[\s\S]*\n$/)
    }
  })
})

describe('a hook never fails its host', () => {
  it.each([
    ['an unknown host', ['emacs', 'SessionStart'], '{}'],
    ['an unknown event', ['claude-code', 'Nonsense'], '{}'],
    ['no arguments', [], '{}'],
    ['no input', ['claude-code', 'PreCompact'], ''],
    ['input that is no JSON', ['claude-code', 'PreCompact'], 'garbage {'],
    ['a list', ['claude-code', 'PreCompact'], '[]'],
    ['a project that is gone', ['claude-code', 'PreCompact'], { cwd: '/nowhere/at/all', session_id: 's', prompt: 'x' }],
    ['a transcript that is gone', ['claude-code', 'PreCompact'], { session_id: 's', transcript_path: '/nowhere.jsonl' }],
    ['a transcript that is a folder', ['claude-code', 'PreCompact'], { session_id: 's', transcript_path: '/' }],
    ['a transcript that never ends', ['claude-code', 'PreCompact'], { session_id: 's', transcript_path: '/dev/zero' }],
    ['a session that is a path', ['claude-code', 'UserPromptSubmit'], { session_id: '../../../escape', prompt: 'x' }],
  ] as const)('over %s', async (_what, args, input) => {
    await using world = openWorld()
    expect(await hook(world, args, input)).toEqual(silence)
    expect(existsSync(world.path('escape'))).toBe(false)
  })

  it('over a configuration that is broken, or says that there is no Holdfast', async () => {
    await using world = openWorld()
    for (const config of ['{ nonsense', '{"enabled": false}']) {
      writeFileSync(join(world.root, 'holdfast.json'), config)
      expect(await hook(world, ['claude-code', 'UserPromptSubmit'], { session_id: 's', cwd: world.root, prompt: 'x' })).toEqual(silence)
      expect(existsSync(join(world.root, '.holdfast', 'sessions'))).toBe(false)
    }
  })

  it('over a home that holds something else where it writes, and says so in its log', async () => {
    await using world = openWorld()
    const home = join(world.root, '.holdfast')
    mkdirSync(home)
    writeFileSync(join(home, 'sessions'), 'in the way')
    writeFileSync(join(home, 'index.db'), 'no database at all, but long enough to be looked at as one'.repeat(99))
    for (const host of hostNames) {
      for (const event of Object.values(eventNames[host])) {
        const answer = await hook(world, [host, event], { session_id: 's', cwd: world.root, prompt: 'x', source: 'resume' })
        expect(answer, `${host} ${event}`).toEqual({ ...silence, stdout: host === 'cursor' ? '{}\n' : '' })
      }
    }
    expect(readFileSync(join(home, 'hooks.log'), 'utf8')).toMatch(/^\S+ claude-code prompt: .*(ENOTDIR|EEXIST)/m)
    expect(statSync(join(home, 'hooks.log')).mode & 0o777).toBe(0o600)
  }, 120_000)

  it('over a store that another process has locked', async () => {
    await using world = openWorld()
    const path = world.path('tmp', 't.jsonl')
    writeFileSync(path, `${JSON.stringify(asked('mend the door'))}\n`)
    const about = { session_id: 's', cwd: world.root, transcript_path: path }
    await hook(world, ['claude-code', 'PreCompact'], about)
    const script = `const d=require(${JSON.stringify(join(process.cwd(), 'node_modules/libsql'))});const b=new d(${JSON.stringify(join(world.root, '.holdfast', 'index.db'))});b.exec('pragma locking_mode=exclusive; begin exclusive');console.log('locked');setTimeout(()=>{},60000)`
    const locker = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      await new Promise((resolve) => locker.stdout.once('data', resolve))
      const answer = await hook(world, ['claude-code', 'SessionStart'], { ...about, source: 'compact' }, { HOLDFAST_HOOK_MS: '1500' })
      expect(contextOf(answer)).toContain('“mend the door”')
    } finally {
      locker.kill('SIGKILL')
    }
  })

  it.skipIf(process.getuid?.() === 0)('over a folder that it may not write to', async () => {
    await using world = openWorld()
    chmodSync(world.root, 0o500)
    expect(await hook(world, ['claude-code', 'UserPromptSubmit'], { session_id: 's', cwd: world.root, prompt: 'x' })).toEqual(silence)
    chmodSync(world.root, 0o700)
  })

  it('by waiting for a transcript that is a pipe without a writer', async () => {
    await using world = openWorld()
    const pipe = world.path('transcript')
    execFileSync('mkfifo', [pipe])
    expect(await hook(world, ['claude-code', 'PreCompact'], { session_id: 's', cwd: world.root, transcript_path: pipe })).toEqual(silence)
  })

  it('by waiting for input that never comes', async () => {
    await using world = openWorld()
    const child = spawn(process.execPath, [program, 'hook', 'claude-code', 'PreCompact'], {
      cwd: world.root,
      env: { ...world.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const status = await new Promise((resolve) => child.once('close', resolve))
    expect(status).toBe(0)
    rmSync(world.path('tmp'), { recursive: true })
  })
})
