import type { ByteSource } from '../core/byte-source.ts'
import { sourceOf } from '../core/byte-source.ts'
import { byteLength, clampLine, cleanLine, headBytes, stripControls } from '../core/text.ts'
import type { LongLine } from './log-text.ts'
import { lineFeedAfter, lineFeedBefore, maskedLine, plainHead } from './log-text.ts'
import { shorten } from './shorten.ts'

/** Takes secrets out of text that is shown. The number of its lines stays. */
export interface Mask {
  mask(text: string): string
  /** How many bytes a secret of several lines may have at most, private keys apart. */
  readonly reach: number
}

/** A stretch of raw lines of one stream. Its first and its last line may be cut. */
export interface LogSection {
  /** Number in the stream, from 1, of the line in which it begins. */
  readonly firstLine: number
  readonly source: ByteSource
  /** Nothing is shown of a section but what came through this. */
  readonly mask?: Mask | undefined
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
  /** Bytes in the middle that a log kept and no section has, because it is too long. */
  readonly unreadBytes?: number | undefined
}

/** One raw line, by its place: offsets of bytes, without its line feed. Nothing is read until it is shown. */
export interface LineRef {
  readonly section: LogSection
  readonly number: number
  readonly start: number
  readonly end: number
}

/** A section of text that is at hand and holds no secrets. */
export function textSection(text: string, firstLine = 1): LogSection {
  return { firstLine, source: sourceOf(Buffer.from(text)) }
}

/** Longer lines are shown by their beginning and end only, so that one line of many megabytes costs no more than a short one. */
const longLineChars = 8192
const longLineHead = 4096
const longLineTail = 1024

/** The line that begins at offset `start` of a section, or undefined at its end. */
export function lineFrom(section: LogSection, start: number, number: number): LineRef | undefined {
  if (start >= section.source.length) return undefined
  return { section, number, start, end: lineFeedAfter(section, start) }
}

/** The line after this one in the same section. */
export function lineAfter(line: LineRef): LineRef | undefined {
  return lineFrom(line.section, line.end + 1, line.number + 1)
}

/** The line before this one in the same section. */
export function lineBefore({ section, number, start }: LineRef): LineRef | undefined {
  if (start === 0) return undefined
  return { section, number: number - 1, start: lineFeedBefore(section, start - 1) + 1, end: start - 1 }
}

/** The beginning of a line as it may be shown. */
export function lineHead(line: LineRef): string {
  const raw = maskedLine(line)
  return tidy(headOf(typeof raw === 'string' ? frameIn(raw) : raw.head))
}

/**
 * The same with its secrets, to judge it by and never to be shown or kept: it takes a fraction of the time. Line and paragraph separators are
 * as they came.
 */
export function lineToJudge(line: LineRef): string {
  return cleanLine(headOf(frameIn(plainHead(line))))
}

/** A line as it may be shown, in at most `maxBytes`; what is left out is said in it. */
export function shownLine(line: LineRef, maxBytes: number): string {
  const found = maskedLine(line)
  if (typeof found !== 'string') return shownLong(found, maxBytes)
  const raw = frameIn(found)
  if (raw.length <= longLineChars) return shortenLine(tidy(raw), maxBytes)
  return shownLong({ head: headChars(raw, longLineHead), tail: tailChars(raw, longLineTail), bytes: byteLength(raw) }, maxBytes)
}

function shownLong(raw: LongLine, maxBytes: number): string {
  const head = tidy(headOf(raw.head))
  const noteOf = (bytes: number): string => ` [${bytes} bytes left out] `
  const room = maxBytes - byteLength(noteOf(raw.bytes))
  if (room < 24) return headBytes(head, maxBytes)
  const tail = room < 120 ? '' : tidy(tailChars(raw.tail, longLineTail)).trimStart()
  const end = tail.slice(safeStart(tail, Math.max(0, tail.length - Math.floor(room / 8))))
  const start = headBytes(head, room - byteLength(end))
  return (start + noteOf(raw.bytes - byteLength(start) - byteLength(end)) + end).trimEnd()
}

// Where there is little room the beginning is worth more than the end: it names the place and the kind of the error.
const shortenLine = (line: string, maxBytes: number): string => (maxBytes >= 200 ? clampLine(line, maxBytes) : shorten(line, maxBytes))

const tidy = (raw: string): string => cleanLine(raw).replace(/[\u2028\u2029]/g, ' ')

/** Of a long text the last frame with something in it. */
function frameIn(raw: string): string {
  if (raw.length <= longLineChars) return raw
  let end = raw.length
  while (end > 0) {
    const from = raw.lastIndexOf('\r', end - 1) + 1
    if (end > from && stripControls(raw.slice(from, end)).trim() !== '') return raw.slice(from, end)
    end = from - 1
  }
  return ''
}

const headOf = (raw: string): string => (raw.length <= longLineChars ? raw : headChars(raw, longLineHead))
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
const safeStart = (text: string, at: number): number => (at > 0 && at < text.length && isLow(text.charCodeAt(at)) ? at + 1 : at)
const headChars = (text: string, chars: number): string => text.slice(0, isLow(text.charCodeAt(chars)) ? chars - 1 : chars)
const tailChars = (text: string, chars: number): string => text.slice(safeStart(text, text.length - chars))
