import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { identify, readStat } from './identity.ts'
import { type Launched, type LaunchRequest, launch, launchDetached } from './launch.ts'

let world: World
const begun: Launched[] = []

beforeEach(() => {
  world = openWorld()
})

afterEach(async () => {
  for (const launched of begun.splice(0)) {
    try {
      if (launched.unreaped()) process.kill(-launched.identity.pid, 'SIGKILL')
    } catch {
      // It ended just now, and nobody has been told yet.
    }
    await launched.exit
    for (const stream of [launched.stdin, launched.stdout, launched.stderr]) stream?.destroy()
  }
  await world[Symbol.asyncDispose]()
})

async function start(argv: LaunchRequest['argv'], request: Partial<LaunchRequest> = {}): Promise<Launched> {
  const launched = await launch({ argv, cwd: world.root, env: world.env, stdin: 'none', ...request })
  begun.push(launched)
  return launched
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const bytes of stream) text += String(bytes)
  return text
}

const openDescriptors = (): number => readdirSync('/proc/self/fd').length
const onLinux = process.platform === 'linux'

describe('starting a program', () => {
  it('makes it the leader of a group of its own and tells its end', async () => {
    const launched = await start(['sh', '-c', 'echo out; echo err >&2; exit 3'])
    if (onLinux) expect(readStat(launched.identity.pid)?.group).toBe(launched.identity.pid)
    expect(launched.unreaped()).toBe(true)
    expect(await Promise.all([textOf(launched.stdout), textOf(launched.stderr)])).toEqual(['out\n', 'err\n'])
    expect(await launched.exit).toEqual({ code: 3, signal: null })
    expect(launched.unreaped()).toBe(false)
  })

  it('tells the signal that ended it', async () => {
    const launched = await start(['sh', '-c', 'kill -KILL $$'])
    expect(await launched.exit).toEqual({ code: null, signal: 'SIGKILL' })
  })

  it('gives sockets where pipes are not wanted', async () => {
    const script = ['sh', '-c', 'cat; test -p /dev/stdout && echo pipe || echo socket'] as const
    for (const [pipes, kind] of [
      [true, 'pipe\n'],
      [false, 'socket\n'],
    ] as const) {
      const launched = await start(script, { pipes, stdin: 'fed' })
      launched.stdin?.end('input ')
      expect(await textOf(launched.stdout)).toBe(`input ${kind}`)
    }
  })

  it.runIf(onLinux)('that cannot be started rejects with the reason of the system and leaves no descriptor open', async () => {
    await start(['sh', '-c', 'exit 0'])
    const refused = async (argv: LaunchRequest['argv'], request: Partial<LaunchRequest> = {}): Promise<string> =>
      start(argv, { stdin: 'fed', ...request }).then(
        () => 'started',
        (error: { code: string }) => error.code,
      )
    // The first failures may load what stays loaded.
    await refused(['no-such-program'])
    await new Promise((resolve) => setTimeout(resolve, 20))
    const before = openDescriptors()
    for (let i = 0; i < 20; i += 1) {
      expect(await refused(['no-such-program'])).toBe('ENOENT')
      expect(await refused(['sh'], { cwd: world.path('missing') })).toBe('ENOENT')
      expect(await refused([world.root])).toBe('EACCES')
      expect(await refused(['sh', '-c', 'exit 0', 'x'.repeat(200_000)])).toBe('E2BIG')
      expect(await refused(['sh', 'a\0b'])).toBe('ERR_INVALID_ARG_VALUE')
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(openDescriptors()).toBeLessThanOrEqual(before)
  })

  it.runIf(onLinux)('leaves no descriptor open when it has ended', async () => {
    const once = async (): Promise<void> => {
      const launched = await start(['cat'], { stdin: 'fed' })
      launched.stdin?.end('x')
      await Promise.all([textOf(launched.stdout), textOf(launched.stderr), launched.exit])
    }
    await once()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const before = openDescriptors()
    for (let i = 0; i < 20; i += 1) await once()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(openDescriptors()).toBeLessThanOrEqual(before)
  })
})

describe('starting a program that outlives this one', () => {
  const detached = (script: string, timeoutMs = 20_000): Promise<string> =>
    launchDetached({ argv: ['sh', '-c', script], cwd: world.root, env: world.env, input: 'the input', errors: world.path('errors'), timeoutMs })

  it('hands over the input and gives back its first line', async () => {
    expect(await detached('read -r line || true; echo "got $line"; echo more')).toBe('got the input')
  })

  it('keeps what it says on its standard error in a file of its own', async () => {
    await expect(detached('echo why >&2; exit 4')).rejects.toThrow('exit 4')
    expect(readFileSync(world.path('errors'), 'utf8')).toBe('why\n')
  })

  it('rejects where the program is not there', async () => {
    await expect(
      launchDetached({ argv: ['no-such-program'], cwd: world.root, env: world.env, input: '', errors: world.path('errors'), timeoutMs: 20_000 }),
    ).rejects.toThrow('ENOENT')
  })

  it('rejects where no line comes in time', async () => {
    await expect(detached('echo $$ > pid; exec sleep 300', 300)).rejects.toThrow('no answer within 300 ms')
    if (existsSync(world.path('root', 'pid'))) process.kill(Number(readFileSync(world.path('root', 'pid'), 'utf8')), 'SIGKILL')
  })

  it('lets it live on', async () => {
    const pid = Number(await detached('echo $$; exec sleep 300'))
    expect(identify(pid)).toBeDefined()
    process.kill(pid, 'SIGKILL')
  })
})

it('an ended stream ends its reader', async () => {
  const launched = await start(['sh', '-c', 'exec >&- 2>&-; sleep 300'])
  await Promise.all([once(launched.stdout.resume(), 'close'), once(launched.stderr.resume(), 'close')])
  expect(launched.unreaped()).toBe(true)
})
