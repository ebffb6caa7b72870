import type { OpenFailure, Rank } from './parts.ts'
import { isForeignPlace, placeIn, ranks } from './parts.ts'
import type { LogLine } from './recogniser.ts'

const frame = /^\s*(?:#\s*)?(?:at |❯ |File: )/
const compared = /^\s*(?:[-+]\s*\S|["']?(?:expected|received|actual|wanted|found|got)["']?\b[^:]{0,40}:)/i
/** What is compared in words of the tool, and which sign is whose: good to know, but no news. */
const told = /^\s*(?:expect\(.{0,200}\)(?:\.\w{1,30}){1,3}\(|[-+] (?:expected|received|snapshot|actual)\b)/i
const spokenError = /^\s*(?:Uncaught )?(?:[A-Za-z_$][\w$.]{0,80})?(?:Error|Exception)(?: \[\w{1,60}\])?:/
/** A diagnosis of what turns TypeScript into JavaScript. */
const diagnosis = /^\s*\S{1,400}:\d{1,7}:\d{1,7}(?:: ERROR: | - error )/
const sourceLine = /^\s*(?:>\s*)?\d{1,7} ?[|│]/
const caretLine = /^\s*(?:[|│]\s*)?\^+$/
const onlyPunctuation = /^[\s{}()[\],;]*$/

/** The place that a stack frame names, where it is in no library and not in Node.js itself. */
export function ownFrame(text: string): string | undefined {
  if (/\bnode:|<anonymous>\)?$/.test(text)) return undefined
  const place = placeIn(text)
  return place === undefined || isForeignPlace(place) ? undefined : place
}

/**
 * Reads the lines that explain one failure, as test tools of JavaScript print them: a message, what was expected and received, the
 * source with a mark, and a stack. The message goes on to the first blank line; what comes after it counts only where its kind is known.
 */
export function explanationOf(open: OpenFailure): (line: LogLine) => void {
  let paragraph: 'none' | 'message' | 'later' = 'none'
  let source: LogLine | undefined
  const read = (line: LogLine, rank: Rank): void => {
    open.detail(line, rank)
    if (paragraph === 'none') paragraph = 'message'
  }
  return (line) => {
    const { text } = line
    if (text === '') {
      if (paragraph === 'message') paragraph = 'later'
    } else if (frame.test(text)) {
      const place = ownFrame(text)
      paragraph = 'later'
      if (place === undefined) return
      open.detail(line, ranks.place)
      open.place ??= place
    } else if (caretLine.test(text)) {
      if (source) read(source, ranks.source)
      source = undefined
    } else if (sourceLine.test(text)) source = line
    else if (onlyPunctuation.test(text)) return
    else if (diagnosis.test(text)) {
      read(line, ranks.message)
      open.place ??= placeIn(text)
    } else if (spokenError.test(text)) read(line, ranks.message)
    else if (told.test(text)) read(line, ranks.other)
    else if (compared.test(text)) read(line, ranks.comparison)
    else if (paragraph !== 'later') read(line, ranks.message)
  }
}
