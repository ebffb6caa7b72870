import { optional, strictObject } from 'valibot'
import { anyText, flag, text, whole } from './fields.ts'
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
    failing: optional(flag('Only in runs that failed.')),
    since: optional(text('Only in runs since then: 2h, 3d, a date like 2026-11-30, or an ISO time.')),
    limit: optional(whole('Most hits.', 1, 'hits', { default: '20' })),
  }),
  cli: {
    positionals: ['query'],
    joined: true,
    values: { since: 'TIME', limit: 'N' },
    examples: ["holdfast search 'connection refused' --failing", "holdfast search --regex 'E[0-9]{4}' --since 2h"],
  },
  run(app, input) {
    const { since, ...rest } = input
    return app.search(since === undefined ? rest : { ...rest, sinceMs: parseSince('since', since, Date.now()) })
  },
})
