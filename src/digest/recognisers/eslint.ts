import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const row = /^\s{2,}(\d{1,7}):(\d{1,7})\s+(error|warning)\s+(\S.*)$/
const total = /^✖ \d{1,7} problems? \(/
// The formats `unix` and `compact`, a line a problem.
const unix = /^(\S.{0,400}?):(\d{1,7}):(\d{1,7}): (.+) \[(Error|Warning)(?:\/[^\]]{1,100})?\]$/
const compact = /^(\S.{0,400}?): line (\d{1,7}), col (\d{1,7}), (Error|Warning) - (.+)$/
// As `next lint` prints a row.
const flush = /^(\d{1,7}):(\d{1,7}) {2}(Error|Warning): (\S.*)$/
const crash = /^Oops! Something went wrong! :\($/

/** ESLint: the default format, `unix` and `compact`, too many warnings, and its own crashes. */
export const eslint: Recogniser = {
  name: 'eslint',
  signs:
    /^\s{2,}\d{1,7}:\d{1,7}\s+(?:error|warning) {2,}\S(?!.*\([\w-]+\)$)|^\d{1,7}:\d{1,7} {2}(?:Error|Warning): \S|potentially fixable with the `--fix` option\.$|^Oops! Something went wrong! :\($|^ESLint found too many warnings|^ESLint: \d{1,3}\.\d|^\S.{0,400}: line \d{1,7}, col \d{1,7}, (?:Error|Warning) - |^\S.{0,400}:\d{1,7}:\d{1,7}: .{1,600} \[(?:Error|Warning)(?:\/[^\]]{1,100})?\]$/,
  open() {
    const found = gathering('eslint', 'error')
    const stated = { errors: 0, warnings: 0, any: false }
    let file: LogLine | undefined
    let problems = 0
    // Other tools close with the same words; only ours has rows of ours above it.
    let open = false
    let crashed: 'no' | 'begins' | OpenFailure = 'no'
    const problem = (line: LogLine, kind: string, title: string, place: string): OpenFailure | undefined => {
      problems += 1
      open = true
      if (kind.toLowerCase() === 'error') return found.failure(line, title, place)
      found.warning(line)
      return undefined
    }
    return {
      line(line) {
        const { text } = line
        const match = row.exec(text) ?? flush.exec(text)
        if (match) {
          const [, at, column, kind, message] = match as unknown as [string, string, string, string, string]
          const place = file === undefined ? undefined : `${file.text}:${at}:${column}`
          const failure = problem(line, kind, message.replace(/\s{2,}/g, '  '), place ?? '')
          if (failure && file) failure.detail(file, ranks.place)
          if (failure && !file) failure.place = undefined
          return
        }
        const flat = unix.exec(text)
        const packed = flat ? undefined : compact.exec(text)
        if (flat) problem(line, flat[5] as string, flat[4] as string, `${flat[1]}:${flat[2]}:${flat[3]}`)
        else if (packed) problem(line, packed[4] as string, packed[5] as string, `${packed[1]}:${packed[2]}:${packed[3]}`)
        else if (open && total.test(text)) {
          open = false
          const counts = countsIn(text)
          stated.errors += counts.get('errors') ?? counts.get('error') ?? 0
          stated.warnings += counts.get('warnings') ?? counts.get('warning') ?? 0
          stated.any = true
          found.total(line)
        } else if (/^ESLint found too many warnings/.test(text)) found.failure(line, text)
        else if (crash.test(text)) crashed = 'begins'
        else if (crashed === 'begins' && text !== '' && !text.startsWith('ESLint:')) crashed = found.failure(line, text)
        else if (typeof crashed === 'object' && text !== '') {
          if (!/^\s*at /.test(text)) crashed.detail(line, ranks.message)
        } else if (/^\S/.test(text)) file = line
      },
      end: () =>
        found.result(
          stated.any || problems > 0 ? { errors: Math.max(stated.errors, problems - found.warnings), warnings: Math.max(stated.warnings, found.warnings) } : {},
        ),
    }
  },
}
