import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { openCodePlugin } from './opencode-plugin.ts'
import { piExtension } from './pi-extension.ts'

type Handler = (...args: never[]) => Promise<unknown>

/** A program in the place of Holdfast that writes down what it is asked, and answers what stands in `answer`. */
function fakeHoldfast(world: World): {
  readonly command: readonly string[]
  asked(): { event: string; input: Record<string, unknown> }[]
  answer(text: string): void
} {
  const path = world.path('fake.mjs')
  writeFileSync(
    path,
    `import { appendFileSync, readFileSync } from 'node:fs'
const input = JSON.parse(readFileSync(0, 'utf8'))
appendFileSync(${JSON.stringify(world.path('asked'))}, JSON.stringify({ event: process.argv.slice(2).join(' '), input }) + '\\n')
process.stdout.write(readFileSync(${JSON.stringify(world.path('answer'))}, 'utf8'))`,
  )
  chmodSync(path, 0o700)
  const answer = (text: string): void => writeFileSync(world.path('answer'), text)
  answer('')
  writeFileSync(world.path('asked'), '')
  return {
    command: [process.execPath, path],
    answer,
    asked: () =>
      readFileSync(world.path('asked'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  }
}

async function load(world: World, text: string): Promise<Record<string, unknown>> {
  mkdirSync(world.path('plugin'), { recursive: true })
  const path = join(world.path('plugin'), `plugin-${text.length}.mjs`)
  writeFileSync(path, text)
  return import(/* @vite-ignore */ pathToFileURL(path).href)
}

describe('the plugin for OpenCode', () => {
  const message = { info: { role: 'user' }, parts: [{ type: 'text', text: 'mend the door' }] }
  const client = { session: { messages: async () => ({ data: [message] }), todo: async () => ({ data: [{ content: 'oil it', status: 'pending' }] }) } }

  async function open(world: World, command: readonly string[]): Promise<Record<string, Handler>> {
    const { HoldfastPlugin } = await load(world, openCodePlugin(command))
    return (HoldfastPlugin as (given: object) => Promise<Record<string, Handler>>)({ client, directory: world.root })
  }

  it('tells of prompts, tools and compactions, and puts answers where the host takes them', async () => {
    await using world = openWorld()
    const holdfast = fakeHoldfast(world)
    const hooks = (await open(world, holdfast.command)) as Record<string, (...args: unknown[]) => Promise<unknown>>
    holdfast.answer('{"context":"page"}')
    const parts: { id: string; type: string; text: string; synthetic?: boolean }[] = [{ id: 'prt_1', type: 'text', text: 'mend the door' }]
    await hooks['chat.message']?.({ sessionID: 'ses_1' }, { message: { id: 'msg_1' }, parts })
    expect(parts.slice(1)).toMatchObject([
      { type: 'text', text: 'page', synthetic: true },
      { type: 'text', text: 'page', synthetic: true },
    ])
    const result = { output: 'done', metadata: { exit: 1 } }
    await hooks['tool.execute.after']?.({ tool: 'bash', sessionID: 'ses_1', args: { command: 'make' } }, result)
    expect(result.output).toBe('done\n\npage')
    const compacting = { context: [] as string[] }
    await hooks['experimental.session.compacting']?.({ sessionID: 'ses_1' }, compacting)
    expect(compacting.context).toEqual(['page'])
    expect(holdfast.asked().map(({ event }) => event)).toEqual([
      'hook opencode session.created',
      'hook opencode chat.message',
      'hook opencode tool.execute.after',
      'hook opencode experimental.session.compacting',
    ])
    expect(holdfast.asked()[2]?.input).toMatchObject({ session_id: 'ses_1', cwd: world.root, tool_name: 'bash', exit_code: 1, output_bytes: 4 })
    expect(holdfast.asked()[3]?.input).toMatchObject({ messages: [{ role: 'user', text: 'mend the door' }], todos: [{ content: 'oil it' }] })
  })

  it('tells nothing of subagents', async () => {
    await using world = openWorld()
    const holdfast = fakeHoldfast(world)
    const hooks = (await open(world, holdfast.command)) as Record<string, (...args: unknown[]) => Promise<unknown>>
    await hooks.event?.({ event: { type: 'session.created', properties: { info: { id: 'ses_2', parentID: 'ses_1' } } } })
    await hooks['chat.message']?.({ sessionID: 'ses_2' }, { message: { id: 'm' }, parts: [] })
    await hooks['tool.execute.after']?.({ tool: 'bash', sessionID: 'ses_2', args: {} }, { output: '' })
    expect(holdfast.asked()).toEqual([])
  })

  it.each([
    ['there is no such program', ['/nowhere/holdfast']],
    ['it answers nonsense', [process.execPath, '-e', 'console.log("x")']],
    ['it fails', [process.execPath, '-e', 'process.exit(3)']],
  ])('goes on when %s', async (_what, command) => {
    await using world = openWorld()
    const hooks = (await open(world, command)) as Record<string, (...args: unknown[]) => Promise<unknown>>
    const result = { output: 'done' }
    await hooks['tool.execute.after']?.({ tool: 'bash', sessionID: 's', args: {} }, result)
    const compacting = { context: [] }
    await hooks['experimental.session.compacting']?.({ sessionID: 's' }, compacting)
    expect([result.output, compacting.context]).toEqual(['done', []])
  })
})

describe('the extension for pi', () => {
  const entries = [
    { type: 'message', message: { role: 'user', content: 'mend the door' } },
    { type: 'message', message: { role: 'assistant', content: [{ type: 'toolCall', id: 'c', name: 'bash', arguments: { command: 'make' } }] } },
    { type: 'message', message: { role: 'toolResult', toolCallId: 'c', content: [{ type: 'text', text: 'it sticks' }], isError: true } },
    { type: 'custom', data: {} },
  ]

  async function open(world: World, command: readonly string[], withMcp: boolean) {
    const handlers = new Map<string, ((event: object, context: object) => Promise<unknown>)[]>()
    const said: unknown[][] = []
    const registered: unknown[] = []
    const pi = {
      on: (name: string, act: (event: object, context: object) => Promise<unknown>) => handlers.set(name, [...(handlers.get(name) ?? []), act]),
      sendMessage: (...given: unknown[]) => said.push(given),
      registerTool: (tool: unknown) => registered.push(tool),
      ...(withMcp ? { registerMcpServer: (...given: unknown[]) => registered.push(given) } : {}),
    }
    const extension = await load(world, piExtension(command))
    ;(extension.default as (given: object) => void)(pi)
    const context = { cwd: world.root, isIdle: () => true, sessionManager: { getSessionId: () => 's1', getBranch: () => entries } }
    const emit = async (name: string, event: object): Promise<unknown[]> => Promise.all((handlers.get(name) ?? []).map((act) => act(event, context)))
    return { emit, said, registered }
  }

  it('tells of the session and puts answers where the host takes them', async () => {
    await using world = openWorld()
    const holdfast = fakeHoldfast(world)
    const { emit, said, registered } = await open(world, holdfast.command, true)
    expect(registered).toEqual([
      ['holdfast', { command: process.execPath, args: [holdfast.command[1], 'mcp'], exposure: 'direct', description: expect.any(String) }],
    ])
    holdfast.answer('{"context":"page"}')
    await emit('session_start', { reason: 'resume' })
    expect(await emit('before_agent_start', { prompt: 'mend the door' })).toMatchObject([{ message: { content: 'page', display: false } }])
    const content = [{ type: 'text', text: 'it sticks' }]
    expect(await emit('tool_result', { toolName: 'bash', input: { command: 'make' }, content, isError: true })).toEqual([
      { content: [...content, { type: 'text', text: 'page' }] },
    ])
    expect(await emit('session_before_compact', {})).toEqual([undefined])
    await emit('session_compact', {})
    expect(said).toEqual(Array(2).fill([{ customType: 'holdfast', content: 'page', display: false }, { deliverAs: 'nextTurn' }]))
    const asked = holdfast.asked()
    expect(asked.map(({ event }) => event.replace('hook pi ', ''))).toEqual([
      'session_start',
      'before_agent_start',
      'tool_result',
      'session_before_compact',
      'session_compact',
    ])
    expect(asked[3]?.input).toMatchObject({
      session_id: 's1',
      messages: [
        { role: 'user', text: 'mend the door' },
        { role: 'assistant', tools: [{ name: 'bash', input: { command: 'make' }, output: 'it sticks', failed: true }] },
      ],
    })
  })

  it('goes on where there is no Holdfast any more', async () => {
    await using world = openWorld()
    const { emit, said } = await open(world, ['/nowhere/holdfast'], true)
    expect(await emit('before_agent_start', { prompt: 'x' })).toEqual([undefined])
    await emit('session_compact', {})
    expect(said).toEqual([])
  })
})
