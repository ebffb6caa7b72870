import { plural } from '../core/text.ts'
import type { LogStream } from './log.ts'
import { lineAfter, lineFrom, lineHead } from './log.ts'
import { recognisers } from './recognisers/all.ts'
import type { LogLine, Recognised, Recogniser } from './recognisers/recogniser.ts'
import { unwrap } from './wrapper.ts'

/** What the tools that a log is of said in it; empty where none is known. */
export function recognise(streams: readonly LogStream[], known: readonly Recogniser[] = recognisers): Recognised[] {
  const lines = streams.flatMap((stream) => [...linesOf(stream)])
  const present = known.filter(({ signs }) => lines.some(({ text }) => signs.test(text)))
  return present.flatMap((recogniser) => {
    const reader = recogniser.open()
    for (const line of lines) reader.line(line)
    return reader.end() ?? []
  })
}

function* linesOf(stream: LogStream): Generator<LogLine> {
  for (const section of stream.sections) {
    for (let ref = lineFrom(section, 0, section.firstLine); ref; ref = lineAfter(ref)) {
      yield { stream: stream.name, number: ref.number, text: unwrap(lineHead(ref)), ref }
    }
  }
}

/** `vitest: 3 failed, 20 passed (23 tests)`. Only what is known is said, and never that nothing failed unless the log states it. */
export function describeRecognised({ tool, noun, counts }: Recognised): string {
  const { failed, passed, skipped, total, errors, warnings } = counts
  const parts = [
    failed === undefined ? '' : `${failed} failed`,
    passed === undefined ? '' : `${passed} passed`,
    skipped ? `${skipped} skipped` : '',
    errors === undefined ? '' : plural(errors, 'error'),
    warnings ? plural(warnings, 'warning') : '',
  ].filter((part) => part !== '')
  const of = total === undefined ? '' : ` (${plural(total, noun)})`
  return parts.length === 0 && of === '' ? tool : `${tool}: ${parts.join(', ')}${of}`
}
