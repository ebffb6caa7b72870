import type { OpenFailure } from './parts.ts'
import { ranks } from './parts.ts'
import type { LogLine } from './recogniser.ts'

const sourcePlace = /^\(([\w$-]{1,120}\.(?:java|kt|kts|scala|groovy|clj)):(\d{1,7})\)/
const foreign =
  /^(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|clojure|org\.(?:junit|opentest4j|hamcrest|assertj|mockito|testng|gradle|codehaus|apache\.maven|springframework|hibernate|eclipse\.aether))\./
const compared = /^\s*(?:expected|actual|but was|to be|received|got|and|Wanted|Actually)\b.{0,40}[:<]/i

// Some say of an exception no more than its name and where it came from.
const brief = /^\s*\S{1,300} at ([\w$-]{1,120}\.(?:java|kt|kts|scala|groovy|clj):\d{1,7})$/

/** True for a frame of a Java trace, and for what stands in place of some. */
export const isFrame = (text: string): boolean =>
  /^\s*(?:at \S|\.{3} \d+ (?:more|common frames)|\[\.{3}\])/.test(text) || /\((?:Native Method|Unknown Source)\)$/.test(text) || frameOf(text) !== undefined

/** `File.java:12` of a frame in code that is not of the platform or of a test tool. */
function ownPlace(text: string): string | undefined {
  const frame = frameOf(text)
  return frame === undefined || foreign.test(frame.method) ? undefined : frame.place
}

function frameOf(text: string): { readonly method: string; readonly place: string } | undefined {
  const open = text.lastIndexOf('(')
  const found = open < 0 ? null : sourcePlace.exec(text.slice(open))
  if (!found) return undefined
  const before = text.slice(0, open).trim().replace(/^at /, '')
  const method = before.slice(before.lastIndexOf('/') + 1)
  return /\s/.test(method) || !method.includes('.') ? undefined : { method, place: `${found[1]}:${found[2]}` }
}

/** Remembers one line of what a test tool prints about an exception: its message, what was compared, the frames of own code. */
export function addTraceLine(open: OpenFailure, line: LogLine): void {
  const place = ownPlace(line.text)
  if (place !== undefined) {
    open.place ??= place
    open.detail(line, ranks.place)
  } else if (!isFrame(line.text)) {
    open.place ??= brief.exec(line.text)?.[1]
    open.detail(line, compared.test(line.text) ? ranks.comparison : ranks.message)
  }
}
