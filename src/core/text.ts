/** Text for people and models: decoding, clean cuts, escape sequences, budgets in bytes. */

const encoder = new TextEncoder()

export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** The longest beginning of `text` that has at most `maxBytes` bytes of UTF-8, never cut inside a character. */
export function headBytes(text: string, maxBytes: number): string {
  if (maxBytes <= 0) return ''
  if (text.length * 3 <= maxBytes) return text
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.min(Math.floor(maxBytes), text.length * 3)))
  // A lone surrogate is encoded as U+FFFD, so `read` may stand between two halves only where the text was broken already.
  return text.slice(0, read)
}

/** The longest end of `text` that has at most `maxBytes` bytes of UTF-8, never cut inside a character. */
export function tailBytes(text: string, maxBytes: number): string {
  let bytes = 0
  let start = text.length
  while (start > 0) {
    const low = text.charCodeAt(start - 1)
    const pair = low >= 0xdc00 && low <= 0xdfff && start > 1 && isHighSurrogate(text.charCodeAt(start - 2))
    const size = pair ? 4 : low < 0x80 ? 1 : low < 0x800 ? 2 : 3
    if (bytes + size > maxBytes) break
    bytes += size
    start -= pair ? 2 : 1
  }
  return text.slice(start)
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/**
 * Shortens a line to at most `maxBytes`: its beginning and its end stay, and what is left out is said in between.
 * Below the size of such a note, the beginning alone stays.
 */
export function clampLine(line: string, maxBytes: number): string {
  const total = byteLength(line)
  if (total <= maxBytes) return line
  const note = (bytes: number): string => ` [${bytes} bytes left out] `
  const room = maxBytes - byteLength(note(total))
  if (room < 24) return headBytes(line, maxBytes)
  const end = tailBytes(line, Math.floor(room / 4))
  const start = headBytes(line, room - byteLength(end))
  return start + note(total - byteLength(start) - byteLength(end)) + end
}

// CSI; OSC, DCS, SOS, PM and APC up to their terminator, the end of the line, or a length that no real one has; two-byte escapes.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
  /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c\n]{0,4096}(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]{0,4}[0-~]?/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
const anyControl = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

// Erasing the whole line and going to its first column begin a frame as a carriage return does.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what this pattern is about
const frameStarts = /(?:\u001b\[|\u009b)(?:[01]?G|2K)/g

// Many NUL characters in a row (a disk image, /dev/zero) are one border, not as many.
const removable = new RegExp(`(${frameStarts.source}|\\u0000+)|${escapes.source}|${controls.source}`, 'g')

/**
 * Removes escape sequences (colours, cursor, titles, clipboard) and other control characters; keeps tab, line feed and
 * carriage return, which also stands for what begins the line again. NUL becomes U+FFFD.
 */
export function stripControls(text: string): string {
  if (!anyControl.test(text)) return text
  return text.replace(frameStarts, '\r').replace(escapes, '').replaceAll('\u0000', '\ufffd').replace(controls, '')
}

/** Text as it is shown, and where it came from. */
export interface ShownText {
  readonly text: string
  /** Where the character at `offset` of `text` stands in the original. */
  originOf(offset: number): number
}

/** The text without what `stripControls` removes, with the way back; undefined where there is nothing to remove. */
export function withoutControls(original: string): ShownText | undefined {
  if (!anyControl.test(original)) return undefined
  const starts: { readonly shown: number; readonly original: number }[] = []
  let text = ''
  let at = 0
  const keep = (until: number): void => {
    if (until <= at) return
    starts.push({ shown: text.length, original: at })
    text += original.slice(at, until)
  }
  for (const match of original.matchAll(removable)) {
    keep(match.index)
    at = match.index + match[0].length
    // What begins the line anew or is shown as something stays a border between what stands around it.
    if (match[1] === undefined) continue
    starts.push({ shown: text.length, original: match.index })
    text += '\r'
  }
  keep(original.length)
  return {
    text,
    originOf(offset) {
      let low = 0
      let high = starts.length - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((starts[middle]?.shown ?? 0) <= offset) low = middle
        else high = middle - 1
      }
      const start = starts[low]
      return start ? start.original + offset - start.shown : original.length
    },
  }
}

/**
 * What a line looks like once printing is over: of frames that overwrite each other by carriage return, the last one
 * with something in it.
 */
export function lastFrame(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  if (!text.includes('\r')) return text
  const frames = text.split('\r')
  for (let i = frames.length - 1; i >= 0; i -= 1) {
    const frame = frames[i] as string
    if (frame.trim() !== '') return frame
  }
  return ''
}

/** One raw line as it may be shown: no escape sequences, one frame, nothing at the end. */
export function cleanLine(line: string): string {
  // Lines that end in both have nothing else to take out, as a rule.
  return lastFrame(stripControls(line.endsWith('\r') ? line.slice(0, -1) : line)).trimEnd()
}

/** Text of others as one line that cannot forge a heading or a second line. */
export function oneLine(text: string): string {
  // NEL is a control character, and a line end to some.
  return stripControls(text.replaceAll('\u0085', ' ')).replace(/\s+/gu, ' ').trim()
}

/** Lines without their line feed; a line feed at the end begins no further line. */
export function splitLines(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** 1234567 as `1,234,567`. */
export function formatCount(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** `3 lines`, `1 line`, `1,024 bytes`. */
export function plural(n: number, word: string): string {
  return `${formatCount(n)} ${word}${n === 1 ? '' : 's'}`
}
