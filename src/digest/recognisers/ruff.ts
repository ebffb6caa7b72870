import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const rule = '(?:[A-Z]{1,6}\\d{3,4}(?= )|invalid-syntax(?=: ))'
const headline = new RegExp(`^(${rule}:? (?:\\[\\*\\] )?\\S.*)$`)
const concise = new RegExp(`^([^\\s:]{1,400}:\\d{1,7}:\\d{1,7}): (${rule}:? (?:\\[\\*\\] )?\\S.*)$`)
const grouped = new RegExp(`^ {1,8}(\\d{1,7}:\\d{1,7}) {1,8}(${rule}:? \\S.*)$`)
const arrow = /^ {0,8}--> (\S.{0,400}:\d{1,7}:\d{1,7})$/
const totals =
  /^Found (\d{1,9}) errors?(?: \(\d{1,9} fixed, \d{1,9} remaining\))?\.$|^All checks passed!$|^\[\*\] \d{1,9} fixable with|^\d{1,9} files? (?:would be reformatted|already formatted|reformatted)/

/** ruff's check and format, and flake8, whose lines are the same. */
export const ruff: Recogniser = {
  name: 'ruff',
  signs: new RegExp(
    `^All checks passed!$|^\\[\\*\\] \\d{1,9} fixable with|^Would reformat: \\S|^\\d{1,9} files? (?:would be reformatted|already formatted)|^[A-Z]{1,6}\\d{3,4} \\[\\*\\] \\S|^ {0,8}--> \\S.{0,400}\\.(?:pyi?|ipynb):\\d{1,7}:\\d{1,7}$|^[^\\s:]{1,400}\\.(?:pyi?|ipynb):\\d{1,7}:\\d{1,7}: ${rule}`,
  ),
  open: openRuff,
}

function openRuff(): Reader {
  const all = gathering('ruff', 'error')
  let stated = 0
  let file: string | undefined
  let current: OpenFailure | undefined
  let inHelp = false
  let isRuff = false
  /** A headline is one where the next line names a place. */
  let pending: LogLine | undefined

  return {
    line(line) {
      const { text } = line
      const place = arrow.exec(text)?.[1]
      const inline = concise.exec(text)
      const inGroup = file === undefined ? null : grouped.exec(text)
      const named = pending
      pending = undefined
      if (totals.test(text)) {
        all.total(line)
        isRuff = true
        stated += Number(totals.exec(text)?.[1] ?? 0)
        current = undefined
      } else if (inline) begin(line, inline[2] as string, inline[1])
      else if (inGroup) begin(line, inGroup[2] as string, `${file}:${inGroup[1]}`)
      else if (named && place !== undefined) {
        begin(named, named.text, place)
        isRuff = true
        current?.detail(line, ranks.place)
      } else if (headline.test(text)) pending = line
      else if (/^Would reformat: \S/.test(text)) all.failure(line, text)
      else if (/^\S{1,400}:$/.test(text)) file = text.slice(0, -1)
      else if (current) explain(current, line)
    },
    end() {
      const recognised = all.result({ errors: Math.max(stated, all.failures) || undefined })
      return recognised && !isRuff ? { ...recognised, tool: 'flake8' } : recognised
    },
  }

  function begin(line: LogLine, title: string, place: string | undefined): void {
    current = all.failure(line, title, place)
    inHelp = false
  }

  function explain(open: OpenFailure, line: LogLine): void {
    const { text } = line
    const help = /^(?: {1,8}= )?help: /.test(text)
    inHelp ||= help
    if (help) open.detail(line, ranks.comparison)
    else if (/^ {1,8}\|[ |]{0,400}\^/.test(text)) open.detail(line, ranks.message)
    else if (!inHelp && /^ {0,6}\d{1,7} \|/.test(text)) open.detail(line, ranks.source)
  }
}
