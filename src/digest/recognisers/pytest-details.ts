import type { OpenFailure } from './parts.ts'
import { isForeignPlace, placeIn, pythonPlace, ranks, ruledTitle } from './parts.ts'
import type { LogLine } from './recogniser.ts'

export const exception = /^[A-Za-z_][\w.]{0,120}(?:: |$)/
export const crash = /^(?:\S{1,400}\.py::\S{1,400} )?Fatal Python error: /
const maxCaptured = 4

/** Takes the lines of what pytest says about one failure, in any style of `--tb`; gives false with the last one of a failure without a heading. */
export type Explain = (line: LogLine, text?: string) => boolean

export function explainPytest(open: OpenFailure, hasHeading: boolean): Explain {
  let captured = 0
  let afterPlace = false
  let inTraceback = false

  function locate(place: string): void {
    // Frames come with the innermost last, but for those of a crash.
    const isSettled = crash.test(open.title) && open.place !== undefined && !isForeignPlace(open.place)
    if (open.place === undefined || !(isSettled || isForeignPlace(place))) open.place = place
  }

  function traceback(line: LogLine, text: string, place: string | undefined): void {
    if (/^E {3}/.test(text)) {
      const said = text.slice(4)
      const named = pythonPlace(said)
      if (named !== undefined) locate(named)
      open.detail(line, exception.test(said.trimStart()) ? ranks.message : ranks.comparison)
    } else if (place !== undefined) {
      locate(place)
      open.detail(line, isForeignPlace(place) ? ranks.other : ranks.place)
    } else if (inTraceback && exception.test(text)) open.detail(line, ranks.message)
    else if (/^>./.test(text) || afterPlace) open.detail(line, ranks.source)
    inTraceback ||= /^ {2}File /.test(text)
    afterPlace = place !== undefined && !isForeignPlace(place)
  }

  return (line, text = line.text) => {
    if (ruledTitle(text, '-')?.startsWith('Captured ')) {
      captured = 1
      return true
    }
    const place = /^\S.{0,400}:\d{1,7}:(?: |$)/.test(text) ? placeIn(text) : pythonPlace(text)
    const isLast = !hasHeading && place !== undefined
    if (captured === 0 || isLast) traceback(line, text, place)
    else if (captured <= maxCaptured) {
      open.detail(line, ranks.other)
      captured += 1
    }
    return !isLast
  }
}
