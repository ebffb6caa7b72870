import { markOf } from './shell-text.ts'

/** What a stream of bytes is taken apart into, in order. */
export interface MarkedParts {
  /** What others printed. */
  bytes(bytes: Buffer): void
  /** A line of ours, without its mark and its line feeds. True: none comes behind it, and nothing has to wait to be told from one. */
  line(text: string): boolean | undefined
}

/** Takes lines of ours out of a stream in which others print: each stands behind a line feed of its own, or behind what else is given. */
export interface MarkedLines {
  /** What may be the beginning of a line of ours waits for more. */
  push(bytes: Buffer): void
  /** Nothing more comes: what waited is nobody's line. */
  end(): void
}

const lineFeed = 10
/** Of a line of ours, so that what only begins like one is not kept for ever. */
const maxLineBytes = 4_096

export function takeMarkedLines(nonce: string, parts: MarkedParts, before = '\n'): MarkedLines {
  const mark = Buffer.from(`${before}${markOf(nonce)}`)
  let kept: Buffer = Buffer.alloc(0)
  let isOver = false
  const give = (bytes: Buffer): void => {
    if (bytes.length > 0) parts.bytes(bytes)
  }

  return {
    push(bytes) {
      let all = kept.length > 0 ? Buffer.concat([kept, bytes]) : bytes
      for (;;) {
        if (isOver) return give(all)
        const at = all.indexOf(mark)
        const end = at < 0 ? -1 : all.indexOf(lineFeed, at + mark.length)
        if (end < 0) {
          const isLong = at >= 0 && all.length - at > maxLineBytes
          const from = isLong ? all.length : at < 0 ? beginsAt(all, mark) : at
          give(all.subarray(0, from))
          kept = Buffer.from(all.subarray(from))
          return
        }
        give(all.subarray(0, at))
        isOver = parts.line(all.toString('utf8', at + mark.length, end)) === true
        if (isOver) kept = Buffer.alloc(0)
        all = all.subarray(end + 1)
      }
    },
    end() {
      give(kept)
      kept = Buffer.alloc(0)
    },
  }
}

/** Where the end of the bytes may be the beginning of the mark; their length where it cannot. */
function beginsAt(bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(mark.subarray(0, length))) return bytes.length - length
  }
  return bytes.length
}
