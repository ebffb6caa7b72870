import { createReadStream } from 'node:fs'
import type { OutputLine, OutputResult } from '../../app/api.ts'
import { type StreamName, streamNames } from '../../core/command.ts'
import { failure } from '../../core/errors.ts'
import { cleanLine } from '../../core/text.ts'
import { parseInput } from '../../operations/operation.ts'
import { output } from '../../operations/output.ts'
import { linesAround, parseRef } from '../../operations/output-ref.ts'
import { type Command, commandFor, type Invocation, perform } from './command.ts'
import { cliNaming, ownOption } from './option.ts'
import { printJson, sayThatItGoesOn, withLineFeed } from './print.ts'
import { terminalFilter } from './terminal-filter.ts'

// One page of a long output; the next is read when the reader has taken this one.
const pageBytes = 1024 * 1024
// More than any range of bytes is answered with.
const rangeBytes = 64 * 1024 * 1024

export const outputCommand: Command = commandFor(output, 'output', 'Read what they printed', {
  options: [
    ownOption('--follow', 'Print all output, and what comes, until the run ends.'),
    ownOption('--raw', 'Print the bytes of the log as they are, secrets included.'),
    ownOption('--number', 'Put line numbers first, as on a terminal; e: marks stderr.'),
  ],
  async run(invocation) {
    const { parsed } = invocation
    const asked = parseInput(output, parsed.input, cliNaming(output))
    const { follow, raw } = parsed.own
    for (const own of ['follow', 'raw'] as const) {
      const ranged = (['lines', 'bytes', 'grep', 'maxBytes'] as const).some((field) => asked[field] !== undefined)
      if (parsed.own[own] && (ranged || parsed.json || parseRef(asked.run))) {
        throw failure('invalid', { field: `--${own}`, value: true, accepted: `RUN and --stream together with --${own}, no range and no --json` })
      }
    }
    const streams = streamsOf(asked.stream)
    if (follow) await followRun(invocation, asked.run, streams)
    else if (raw) await copyLogs(invocation, asked.run, streams)
    else if (parsed.json) printJson(invocation.stdout, await perform(output, invocation, parsed.input))
    else await printPages(invocation, asked)
    return 0
  },
})

const streamsOf = (stream: StreamName | 'all' | undefined): readonly StreamName[] => (stream === undefined || stream === 'all' ? streamNames : [stream])

async function followRun(invocation: Invocation, run: string, streams: readonly StreamName[]): Promise<void> {
  const { stdout, signal, parsed } = invocation
  const app = await invocation.app()
  const canceler = new AbortController()
  signal.addEventListener('abort', () => canceler.abort(), { once: true })
  stdout.onGone(() => canceler.abort())
  // "last" stays the run that it is now.
  const { id, pty } = await app.show({ run, budget: 1 })
  const filters = { stdout: terminalFilter(), stderr: terminalFilter() }
  const lines = pty && !stdout.isTerminal && !parsed.own.raw ? shownLines() : undefined
  const onOutput = ({ stream, bytes, text }: { stream: StreamName; bytes: Uint8Array; text: string }): void =>
    stdout.write(stdout.isTerminal ? filters[stream].pass(text) : parsed.own.raw ? bytes : (lines?.add(text) ?? text))
  try {
    await app.follow({ run: id, streams }, { signal: canceler.signal, onOutput })
  } finally {
    stdout.write(stdout.isTerminal ? filters.stdout.restore() + filters.stderr.restore() : (lines?.end() ?? ''))
  }
  if (invocation.stoppedBy() !== undefined) sayThatItGoesOn(invocation, await app.show({ run: id, budget: 1 }))
}

// No line that somebody reads is longer.
const longestLine = 64 * 1024

/** What was written to a terminal, for a reader that is none: line by line, in its last state and without escape sequences. */
function shownLines(): { add(text: string): string; end(): string } {
  let rest = ''
  return {
    add(text) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > longestLine) lines.push(rest)
      if (rest.length > longestLine) rest = ''
      return lines.map((line) => `${cleanLine(line)}\n`).join('')
    },
    end: () => (rest === '' ? '' : `${cleanLine(rest)}\n`),
  }
}

