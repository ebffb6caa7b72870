import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { fixtures } from './fixtures.mjs'
import { printTable } from './measure.mjs'

const budget = 2_048
/** What counts where a line is compared with a reply: neither spaces nor the punctuation of JSON and of columns. */
const letter = /[^\s`{}[\]()"',:;]/g

/** What of fourteen kinds of output can be answered from the reply alone, and how many bytes that reply has. */
export async function answers({ world, goals }) {
  const root = world.folder('answers')
  const holdfast = await openHoldfast({ root })
  const rows = []
  for (const [i, fixture] of fixtures.entries()) {
    const file = `fixture-${i}.txt`
    writeFileSync(join(root, file), fixture.text)
    const questions = questionsOf(fixture)
    const run = await holdfast.exec({ argv: ['sh', '-c', `cat ${file}; exit ${fixture.exit}`] })
    const replies = [run.digest, ...others.map(({ reply }) => reply(fixture))]
    const hits = await holdfast.search({ query: fixture.middle, literal: true, run: run.id })
    rows.push({ fixture, questions, replies, searched: hits.hits.some(({ text }) => text.trim() === middleOf(fixture)) })
  }
  await holdfast.close()
  const names = ['Holdfast', ...others.map(({ name }) => name)]
  printReplies(names, rows)
  printQuestions(names, rows)
  const bytes = rows.reduce((sum, { replies }) => sum + Buffer.byteLength(replies[0]), 0)
  const all = rows.reduce((sum, { fixture }) => sum + Buffer.byteLength(fixture.text), 0)
  process.stdout.write(`Of ${all.toLocaleString('en')} bytes Holdfast's replies have ${bytes.toLocaleString('en')} (${((100 * bytes) / all).toFixed(1)} %).\n`)
  goals.most('bytes of the longest reply', budget, Math.max(...rows.map(({ replies }) => Buffer.byteLength(replies[0]))), (value) => value.toLocaleString('en'))
}

/** What one gets without Holdfast. A shell tool tells the exit status beside the output, so each of them has it, within the same budget. */
const others = [
  { name: 'tail', reply: (fixture) => withStatus(fixture, (bytes, room) => bytes.subarray(-room)) },
  { name: 'head and tail', reply: (fixture) => withStatus(fixture, (bytes, room) => headAndTail(bytes, room)) },
  { name: 'grep of error words', reply: (fixture) => withStatus(fixture, (_, room) => Buffer.from(grepped(fixture.text)).subarray(0, room)) },
]

function withStatus({ text, exit }, shorten) {
  const status = `exit status ${exit}\n`
  return status + shorten(Buffer.from(text), budget - status.length).toString()
}

const headAndTail = (bytes, room) =>
  bytes.length <= room ? bytes : Buffer.concat([bytes.subarray(0, room >> 1), Buffer.from('\n'), bytes.subarray(1 - (room >> 1))])

const grepped = (text) =>
  text
    .split('\n')
    .flatMap((line, at) => (/error|fail|fatal|exception|panic|warn/i.test(line) ? [`${at + 1}:${line}`] : []))
    .join('\n')

/** The five questions, each with a test of a reply; a question that is not asked is undefined. */
function questionsOf(fixture) {
  const { exit, errors, first } = fixture
  return {
    'exit status': (reply) => new RegExp(`\\bexit(?:ed| status| code)?:? (?:with )?${exit}\\b`).test(reply),
    'number of errors': errors && ((reply) => errors.some((way) => way.every((pattern) => pattern.test(reply)))),
    'first error with its place': first && ((reply) => first.every((text) => reply.includes(text))),
    'last line': (reply) => holds(reply, lastOf(fixture)),
    'line in the middle': (reply) => holds(reply, middleOf(fixture)),
  }
}

/** Lines may be shown cut and in other columns: their first sixty characters that are no punctuation or space have to be there in their order. */
function holds(reply, line) {
  const letters = (text) => (text.match(letter) ?? []).join('')
  return letters(reply).includes(letters(line).slice(0, 60))
}

function lastOf({ text, last = '' }) {
  return text
    .split('\n')
    .filter((line) => line.includes(last) && (line.match(letter) ?? []).length >= 8)
    .at(-1)
    .trim()
}

function middleOf({ name, text, middle }) {
  const lines = text.split('\n')
  const at = lines.flatMap((line, index) => (line.includes(middle) ? [index] : []))
  if (at.length !== 1 || at[0] < lines.length * 0.3 || at[0] > lines.length * 0.7) throw new Error(`${name}: ${middle} names no line in the middle`)
  return lines[at[0]].trim()
}

const answered = (questions, reply) => Object.values(questions).filter((test) => test?.(reply)).length
const asked = (questions) => Object.values(questions).filter((test) => test).length

function printReplies(names, rows) {
  const cell = (questions, reply) => `${Buffer.byteLength(reply).toLocaleString('en')} B ${answered(questions, reply)}`
  const total = (of) => rows.reduce((sum, row) => sum + of(row), 0)
  printTable(
    `Reply of at most ${budget.toLocaleString('en')} bytes: its bytes, and how many of the questions it answers`,
    ['output', 'bytes', 'asked', ...names, 'then one search'],
    [
      ...rows.map(({ fixture, questions, replies, searched }) => [
        fixture.name,
        Buffer.byteLength(fixture.text).toLocaleString('en'),
        asked(questions),
        ...replies.map((reply) => cell(questions, reply)),
        withSearch({ questions, replies, searched }),
      ]),
      [
        'all',
        total(({ fixture }) => Buffer.byteLength(fixture.text)).toLocaleString('en'),
        total(({ questions }) => asked(questions)),
        ...names.map(
          (_, at) =>
            `${total(({ replies }) => Buffer.byteLength(replies[at])).toLocaleString('en')} B ${total(({ questions, replies }) => answered(questions, replies[at]))}`,
        ),
        total(withSearch),
      ],
    ],
  )
}

/** How many are answered once the line in the middle was searched for by its name. */
function withSearch({ questions, replies, searched }) {
  const { 'line in the middle': middle, ...rest } = questions
  return answered(rest, replies[0]) + (searched || middle(replies[0]) ? 1 : 0)
}

function printQuestions(names, rows) {
  const questions = Object.keys(rows[0].questions)
  printTable(
    'By question',
    ['', 'asked', ...names],
    questions.map((question) => {
      const asking = rows.filter((row) => row.questions[question])
      return [question, asking.length, ...names.map((_, at) => asking.filter((row) => row.questions[question](row.replies[at])).length)]
    }),
  )
}
