import { StringDecoder } from 'node:string_decoder'
import type { IBuffer, IBufferLine, IMarker, Terminal } from '@xterm/headless'
import { maxTerminalSide } from '../core/limits.ts'
import { plural } from '../core/text.ts'
import { runWithin } from './bounded-regex.ts'

/**
 * What a command wrote to a terminal, as the text that a person finds there: what scrolled out at the top, then what stands
 * on the screen. Lines that were drawn anew are there once, what was erased is gone, and of each full-screen program its
 * last screen stays, at the place where it was called.
 */

export interface ScreenSize {
  readonly rows: number
  readonly columns: number
}

export interface ScreenLimits {
  /** Of work, without the breaks in which others of this process have their turn. */
  readonly maxMs: number
  readonly maxChars: number
}

/** The bytes of a log in order; a number stands for as many bytes that the log left out. Each is used before the next one is asked for. */
export type ScreenSource = Iterable<Buffer | number>

/** The text, its lines ended by line feeds; undefined where it takes longer, or grows larger, than allowed. */
export async function renderScreen(source: ScreenSource, size: ScreenSize, limits: ScreenLimits): Promise<string | undefined> {
  const screen = await openScreen(size)
  let leftMs = limits.maxMs
  try {
    for (const part of source) {
      const startedAt = performance.now()
      const isDone = runWithin(leftMs, () => {
        if (typeof part === 'number') screen.gap(part)
        else screen.write(part)
        return true
      })
      leftMs -= performance.now() - startedAt
      if (!isDone || screen.chars() > limits.maxChars) return undefined
      await new Promise((resolve) => setImmediate(resolve))
    }
    return runWithin(leftMs, () => screen.end())
  } catch {
    // What a command prints may be made to break an emulator.
    return undefined
  } finally {
    screen.close()
  }
}

// CAN ends a sequence that was cut, SGR 0 its colours; the margins become those of the whole screen, which would move the cursor.
const gapNote = (bytes: number): string => `\u0018\u001b[0m\u001b7\u001b[r\u001b8\r\n[holdfast: ${plural(bytes, 'byte')} left out]\r\n`

interface Screen {
  write(bytes: Buffer): void
  gap(bytes: number): void
  chars(): number
  /** All of the text. */
  end(): string
  close(): void
}

/** So many rows that have scrolled out are taken together. A slice adds at most one for each of its characters. */
const takeRows = 1_024
const sliceChars = 1_024
/** Rows that the emulator keeps above its screen: those that wait, those of a slice, and one that tells where the others were. */
const scrollbackRows = takeRows + 2 * sliceChars
/** No real count in a sequence is higher, and the emulator may take as many steps. */
const maxCount = 9_999

