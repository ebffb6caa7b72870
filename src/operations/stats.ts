import { optional, strictObject } from 'valibot'
import { text, whole } from './fields.ts'
import { operation } from './operation.ts'
import { parseSince } from './since.ts'

export const stats = operation({
  name: 'stats',
  summary: 'Say how many bytes the runs of this project printed, and how many were shown of them.',
  description:
    'Counted are the answers about runs that are still kept, apart for MCP, the command line and the library, beside what other hosts would have shown: all that was printed, or the first 30,000 characters or 50 KB of each output. A run of which no answer was counted is left out. What the descriptions of the tools cost is told, too.',
  input: strictObject({
    since: optional(text('Only runs that started since then: a time back like 2h or 3d, a date, or an ISO time.')),
    limit: optional(whole('Most commands to list.', 1, 'commands', { default: '20' })),
  }),
  cli: { values: { since: 'TIME', limit: 'N' }, examples: ['holdfast stats', 'holdfast stats --since 7d --limit 5'] },
  run: (app, { since, limit }) => app.stats({ limit, ...(since === undefined ? {} : { sinceMs: parseSince('since', since, Date.now()) }) }),
})
