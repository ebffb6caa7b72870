import { labelsFor, type Masker } from './redact.ts'
import type { Span } from './redact-rules.ts'

/** Masks text that comes in pieces. What it gives out, joined, is what the masker makes of the whole. */
export interface StreamMasker {
  /** Takes the next piece and gives out what can no longer be part of a secret. */
  push(text: string): string
  /** Gives out what was held back. */
  end(): string
}

/** No more characters than this are held back; a secret that is longer is masked from where it begins to look like one. */
export const maxHeldBack = 4096
// What stays held back when a line or key outgrows that: enough for the beginning of any token.
const kept = 1024
// How much text before the held back part is looked at again, to know what it belongs to.
const maxContext = 1024
const maxSpanContext = 65_536

/**
 * Makes a masker for live text, one per stream. Whole lines come out at once, and words as soon as they end; only an
 * unfinished word, an unclosed quoted value of a password or the like, and a private key without its end are waited for.
 */
export function streamMasker(masker: Masker): StreamMasker {
  // `buffer` holds some text that is out already (the context), up to `released`, and what is held back after it.
  let buffer = ''
  let released = 0
  // Whether the last thing given out was a label for text that ends at `released`.
  let labelLast = false

  const release = (until: number): string => {
    if (until <= released) return ''
    const spans = masker.find(buffer)
    let shown = ''
    let at = released
    for (const span of spans) {
      // A span that ends where the output stopped may have been longer or shorter then: its label stands for both.
      if (span.start >= until || span.end <= at) continue
      shown += buffer.slice(at, Math.max(span.start, at))
      const start = Math.max(span.start, at)
      const end = Math.min(span.end, until)
      shown += labelled(buffer.slice(start, end), start === released && labelLast)
      at = end
    }
    shown += buffer.slice(at, until)
    labelLast = buffer[until - 1] !== '\n' && spans.some((span) => span.start < until && span.end >= until)
    released = until
    forgetContext(spans)
    return shown
  }

  const forgetContext = (spans: readonly Span[]): void => {
    let start = Math.max(lineStartOf(buffer, released), released - maxContext)
    const crossing = spans.find((span) => span.start < released && span.end >= released)
    if (crossing && released - crossing.start <= maxSpanContext) start = Math.min(start, crossing.start)
    buffer = buffer.slice(start)
    released -= start
  }

  return {
    push(text) {
      buffer += text
      const open = Math.max(masker.openFrom(buffer), released)
      return release(buffer.length - open > maxHeldBack ? Math.max(released, buffer.length - kept) : open)
    },
    end() {
      const shown = release(buffer.length)
      buffer = ''
      released = 0
      labelLast = false
      return shown
    },
  }
}

/** The labels of a part of a secret; its first line has none where the label of the part before it stands for both. */
function labelled(part: string, goesOn: boolean): string {
  if (!goesOn) return labelsFor(part)
  const lineEnd = part.indexOf('\n')
  return lineEnd < 0 ? '' : `\n${lineEnd + 1 < part.length ? labelsFor(part.slice(lineEnd + 1)) : ''}`
}

function lineStartOf(text: string, before: number): number {
  return Math.max(text.lastIndexOf('\n', before - 1), text.lastIndexOf('\r', before - 1)) + 1
}
