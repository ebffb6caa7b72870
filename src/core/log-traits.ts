import { foldText } from './fold.ts'

/*
 * What a log has besides printable ASCII, as bits. It says which disguises of a word can be in it at all (see scan-pattern): most
 * logs have none, or colours and signs like a check mark, which disguise nothing.
 */
export const logTraits = {
  /** Escape sequences. */
  escapes: 1,
  /** Other control characters, which are not shown. */
  controls: 2,
  /** Characters that are folded to letters, digits or nothing: é, ﬁ, an accent, a soft hyphen. */
  letters: 4,
  /** Characters that are folded to other signs: dashes, quotes, spaces. */
  signs: 8,
  /** Any other: ✓, 語, a byte that is no text. */
  others: 16,
  /** Secrets, which are shown masked. Of a text by itself that cannot be told. */
  secrets: 32,
} as const

export const everyTrait = 63

const unprintable = /[^\t\n\r -~]/

/** Per code point: its trait, with `seen` for those that were looked at. Made with the first text that needs it. */
let table: Uint8Array | undefined
const seen = 128

/** The traits of a text. Those of a log are those of its parts together. */
export function traitsOf(text: string): number {
  const first = text.search(unprintable)
  if (first < 0) return 0
  table ??= new Uint8Array(0x11_0000)
  let traits = 0
  for (let i = first; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x20 && unit < 0x7f) continue
    const code = unit >= 0xd800 && unit <= 0xdbff ? (text.codePointAt(i) as number) : unit
    if (code > 0xffff) i += 1
    let known = table[code] as number
    if (known === 0) {
      known = seen | traitOf(code)
      table[code] = known
    }
    traits |= known
  }
  return traits & ~seen
}

function traitOf(code: number): number {
  if (code === 9 || code === 10 || code === 13 || (code >= 0x20 && code < 0x7f)) return 0
  if (code === 0x1b) return logTraits.escapes
  // NUL is shown as what stands for an unreadable byte.
  if (code > 0 && code < 0xa0) return logTraits.controls
  const char = String.fromCodePoint(code)
  const folded = foldText(char)
  if (folded === char) return logTraits.others
  return /^[ -/:-@[-^`{-~]+$/.test(folded) ? logTraits.signs : logTraits.letters
}
