import { plural } from '../../core/text.ts'
import { toValue } from './csv.ts'
import { edges, type Found, refsOf, type Source } from './source.ts'
import { fieldsOf } from './values.ts'

const minRows = 6

/** A table in columns under a line of headings, as `ps`, `kubectl get` and `docker ps` print it: rows, columns with their values. */
export function table(source: Source): Found | undefined {
  const [header, ...rows] = source.probe
  if (!header || rows.length < minRows) return undefined
  const layout = layouts.map((layoutOf) => layoutOf(header.text)).find((candidate) => candidate && rows.every(({ text }) => candidate.cells(text)))
  if (!layout) return undefined
  const fields = fieldsOf(source.mask)
  let count = 0
  let odd = 0
  for (const { text, number } of source.lines()) {
    if (text.trim() === '' || number <= header.number) continue
    count += 1
    const cells = layout.cells(text)
    if (cells) fields.add(Object.fromEntries(layout.names.map((name, i) => [name, toValue(cells[i] ?? '')])))
    else odd += 1
  }
  const facts = [
    `${plural(count, 'row')} of ${plural(layout.names.length, 'column')}${source.unread > 0 ? `, and ${plural(source.unread, 'more line')} not looked at` : ''}`,
    ...fields.describe(),
    ...(odd > 0 ? [`${plural(odd, 'line')} not in these columns`] : []),
  ]
  return { kind: 'table', facts, rows: edges(refsOf(source.probe.slice(0, 3)), refsOf(source.last(2))) }
}

interface Layout {
  readonly names: readonly string[]
  /** Undefined for a line that is no row. */
  cells(text: string): readonly string[] | undefined
}

const heading = /^[A-Z%#][A-Z0-9%#()/_-]*$/

const layouts: readonly ((header: string) => Layout | undefined)[] = [byPlace, byBlanks]

/** Columns apart by two blanks or more; a cell begins where its column does, and may be empty. */
function byPlace(header: string): Layout | undefined {
  const columns = [...header.matchAll(/\S+(?: \S+)*/g)].map((match) => ({ name: match[0], from: match.index }))
  if (columns.length < 3 || !columns.every(({ name }) => name.split(' ').every((word) => heading.test(word)))) return undefined
  return {
    names: columns.map(({ name }) => name),
    cells: (text) =>
      columns.slice(1).every(({ from }) => from >= text.length || text.charAt(from - 1) === ' ')
        ? columns.map(({ from }, i) => text.slice(from, columns[i + 1]?.from).trim())
        : undefined,
  }
}

/** Columns apart by any blanks, none of them empty; the last one has what is left of the row. */
function byBlanks(header: string): Layout | undefined {
  const names = header.trim().split(/\s+/)
  if (names.length < 4 || !names.every((name) => heading.test(name))) return undefined
  return {
    names,
    cells(text) {
      const cells = text.trim().split(/\s+/)
      return cells.length < names.length ? undefined : [...cells.slice(0, names.length - 1), cells.slice(names.length - 1).join(' ')]
    },
  }
}
