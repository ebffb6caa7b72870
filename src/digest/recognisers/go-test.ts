import type { OpenFailure } from './parts.ts'
import { gathering, placeIn, ranks } from './parts.ts'
import type { LogLine, Reader, Recogniser } from './recogniser.ts'
import { maxDetails } from './recogniser.ts'

const result = /^( {0,40})--- (FAIL|PASS|SKIP): (\S{1,1000})/
const running = /^=== (?:RUN|CONT|NAME) {1,3}(\S{1,1000})$/
const verdict = /^(ok|FAIL) {0,4}\t? {0,4}([\w./-]{1,400})\s{1,4}(?:\(cached\)|\d{1,9}\.\d{3}s|\[[^\]]{1,100}\])/
const said = /^( {4,60})(\S{1,400}\.go:\d{1,7}): /
const telling = /\b(?:want|got|expect|actual|fail|err|mismatch|unexpected|invalid|cannot|not )/i
const trouble = /^(?:panic: |fatal error: |WARNING: DATA RACE$)/
// Go's own packages, wherever they were installed, and those of others.
const library = /[\\/]src[\\/](?:testing|runtime|reflect|sync|syscall|time)[\\/]|[\\/]pkg[\\/]mod[\\/]|^_testmain\.go/
/** Tests that run and have said something, whose end is not seen yet. */
const maxRunning = 200

/** `go test`, also `-v`, `-race` and `-json`. */
export const goTest: Recogniser = {
  name: 'go-test',
  signs:
    /^ {0,40}--- FAIL: \S{1,1000} \(\d|^(?:ok {1,4}\t?|FAIL\t|\?\s{1,8})[\w./-]{1,400}\s{1,4}(?:\(cached\)|\d{1,9}\.\d{3}s|\[(?:no test files|build failed|setup failed)\])|^=== RUN {3}\S|^\{"Time":"[^"]{10,40}","Action":"|^WARNING: DATA RACE$/,
  open: openGoTest,
}

/** A line and what it says. */
interface Said {
  readonly line: LogLine
  readonly text: string
}

interface Failed extends Said {
  readonly name: string
  readonly indent: number
  /** The latest of what it said, which ends with why it failed. */
  readonly lines: Said[]
  open: OpenFailure | undefined
  isOfSubtests: boolean
}

function openGoTest(): Reader {
  const all = gathering('go test', 'test')
  const counts = { failed: 0, passed: 0, skipped: 0, errors: 0 }
  const packages = { passed: 0, failed: 0, unbuilt: 0 }
  const before = new Map<string, Said[]>()
  let path: Failed[] = []
  let name: string | undefined
  let owner: Failed | undefined
  let trace: OpenFailure | undefined

  function commit(test: Failed): OpenFailure {
    if (!test.open) {
      test.open = all.failure(test.line, test.name)
      counts.failed += 1
    }
    return test.open
  }

  /** Ends the tests from this depth on. One that only failed because of its subtests is no failure of its own. */
  function leave(indent: number): void {
    for (const test of path) if (test.indent >= indent && (!test.isOfSubtests || test.lines.length > 0)) explain(commit(test), test.lines)
    path = path.filter((test) => test.indent < indent)
  }

  function finish({ line, text }: Said, [, indent = '', kind, test = '']: readonly string[]): void {
    leave(indent.length)
    if (kind === 'PASS') counts.passed += 1
    if (kind === 'SKIP') counts.skipped += 1
    if (kind === 'FAIL') {
      const parent = path.at(-1)
      if (parent && test.startsWith(`${parent.name}/`)) parent.isOfSubtests = true
      path.push({ line, text, name: test, indent: indent.length, lines: before.get(test) ?? [], open: undefined, isOfSubtests: false })
    }
    before.delete(test)
    name = undefined
    owner = undefined
    trace = undefined
  }

  function stumble({ line, text }: Said): void {
    // What ends the program while a test runs stands below the line of that test.
    const test = path.at(-1)
    trace = test ? commit(test) : all.failure(line, text)
    if (test) trace.detail(line, ranks.message)
    else counts.errors += 1
  }

  function end({ line, text }: Said, kind: string): void {
    leave(0)
    all.total(line)
    trace = undefined
    packages[kind === 'ok' ? 'passed' : 'failed'] += 1
    if (/\[(?:build|setup) failed\]/.test(text)) packages.unbuilt += 1
  }

  return {
    line(line) {
      const spoken = { line, text: textOf(line) }
      const { text } = spoken
      const found = result.exec(text)
      if (found) return finish(spoken, found)
      const started = running.exec(text)
      const ended = verdict.exec(text)
      if (started) {
        name = started[1]
        trace = undefined
      } else if (ended) end(spoken, ended[1] as string)
      else if (trouble.test(text)) stumble(spoken)
      else if (/^={10,}$/.test(text)) trace = undefined
      else if (trace) follow(trace, spoken)
      else if (name !== undefined && /^ {4}/.test(text)) {
        const lines = before.get(name) ?? []
        if (lines.length > 0 || before.size < maxRunning) before.set(name, latest(lines, spoken))
      } else if (path.length > 0 && /^ {4}/.test(text)) {
        const indent = said.exec(text)?.[1]?.length
        if (indent !== undefined) owner = path.findLast((test) => test.indent < indent)
        if (owner) latest(owner.lines, spoken)
      }
    },
    end() {
      leave(0)
      const { failed, passed, skipped, errors } = counts
      const orNone = (count: number): number | undefined => count || undefined
      if (failed + passed + skipped > 0) {
        return all.result({ failed: orNone(failed), passed: orNone(passed), skipped: orNone(skipped), errors: orNone(errors + packages.unbuilt) })
      }
      const recognised = all.result({ failed: orNone(packages.failed), passed: orNone(packages.passed), errors: orNone(errors) })
      return recognised && { ...recognised, noun: 'package' }
    },
  }
}

function latest(lines: Said[], spoken: Said): Said[] {
  if (lines.length === maxDetails) lines.shift()
  lines.push(spoken)
  return lines
}

/** The last message of a failed test says why; earlier ones may be notes that it made on its way. */
function explain(open: OpenFailure, lines: readonly Said[]): void {
  const last = lines.findLastIndex(({ text }) => said.test(text))
  let place: string | undefined
  let isTelling = false
  for (const [i, { line, text }] of lines.entries()) {
    const named = said.exec(text)?.[2]
    if (named !== undefined) isTelling = i === last || telling.test(text)
    if (named !== undefined && isTelling && !/^ *testing\.go:\d+: race detected/.test(text)) place = named
    open.detail(line, isTelling ? (named === undefined ? ranks.comparison : ranks.message) : ranks.other)
  }
  open.place ??= place
}

/** A line of the trace of a panic or a race. */
function follow(open: OpenFailure, { line, text }: Said): void {
  const place = /^\s{1,8}\S{1,400}:\d{1,7} \+0x/.test(text) ? placeIn(text) : undefined
  if (place !== undefined && !library.test(place)) {
    open.place ??= place
    open.detail(line, ranks.place)
  } else if (/^\t(?:panic: |running tests:|\t\S)|^\[signal |^(?:Previous )?(?:read|write) (?:at|by) /i.test(text)) open.detail(line, ranks.comparison)
}

/** What a line says: with `-json`, what is in its field. */
function textOf({ text }: LogLine): string {
  if (!text.startsWith('{"Time":"')) return text
  const at = text.indexOf('"Output":"')
  try {
    return at < 0 ? '' : String(JSON.parse(text.slice(at + '"Output":'.length, -1))).trimEnd()
  } catch {
    return ''
  }
}
