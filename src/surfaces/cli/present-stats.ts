import type { StatsResult } from '../../app/api.ts'
import type { ShownOn, Sum } from '../../core/stats.ts'
import { formatCount, oneLine, plural } from '../../core/text.ts'
import type { At } from './print.ts'
import { clip, table } from './width.ts'

const commandColumns = 48

const surfaces = [
  ['mcp', 'MCP'],
  ['cli', 'command line'],
  ['library', 'library'],
] as const satisfies readonly (readonly [keyof ShownOn, string])[]

/** What was not counted is a dash: it is not known, and not nothing. */
const bytesOf = (sum: Sum | null): string => (sum === null ? '-' : formatCount(sum.bytes))

export function presentStats({ commands, all, elsewhere, tools, more }: StatsResult, at: At): string {
  if (all.runs === 0) return 'no runs'
  // A surface that nobody used would take the room of the commands.
  const used = surfaces.filter(([name]) => all.shown[name] !== null || elsewhere[name] !== null || (name === 'mcp' && tools !== null))
  const bytesOn = (shown: ShownOn): string[] => used.map(([name]) => bytesOf(shown[name]))
  const rows = [...commands, { ...all, command: 'all runs' }].map((row) => [
    `${formatCount(row.countedRuns)} of ${formatCount(row.runs)}`,
    ...(row.countedRuns === 0 ? ['-', '-', '-'] : [row.printedBytes, row.first30000Bytes, row.first50KBytes].map(formatCount)),
    ...bytesOn(row.shown),
    clip(oneLine(row.command), commandColumns),
  ])
  const loose = used.some(([name]) => elsewhere[name] !== null) ? [['', '', '', '', ...bytesOn(elsewhere), 'lists and searches']] : []
  const cost =
    tools === null
      ? []
      : [
          [
            '',
            '',
            '',
            '',
            ...used.map(([name]) => (name === 'mcp' ? formatCount(tools.bytes) : '')),
            `descriptions of tools, ${plural(tools.calls, 'session')}`,
          ],
        ]
  const heading = ['counted', 'printed', 'first 30,000', 'first 50 KB', ...used.map(([, word]) => word), '']
  return [
    'Bytes, of runs of which an answer was counted: what they printed, what of each output other hosts keep, and what was shown on',
    table([heading, ...rows, ...loose, ...cost], at.columns),
    ...(more > 0 ? [`${plural(more, 'more command')}: --limit`] : []),
  ].join('\n')
}
