import { clampLine, oneLine } from '../core/text.ts'

/** One part of a snapshot. */
export interface Section {
  readonly heading: string
  readonly lines: readonly string[]
  /** Its share of the room, where all sections together want more than there is. */
  readonly share: number
  /** Tells what of the section is not shown, from its first line that is not. */
  leftOut(lines: readonly string[]): string
}

/** Long enough for a sentence, short enough that one item never pushes out the others. */
const maxItemBytes = 320

/** One line of a list. */
export const item = (text: string): string => `- ${clampLine(text, maxItemBytes)}`

/** Tags by which hosts and models tell whose words these are: `</system-reminder>`, `<tool_call>`, `<|end|>`. */
const markers = /<(?=\/?[a-z]{1,40}[-_:][a-z]|\|)/gi

/** Text of others on one line, well-formed, with nothing that turns the order of what a person sees, and no tag that closes what it stands in. */
export function clean(text: string, folded = true): string {
  const line = (folded ? oneLine(text) : text.trimEnd()).replace(/\p{Surrogate}/gu, '\ufffd')
  return line.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '').replace(markers, '‹')
}
