import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, ruledTitle } from './parts.ts'
import type { Explain } from './pytest-details.ts'
import { crash, exception, explainPytest } from './pytest-details.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'
import { retoldFailures } from './retold.ts'

const counted = '(?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed|subtests failed)'
const closing = new RegExp(`^(?:no tests ran|\\d{1,9} ${counted}(?:, \\d{1,9} ${counted}){0,10}) in \\d{1,7}\\.\\d\\d(?:s| seconds)(?: \\([\\w:, ]{1,40}\\))?$`)
const signs = new RegExp(
  [
    '^={3,} (?:test session starts|short test summary info|warnings summary|FAILURES|ERRORS) ',
    '^={3,} (?:no tests ran|\\d{1,9} \\w{1,20}(?:, \\d{1,9} \\w{1,20}){0,10}) in \\d',
    closing.source,
    '^(?:FAILED|ERROR) \\S{1,400}\\.py(?:::\\S| - |$)',
    '^INTERNALERROR> ',
    "^ImportError while loading conftest '",
    '^pytest: error: ',
    '^ERROR: (?:file or directory not found|not found): ',
    '^_{3,} ERROR (?:collecting|at setup of|at teardown of) ',
    '^\\[gw\\d{1,4}\\] \\[ {0,2}\\d{1,3}%\\] ',
  ].join('|'),
)

/** A failure is told in up to three places, in this order. */
const stages = { progress: 0, heading: 1, summary: 2 } as const

const internal = 'INTERNALERROR> '
/** No title between such rules is ours where the line is shorter than pytest makes it. */
const minRuleChars = 60

/** pytest, with any `--tb`, quiet, verbose or in workers of xdist. */
export const pytest: Recogniser = { name: 'pytest', signs, open: openPytest }

function openPytest(): Reader {
  const all = gathering('pytest', 'test')
  const failures = retoldFailures(all)
  const stated = new Map<string, number>()
  let section = ''
  let total: number | undefined
  let current: OpenFailure | undefined
  let explain: Explain | undefined

  function begin(open: OpenFailure, hasHeading = true): void {
    current = open
    explain = explainPytest(open, hasHeading)
  }

  /** A line of what is said about one failure. */
  function detail(line: LogLine, text = line.text): void {
    // With `--tb=line` failures have no headings; the summary has their names.
    if (!current && section === 'FAILURES' && /^(?:E {3}|\/|\S{1,400}\.py:\d)/.test(text)) begin(failures.meet('FAILED', '', stages.heading, line, text), false)
    if (explain?.(line, text) === false) current = undefined
    if (!current) explain = undefined
  }

  function rule(line: LogLine, title: string): void {
    if (closing.test(title)) {
      all.total(line)
      for (const [word, count] of countsIn(title)) stated.set(word, (stated.get(word) ?? 0) + count)
      section = ''
    } else section = title
    current = undefined
    explain = undefined
  }

  return {
    line(line) {
      const { text } = line
      const title = ruledTitle(text, '=')
      if (title !== undefined && (text.length >= minRuleChars || signs.test(text))) return rule(line, title)
      if (closing.test(text)) return rule(line, text)
      if (section === 'FAILURES' || section === 'ERRORS') {
        if (/^[_ ]+$/.test(text)) return
        const heading = ruledTitle(text, '_')
        if (heading === undefined) return detail(line)
        const [, what, name] = /^(ERROR at setup of|ERROR at teardown of|ERROR collecting|\[doctest\]) (.*)$/.exec(heading) ?? ['', '', heading]
        return begin(failures.meet(what?.startsWith('ERROR') ? 'ERROR' : 'FAILED', name ?? '', stages.heading, line, heading))
      }
      if (section.startsWith('warnings summary')) {
        if (/^ {2}\S.{0,1000}:\d{1,7}: \w{1,80}: /.test(text)) all.warning(line)
        return
      }
      const items = /(?:^|\.{3} )collected (\d{1,9}) items?\b/.exec(text) ?? /^\d{1,4} workers \[(\d{1,9}) items?\]/.exec(text)
      if (items) total = (total ?? 0) + Number(/\/ (\d{1,9}) selected$/.exec(text)?.[1] ?? items[1])
      else if (ruledTitle(text, '!')) all.total(line)
      else outside(line)
    },
    end() {
      const sum = (...words: string[]): number => words.reduce((count, word) => count + (stated.get(word) ?? 0), 0)
      const failed = Math.max(sum('failed'), failures.count('FAILED'))
      const errors = Math.max(sum('error', 'errors'), failures.count('ERROR'))
      return all.result({
        failed: failed || undefined,
        passed: stated.get('passed'),
        skipped: stated.get('skipped'),
        total,
        errors: errors || undefined,
        warnings: sum('warning', 'warnings') || undefined,
      })
    },
  }

  /** A line that stands before or after the sections: progress, the summary, and what keeps pytest from running. */
  function outside(line: LogLine): void {
    const { text } = line
    const summary = /^(FAILED|ERROR) (\S.*)$/.exec(text)
    const progress = / (FAILED|ERROR)(?: {1,80}\[ {0,2}\d{1,3}%\])?$/.exec(text)
    const running = progress ? text.slice(0, progress.index) : ''
    const worker = /^\[gw\d{1,4}\] \[ {0,2}\d{1,3}%\] (FAILED|ERROR) (\S.*)$/.exec(text)
    if (summary && (section === 'short test summary info' || /\.py(?:::| - |$)/.test(text))) {
      const id = idOf(summary[2] as string)
      // It has the file and the message, too.
      Object.assign(failures.meet(summary[1] as string, nameOf(id), stages.summary, line, id), { line, title: id })
    } else if (worker) failures.meet(worker[1] as string, nameOf(worker[2] as string), stages.progress, line, worker[2] as string)
    else if (progress && /^\S{1,400}\.py::/.test(running)) failures.meet(progress[1] as string, nameOf(running), stages.progress, line, running)
    else if (crash.test(text) || /^ImportError while loading conftest '|^ERROR: (?:file or directory )?not found: |^pytest: error: /.test(text)) {
      begin(failures.meet('ERROR', text, stages.heading, line, text))
    } else if (text.startsWith(internal)) {
      const said = text.slice(internal.length)
      if (current === undefined) begin(failures.meet('ERROR', text, stages.heading, line, text))
      else if (exception.test(said)) current.title = said
      detail(line, said)
    } else detail(line)
  }
}

/** The id of a test from a line of the summary, which may go on with a message. */
function idOf(text: string): string {
  const bracket = text.indexOf('[')
  const dash = text.indexOf(' - ')
  if (dash < 0) return text
  if (bracket < 0 || dash < bracket) return text.slice(0, dash)
  const end = text.indexOf('] - ', bracket)
  return end < 0 ? text.slice(0, dash) : text.slice(0, end + 1)
}

/** As the heading of its section calls it: `a/test_b.py::TestC::test_d` is `TestC.test_d` there. */
function nameOf(id: string): string {
  const trimmed = id.trimEnd()
  const at = trimmed.indexOf('::')
  return at < 0 ? trimmed : trimmed.slice(at + 2).replaceAll('::', '.')
}
