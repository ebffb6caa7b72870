import { formatCount, plural } from '../../core/text.ts'
import { delimiters, isHeader, leastCells, splitRow } from './cells.ts'
import { edges, type Found, refsOf, type Source } from './source.ts'
import { fieldsOf } from './values.ts'

const minRows = 4

/** Rows of values between commas, tabs, semicolons or bars: how many, which columns with what values, the first and last rows. */
export function csv(source: Source): Found | undefined {
  const delimiter = delimiters.find((candidate) => isTable(source, candidate))
  if (delimiter === undefined) return undefined
  const [first] = source.probe
  if (!first) return undefined
  const names = splitRow(first.text, delimiter)
  const hasHeader = isHeader(names)
  const fields = fieldsOf(source.mask)
  let rows = 0
  let odd = 0
  for (const { text, number } of source.lines()) {
    if (text.trim() === '' || (hasHeader && number === first.number)) continue
    rows += 1
    const cells = splitRow(text, delimiter)
    if (cells.length !== names.length) {
      odd += 1
      continue
    }
    fields.add(Object.fromEntries(cells.map((cell, i) => [hasHeader ? (names[i] as string) : `column ${i + 1}`, toValue(cell)])))
  }
  const facts = [
    `${plural(rows, 'row')} of ${plural(names.length, 'column')}${hasHeader ? '' : ', without a header'}${source.unread > 0 ? `, and ${plural(source.unread, 'more line')} not looked at` : ''}`,
    ...fields.describe(),
    ...(odd > 0 ? [`${formatCount(odd)} of the lines have another number of columns`] : []),
  ]
  const refs = refsOf(source.probe)
  return {
    kind: delimiter === '\t' ? 'TSV' : 'CSV',
    facts,
    rows: edges(refs.slice(0, hasHeader ? 3 : 2), refsOf(source.last(2))),
  }
}

function isTable({ probe }: Source, delimiter: string): boolean {
  const [first] = probe
  if (!first || probe.length < minRows || /^\s/.test(first.text)) return false
  const header = splitRow(first.text, delimiter)
  if (header.length < leastCells(delimiter)) return false
  const rows = probe.map(({ text }) => splitRow(text, delimiter))
  if (rows.filter((cells) => cells.length === header.length).length < rows.length * 0.95) return false
  return isHeader(header) || share(rows.flat(), (cell) => typeof toValue(cell) === 'number') >= 0.5
}

const share = <T>(all: readonly T[], test: (one: T) => boolean): number => all.filter(test).length / Math.max(1, all.length)

/** A number where the cell is one. */
export const toValue = (cell: string): unknown => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(cell) ? Number(cell) : cell)
