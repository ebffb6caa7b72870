import type { NoteCategory, SkippedLine } from '../core/note.ts'
import { formatCount, oneLine } from '../core/text.ts'
import { headerLine, isDataLine, type NoteData, readData } from './note-markdown.ts'

/** The items of the lists of a Markdown page, and the lines that are none. */

/** An item as it is written, with what is said of it below. */
export interface ListItem {
  /** From 1. */
  readonly line: number
  readonly indent: number
  readonly text: string
  /** What the heading above it names. */
  readonly category: NoteCategory | undefined
  readonly data?: NoteData | undefined
}

export interface ListPage {
  readonly items: readonly ListItem[]
  readonly skipped: readonly SkippedLine[]
}

/** Longer lines are none that anybody wrote by hand. */
const maxLineLength = 20_000

export const skippedLine = (line: number, text: string, why: string): SkippedLine => ({ line, text: oneLine(text), why })

/** `categoryOf` gives what a heading names. */
export function listItems(markdown: string, categoryOf: (heading: string) => NoteCategory | undefined): ListPage {
  const lines = markdown
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
  const isOurs = lines.includes(headerLine)
  const kindOf = kindsOf(lines)
  const items: ListItem[] = []
  const skipped: SkippedLine[] = []
  let category: NoteCategory | undefined
  /** The item that the next line may go on with, and its lines so far. */
  let last: { readonly at: number; readonly lines: string[] } | undefined
  const end = (): void => {
    const item = last && items[last.at]
    if (last && item) items[last.at] = { ...item, text: last.lines.join(' ') }
    last = undefined
  }
  const leave = (number: number, line: string, why: string): void => {
    end()
    skipped.push(skippedLine(number, line, why))
  }
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] as string
    const below = lines[i + 1] ?? ''
    if (isOurs && line.startsWith('- ') && isDataLine(below)) {
      // Whatever the text looks like, it is that of a note.
      end()
      const data = readData(below)
      items.push({ line: i + 1, indent: 0, text: line.slice(2), category, data })
      if (data === undefined) skipped.push(skippedLine(i + 2, below, 'no data of a note; the note above it counts as a new one'))
      i += 1
      continue
    }
    const kind = kindOf(line, i)
    if (kind === 'apart') leave(i + 1, line, 'no item of a list')
    if (kind !== 'text') continue
    if (line.length > maxLineLength) {
      leave(i + 1, '', `longer than ${formatCount(maxLineLength)} characters`)
      continue
    }
    const heading = /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(line)
    const bullet = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t](.*)$/.exec(line)
    if (heading) {
      end()
      category = categoryOf(heading[1] ?? '')
    } else if (bullet) {
      end()
      last = { at: items.length, lines: [bullet[2]?.trim() ?? ''] }
      items.push({ line: i + 1, indent: widthOf(bullet[1] ?? ''), text: '', category })
    } else if (last && widthOf(/^[ \t]*/.exec(line)?.[0] ?? '') > (items[last.at]?.indent ?? 0)) last.lines.push(line.trim())
    else leave(i + 1, line, 'no item of a list')
  }
  end()
  return { items: withParents(items), skipped }
}

/** What stands in fences is no list (`apart`); rules, comments and front matter say nothing (`silent`). */
function kindsOf(lines: readonly string[]): (line: string, i: number) => 'text' | 'apart' | 'silent' {
  const frontEnd = lines[0]?.trim() === '---' ? lines.findIndex((line, i) => i > 0 && line.trim() === '---') : -1
  let fence = ''
  let inComment = false
  return (line, i) => {
    if (i <= frontEnd) return 'silent'
    const trimmed = line.trim()
    if (fence !== '') {
      if (trimmed.startsWith(fence)) fence = ''
      return 'apart'
    }
    if (inComment || trimmed.startsWith('<!--')) {
      inComment = !trimmed.includes('-->')
      return 'silent'
    }
    fence = /^(```|~~~)/.exec(trimmed)?.[1] ?? ''
    if (fence !== '') return 'apart'
    return /^[\s=*_-]*$/.test(line) ? 'silent' : 'text'
  }
}

const widthOf = (indent: string): number => indent.replaceAll('\t', '    ').length

/** An item that ends in a colon says what those below it are about, and is no fact by itself. */
function withParents(items: readonly ListItem[]): ListItem[] {
  const found: ListItem[] = []
  let parents: ListItem[] = []
  for (const [i, item] of items.entries()) {
    parents = parents.filter(({ indent, category }) => indent < item.indent && category === item.category)
    const next = items[i + 1]
    const isPlain = item.data === undefined
    if (isPlain && next !== undefined && next.indent > item.indent && item.text.endsWith(':')) parents.push(item)
    else found.push(isPlain ? { ...item, text: [...parents.map(({ text }) => text), item.text].join(' ') } : item)
  }
  return found
}
