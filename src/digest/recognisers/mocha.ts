import { explanationOf } from './js-details.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const total = /^ {2}(\d{1,7}) (passing|pending|failing)(?: \(\d[\d.]{0,9}(?:ms|s|m|h|d)\))?$/
const numbered = /^ {2}\d{1,7}\) (\S.*)$/
const refused = /^Error: No test files found: "/
const crash = /^ {0,4}Exception during run: (.*)$/
/** Suites within suites, each a line of a title. */
const maxTitleLines = 12

/** Mocha: every reporter that ends in its list of failures (spec, dot, min, list and others), and what prints like it. */
export const mocha: Recogniser = {
  name: 'mocha',
  signs: /^ {2}\d{1,7} passing \(\d[\d.]{0,9}(?:ms|s|m|h|d)\)$|^ {2}\d{1,7} failing$|^Error: No test files found: "|^ {0,4}Exception during run: /,
  open() {
    const found = gathering('mocha', 'test')
    const counts = new Map<string, number>()
    let tests = 0
    let listing = false
    let current: OpenFailure | undefined
    let titleLines = 0
    let framed = false
    let read: ((line: LogLine) => void) | undefined
    const begin = (line: LogLine, title: string, place?: string): void => {
      current = found.failure(line, title, place)
      read = explanationOf(current)
      titleLines = 0
      framed = false
    }
    return {
      line(line) {
        const { text } = line
        const totals = total.exec(text)
        const named = listing ? numbered.exec(text) : null
        const crashed = crash.exec(text)
        if (totals) {
          const word = totals[2] as string
          counts.set(word, (counts.get(word) ?? 0) + Number(totals[1]))
          found.total(line)
          listing = word === 'failing'
          read = undefined
        } else if (named) {
          begin(line, (named[1] as string).replace(/:$/, ''))
          tests += 1
          titleLines = named[1]?.endsWith(':') ? 0 : 1
        } else if (crashed || refused.test(text)) {
          begin(line, text.trim(), placeIn(text))
        } else if (current && titleLines > 0) {
          current.title = `${current.title} > ${text.trim().replace(/:$/, '')}`
          if (text.endsWith(':')) current.detail(line, ranks.message)
          titleLines = text.endsWith(':') || titleLines >= maxTitleLines ? 0 : titleLines + 1
        } else if (read) {
          // A message may begin at the margin; after the stack, what does is of somebody else.
          if (framed && /^\S/.test(text)) read = undefined
          else read(line)
          if (/^\s+at /.test(text)) framed = true
        }
      },
      end: () =>
        found.result({
          failed: counts.get('failing') ?? (tests || undefined),
          passed: counts.get('passing'),
          skipped: counts.get('pending'),
        }),
    }
  },
}
