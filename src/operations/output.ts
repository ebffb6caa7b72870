import { optional, strictObject } from 'valibot'
import { anyText, choice, size, text } from './fields.ts'
import { operation } from './operation.ts'
import { linesAround, parseRef } from './output-ref.ts'

export const output = operation({
  name: 'output',
  summary: 'Read what a run printed: all of it, a range of lines, or the lines that match.',
  description: 'RUN may be a reference from search, like RUN:120 or RUN:stderr:7; then that line and 10 lines around it are shown.',
  input: strictObject({
    run: text('The run: its id, a unique beginning of it, "last", or a reference from search.', {
      accepted: 'a run id, a unique prefix of one, "last", or a reference like RUN:120',
    }),
    stream: optional(choice('Which stream; all are the lines of both in their order of arrival.', ['stdout', 'stderr', 'all'], { default: 'all' })),
    lines: optional(
      text('Lines of each stream: 120, 100-150, 100-, -20 (the last 20), or a reference from search; or of each its own: stdout:100-,stderr:7-20.'),
    ),
    bytes: optional(text('Bytes of each stream, stdout first: 0-1023, 4096-, -512 (the last 512).')),
    grep: optional(anyText('Only lines in which this regular expression is found.')),
    maxBytes: optional(size('Most text in one answer.', 'a positive number of bytes', { default: '32KiB' })),
  }),
  cli: {
    positionals: ['run'],
    flags: { maxBytes: 'max-bytes' },
    defaults: { maxBytes: 'all of it, with --json 32KiB' },
    values: { lines: 'RANGE', bytes: 'RANGE', grep: 'REGEX' },
    examples: ['holdfast output last --lines -20', 'holdfast output k7m2qx9d4tra:120', "holdfast output last --stream stderr --grep 'error|warning'"],
  },
  check(input) {
    if (input.bytes !== undefined && input.lines !== undefined) {
      return { field: 'bytes', value: input.bytes, accepted: 'a range of bytes or of lines, not both' }
    }
    if (input.maxBytes !== undefined && input.maxBytes < 1) return { field: 'maxBytes', value: input.maxBytes, accepted: 'a positive number of bytes' }
    return undefined
  },
  run(app, input) {
    const ref = parseRef(input.run) ?? parseRef(input.lines)
    if (!ref) return app.output(input)
    const lines = input.lines !== undefined && !parseRef(input.lines) ? input.lines : linesAround(ref.line)
    // A range of bytes was asked for on purpose; the line of the reference then says nothing more.
    const range = input.bytes === undefined ? { lines } : { lines: undefined }
    return app.output({
      ...input,
      run: parseRef(input.run)?.run ?? (parseRef(input.lines) ? ref.run : input.run),
      stream: input.stream ?? ref.stream,
      ...range,
    })
  },
})
