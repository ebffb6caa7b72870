import { headBytes } from '../core/text.ts'
import { estimateTokens } from '../core/tokens.ts'

/** What a digest may take: bytes of UTF-8, or tokens by the estimate of core/tokens.ts. From 0. */
export type Room = { readonly bytes: number } | { readonly tokens: number }

/** More than this, a token of text that programs print hardly has. */
const bytesPerToken = 4
const maxRounds = 6

/** The largest text of `make`, which keeps within the bytes that it is given, that fits into the room. */
export function fitInto(room: Room, make: (bytes: number) => string): string {
  if ('bytes' in room) return make(room.bytes)
  let bytes = room.tokens * bytesPerToken
  let text = make(bytes)
  for (let round = 1; round < maxRounds; round += 1) {
    const tokens = estimateTokens(text)
    if (tokens <= room.tokens) return text
    bytes = Math.min(bytes - 1, Math.floor((Buffer.byteLength(text) * room.tokens) / tokens))
    text = make(bytes)
  }
  while (text !== '' && estimateTokens(text) > room.tokens) text = headBytes(text, Math.floor(Buffer.byteLength(text) * 0.8))
  return text
}
