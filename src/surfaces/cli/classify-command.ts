import { StringDecoder } from 'node:string_decoder'
import { failure } from '../../core/errors.ts'
import { classifyProviderError } from '../../providers/classify.ts'
import type { Command } from './command.ts'
import { ownOption } from './option.ts'
import { chunksOf, maxInputBytes, untilAborted } from './read-input.ts'

/** A filter: it needs no project, so that it opens none. */
export const classifyCommand: Command = {
  words: 'classify',
  group: 'Look after it',
  usage: ['classify [options] < ERRORS'],
  summary: 'Say what errors of model providers mean and how long they ask to wait.',
  details: [
    'Reads one error a line from standard input: a JSON string (the message), a JSON object ({"status", "headers", "body"}, or the body alone), or plain text. Prints one JSON object a line for each: class, whether waiting helps, retryAfterMs, what to do next, and the evidence.',
  ],
  options: [ownOption('--now', 'The present time, for delays that are told as a moment: 2026-11-30T12:00:00Z. Default: the clock.', { value: 'TIME' })],
  examples: [`echo '"429 Too Many Requests: try again in 6m0s"' | holdfast classify`, 'holdfast classify --now 2026-11-30T12:00:00Z < errors.jsonl'],
  async run({ io, parsed, stdout, signal }) {
    const now = readTime(parsed.own.now)
    for await (const line of linesOf(untilAborted(chunksOf(io, '-'), signal))) {
      stdout.write(`${JSON.stringify(classifyProviderError(readError(line), { now }))}\n`)
    }
    return 0
  },
}

function readTime(text: string | true | undefined): number | undefined {
  if (typeof text !== 'string') return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw failure('invalid', { field: '--now', value: text, accepted: 'a time such as 2026-11-30T12:00:00Z' })
  return time
}

/** What is no JSON is a message itself. */
function readError(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}

async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let pending: string[] = []
  let length = 0
  for await (const chunk of source) {
    const lines = decoder.write(Buffer.from(chunk)).split('\n')
    const last = lines.pop() as string
    for (const line of lines) {
      yield [...pending, line].join('')
      pending = []
      length = 0
    }
    pending.push(last)
    length += last.length
    if (length > maxInputBytes) throw failure('command_too_large', { field: 'a line of standard input', bytes: length, maxBytes: maxInputBytes })
  }
  const rest = [...pending, decoder.end()].join('')
  if (rest !== '') yield rest
}
