import type { OpenFailure } from './parts.ts'
import { gathering, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'

const coded = /^(?:(\S{1,400}\.rs:\d{1,7}:\d{1,7}): )?(error|warning)(\[[A-Za-z]{1,3}\d{4}\])?: (\S.*)$/
const arrow = /^ {1,12}--> (\S.{0,400}:\d{1,7}:\d{1,7})$/
const summary =
  /^(?:error: could not compile `|error: aborting due to |warning: `[^`]{1,200}` \([^)]{1,300}\) generated |warning: \d{1,9} warnings? emitted|error: \d{1,9} targets? failed)/
const status =
  /^ {1,11}(?:Compiling|Checking|Finished|Updating|Downloading|Downloaded|Locking|Adding|Blocking|Running|Building|Documenting|Fresh|Dirty|Doc-tests) /
const finished = /^ {1,12}Finished `?(?!test|bench)\w{1,40}.{0,80} target\(s\) in /
// Cargo's own trouble, which has no place in a source.
const ofCargo =
  /^error: (?:no matching package|failed to (?:select|parse|run custom build|load|get|download|verify|resolve|fetch|read|compile)|could not find `Cargo|could not compile|linking with `|package `|the lock file|no bin target|no example target|toolchain |rustc \d|linker `|unable to (?:get|update))/
const related = /^(?: {0,12}(?:-->|\||= |\d{1,7} \|)|Caused by:)/
const follows =
  /^(?:Caused by:| |\d{1,7} +[|+-]|\.{3}|note: |help: |location searched: |required by |perhaps |candidate versions |versions that |As a reminder)/

/** The Rust compiler, with cargo or alone, and clippy. */
export const rustc: Recogniser = {
  name: 'rustc',
  signs: new RegExp(
    `^error\\[E\\d{4}\\]: |^ {1,12}--> \\S{1,400}\\.(?:rs|toml):\\d{1,7}:\\d{1,7}$|^\\S{1,400}\\.rs:\\d{1,7}:\\d{1,7}: (?:error|warning)\\b|^error: could not compile \`|^error: failed to run custom build command for \`|^required by package \`|${finished.source}`,
  ),
  open: openRustc,
}

function openRustc(): Reader {
  const all = gathering('rustc', 'error')
  const stated = { errors: 0, warnings: 0 }
  let hasCargo = false
  let current: OpenFailure | undefined
  let inNotes = false
  /** A headline that may be of another tool until the next lines show that it is of this one. */
  let pending: { readonly line: LogLine; readonly isError: boolean; readonly title: string; since: number } | undefined

  function begin(line: LogLine, isError: boolean, title: string, place?: string): void {
    pending = undefined
    inNotes = false
    if (isError) current = all.failure(line, title, place)
    else {
      all.warning(line)
      current = undefined
    }
  }

  function headline(line: LogLine, [, place, kind, code, message]: readonly (string | undefined)[]): void {
    const isError = kind === 'error'
    const title = `${code === undefined ? '' : `${code.slice(1, -1)}: `}${message}`
    current = undefined
    if (place !== undefined || code !== undefined || (isError && ofCargo.test(line.text))) begin(line, isError, title, place)
    else pending = { line, isError, title, since: 0 }
  }

  function explain(open: OpenFailure, line: LogLine): void {
    const { text } = line
    const place = arrow.exec(text)?.[1]
    if (place !== undefined) {
      open.detail(line, open.place === undefined ? ranks.place : ranks.other)
      open.place ??= place
      return
    }
    if (text.trim() === '|') return
    inNotes ||= /^(?:note|help): /.test(text)
    const marked = /^ {1,12}\|[ |]{0,400}[\^-]/.test(text)
    const isSource = /^ {0,6}\d{1,7} \|/.test(text)
    if (inNotes) open.detail(line, ranks.other)
    else if (marked && text.includes('^')) open.detail(line, ranks.message)
    else if (isSource || marked) open.detail(line, ranks.source)
    else if (
      /^ {2,12}= note: .*(?:error: |undefined )|^ {2,10}(?:error|fatal|thread '|.*: (?:error|fatal error)): ?|^(?:location searched|required by|perhaps)|^ {2}[^\s=|]|^ {10}>>> /.test(
        text,
      )
    ) {
      open.detail(line, ranks.comparison)
    } else open.detail(line, ranks.other)
  }

  function total(line: LogLine): void {
    all.total(line)
    current = undefined
    pending = undefined
    const errors = /(?:due to|emitted:?) (\d{1,9}) (?:previous )?errors?/.exec(line.text)?.[1]
    const warnings = /(?:generated |; |^warning: )(\d{1,9}) warnings?/.exec(line.text)?.[1]
    if (errors !== undefined) stated.errors += Number(errors)
    if (warnings !== undefined && !line.text.includes('could not compile')) stated.warnings += Number(warnings)
  }

  return {
    line(line) {
      const { text } = line
      const isStatus = status.test(text)
      hasCargo ||= isStatus || /^error: (?:could not compile|failed to run custom build)|^required by package `|^ {1,12}--> Cargo\.toml:/.test(text)
      if (summary.test(text) || finished.test(text)) return total(line)
      const found = coded.exec(text)
      if (found) return headline(line, found)
      if (pending) {
        pending.since += 1
        if (related.test(text)) begin(pending.line, pending.isError, pending.title)
        else if (text !== '' || pending.since > 2) pending = undefined
      }
      if (current && !isStatus && (text === '' || follows.test(text))) explain(current, line)
      else current = undefined
    },
    end() {
      const errors = Math.max(stated.errors, all.failures)
      const warnings = Math.max(stated.warnings, all.warnings)
      const recognised = all.result({ errors: errors || undefined, warnings: warnings || undefined })
      return recognised && hasCargo ? { ...recognised, tool: 'cargo' } : recognised
    },
  }
}
