import type { ConfigResult, DoctorResult, GcResult, SnapshotResult } from '../../app/api.ts'
import { formatCount, oneLine, plural } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging, padded, table, widthOf, wrap } from './width.ts'

export function presentGc(result: GcResult, at: At): string {
  const verb = result.dryRun ? 'would be removed' : 'removed'
  const sites = result.sites.map(({ backend, name, why }) => hanging('  ', oneLine(`${backend} ${name}: ${why}`), at.columns))
  const places =
    sites.length === 0 ? [] : [`${sites.length === 1 ? '1 container or pod' : `${formatCount(sites.length)} containers and pods`} ${verb}:`, ...sites]
  return [runsCollected(result, verb, at), ...places].join('\n')
}

function runsCollected(result: GcResult, verb: string, at: At): string {
  const sum = `${plural(result.removed.length, 'run')} ${verb}, ${formatCount(result.freedBytes)} bytes; ${formatCount(result.kept)} kept.`
  if (result.removed.length === 0) return sum
  const rows = result.removed.map((run) => [run.id, formatCount(run.bytes), `over the limit of ${run.why}`])
  return `${table([['RUN', 'BYTES', 'WHY'], ...rows], at.columns)}\n${sum}`
}

/** A name that is longer has a line of its own. */
const widestCheck = 24

export function presentDoctor(result: DoctorResult, at: At): string {
  const width = Math.min(widestCheck, Math.max(0, ...result.checks.map((check) => check.name.length)))
  const lines = result.checks.flatMap(({ name, status, detail, fix }) => {
    const head = `${status.padEnd(7)}  ${name.padEnd(width)}  `
    const indent = ' '.repeat('warning'.length + width + 4)
    const told = name.length > width ? [head.trimEnd(), hanging(indent, oneLine(detail), at.columns)] : [hanging(head, oneLine(detail), at.columns)]
    return fix === undefined ? told : [...told, hanging(indent, `--fix would: ${oneLine(fix)}`, at.columns)]
  })
  const fixed = result.fixed === undefined ? [] : [hanging('fixed: ', oneLine(result.fixed), at.columns)]
  return [...fixed, ...lines, result.ok ? 'Everything that is needed works.' : 'Something that is needed does not work.'].join('\n')
}

const widestValue = 24

export function presentConfig(result: ConfigResult, at: At): string {
  const keyWidth = Math.max(...['SETTING', ...result.settings.map(({ key }) => key)].map(widthOf))
  const head = (key: string): string => `${padded(key, keyWidth)}  `
  const room = at.columns - keyWidth - 2
  const valueWidth = Math.max('VALUE'.length, ...result.settings.map(({ value }) => widthOf(jsonText(value))).filter((width) => width <= widestValue))
  const rows = result.settings.map(({ key, value, source }) => {
    const text = jsonText(value)
    const line = `${padded(text, valueWidth)}  ${source}`
    if (widthOf(text) <= valueWidth && widthOf(line) <= room) return head(key) + line
    // Values and paths are what is asked for, so that nothing of them is clipped: where they came from takes a line of its own.
    return [hanging(head(key), text, at.columns), `${head('')}from ${source}`].join('\n')
  })
  const files = result.files.map((file) => hanging('  ', `${file.path}${file.found ? '' : ' (not there)'}`, at.columns))
  return [`${head('SETTING')}${padded('VALUE', valueWidth)}  FROM`, ...rows, '', 'Files:', ...files].join('\n')
}

/** JSON on one line, with spaces where it may be broken. Line feeds that are no part of a text are the only ones in it. */
function jsonText(value: unknown): string {
  const lines = JSON.stringify(value, null, 1) ?? 'null'
  return lines
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1')
    .replace(/\n */g, ' ')
}

/** On a terminal its long items go on under their beginning. Elsewhere it is what is stored, byte for byte, as an agent reads it. */
export function presentSnapshot({ text }: SnapshotResult, at: At): string {
  if (!at.isTerminal) return text
  return text
    .split('\n')
    .map((line) => {
      const mark = /^(?:> |- )?/.exec(line)?.[0] ?? ''
      return mark + wrap(line.slice(mark.length), at.columns - 2).join(mark === '> ' ? '\n> ' : '\n  ')
    })
    .join('\n')
}
