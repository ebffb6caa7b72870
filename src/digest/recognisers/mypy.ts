import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { Reader, Recogniser } from './recogniser.ts'

const diagnosis = /^([^\s:]{1,400}\.pyi?:\d{1,7}(?::\d{1,7}){0,3}): (error|warning|note): (\S.*)$/
const totals = /^Found (\d{1,9}) errors? in \d{1,9} files? \(|^Success: no issues found in \d/

/** mypy, also `--pretty`. */
export const mypy: Recogniser = {
  name: 'mypy',
  signs: new RegExp(`${diagnosis.source}|${totals.source}|^mypy: (?:can't|error)`),
  open: openMypy,
}

function openMypy(): Reader {
  const all = gathering('mypy', 'error')
  let stated = 0
  let current: OpenFailure | undefined
  return {
    line(line) {
      const { text } = line
      const found = diagnosis.exec(text)
      const closing = totals.exec(text)
      if (closing) {
        all.total(line)
        stated += Number(closing[1] ?? 0)
        current = undefined
      } else if (found?.[2] === 'error') current = all.failure(line, found[3] as string, placeIn(text))
      else if (found) {
        // A note stands below the error that it is about, or for itself.
        if (placeIn(text) === current?.place) current?.detail(line, ranks.other)
        else current = undefined
      } else if (/^mypy: (?:can't|error)/.test(text)) current = all.failure(line, text)
      // With `--pretty` a message goes on in the next line, and the source stands below it.
      else if (current && /^ {4}/.test(text)) current.detail(line, ranks.source)
      else if (current && /^\s?\S/.test(text)) current.detail(line, ranks.message)
      else current = undefined
    },
    end: () => all.result({ errors: Math.max(stated, all.failures) || undefined }),
  }
}
