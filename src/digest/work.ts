import { carriersIn } from './carrier.ts'
import type { LogStream } from './log.ts'
import { lineAfter, lineFrom, lineToJudge } from './log.ts'
import { survey } from './survey.ts'
import { verdictOf } from './verdict.ts'
import { clockLength } from './wrapper.ts'

/** So many lines from the beginning of a stream tell what it is. */
const maxLines = 200
/** Of a log of work so many lines say that something is done; of text or a listing, few do so by chance. */
const leastShare = 0.2

// What builds, downloads and test runs print: a step or a count of steps, what is going on, what came of it, a command, how long it took.
const steps = /^\W{0,4}(?:\[\s{0,3}\d{1,6}(?:\/\d{1,6}|%)\s{0,2}\]|\d{1,3}%|step \S)/i
const doing = /^\W{0,8}[A-Za-z]{2,16}ing\b(?![^ ]*\()/
const done = /\b(?:done|finished|completed|succeeded|built|compiled|installed|up[ -]to[ -]date)\b[.!]?(?: in \S{1,12})?$/i
const command =
  /^(?:[+$>] |\s*(?:\S{0,80}\/)?(?:cc|gcc|g\+\+|clang(?:\+\+)?|ar|ld|rustc|javac|mkdir|install|rm|cp|ln|cd|make|cmake|npm|npx|yarn|pnpm|node|python\d?) [\w./-])/
const took = /(?:\(|\bin |\s)\d[\d.,]{0,9} ?(?:ms|s|sec|seconds|min)\)?$/
const marks: readonly RegExp[] = [steps, doing, done, command, took]

/** True for what a program prints of its work, which is told in few words; not for text, a listing or data, which was asked for. */
export function isOfWork(stream: LogStream): boolean {
  const [first] = stream.sections
  if (!first || carriersIn(first) > 0 || isOneKind(stream)) return true
  let said = 0
  let working = 0
  for (let line = lineFrom(first, 0, first.firstLine); line && said < maxLines; line = lineAfter(line)) {
    const text = lineToJudge(line).slice(0, 400)
    if (text.trim() === '') continue
    said += 1
    if (clockLength(text) > 0 || verdictOf(text) !== undefined || marks.some((mark) => mark.test(text))) working += 1
  }
  return working > said * leastShare
}

/** Lines that differ in their numbers alone are told by the first and the last of them. */
const isOneKind = (stream: LogStream): boolean => survey(stream).tail.some(({ count }) => count > fewLines && count * 2 > stream.lines)
const fewLines = 20
