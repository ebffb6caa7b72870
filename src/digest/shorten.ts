import { byteLength, headBytes } from '../core/text.ts'

/** The beginning of a text in at most `maxBytes`, and how much of it is missing. In very little room, the beginning alone. */
export function shorten(text: string, maxBytes: number): string {
  const total = byteLength(text)
  if (total <= maxBytes) return text
  const room = maxBytes - byteLength(` [+${total} bytes]`)
  if (room < 16) return headBytes(text, maxBytes)
  const start = headBytes(text, room)
  return `${start} [+${total - byteLength(start)} bytes]`
}