async function copyLogs(invocation: Invocation, run: string, streams: readonly StreamName[]): Promise<void> {
  const { stdout } = invocation
  const app = await invocation.app()
  const shown = await app.show({ run })
  for (const stream of streams) {
    // What printed nothing has no log.
    if (shown[stream].bytes === 0) continue
    const filter = terminalFilter()
    const decoder = new TextDecoder()
    try {
      for await (const chunk of createReadStream(shown[stream].path) as AsyncIterable<Uint8Array>) {
        stdout.write(stdout.isTerminal ? filter.pass(decoder.decode(chunk, { stream: true })) : chunk)
        await stdout.drained()
        if (stdout.gone) return
      }
      if (stdout.isTerminal) stdout.write(filter.restore())
    } catch (error) {
      // A stream that has nothing so far has no log.
      if (shown[stream].bytes === 0) continue
      throw failure('output_missing', { run: shown.id, stream }, error)
    }
  }
}

async function printPages(invocation: Invocation, asked: ReturnType<typeof parseInput<typeof output.input>>): Promise<void> {
  const { stdout, stderr, parsed } = invocation
  const numbered = parsed.own.number === true || stdout.isTerminal
  const ref = parseRef(asked.run) ?? parseRef(asked.lines)
  const perPage = asked.maxBytes ?? (asked.bytes === undefined ? pageBytes : rangeBytes)
  let isFound = false
  let state: OutputResult['state'] = 'ended'
  const stream = asked.stream ?? ref?.stream ?? 'all'
  // Lines of both streams come in their order of arrival; bytes are of each.
  for (const part of asked.bytes === undefined ? [stream] : streamsOf(stream)) {
    let lines = asked.lines
    for (;;) {
      const page: OutputResult = await perform(output, invocation, { ...asked, stream: part, lines, maxBytes: perPage })
      if (numbered && asked.bytes === undefined) stdout.write(page.lines.map(numberedLine).join(''))
      else stdout.write(withLineFeed(page.text))
      await stdout.drained()
      // Where somebody said how much they want, one page is the answer.
      const onward = part === 'all' ? (page.next ?? undefined) : nextLines(page, ref ? linesAround(ref.line) : asked.lines)
      const rest = page.truncated ? onward : undefined
      if (page.truncated && asked.maxBytes !== undefined) stderr.write(cutNote(part, page, rest))
      isFound ||= page.lines.length > 0 || page.truncated
      state = page.state
      const next = asked.maxBytes !== undefined || asked.bytes !== undefined ? undefined : rest
      if (next === undefined || next === lines || stdout.gone || invocation.signal.aborted) break
      lines = next
    }
  }
  const isPart = ref !== undefined || asked.lines !== undefined || asked.bytes !== undefined || asked.grep !== undefined
  if (!isFound && isPart && !invocation.signal.aborted) {
    stderr.write(`holdfast: no such ${asked.bytes === undefined ? 'lines' : 'bytes'}${state === 'running' ? ' so far' : ''}\n`)
  }
}

/** What is said of an answer that `--max-bytes` cut. Where not even one line fits, the same lines would be cut again. */
function cutNote(stream: StreamName | 'all', page: OutputResult, rest: string | undefined): string {
  const range = stream === 'all' ? `--lines ${rest}` : `--stream ${stream} --lines ${rest}`
  const onward = page.next !== null && rest !== undefined && page.lines.length > 0 ? `go on with ${range}` : 'raise it for more'
  return `holdfast: ${stream === 'all' ? 'the output' : stream} was cut by --max-bytes; ${onward}\n`
}

/** The lines that follow a page, up to where the range that was asked for ends. */
function nextLines(page: OutputResult, asked: string | undefined): string | undefined {
  if (/^\d+-\d+$/.test(page.next ?? '')) return page.next ?? undefined
  // The line that states a gap has no number; what follows it comes after the last one that has.
  const from = Number.parseInt(page.next ?? '', 10) || (page.lines.findLast((line) => line.line > 0)?.line ?? 0) + 1
  const end = /^\d+(?:-(\d*))?$/.exec(asked?.trim() ?? '')
  const to = end === null ? '' : (end[1] ?? asked?.trim() ?? '')
  return to !== '' && from > Number(to) ? undefined : `${from}-${to}`
}

function numberedLine({ stream, line, text }: OutputLine): string {
  const number = line === 0 ? '' : stream === 'stderr' ? `e:${line}` : String(line)
  return `${number.padStart(7)}  ${text}\n`
}
