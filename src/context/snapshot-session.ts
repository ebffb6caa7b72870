import type { Todo } from '../core/activity.ts'
import { byteLength, clampLine, plural } from '../core/text.ts'
import type { SessionFacts, TouchedFile } from './session-facts.ts'
import { clean, item, type Section } from './snapshot-parts.ts'

/** The sections about a session of an agent, those that matter most first. Paths below `root` are told from there; of a request at most `requestBytes`. */
export function sessionSections(facts: SessionFacts, root: string, requestBytes: number): Section[] {
  return [taskSection(facts, requestBytes), planSection(facts), decisionsSection(facts), errorsSection(facts), filesSection(facts, root), resultsSection(facts)]
}

/** The words of a person are quoted, so that they do not read as if they were said now. */
function taskSection({ task, requests }: SessionFacts, requestBytes: number): Section {
  const quoted = (label: string, text: string, bytes: number): string => `- ${label}: “${clampLine(clean(text), bytes)}”`
  const [last, ...earlier] = requests
  return {
    heading: 'Task',
    lines: [
      ...(task === null ? [] : [quoted('first asked for', task, requestBytes)]),
      ...(last === undefined ? [] : [quoted('last asked for', last, requestBytes)]),
      ...earlier.map((text) => quoted('before that', text, Math.min(requestBytes, 200))),
    ],
    share: 42,
    leftOut: (rest) => `- ${plural(rest.length, 'more request')} left out`,
  }
}

const marks: Readonly<Record<Todo['state'], string>> = { open: '[ ]', doing: '[~]', done: '[x]', dropped: '[-]' }
const order: readonly Todo['state'][] = ['doing', 'open', 'done', 'dropped']

function planSection({ todos }: SessionFacts): Section {
  const sorted = [...todos].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  return {
    heading: 'Plan',
    lines: sorted.map(({ state, text }) => `- ${marks[state]} ${clampLine(clean(text), 160)}`),
    share: 20,
    leftOut: (rest) => `- ${plural(rest.length, 'more item')} left out`,
  }
}

function decisionsSection({ decisions }: SessionFacts): Section {
  return {
    heading: 'Decisions',
    lines: decisions.map((text) => `- ${clampLine(clean(text), 200)}`),
    share: 12,
    leftOut: (rest) => `- ${plural(rest.length, 'more decision')} left out`,
  }
}

function errorsSection({ errors }: SessionFacts): Section {
  return {
    heading: 'Errors',
    lines: errors.map(({ what, message }) => item(`${clampLine(clean(what), 120)}${message === null ? '' : `: ${clampLine(clean(message), 180)}`}`)),
    share: 20,
    leftOut: (rest) => `- ${plural(rest.length, 'more error')} left out`,
  }
}

const maxReadNamed = 8

function filesSection({ files }: SessionFacts, root: string): Section {
  const edited = files
    .filter(({ edits }) => edits > 0)
    .map((file) => `- ${pathFrom(file, root)}${file.edits > 1 ? ` (edited ${file.edits} times)` : ' (edited)'}`)
  const read = files.filter(({ edits }) => edits === 0).map((file) => pathFrom(file, root))
  return {
    heading: 'Files',
    lines: [...edited, ...(read.length > 0 ? [readLine(read)] : [])],
    share: 18,
    leftOut: (rest) => `- ${plural(rest.length, 'more file')} left out`,
  }
}

function readLine(paths: readonly string[]): string {
  let text = `- only read: ${paths[0]}`
  let named = 1
  for (const path of paths.slice(1, maxReadNamed)) {
    if (byteLength(text) + byteLength(path) > 260) break
    text += `, ${path}`
    named += 1
  }
  return named < paths.length ? `${text}, and ${paths.length - named} more` : text
}

function pathFrom({ path }: TouchedFile, root: string): string {
  const from = path.startsWith(`${root}/`) && root !== '/' ? path.slice(root.length + 1) : path
  return clampLine(clean(from), 120)
}

function resultsSection({ results }: SessionFacts): Section {
  return {
    heading: 'Test results',
    lines: results.map(({ command, text, failed }) =>
      item(`${failed ? 'failed' : 'passed'}: ${clampLine(clean(command), 120)}: ${clampLine(clean(text), 160)}`),
    ),
    share: 8,
    leftOut: (rest) => `- ${plural(rest.length, 'more result')} left out`,
  }
}
