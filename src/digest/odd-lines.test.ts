import { expect, it } from 'vitest'
import { lineHead, textSection } from './log.ts'
import { oddLines } from './odd-lines.ts'

const places = ['alpha', 'beta', 'gamma', 'delta', 'epsilon']
/** What goes on in a log, with names that come again and again. */
const chatter = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `ERROR: socket of ${places[i % 5]} was closed, connecting again to ${places[(i * 3) % 5]}`)

function oddIn(lines: readonly string[]): string[] {
  const log = `${lines.join('\n')}\n`
  return oddLines({ name: 'stdout', sections: [textSection(log)], bytes: Buffer.byteLength(log), lines: lines.length, droppedBytes: 0 }).map(lineHead)
}

it('a line with words of its own among many that are alike is found, whether or not it looks like an error', () => {
  expect(oddIn([...chatter(200), 'Bad file format reading the append only journal', ...chatter(300)])).toEqual([
    'Bad file format reading the append only journal',
  ])
  expect(oddIn([...chatter(200), 'lib/ledger.rb:5:5: W: Lint/Useless: assignment to variable sum', ...chatter(30)])).toHaveLength(1)
})

it('what is said more often, or in few words, is not odd', () => {
  const said = 'Reading the journal takes longer than usual'
  expect(oddIn([said, ...chatter(50), said, ...chatter(50), said, ...chatter(50)])).toEqual([])
  expect(oddIn([...chatter(50), 'done', ...chatter(50)])).toEqual([])
})

it('where everything is odd, nothing is', () => {
  const preamble = Array.from(
    { length: 40 },
    (_, i) =>
      `${'abcdefghij'[i % 10]}xq${'klmnopqrst'[Math.floor(i / 10)]} zz${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10)]}w yy${'klmnopqrst'[Math.floor(i / 10)]}${'abcdefghij'[i % 10]}v`,
  )
  expect(oddIn([...preamble, ...chatter(100)])).toEqual([])
})

it('a log of very many lines is not looked through', () => {
  expect(oddIn([...chatter(11_000), 'Bad file format reading the append only journal'])).toEqual([])
})
