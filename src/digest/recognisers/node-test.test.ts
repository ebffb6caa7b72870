import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { nodeTest } from './node-test.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'failed tests',
    'node-test-spec',
    { failed: 5, passed: 2, skipped: 2, total: 9 },
    [
      '2 adds two numbers @ /home/dev/app/tn/sum.test.js:5:41 | AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
      '27 compares deeply @ /home/dev/app/tn/sum.test.js:10:14 | AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:',
      "61 load reads a file @ /home/dev/app/src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      "79 load ends in time @ tn/sum.test.js:15:1 | 'test timed out after 100ms'",
      '94 has a message @ /home/dev/app/tn/sum.test.js:18:38 | AssertionError [ERR_ASSERTION]: the flag is off',
    ],
  ],
  [
    'a file that cannot be parsed, in colour',
    'node-test-colour',
    { failed: 1, passed: 2, total: 3 },
    ["15 /home/dev/app/test-node/broken.test.js @ test-node/broken.test.js:1:1 | SyntaxError: Unexpected token ';'"],
  ],
  ['all passed', 'node-test-passed', { passed: 2, total: 2 }, []],
]

describe('node-test', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(nodeTest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of a failure what was expected, and the frame of own code', () => {
    expect(inBrief(recogniseWith(nodeTest, sample('node-test-spec')))).toMatchObject({
      failures: {
        0: {
          details: [
            'AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
            '-1 !== 3',
            'actual: -1,',
            'expected: 3,',
            'at TestContext.<anonymous> (/home/dev/app/tn/sum.test.js:5:41)',
            'test at tn/sum.test.js:5:3',
          ],
        },
      },
    })
  })

  it('knows a failure again in the list at the end, and reads there what the run itself did not say', () => {
    expect(failuresOf(recogniseWith(nodeTest, linesOf(sample('node-test-spec')).slice(117, 150)))).toEqual([
      '122 adds two numbers @ /home/dev/app/tn/sum.test.js:5:41 | AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
      '145 compares deeply @ tn/sum.test.js:9:5 | AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:',
    ])
    const late = '✖ adds (1.123456ms)\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.test.js:5:3\n✖ adds (1.123456ms)\n  Error: no database\n'
    expect(failuresOf(recogniseWith(nodeTest, late))).toEqual(['1 adds @ a.test.js:5:3 | Error: no database'])
  })

  it('takes what failed from the run itself where the list at the end is missing, without suites', () => {
    const recognised = recogniseWith(nodeTest, linesOf(sample('node-test-spec')).slice(0, 70))
    expect(recognised?.counts).toEqual({ failed: 3 })
    expect(recognised?.failures.map(({ title }) => title)).toEqual(['adds two numbers', 'compares deeply', 'load reads a file'])
  })
})
