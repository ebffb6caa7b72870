import { readdirSync, readFileSync } from 'node:fs'
import { lineAfter, lineFrom, lineHead, textSection } from '../../src/digest/log.ts'
import type { LogLine, Recognised, Recogniser } from '../../src/digest/recognisers/recogniser.ts'
import { unwrap } from '../../src/digest/wrapper.ts'

const folder = new URL('../../src/digest/recognisers/samples/', import.meta.url)

export const sampleNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .map((name) => name.slice(0, -'.txt'.length))
    .sort()

export const sample = (name: string): string => readFileSync(new URL(`${name}.txt`, folder), 'utf8')

/** The lines of a log as recognisers get them. */
export function linesOf(text: string, stream: LogLine['stream'] = 'stdout'): LogLine[] {
  const lines: LogLine[] = []
  const section = textSection(text)
  for (let ref = lineFrom(section, 0, 1); ref; ref = lineAfter(ref)) lines.push({ stream, number: ref.number, text: unwrap(lineHead(ref)), ref })
  return lines
}

/** What a recogniser makes of a log; undefined where it has no sign of its tool. */
export function recogniseWith({ signs, open }: Recogniser, log: string | readonly LogLine[]): Recognised | undefined {
  const lines = typeof log === 'string' ? linesOf(log) : log
  if (!lines.some(({ text }) => signs.test(text))) return undefined
  const reader = open()
  for (const line of lines) reader.line(line)
  return reader.end()
}

/** The same in few words, to compare with: numbers of lines in place of lines. */
export function inBrief(recognised: Recognised | undefined): unknown {
  if (recognised === undefined) return undefined
  const { counts, failures, warnings, totals } = recognised
  return {
    counts: Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)),
    failures: failures.map(({ line, title, place, details }) => ({ line: line.number, title, place, details: details.map(({ text }) => text.trim()) })),
    warnings: warnings.map(({ text }) => text.trim()),
    totals: totals.map(({ text }) => text.trim()),
  }
}

/** Its failures in one line each: number and title, place, and the most telling detail. */
export const failuresOf = (recognised: Recognised | undefined): string[] =>
  (recognised?.failures ?? []).map(({ line, title, place, details }) => `${line.number} ${title} @ ${place ?? '-'} | ${details[0]?.text.trim() ?? '-'}`)
