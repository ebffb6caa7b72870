import { failure, HoldfastError } from '../core/errors.ts'
import { type Note, type NoteCategory, noteCategories, type Retired, type SkippedLine } from '../core/note.ts'
import { clampLine, formatCount, oneLine } from '../core/text.ts'
import { headerLine, isDataLine, type NoteData, readData } from './note-markdown.ts'
import { makeNote, maxTags, type NotePlace } from './notes.ts'

/** Reads notes out of Markdown: what `writeNotesMarkdown` wrote, or the lists of a page that a person wrote. */

export interface ImportRules {
  readonly place: NotePlace
  /** Of items under a heading that names no category. */
  readonly category: NoteCategory
  readonly now: Date
  newId(): string
  mask(text: string): string
}

export interface ReadNotes {
  readonly notes: readonly Note[]
  /** In the order of the file. */
  readonly skipped: readonly SkippedLine[]
}

const maxBytes = 4 * 1024 * 1024
const maxItems = 5_000
/** Of a line that is told. */
const shownBytes = 120
/** Longer lines are none that anybody wrote by hand. */
const maxLineLength = 20_000

interface Item {
  readonly line: number
  readonly indent: number
  text: string
  readonly category: NoteCategory | undefined
  readonly data?: NoteData | undefined
}

export function readNotesMarkdown(markdown: string, rules: ImportRules): ReadNotes {
  const tooLarge = (value: number, accepted: string) => failure('invalid', { field: 'text', value: formatCount(value), accepted })
  if (Buffer.byteLength(markdown) > maxBytes) throw tooLarge(Buffer.byteLength(markdown), `Markdown of at most ${formatCount(maxBytes)} bytes`)
  const { items, skipped } = itemsOf(markdown)
  if (items.length > maxItems) throw tooLarge(items.length, `Markdown with at most ${formatCount(maxItems)} items`)
  const notes: Note[] = []
  for (const item of items) {
    try {
      notes.push(toNote(item, rules))
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      skipped.push(skip(item.line, rules.mask(item.text), `no note: accepted is ${String(error.details.accepted)}`))
    }
  }
  return { notes, skipped: skipped.map((each) => ({ ...each, text: clampLine(rules.mask(each.text), shownBytes) })).sort((a, b) => a.line - b.line) }
}

const skip = (line: number, text: string, why: string): SkippedLine => ({ line, text: oneLine(text), why })

function itemsOf(markdown: string): { items: Item[]; skipped: SkippedLine[] } {
  const lines = markdown
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
  const isOurs = lines.includes(headerLine)
  const items: Item[] = []
  const skipped: SkippedLine[] = []
  const page = openPage(lines)
  /** Items that the next line may belong to, the outermost first. */
  let open: Item[] = []
  let category: NoteCategory | undefined
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] as string
    const number = i + 1
    const last = open.at(-1)
    const below = lines[i + 1] ?? ''
    if (isOurs && line.startsWith('- ') && isDataLine(below)) {
      // Whatever the text looks like, it is that of a note.
      const data = readData(below)
      if (data === undefined) skipped.push(skip(number + 1, below, 'no data of a note; the note above it counts as a new one'))
      items.push({ line: number, indent: 0, text: line.slice(2), category, data })
      open = []
      i += 1
      continue
    }
    const kind = page.kindOf(line, i)
    if (kind === 'comment' || /^[\s=*_-]*$/.test(line)) continue
    if (kind === 'apart') {
      open = []
      skipped.push(skip(number, line, 'no item of a list'))
      continue
    }
    if (line.length > maxLineLength) {
      skipped.push(skip(number, line.slice(0, 1_000), `longer than ${formatCount(maxLineLength)} characters`))
      open = []
      continue
    }
    const heading = /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(line)
    if (heading) {
      category = categoryOf(heading[1] ?? '')
      open = []
      continue
    }
    const bullet = /^([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t](.*)$/.exec(line)
    if (bullet) {
      const indent = widthOf(bullet[1] ?? '')
      open = open.filter((item) => item.indent < indent)
      const item: Item = { line: number, indent, text: bullet[2] ?? '', category }
      items.push(item)
      open.push(item)
    } else if (last && widthOf(/^[ \t]*/.exec(line)?.[0] ?? '') > last.indent) last.text += ` ${line.trim()}`
    else {
      open = []
      skipped.push(skip(number, line, 'no item of a list'))
    }
  }
  return { items: withParents(items), skipped }
}

