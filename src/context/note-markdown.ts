import { type Note, type NoteCategory, noteCategories, retiredReasons } from '../core/note.ts'
import { oneLine } from '../core/text.ts'
import { isNoteId, isTag } from './notes.ts'

/*
 * Notes as Markdown: a heading for each category, a list below it, and under each item a comment with the data of the note. Text of a
 * note stands on a line that begins with `- ` and data on one that begins with two spaces and a comment, so that no text can pass for
 * data. Each value of the data is of a form without spaces, and is checked when it is read.
 */

export const headerLine = '<!-- holdfast notes 1: the comment below a note is its data; without it, the note counts as a new one -->'
const dataStart = '  <!-- note '
const dataEnd = ' -->'

export const titleOf = (category: NoteCategory): string => `${category[0]?.toUpperCase()}${category.slice(1)}`

/** Oldest first in each category. Read again, it gives the same notes. */
export function writeNotesMarkdown(notes: readonly Note[]): string {
  const sections = noteCategories.flatMap((category) => {
    const items = notes.filter((note) => note.category === category).sort(oldestFirst)
    return items.length === 0 ? [] : [`## ${titleOf(category)}\n`, ...items.map(itemOf), '']
  })
  return `${['# Notes', '', headerLine, '', ...sections].join('\n').trimEnd()}\n`
}

const oldestFirst = (a: Note, b: Note): number => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1)

function itemOf(note: Note): string {
  const { retired, uses, usedAt } = note
  const facts: readonly (readonly [string, string | number | null])[] = [
    ['id', note.id],
    ['confidence', note.confidence],
    ['created', note.createdAt],
    ['updated', note.updatedAt],
    ['tags', note.tags.join(',')],
    ['supersedes', note.supersedes.join(',')],
    ['retired', retired?.at ?? null],
    ['why', retired?.why ?? null],
    ['by', retired?.by ?? null],
    ['uses', uses === 0 ? null : uses],
    ['used', usedAt],
  ]
  // What is in no such form came from a file that somebody else wrote, and is left out.
  const told = facts.flatMap(([key, value]) => (value !== null && value !== '' && forms[key]?.(String(value)) ? [`${key}=${value}`] : []))
  return `- ${oneLine(note.text)}\n${dataStart}${told.join(' ')}${dataEnd}`
}

const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text))
const isFraction = (text: string): boolean => /^[\d.e-]{1,32}$/.test(text) && Number(text) >= 0 && Number(text) <= 1

const forms: Readonly<Record<string, (text: string) => boolean>> = {
  id: isNoteId,
  confidence: isFraction,
  created: isTime,
  updated: isTime,
  tags: (text) => text.split(',').every(isTag),
  supersedes: (text) => text.split(',').every(isNoteId),
  retired: isTime,
  why: (text) => retiredReasons.some((reason) => reason === text),
  by: isNoteId,
  uses: (text) => /^\d{1,9}$/.test(text),
  used: isTime,
}

export type NoteData = Readonly<Partial<Record<keyof typeof forms, string>>>

export const isDataLine = (line: string): boolean => line.startsWith(dataStart) && line.endsWith(dataEnd)

/** What a line of data says; undefined where any of it is not in the form that this page writes. */
export function readData(line: string): NoteData | undefined {
  const data: Record<string, string> = {}
  for (const part of line.slice(dataStart.length, -dataEnd.length).split(' ')) {
    const at = part.indexOf('=')
    const key = part.slice(0, at)
    const value = part.slice(at + 1)
    if (at < 1 || !Object.hasOwn(forms, key) || Object.hasOwn(data, key) || !forms[key]?.(value)) return undefined
    data[key] = value
  }
  return data
}
