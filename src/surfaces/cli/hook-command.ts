import type { Readable, Writable } from 'node:stream'
import { failure } from '../../core/errors.ts'
import { answerOf } from '../../hosts/hooks/answers.ts'
import { type HookEvent, readHookEvent } from '../../hosts/hooks/event.ts'
import { hostNames, hostOf } from '../../hosts/host.ts'
import type { Command } from './command.ts'

/** Hooks are answered before commands are looked up, because they never fail; it stands here for its help. */
export const hookCommand: Command = {
  words: 'hook',
  group: 'Carry on later',
  usage: ['hook HOST EVENT < INPUT'],
  summary: 'Answer a hook of a coding agent; holdfast install writes the calls.',
  details: [
    `HOST is one of ${hostNames.join(', ')}; EVENT is the host's name of an event. The input is the JSON that the host hands to its hooks, the answer what it takes from them. Nothing is printed where there is nothing to say.`,
    'Before a compaction it keeps where the session stands, afterwards it puts that back. It ends with status 0 whatever happens; what went wrong is in hooks.log in the home.',
  ],
  options: [],
  examples: ['holdfast hook claude-code PreCompact < input.json'],
  withoutJson: true,
  run: () => Promise.reject(failure('invalid', { field: 'the argument', value: '--', accepted: 'holdfast hook HOST EVENT' })),
}

/** What a hook needs of the process that it is. */
export interface HookIo {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Milliseconds since the process began. */
  sinceStartMs(): number
}

/** A host waits for its hooks, so that an answer that is not there by then is none. */
const answerByMs = 250
/** On a busy machine everything takes longer, in proportion to the start, up to this. */
const answerByStarts = 4
const latestMs = 2_000
/** Some hosts send the whole output of a tool. */
const maxInputBytes = 16 * 1024 ** 2
/**
 * Answers a hook: `HOST [EVENT]`, the event as JSON on standard input. Resolves when the answer is printed; never rejects, and never
 * takes longer than a host can wait. Whatever goes wrong, the host goes on as if there were no hook.
 */
export async function answerHostHook(args: readonly string[], io: HookIo): Promise<void> {
  const host = hostOf(args[0] ?? '')
  const deadline = answerTime(io)
  const timeLeft = (): number => deadline - io.sinceStartMs()
  if (host === undefined) return
  let event: HookEvent | undefined
  const answered = (async () => {
    const input = parse(await readInput(io.stdin, timeLeft() / 2))
    const { answerHook, noteHookTrouble } = await import('../../compose.ts')
    event = input === undefined ? undefined : readHookEvent(host, args[1], input)
    if (event) return answerHook({ cwd: event.cwd ?? io.cwd, env: io.env, surface: 'cli' }, event, timeLeft)
    const trouble = input === undefined ? 'the input is no JSON' : 'there is no such event'
    return noteHookTrouble({ cwd: io.cwd, env: io.env, surface: 'cli' }, { host, moment: args[1] ?? '', trouble })
  })().catch(() => undefined)
  const context = await within(answered, timeLeft)
  await print(io.stdout, answerOf(host, event?.moment, context))
}

function answerTime({ env, sinceStartMs }: HookIo): number {
  const wanted = /^\d{2,5}$/.test(env.HOLDFAST_HOOK_MS ?? '') ? Number(env.HOLDFAST_HOOK_MS) : undefined
  return wanted ?? Math.min(latestMs, Math.max(answerByMs, answerByStarts * sinceStartMs()))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Where nothing has come by then, somebody typed the command, or the host sends nothing. */
function readInput(stdin: Readable, waitMs: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const settle = (): void => {
      clearTimeout(timer)
      stdin.pause()
      resolve(Buffer.concat(chunks).toString('utf8'))
    }
    let timer = setTimeout(settle, waitMs)
    stdin.on('data', (chunk: Buffer | string) => {
      chunks.push(Buffer.from(chunk))
      bytes += chunk.length
      // As long as more comes it is worth waiting for.
      clearTimeout(timer)
      if (bytes > maxInputBytes) settle()
      else timer = setTimeout(settle, waitMs)
    })
    stdin.on('end', settle)
    stdin.on('error', settle)
  })
}

function within<T>(promise: Promise<T>, timeLeft: () => number): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), Math.max(0, timeLeft()))
    promise.then((value) => {
      clearTimeout(timer)
      resolve(value)
    })
  })
}

/** Resolves also where nobody reads it. */
function print(stdout: Writable, text: string): Promise<void> {
  if (text === '') return Promise.resolve()
  return new Promise((resolve) => {
    stdout.on('error', () => resolve())
    stdout.write(text, () => resolve())
  })
}
