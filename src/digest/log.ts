import { byteLength, clampLine, cleanLine, headBytes, stripControls } from '../core/text.ts'
import { shorten } from './shorten.ts'

/** A stretch of raw lines of one stream. Its first and its last line may be cut. */
export interface LogSection {
  /** Number in the stream, from 1, of the line in which `text` begins. */
  readonly firstLine: number
  /** Decoded, and masked for secrets. */
  readonly text: string
}

/** One stream of a run as far as it is at hand. */
export interface LogStream {
  readonly name: 'stdout' | 'stderr'
  /** The text is what stands on a terminal: its lines are not those of the bytes. */
  readonly onTerminal?: boolean | undefined
  /** In order; between two of them something is missing. */
  readonly sections: readonly LogSection[]
  /** Exact totals of what was printed, at hand or not. */
  readonly bytes: number
  readonly lines: number
  /** Bytes that no log kept. */
  readonly droppedBytes: number
}

/** One raw line, by its place: nothing is copied until it is shown. */
export interface LineRef {
  readonly section: LogSection
  readonly number: number
  readonly start: number
  readonly end: number
}

/** Longer lines are read by their beginning and end only, so that one line of many megabytes costs no more than a short one. */
const longLineChars = 8192
const longLineHead = 4096
const longLineTail = 1024
/** Of a long line of frames, so many are looked at from the end for one with something in it. */
const maxFrames = 1000
/** A frame that shows nothing in so many characters counts as blank. */
const maxBlankChars = 1 << 16

/** The line that begins at offset `start` of a section, or undefined at its end. */
export function lineFrom(section: LogSection, start: number, number: number): LineRef | undefined {
  if (start >= section.text.length) return undefined
  const feed = section.text.indexOf('\n', start)
  return { section, number, start, end: feed < 0 ? section.text.length : feed }
}

/** The line after this one in the same section. */
export function lineAfter(line: LineRef): LineRef | undefined {
  return lineFrom(line.section, line.end + 1, line.number + 1)
}

/** The line before this one in the same section. */
export function lineBefore({ section, number, start }: LineRef): LineRef | undefined {
  if (start === 0) return undefined
  return { section, number: number - 1, start: start < 2 ? 0 : section.text.lastIndexOf('\n', start - 2) + 1, end: start - 1 }
}

/** The beginning of a line as it may be shown, enough to judge it by. */
export function lineHead(line: LineRef): string {
  const raw = lastFrameOf(line)
  return raw.length <= longLineChars ? tidy(raw) : tidy(headChars(raw, longLineHead))
}

/** A line as it may be shown, in at most `maxBytes`; what is left out is said in it. */
export function shownLine(line: LineRef, maxBytes: number): string {
  const raw = lastFrameOf(line)
  if (raw.length <= longLineChars) return shortenLine(tidy(raw), maxBytes)
  const head = tidy(headChars(raw, longLineHead))
  const total = byteLength(raw)
  const noteOf = (bytes: number): string => ` [${bytes} bytes left out] `
  const room = maxBytes - byteLength(noteOf(total))
  if (room < 24) return headBytes(head, maxBytes)
  const tail = room < 120 ? '' : tidy(tailChars(raw, longLineTail)).trimStart()
  const end = tail.slice(safeStart(tail, Math.max(0, tail.length - Math.floor(room / 8))))
  const start = headBytes(head, room - byteLength(end))
  return (start + noteOf(total - byteLength(start) - byteLength(end)) + end).trimEnd()
}

// Where there is little room the beginning is worth more than the end: it names the place and the kind of the error.
const shortenLine = (line: string, maxBytes: number): string => (maxBytes >= 200 ? clampLine(line, maxBytes) : shorten(line, maxBytes))

const tidy = (raw: string): string => cleanLine(raw).replace(/[\u2028\u2029]/g, ' ')

function lastFrameOf(line: LineRef): string {
  const raw = line.section.text.slice(line.start, line.end)
  if (raw.length <= longLineChars) return raw
  let end = raw.length
  for (let i = 0; i < maxFrames && end > 0; i += 1) {
    const from = raw.lastIndexOf('\r', end - 1) + 1
    if (end > from && stripControls(headChars(raw.slice(from, end), maxBlankChars)).trim() !== '') return raw.slice(from, end)
    end = from - 1
  }
  return ''
}

const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
const safeStart = (text: string, at: number): number => (at > 0 && at < text.length && isLow(text.charCodeAt(at)) ? at + 1 : at)
const headChars = (text: string, chars: number): string => text.slice(0, isLow(text.charCodeAt(chars)) ? chars - 1 : chars)
const tailChars = (text: string, chars: number): string => text.slice(safeStart(text, text.length - chars))
