import { formatCount, plural } from '../core/text.ts'
import { carriersIn, withoutCarriers } from './carrier.ts'
import { linesToRead } from './lines-to-read.ts'
import type { LineRef, LogStream } from './log.ts'
import { lineHead, lineToJudge } from './log.ts'
import { recognisers } from './recognisers/all.ts'
import type { LogLine, Recognised, Recogniser } from './recognisers/recogniser.ts'
import { unwrap } from './wrapper.ts'

/** What the tools that a log is of said in it; empty where none is known. */
export function recognise(streams: readonly LogStream[], known: readonly Recogniser[] = recognisers): Recognised[] {
  const refs = streams.flatMap((stream) => linesToRead(stream).map((ref) => ({ stream, ref })))
  const carriers = Math.max(0, ...streams.flatMap(({ sections }) => sections.map(carriersIn)))
  // What is the same before each line may be a tool's own, so it is taken away only where no tool is known with it.
  for (let taken = 0; taken <= carriers; taken += 1) {
    const found = recogniseIn(refs, known, taken)
    if (found.length > 0) return found
  }
  return []
}

interface PlacedRef {
  readonly stream: LogStream
  readonly ref: LineRef
}

function recogniseIn(refs: readonly PlacedRef[], known: readonly Recogniser[], taken: number): Recognised[] {
  const textOf = (line: string, { section }: LineRef): string => unwrap(taken > 0 ? withoutCarriers(line, section, taken) : line)
  const texts = function* (): Generator<string> {
    for (const { ref } of refs) yield textOf(lineToJudge(ref), ref)
  }
  const present = presentIn(texts(), known)
  if (present.length === 0) return []
  const lines = refs.map(({ stream, ref }): LogLine => ({ stream: stream.name, number: ref.number, text: textOf(lineHead(ref), ref), ref }))
  return present.flatMap((recogniser) => {
    const reader = recogniser.open()
    for (const line of lines) reader.line(line)
    return reader.end() ?? []
  })
}

/** Those of whose tool a line has a sign. */
function presentIn(texts: Iterable<string>, known: readonly Recogniser[]): Recogniser[] {
  let absent = [...known]
  for (const text of texts) {
    if (absent.length === 0) break
    if (absent.some(({ signs }) => signs.test(text))) absent = absent.filter(({ signs }) => !signs.test(text))
  }
  return known.filter((recogniser) => !absent.includes(recogniser))
}

/** `vitest: 3 failed, 20 passed (23 tests)`. Only what is known is said, and never that nothing failed unless the log states it. */
export function describeRecognised({ tool, noun, counts }: Recognised): string {
  const { failed, passed, skipped, total, errors, warnings } = counts
  // Where no total says what is counted, the first count does.
  let what = total === undefined
  const counted = (count: number, word: string): string => {
    const said = what ? `${plural(count, noun)} ${word}` : `${formatCount(count)} ${word}`
    what = false
    return said
  }
  const parts = [
    failed === undefined ? '' : counted(failed, 'failed'),
    passed === undefined ? '' : counted(passed, 'passed'),
    skipped ? counted(skipped, 'skipped') : '',
    errors === undefined ? '' : plural(errors, 'error'),
    warnings ? plural(warnings, 'warning') : '',
  ].filter((part) => part !== '')
  const of = total === undefined ? '' : ` (${plural(total, noun)})`
  return `${tool}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}${of}`
}
