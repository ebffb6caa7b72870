import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { Recogniser } from './recogniser.ts'
import { isCommandNotFound, scriptHeader } from './scripts.ts'

// Between its marks and the message stand spaces of several kinds.
const coded = /^\s{0,3}\[?(ERR_PNPM_[A-Z0-9_]{1,80})\]?(?:\s+(.*))?$/
const lifecycle = /^\s{0,3}\[?ELIFECYCLE\]?\s+(.*)$/
const marked = /^\s{0,3}(WARN|ERROR)\s{2,}(\S.*)$/
const packageEnd = /^\S{1,300} \S{1,100}: (?:Done|Failed)$/
// Above what failed in it.
const folder = /^(?:\/|[A-Za-z]:\\)\S{0,400}:$/
const summary = /^Summary: (\d{1,7}) fails, (\d{1,7}) passes$/
const total = /^Done in \d[\d.]{0,9}m?s(?: using pnpm v\d.*)?$|^Already up to date$|^Lockfile is up to date/
const progress = /^Progress: resolved \d/

/** pnpm: errors of its commands, failed scripts, also of many packages, and what it installed. */
export const pnpm: Recogniser = {
  name: 'pnpm',
  signs:
    /^\s{0,3}\[?ERR_PNPM_[A-Z0-9_]{1,80}\]?(?:\s|$)|^\s{0,3}ELIFECYCLE\s+(?:Command failed|Test failed)|^Progress: resolved \d{1,7}, reused \d|^Done in \d[\d.]{0,9}m?s using pnpm v\d|^Scope: (?:all )?\d{1,7} (?:of \d{1,7} )?(?:workspace )?projects$/,
  open() {
    const found = gathering('pnpm', 'error')
    const failed = { any: false, fails: 0, passes: 0 }
    let current: OpenFailure | undefined
    let header = false
    return {
      line(line) {
        const { text } = line
        const error = coded.exec(text)
        const mark = marked.exec(text)
        const counted = summary.exec(text)
        if (error) {
          const [, code = '', words = ''] = error
          current = code === 'ERR_PNPM_RECURSIVE_FAIL' ? undefined : found.failure(line, words === '' ? code : `${code}: ${words}`)
          if (!current) found.total(line)
        } else if (lifecycle.test(text)) {
          found.total(line)
          current = undefined
        } else if (mark) {
          current = mark[1] === 'ERROR' ? found.failure(line, mark[2] as string) : undefined
          if (!current) found.warning(line)
        } else if (counted) {
          failed.any = true
          failed.fails += Number(counted[1])
          failed.passes += Number(counted[2])
          found.total(line)
        } else if (total.test(text)) {
          found.total(line)
          current = undefined
        } else if (header && isCommandNotFound(text)) found.failure(line, text)
        else if (progress.test(text) || packageEnd.test(text) || folder.test(text)) current = undefined
        else if (current && text !== '') {
          current.detail(line, /^(?:Note that|If you need|This error happened)/.test(text) ? ranks.other : ranks.message)
          current.place ??= placeIn(text)
        }
        if (text !== '') header = scriptHeader.test(text) || (header && text.startsWith('> '))
      },
      end() {
        const warnings = found.warnings || undefined
        if (!failed.any) return found.result({ errors: found.failures || undefined, warnings })
        const result = found.result({ failed: failed.fails, passed: failed.passes, warnings })
        return result && { ...result, noun: 'script' }
      },
    }
  },
}
