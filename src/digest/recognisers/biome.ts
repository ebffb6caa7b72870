import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'

const header =
  /^(?:(\S.{0,400}?) )?((?:lint|assist|suppressions|fs)\/[\w/]{1,80}|parse|format|organizeImports|check|ci|lint|internalError\/\w{1,40}|configuration|project)(?: {1,2}(?:FIXABLE|DEPRECATED|INTERNAL|VERBOSE))* {1,2}━{3,}$/
const message = /^ {2}([×✖!⚠iℹ]) (.+)$/
const total = /^Found (\d{1,7}) (errors?|warnings?|infos?)\.$/
const checked = /^(?:Checked|Formatted|Fixed) \d{1,7} files? in \d/

/** Biome: check, lint, format and ci as it prints them to a terminal or a log. */
export const biome: Recogniser = {
  name: 'biome',
  signs:
    /^(?:\S.{0,400} )?(?:(?:lint|assist|suppressions|fs)\/[\w/]{1,80}|parse|format|check|ci|lint|configuration)(?: {1,2}FIXABLE)? {1,2}━{5,}$|^(?:Checked|Formatted) \d{1,7} files? in \d{1,9}(?:\.\d{1,9})?\s?(?:ns|µs|ms|s)\./,
  open() {
    const found = gathering('biome', 'error')
    const stated = new Map<string, number>()
    // Other tools state totals in the same words; ours stand right below what was checked.
    let closing = false
    let head: { readonly line: LogLine; readonly where: string | undefined; readonly rule: string } | undefined
    let current: OpenFailure | undefined
    let source: LogLine | undefined
    return {
      line(line) {
        const { text } = line
        const match = header.exec(text)
        if (match) {
          head = { line, where: match[1], rule: match[2] as string }
          current = undefined
          source = undefined
          return
        }
        const counted = closing ? total.exec(text) : null
        closing = counted !== null || checked.test(text)
        if (closing) {
          if (counted) {
            const kind = (counted[2] as string).replace(/s$/, '')
            stated.set(kind, (stated.get(kind) ?? 0) + Number(counted[1]))
          }
          found.total(line)
          head = undefined
          current = undefined
          return
        }
        const said = message.exec(text)
        if (said && head) {
          const [, mark, words] = said
          // The closing word on the whole run names nothing new.
          if (/^[×✖]$/.test(mark as string) && head.where !== undefined) {
            const place = placeIn(head.where)
            current = found.failure(head.line, `${place === undefined ? `${head.where} ` : ''}${head.rule}: ${words}`, place)
            current.detail(line, ranks.message)
          } else if (/^[!⚠]$/.test(mark as string)) found.warning(head.where === undefined ? line : head.line)
          head = undefined
        } else if (current && said) current.detail(line, ranks.other)
        else if (current && /^ {2}> \d{1,7} │/.test(text)) source = line
        else if (current && source && /^\s+│ +\^/.test(text)) {
          current.detail(source, ranks.source)
          source = undefined
        } else if (current && /^\s+\d[\d ]{0,20}│ [-+] /.test(text)) current.detail(line, ranks.comparison)
      },
      end: () => {
        const { size } = stated
        const errors = size > 0 ? stated.get('error') : found.failures || undefined
        const warnings = size > 0 ? stated.get('warning') : found.warnings || undefined
        return found.result({ errors, warnings })
      },
    }
  },
}