/** What stands in fences, in comments and in front matter is no list. */
function openPage(lines: readonly string[]): { kindOf(line: string, i: number): 'text' | 'apart' | 'comment' } {
  const frontEnd = lines[0]?.trim() === '---' ? lines.findIndex((line, i) => i > 0 && line.trim() === '---') : -1
  let fence = ''
  let inComment = false
  return {
    kindOf(line, i) {
      if (i <= frontEnd) return 'comment'
      const trimmed = line.trim()
      if (fence !== '') {
        if (trimmed.startsWith(fence)) fence = ''
        return 'apart'
      }
      if (inComment || trimmed.startsWith('<!--')) {
        inComment = !trimmed.includes('-->')
        return 'comment'
      }
      fence = /^(```|~~~)/.exec(trimmed)?.[1] ?? ''
      return fence === '' ? 'text' : 'apart'
    },
  }
}

const widthOf = (indent: string): number => indent.replaceAll('\t', '    ').length

/** An item that ends in a colon says what those below it are about, and is no fact by itself. */
function withParents(items: readonly Item[]): Item[] {
  const found: Item[] = []
  let parents: Item[] = []
  for (const [i, item] of items.entries()) {
    parents = parents.filter(({ indent, category }) => indent < item.indent && category === item.category)
    const next = items[i + 1]
    const text = [...parents.map((parent) => parent.text.trim()), item.text.trim()].join(' ')
    if (item.data === undefined && next !== undefined && next.indent > item.indent && item.text.trimEnd().endsWith(':')) parents.push(item)
    else found.push(item.data === undefined && parents.length > 0 ? { ...item, text } : item)
  }
  return found
}

const categoryNames: Readonly<Record<NoteCategory, RegExp>> = {
  architecture: /\b(?:architecture|structure|design|layout|overview)\b/i,
  gotcha: /\b(?:gotchas?|pitfalls?|caveats?|warnings?|troubleshooting)\b/i,
  preference: /\b(?:preferences?|preferred)\b/i,
  environment: /\b(?:environments?|set-?up|install(?:ation)?|commands?|tooling)\b/i,
  pattern: /\b(?:patterns?|recipes?|examples?)\b/i,
  convention: /\b(?:conventions?|rules?|style|guidelines?)\b/i,
}

/** The category that a heading names. */
function categoryOf(heading: string): NoteCategory | undefined {
  const exact = noteCategories.find((category) => category === heading.trim().toLowerCase())
  return exact ?? (Object.keys(categoryNames) as NoteCategory[]).find((category) => categoryNames[category].test(heading.slice(0, 200)))
}

function toNote(item: Item, { place, category, now, newId, mask }: ImportRules): Note {
  const { data = {} } = item
  // A box to tick is no part of a fact; in what was exported nothing is left out.
  const text = item.data ? item.text : item.text.replace(/^\[[ xX]\][ \t]/, '')
  const note = makeNote({ text: mask(text), category: item.category ?? category, tags: tagsOf(data.tags) }, { now, id: data.id ?? newId(), place })
  const retired: Retired | null = data.retired ? { at: data.retired, why: (data.why ?? 'superseded') as Retired['why'], by: data.by ?? null } : null
  return {
    ...note,
    confidence: data.confidence === undefined ? note.confidence : Number(data.confidence),
    createdAt: data.created ?? note.createdAt,
    updatedAt: data.updated ?? null,
    supersedes: data.supersedes?.split(',') ?? [],
    retired,
    uses: Number(data.uses ?? 0),
    usedAt: data.used ?? null,
  }
}

const tagsOf = (written: string | undefined): string[] => written?.split(',').slice(0, maxTags) ?? []