async function openScreen(size: ScreenSize): Promise<Screen> {
  const rows = Math.min(size.rows, maxTerminalSide)
  const columns = Math.min(size.columns, maxTerminalSide)
  const { default: xterm } = await import('@xterm/headless')
  const terminal: Terminal = new xterm.Terminal({ rows, cols: columns, scrollback: scrollbackRows, allowProposedApi: true, logLevel: 'off' })
  boundSequences(terminal, columns)
  const { normal } = terminal.buffer
  const text: string[] = []
  let chars = 0
  /** Rows of the normal screen that are in the text already, and a mark at the last of them: the emulator drops the oldest rows. */
  let taken = 0
  let lastTaken: IMarker | undefined
  /** Last screens of full-screen programs, each before the row at which it was called. */
  let asides: { readonly row: number; readonly lines: readonly string[] }[] = []

  const add = (piece: string): void => {
    text.push(piece)
    chars += piece.length
  }

  function addAsides(upTo: number): void {
    if (asides.length === 0) return
    for (const { row, lines } of asides) if (row <= upTo) add(`${lines.join('\n')}\n`)
    asides = asides.filter(({ row }) => row > upTo)
  }

  /** Adds rows up to `end`, which no longer change. A row that the next one continues gets no line feed. */
  function takeUntil(end: number): void {
    let line = normal.getLine(taken)
    for (; taken < end && line; taken += 1) {
      const next = normal.getLine(taken + 1)
      if (!line.isWrapped) addAsides(taken)
      add(next?.isWrapped ? unfinishedText(line) : `${line.translateToString(true)}\n`)
      line = next
    }
  }

  /** Numbers rows anew as those above them were dropped. */
  function settle(): void {
    const dropped = lastTaken ? taken - 1 - lastTaken.line : 0
    if (dropped === 0) return
    taken -= dropped
    asides = asides.map(({ row, lines }) => ({ row: row - dropped, lines }))
  }

  function takeScrolled(): void {
    settle()
    if (normal.baseY - taken < takeRows) return
    takeUntil(normal.baseY)
    lastTaken?.dispose()
    lastTaken = terminal.registerMarker(-1 - normal.cursorY)
  }

  // The public `write` parses in timers, where what it throws would end this process and nothing could interrupt it.
  const { _core: core } = terminal as unknown as { _core: { writeSync(text: string): void } }
  const isFull = (): boolean => terminal.buffer.active.type === 'alternate'
  /** Where the full-screen program was called that has the screen now. */
  let calledAt = 0

  /** A sequence that begins or ends a full-screen program: what is seen of it at its end is its last screen. */
  function turn(sequence: string): void {
    settle()
    const last = isFull() ? screenLines(terminal.buffer.active, rows) : []
    if (!isFull()) calledAt = normal.baseY + normal.cursorY + (normal.cursorX > 0 ? 1 : 0)
    core.writeSync(sequence)
    if (last.length === 0 || isFull()) return
    asides = [...asides.filter(({ row }) => row !== calledAt), { row: calledAt, lines: last }].sort((a, b) => a.row - b.row)
  }

  /** Everything begins anew: what had scrolled out stays in the text. */
  function reset(sequence: string): void {
    settle()
    takeUntil(normal.baseY)
    addAsides(Number.POSITIVE_INFINITY)
    core.writeSync(sequence)
    taken = 0
    lastTaken = undefined
  }

  function writeSlices(text: string): void {
    for (let at = 0; at < text.length; at += sliceChars) {
      core.writeSync(text.slice(at, at + sliceChars))
      takeScrolled()
    }
  }

  const decoder = new StringDecoder('utf8')
  let rest = ''

  function write(text: string): void {
    const end = text.length - (unfinished.exec(text)?.[0].length ?? 0)
    let at = 0
    for (const match of text.matchAll(turns)) {
      writeSlices(text.slice(at, match.index))
      at = match.index + match[0].length
      if (match[0] === '\u001bc') reset(match[0])
      else turn(match[0])
    }
    writeSlices(text.slice(at, end))
    rest = text.slice(end)
  }

  return {
    write: (bytes) => write(rest + decoder.write(bytes)),
    gap: (bytes) => write(`${rest}${decoder.end()}${gapNote(bytes)}`),
    chars: () => chars,
    end() {
      core.writeSync(rest + decoder.end())
      settle()
      takeUntil(normal.baseY + lastRow(normal, rows) + 1)
      addAsides(Number.POSITIVE_INFINITY)
      if (isFull()) for (const line of screenLines(terminal.buffer.active, rows)) add(`${line}\n`)
      return text.join('')
    },
    close: () => terminal.dispose(),
  }
}

// What enters and leaves the alternate screen (xterm's modes 47, 1047 and 1049), and the reset of everything.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
const turns = /\u001b\[\?(?:\d{1,5};){0,8}(?:47|1047|1049)(?:;\d{1,5}){0,8}[hl]|\u001bc/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
const unfinished = /\u001b(?:\[(?:\?[\d;]{0,40})?)?$/

/** Passes over what would make the emulator work for long, and over what would erase the rows above the screen. */
function boundSequences(terminal: Terminal, columns: number): void {
  const first = (params: readonly (number | number[])[]): number => Number(params[0] ?? 0)
  for (const final of ['@', 'I', 'L', 'M', 'P', 'S', 'T', 'X', 'Z']) terminal.parser.registerCsiHandler({ final }, (params) => first(params) > maxCount)
  // Repeating a character over more than a line would add many rows with few bytes.
  terminal.parser.registerCsiHandler({ final: 'b' }, (params) => first(params) > columns)
  terminal.parser.registerCsiHandler({ final: 'J' }, (params) => first(params) === 3)
}

/** The text of a row that goes on in the next one. */
function unfinishedText(line: IBufferLine): string {
  const text = line.translateToString(false)
  const last = line.getCell(line.length - 1)
  // A character of two columns that did not fit left the last one empty.
  return last?.getChars() === '' && last.getWidth() === 1 ? text.slice(0, -1) : text
}

/** The last row of the screen with something on it, from 0; -1 where there is none. */
function lastRow(buffer: IBuffer, rows: number): number {
  const isBlank = (row: number): boolean => (buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '').trim() === ''
  let row = rows - 1
  while (row >= 0 && isBlank(row)) row -= 1
  return row
}

function screenLines(buffer: IBuffer, rows: number): string[] {
  const lines: string[] = []
  let unfinished = ''
  for (let row = 0; row <= lastRow(buffer, rows); row += 1) {
    const line = buffer.getLine(buffer.baseY + row)
    if (!line) break
    if (buffer.getLine(buffer.baseY + row + 1)?.isWrapped) unfinished += unfinishedText(line)
    else {
      lines.push(unfinished + line.translateToString(true))
      unfinished = ''
    }
  }
  return lines
}
