import { optional, strictObject } from 'valibot'
import { anyText, choice, flag, text, whole } from './fields.ts'
import { operation } from './operation.ts'
import { parseSince } from './since.ts'

export const search = operation({
  name: 'search',
  summary: 'Find text in the output, purposes and commands of all runs.',
  description:
    'Lines with all the words come first; where no line of a run has them all, its lines with some of them are shown. "quoted words" stand together. ' +
    'Every hit has a reference, run:line, that output accepts.',
  input: strictObject({
    query: anyText('What to look for.'),
    regex: optional(flag('Read the query as a regular expression.')),
    literal: optional(flag('Look for the query as it is written, with its case and signs.')),
    run: optional(text('Only in this run: its id, a unique beginning of it, or "last".')),
    failing: optional(flag('Only in runs that failed.')),
    since: optional(text('Only in runs since then: 2h, 3d, a date like 2026-11-30, or an ISO time.')),
    workspace: optional(text('Only in runs of this workspace: its id or its branch.')),
    stream: optional(choice('Only in this stream of the output.', ['stdout', 'stderr'])),
    context: optional(whole('Lines to show before and after each hit.', 0, 'lines', { default: '0' })),
    limit: optional(whole('Most hits.', 1, 'hits', { default: '20' })),
    all: optional(flag('Also scan long logs where the index answers.')),
  }),
  cli: {
    positionals: ['query'],
    joined: true,
    values: { run: 'RUN', since: 'TIME', workspace: 'NAME', context: 'N', limit: 'N' },
    examples: [
      "holdfast search 'connection refused' --failing",
      "holdfast search --regex 'E[0-9]{4}' --since 2h",
      'holdfast search --run last --context 3 warning',
    ],
  },
  check: ({ regex, literal }) =>
    regex && literal ? { field: 'literal', value: true, accepted: 'a literal text or a regular expression, not both' } : undefined,
  run(app, input) {
    const { since, ...rest } = input
    return app.search(since === undefined ? rest : { ...rest, sinceMs: parseSince('since', since, Date.now()) })
  },
})
