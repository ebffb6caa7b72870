import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { Reader, Recogniser } from './recogniser.ts'

const diagnosis = /^(?:vet: )?[^\s:]{1,400}\.go:\d{1,7}:\d{1,7}: (\S.*)$/
// What the go command itself says; of its progress, nothing.
const command =
  /^go: (?!(?:finding|downloading|extracting|found|added|upgraded|downgraded|removed|creating|to add module|warning|using|updating)\b).*(?:cannot|can't|could not|no required|no such|not found|not in|unrecognized|unknown|invalid|missing|mismatch|inconsistent|updates to|requires|disabled|errors? parsing|already exists|does not|no Go files|malformed|failed)/
const imports = /^\t(\S{1,400}): ((?:cannot find module|module |no required module|package ).*)$/

/** The Go compiler, `go vet`, and what the go command says about modules. */
export const goBuild: Recogniser = { name: 'go-build', signs: new RegExp(`${diagnosis.source}|${command.source}`), open: openGoBuild }

function openGoBuild(): Reader {
  const all = gathering('go', 'error')
  let current: OpenFailure | undefined
  let importer: string | undefined
  return {
    line(line) {
      const { text } = line
      const found = diagnosis.exec(text)
      const missing = importer === undefined ? null : imports.exec(text)
      importer = / imports$/.test(text) ? text : undefined
      if (found) {
        if (found[1] === 'too many errors') return all.total(line)
        // A package and its tests are built apart, and both print the same.
        current = all.failure(line, found[1] as string, placeIn(text), text)
      } else if (missing) current = all.failure(line, text.trim(), undefined, text)
      else if (command.test(text)) current = all.failure(line, text, placeIn(text), text)
      else if (/^too many errors$/.test(text)) all.total(line)
      else if (current && /^\t\S/.test(text)) current.detail(line, ranks.message)
      else current = undefined
    },
    end: () => all.result({ errors: all.failures || undefined }),
  }
}
