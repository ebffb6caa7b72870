import { explanationOf } from './js-details.ts'
import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Recogniser } from './recogniser.ts'
import { yamlExplanation } from './tap-yaml.ts'

const result = /^(\s*)(not )?ok(?: (\d{1,9}))?(?: -)?(?: (.*))?$/
const directive = / ?# ?(?:SKIP|TODO)\b.*$/i
const total = /^# (tests|pass|fail|cancelled|skipped|todo) {1,3}(\d{1,9})$/
const looksLike = /^# Looks like you failed (\d{1,9}) tests? of \d/
// What the library of Perl says about a failure, on stderr, also where nobody shows the results themselves.
const diagnosis = /^\s*# {3}Failed test(?: '(.*)')?(?: at (\S.*) line (\d{1,7})\.)?$/
const perlPlace = /^\s*# {3}at (\S.{0,400}) line (\d{1,7})\.$/
const perlCompared = /^\s*#\s{5,}(?:got|expected)\b|^\s*#\s{5,}\$(?:got|expected)\b/
// The report of prove: a row for each file that failed, and the totals.
const tried = /^(\S.{0,300}?) \.{2,}\s*$/
const reported = /^(\S.{0,300}?)\s+\(Wstat: \d{1,7}(?: \((.{1,60})\))? Tests: \d{1,9} Failed: (\d{1,9})\)$/
const proveTotal = /^(?:Files=\d{1,9}, Tests=(\d{1,9}),|Result: (?:FAIL|PASS|NOTESTS)$)/
const proveWords = /^(?:Dubious, test returned |Failed \d|\s+\(less )/
const isFile = /^\S{1,1000}\.\w{1,4}$/
const maxNames = 1000
const maxPlain = 3

/** The Test Anything Protocol as tape, node:test, Mocha, Vitest, bats and Perl print it, and prove, which reads it. */
export const tap: Recogniser = {
  name: 'tap',
  signs:
    /^TAP version 1[34]$|^\s*not ok \d{1,9}\b|^ok \d{1,9} (?:- \S|# skip)|^Files=\d{1,9}, Tests=\d{1,9}, |^\s*# {3}Failed test(?:$| ['a])|^# Looks like (?:you failed|your test exited)|^Dubious, test returned \d|^Bail out!/,
  open() {
    const found = gathering('tap', 'test')
    const counts = new Map<string, number>()
    const add = (word: string, count = 1): void => void counts.set(word, (counts.get(word) ?? 0) + count)
    /** How often a diagnosis came before, or without, the result of that title. */
    const diagnosed = new Map<string, number>()
    /** What a file of tests printed before it ended on its own. */
    const reasons = new Map<string, readonly LogLine[]>()
    /** Margins of the failed tests so far: what follows a subtest with a smaller one is its parent. */
    let margins: number[] = []
    let plain: LogLine[] = []
    let current: { readonly open: OpenFailure; readonly title: string; readonly margin: number } | undefined
    let read: ((line: LogLine) => void) | undefined
    let yaml = false
    const begin = (line: LogLine, title: string, margin = 0): OpenFailure => {
      const open = found.failure(line, title)
      current = { open, title, margin }
      read = explanationOf(open)
      return open
    }
    const close = (): void => {
      current = undefined
      yaml = false
    }
    const explain = (open: OpenFailure, lines: readonly LogLine[] | undefined): void => {
      for (const line of lines ?? []) open.detail(line, ranks.message)
    }
    const takeResult = (line: LogLine, [, space = '', not, , words = '']: RegExpExecArray): void => {
      const parent = margins.some((margin) => margin > space.length)
      margins = margins.filter((margin) => margin < space.length)
      close()
      if (space !== '') add('nested')
      if (directive.test(words)) add('skipped here')
      else if (not === undefined) add('passed here')
      else {
        margins.push(space.length)
        // A test that stands for its subtests fails because of them.
        if (parent || words.endsWith('{')) return
        add('failed here')
        const title = words.replace(/ # time=.*$/, '')
        const known = diagnosed.get(title) ?? 0
        if (known > 0) diagnosed.set(title, known - 1)
        else {
          const open = begin(line, title === '' ? line.text.trim() : title, space.length)
          if (isFile.test(title)) explain(open, plain)
        }
      }
    }
    const takeDiagnosis = (line: LogLine, [, title, path, at]: RegExpExecArray): void => {
      let open = current?.open
      if (open && current?.title === (title ?? current?.title)) open.detail(line, ranks.other)
      else {
        open = begin(line, title ?? line.text.trim())
        const name = title ?? ''
        if (diagnosed.size < maxNames || diagnosed.has(name)) diagnosed.set(name, (diagnosed.get(name) ?? 0) + 1)
      }
      if (path !== undefined) open.place ??= `${path}:${at}`
    }
    const takeReport = (line: LogLine, [, path = '', how, count]: RegExpExecArray): void => {
      close()
      add('failed of report', Number(count))
      if (count === '0') add('files')
      // Of the other files the failed tests are known already.
      if (count === '0' || found.failures === 0) explain(begin(line, how === undefined ? path : `${path} ${how}`), reasons.get(path))
    }
    const takeComment = (line: LogLine, open: OpenFailure): void => {
      const perl = perlPlace.exec(line.text)
      if (perl) open.place ??= `${perl[1]}:${perl[2]}`
      open.detail(line, perl ? ranks.place : perlCompared.test(line.text) ? ranks.comparison : ranks.message)
    }
    return {
      line(line) {
        const { text } = line
        const match = result.exec(text)
        const counted = total.exec(text) ?? looksLike.exec(text) ?? proveTotal.exec(text)
        const named = diagnosis.exec(text)
        const report = reported.exec(text)
        if (match && (match[2] !== undefined || match[3] !== undefined)) takeResult(line, match)
        else if (yaml) {
          if (/^\s*\.\.\.$/.test(text)) close()
          else read?.(line)
        } else if (counted) {
          close()
          found.total(line)
          if (counted[2] !== undefined) add(counted[1] as string, Number(counted[2]))
          else if (counted[1] !== undefined) add(text.startsWith('#') ? 'failed of file' : 'tests', Number(counted[1]))
        } else if (named) takeDiagnosis(line, named)
        else if (report) takeReport(line, report)
        else if (/^\s*Bail out!/.test(text)) begin(line, text.trim())
        else if (current && /^\s*---$/.test(text)) {
          yaml = true
          read = yamlExplanation(current.open)
        } else if (/^\s*\}$/.test(text)) margins = margins.filter((margin) => margin < text.length)
        else if (current && /^\s*# {2}/.test(text)) takeComment(line, current.open)
        else if (current && (text === '' || text.search(/\S/) > current.margin) && !/^\s*#/.test(text)) read?.(line)
        else {
          close()
          const file = tried.exec(text)
          if (file && reasons.size < maxNames) reasons.set(file[1] as string, plain)
          // Of what node:test passes on as comments, the line that names an error.
          if (/^# \w{0,40}Error\b.{0,40}: \S/.test(text)) plain = [line]
          else if (/^[^#\s]/.test(text) && !file && !proveWords.test(text)) plain = [...plain, line].slice(-maxPlain)
          else if (file || text === '' || proveWords.test(text)) plain = []
          return
        }
        plain = []
      },
      end() {
        const stated = counts.get('fail') ?? counts.get('failed of report') ?? counts.get('failed of file') ?? counts.get('failed here')
        return found.result({
          failed: (stated ?? 0) + (counts.get('cancelled') ?? 0) || undefined,
          passed: counts.get('pass') ?? (counts.has('nested') ? undefined : counts.get('passed here')),
          skipped: (counts.get('skipped') ?? counts.get('skipped here')) || undefined,
          total: counts.get('tests'),
          errors: counts.get('files'),
        })
      },
    }
  },
}
