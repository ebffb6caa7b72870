import type { OpenFailure } from './parts.ts'
import { gathering, isForeignPlace, pythonPlace, ranks } from './parts.ts'
import type { Counts, LogLine, Reader, Recogniser } from './recogniser.ts'

const heading = /^(FAIL|ERROR): ((?:[\w.]{1,200} \([\w.<>-]|Doctest: ).*)$/
const progress = / \.{3} (FAIL|ERROR|ok)$/
const identity = /^\s{0,8}(\w{1,200} \([\w.<>-]{1,400}\)(?: \(.{1,400}\)| \[.{1,400}\])?)/
const exception = /^[A-Za-z_][\w.]{0,120}(?:: |$)/

/** Python's unittest, as Django runs it, too. */
export const unittest: Recogniser = {
  name: 'unittest',
  signs:
    /^Ran \d{1,9} tests? in \d{1,9}\.\d{3}s$|^(?:FAIL|ERROR): \w{1,200} \([\w.<>-]{1,400}\)(?: |$)|^\w{1,200} \([\w.]{1,400}\) \.{3} (?:ok|FAIL|ERROR|skipped '.*)$/,
  open: openUnittest,
}

function openUnittest(): Reader {
  const all = gathering('unittest', 'test')
  const seen = { FAIL: 0, ERROR: 0 }
  const stated = { failures: 0, errors: 0, skipped: 0 }
  let passed = 0
  let total: number | undefined
  let current: OpenFailure | undefined
  let named: string | undefined
  let state: 'heading' | 'traceback' | 'message' = 'heading'
  let nextIsSource = false

  function meet(kind: 'FAIL' | 'ERROR', line: LogLine, title: string): OpenFailure {
    const before = all.failures
    const open = all.failure(line, title, undefined, `${kind} ${title}`)
    if (all.failures > before) seen[kind] += 1
    return open
  }

  function explain(open: OpenFailure, line: LogLine): void {
    const { text } = line
    const place = pythonPlace(text)
    const source = nextIsSource && /^ {4}\S/.test(text)
    nextIsSource = false
    if (place !== undefined) {
      state = 'traceback'
      const foreign = isForeignPlace(place)
      nextIsSource = !foreign
      if (open.place === undefined || !foreign) open.place = place
      open.detail(line, foreign ? ranks.other : ranks.place)
    } else if (source) open.detail(line, ranks.source)
    else if (state === 'traceback' && exception.test(text)) {
      state = 'message'
      open.detail(line, ranks.message)
    } else if (state === 'message') open.detail(line, ranks.comparison)
  }

  return {
    line(line) {
      const { text } = line
      const begun = heading.exec(text)
      if (begun) {
        current = meet(begun[1] as 'FAIL' | 'ERROR', line, begun[2] as string)
        current.line = line
        state = 'heading'
        return
      }
      const ran = /^Ran (\d{1,9}) tests? in \d/.exec(text)
      if (ran || /^(?:OK|FAILED)(?: \(|$)|^NO TESTS RAN/.test(text)) {
        all.total(line)
        current = undefined
        if (ran) total = (total ?? 0) + Number(ran[1])
        for (const [, what, count] of text.matchAll(/\b(?<!expected )(failures|errors|skipped)=(\d{1,9})\b/g))
          stated[what as keyof typeof stated] += Number(count)
      } else if (/^={60,}$/.test(text)) current = undefined
      else if (current) explain(current, line)
      else {
        const done = progress.exec(text)
        const name = identity.exec(text)?.[1] ?? named
        if (done?.[1] === 'ok' && name) passed += 1
        else if (done && name) meet(done[1] as 'FAIL' | 'ERROR', line, name)
        // With a docstring the name stands in one line and the result in the next.
        named = done ? undefined : identity.exec(text)?.[1]
      }
    },
    end() {
      const failed = Math.max(stated.failures, seen.FAIL)
      const errors = Math.max(stated.errors, seen.ERROR)
      const counts: Counts = {
        failed: failed || undefined,
        passed: passed || undefined,
        skipped: stated.skipped || undefined,
        total,
        errors: errors || undefined,
      }
      return all.result(counts)
    },
  }
}
