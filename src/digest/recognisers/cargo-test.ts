import type { OpenFailure } from './parts.ts'
import { countsIn, gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const result = /^test result: (?:ok|FAILED)\. \d{1,9} passed; \d{1,9} failed; /
const rerun = /^error: (?:doc)?test failed, to rerun pass /
const failed = /^test (\S.{0,1000}?)(?: - should panic(?: with .{0,200})?)? \.{3} FAILED$|^(\S.{0,1000}) --- FAILED$/
const output = /^---- (\S.{0,1000}) (?:stdout|stderr) ----$/
const panic = /^\s{0,4}thread '.{0,400}' (?:\(\d{1,9}\) )?panicked at (.*)$/
const side = /^ {0,6}(?:left|right|expected|actual|found): /

/** The harness of Rust's tests, as `cargo test` runs it. */
export const cargoTest: Recogniser = {
  name: 'cargo-test',
  signs: new RegExp(
    `${result.source}|${rerun.source}|^test (?:\\w{1,200}(?:::|$)){1,20}\\w{1,200} \\.{3} (?:ok|FAILED|ignored)$|^---- \\S.{0,1000} stdout ----$`,
  ),
  open: openCargoTest,
}

function openCargoTest(): Reader {
  const all = gathering('cargo test', 'test')
  const stated = { passed: 0, failed: 0, ignored: 0 }
  const seen = { failed: 0, since: 0 }
  let hasTotals = false
  let suite = 0
  let current: OpenFailure | undefined
  let inMessage = false
  let hasPanicked = false

  function meet(line: LogLine, name: string): OpenFailure {
    const known = all.failures
    // Two programs may have a test of the same name each.
    const open = all.failure(line, name, undefined, `${suite} ${name}`)
    if (all.failures > known) seen.since += 1
    return open
  }

  function explain(open: OpenFailure, line: LogLine): void {
    const { text } = line
    const panicked = panic.exec(text)
    if (panicked && !hasPanicked) {
      // Its place stands before the message, or behind it as older compilers have it.
      const at = panicked[1] as string
      open.place ??= placeIn(at)
      inMessage = at.endsWith(':')
      hasPanicked = true
      open.detail(line, inMessage ? ranks.place : ranks.message)
    } else if (/^(?:note: run with|stack backtrace:|note: Some details)/.test(text)) inMessage = false
    else if (side.test(text)) open.detail(line, ranks.comparison)
    else if (inMessage || /^(?:Error: |note: test did not panic)/.test(text)) {
      open.place ??= /^note: /.test(text) ? placeIn(text) : undefined
      open.detail(line, ranks.message)
    } else if (!hasPanicked) open.detail(line, ranks.other)
  }

  return {
    line(line) {
      const { text } = line
      const failure = failed.exec(text)
      const said = output.exec(text)
      if (result.test(text)) {
        all.total(line)
        for (const [word, count] of countsIn(text)) if (word in stated) stated[word as keyof typeof stated] += count
        hasTotals = true
        seen.since = 0
        current = undefined
        suite += 1
      } else if (rerun.test(text) || /^error: \d{1,9} targets? failed:$/.test(text)) all.total(line)
      else if (failure) meet(line, (failure[1] ?? failure[2]) as string)
      else if (said) {
        current = meet(line, said[1] as string)
        inMessage = false
        hasPanicked = false
      } else if (/^failures:$/.test(text)) current = undefined
      else if (current) explain(current, line)
    },
    end() {
      // What ran after the last totals was cut off before its own.
      const count = stated.failed + seen.since
      return all.result({ failed: hasTotals ? count : count || undefined, passed: hasTotals ? stated.passed : undefined, skipped: stated.ignored || undefined })
    },
  }
}
