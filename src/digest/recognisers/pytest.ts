import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, isForeignPlace, placeIn, pythonPlace, ranks, ruledTitle } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'
import { maxFailures } from './recogniser.ts'

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

type Kind = 'FAILED' | 'ERROR'
/** The same failure is told in up to three places, in this order. */
const stages = { progress: 0, heading: 1, summary: 2 } as const
type Stage = (typeof stages)[keyof typeof stages]

const exception = /^[A-Za-z_][\w.]{0,120}(?:: |$)/
const crash = /(?:^|\.py::\S{1,400} )Fatal Python error: /
const maxCaptured = 4
/** No title between such rules is ours where the line is shorter than pytest makes it. */
const minRuleChars = 60

/** pytest, with any `--tb`, quiet, verbose or in workers of xdist. */
export const pytest: Recogniser = { name: 'pytest', signs, open: openPytest }

function openPytest(): Reader {
  const all = gathering('pytest', 'test')
  const known = new Map<string, { readonly open: OpenFailure; stage: Stage }[]>()
  const met = { FAILED: [0, 0, 0], ERROR: [0, 0, 0] }
  const stated = new Map<string, number>()
  let section = ''
  let total: number | undefined
  let current: OpenFailure | undefined
  let captured = 0
  let afterPlace = false
  let inTraceback = false

  function meet(kind: Kind, name: string, stage: Stage, line: LogLine, title: string): OpenFailure {
    met[kind][stage] = (met[kind][stage] ?? 0) + 1
    const find = (key: string) => known.get(key)?.find((entry) => entry.stage < stage)
    const earlier = find(`${kind} ${name}`) ?? (stage === stages.summary ? find(`${kind} `) : undefined)
    if (!earlier) {
      const open = all.failure(line, title)
      const key = `${kind} ${name}`
      if (all.failures <= maxFailures) known.set(key, [...(known.get(key) ?? []), { open, stage }])
      return open
    }
    earlier.stage = stage
    if (stage === stages.summary) Object.assign(earlier.open, { line, title })
    return earlier.open
  }

  function begin(open: OpenFailure): void {
    current = open
    captured = 0
    afterPlace = false
    inTraceback = false
  }

  function locate(open: OpenFailure, place: string): void {
    // Frames come with the innermost last, but for those of a crash.
    const settled = crash.test(open.title) && open.place !== undefined && !isForeignPlace(open.place)
    if (open.place === undefined || !(settled || isForeignPlace(place))) open.place = place
  }

  function frame(open: OpenFailure, line: LogLine, place: string): void {
    locate(open, place)
    open.detail(line, isForeignPlace(place) ? ranks.other : ranks.place)
  }

  /** A line of what a section says about one failure. */
  function explain(line: LogLine): void {
    const { text } = line
    if (ruledTitle(text, '-')?.startsWith('Captured ')) {
      captured = 1
      return
    }
    if (!current && section === 'FAILURES' && /^(?:E {3}|\/|\S{1,400}\.py:\d)/.test(text)) begin(meet('FAILED', '', stages.heading, line, text))
    if (!current) return
    const place = /^\S.{0,400}:\d{1,7}:(?: |$)/.test(text) ? placeIn(text) : pythonPlace(text)
    // With `--tb=line` that is all of it, and the next failure has no heading.
    const isLast = place !== undefined && known.get('FAILED ')?.some(({ open }) => open === current)
    if (captured > 0 && !isLast) {
      if (captured <= maxCaptured) current.detail(line, ranks.other)
      captured += 1
    } else if (/^E {3}/.test(text)) {
      const said = text.slice(4)
      const named = pythonPlace(said)
      if (named !== undefined) locate(current, named)
      current.detail(line, exception.test(said.trimStart()) ? ranks.message : ranks.comparison)
    } else if (place !== undefined) frame(current, line, place)
    else if (inTraceback && exception.test(text)) current.detail(line, ranks.message)
    else if (/^>./.test(text) || afterPlace) current.detail(line, ranks.source)
    inTraceback ||= /^ {2}File /.test(text)
    afterPlace = place !== undefined && !isForeignPlace(place)
    if (isLast) current = undefined
  }

  function rule(line: LogLine, title: string): void {
    if (closing.test(title)) {
      all.total(line)
      for (const [word, count] of countsIn(title)) stated.set(word, (stated.get(word) ?? 0) + count)
      section = ''
    } else section = title
    current = undefined
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
        if (heading === undefined) return explain(line)
        const [, what, name] = /^(ERROR at setup of|ERROR at teardown of|ERROR collecting|\[doctest\]) (.*)$/.exec(heading) ?? ['', '', heading]
        return begin(meet(what?.startsWith('ERROR') ? 'ERROR' : 'FAILED', name ?? '', stages.heading, line, heading))
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
      const failed = Math.max(stated.get('failed') ?? 0, ...met.FAILED)
      const errors = Math.max(stated.get('error') ?? 0, stated.get('errors') ?? 0, ...met.ERROR)
      const warnings = stated.get('warnings') ?? stated.get('warning')
      const counts = { failed: failed || undefined, passed: stated.get('passed'), skipped: stated.get('skipped'), total, errors: errors || undefined, warnings }
      return all.result(counts)
    },
  }

  /** A line that stands before or after the sections: progress, the summary, and what keeps pytest from running. */
  function outside(line: LogLine): void {
    const { text } = line
    const summary = /^(FAILED|ERROR) (\S.*)$/.exec(text)
    if (summary && (section === 'short test summary info' || /\.py(?:::| - |$)/.test(text))) {
      const id = idOf(summary[2] as string)
      meet(summary[1] as Kind, nameOf(id), stages.summary, line, id)
      return
    }
    const progress = / (FAILED|ERROR)(?: {1,80}\[ {0,2}\d{1,3}%\])?$/.exec(text)
    const id = progress ? text.slice(0, progress.index) : undefined
    const worker = /^\[gw\d{1,4}\] \[ {0,2}\d{1,3}%\] (FAILED|ERROR) (\S.*)$/.exec(text)
    if (worker) meet(worker[1] as Kind, nameOf(worker[2] as string), stages.progress, line, worker[2] as string)
    else if (progress && id && /^\S+\.py::/.test(id)) meet(progress[1] as Kind, nameOf(id), stages.progress, line, id)
    else if (crash.test(text) || /^ImportError while loading conftest '|^ERROR: (?:file or directory )?not found: |^pytest: error: /.test(text)) {
      begin(meet('ERROR', text, stages.heading, line, text))
    } else if (text.startsWith('INTERNALERROR> ')) {
      if (current === undefined) begin(meet('ERROR', text, stages.heading, line, text))
      internal(line, text.slice('INTERNALERROR> '.length))
    } else explain(line)
  }

  function internal(line: LogLine, text: string): void {
    const place = pythonPlace(text)
    if (!current) return
    if (place !== undefined) frame(current, line, place)
    else if (exception.test(text)) {
      current.detail(line, ranks.message)
      current.title = text
    }
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
  const at = id.trimEnd().indexOf('::')
  return at < 0
    ? id.trimEnd()
    : id
        .trimEnd()
        .slice(at + 2)
        .replaceAll('::', '.')
}
