import type { RunProgress } from '../../app/api.ts'
import { formatDuration } from '../../core/limits.ts'
import { cleanLine, formatCount } from '../../core/text.ts'
import type { Outlet } from './io.ts'
import { clip } from './width.ts'

const redrawMs = 100
// Enough for the widest terminal, whatever comes before the last line.
const keptChars = 4096
const erase = '\r\u001b[K'

/** One line on a terminal that says how a command is doing; it leaves nothing behind. */
export interface LiveLine {
  onProgress(progress: RunProgress): void
  /** Shows another text from now on, and no count. */
  say(text: string): void
  /** Counts what is printed from now on. */
  count(): void
  /** Removes the line. Harmless when called twice. */
  close(): void
}

/** Draws on `stderr`, at most ten times a second. With a text of its own it does not count what is printed. */
export function openLiveLine(stderr: Outlet, ownText?: string): LiveLine {
  const startedAt = performance.now()
  let bytes = ownText === undefined ? 0 : undefined
  let text = ownText ?? ''
  let drawn = ''
  const draw = (): void => {
    const line = clip(liveText(performance.now() - startedAt, bytes, text), stderr.columns - 1)
    if (line === drawn) return
    stderr.write(`${erase}${line}`)
    drawn = line
  }
  const timer = setInterval(draw, redrawMs)
  timer.unref()
  return {
    onProgress(progress) {
      bytes = progress.bytes
      text = progress.text.slice(-keptChars)
    },
    say(next) {
      bytes = undefined
      text = next
    },
    count() {
      bytes = 0
      text = ''
    },
    close() {
      clearInterval(timer)
      if (drawn !== '') stderr.write(erase)
      drawn = ''
    },
  }
}

/** `3 s · 1,204 bytes · the last line with something in it`; without bytes where they are not known. */
export function liveText(elapsedMs: number, bytes: number | undefined, text: string): string {
  const last = text
    .split('\n')
    .map(cleanLine)
    .findLast((line) => line.trim() !== '')
  const elapsed = formatDuration(Math.floor(elapsedMs / 1000) * 1000).replace(/^0 ms$/, '0 s')
  return [elapsed, ...(bytes === undefined ? [] : [`${formatCount(bytes)} bytes`]), ...(last === undefined ? [] : [last.trim()])].join(' · ')
}
