import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { mocha } from './mocha.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'failed tests and hooks',
    'mocha-spec',
    { failed: 7, passed: 3, skipped: 2 },
    [
      '33 hooks > "before all" hook: connects for "works" @ test-mocha/hooks.js:1:60 | "before all" hook: connects for "works":',
      '39 strings > are equal @ test-mocha/hooks.js:2:63 | are equal:',
      '52 strings > throws a string @ - | throws a string:',
      '57 sum > adds two numbers @ test-mocha/expect.js:2:48 | adds two numbers:',
      '73 sum > of objects > compares deeply @ test-mocha/expect.js:2:84 | compares deeply:',
      '116 load > reads a file that is there @ src/sum.js:2:49 | reads a file that is there:',
      '124 load > ends in time @ - | ends in time:',
    ],
  ],
  [
    'in colour',
    'mocha-colour',
    { failed: 7, passed: 3, skipped: 2 },
    [
      '33 hooks > "before all" hook: connects for "works" @ test-mocha/hooks.js:1:60 | "before all" hook: connects for "works":',
      '39 strings > are equal @ test-mocha/hooks.js:2:63 | are equal:',
      '52 strings > throws a string @ - | throws a string:',
      '57 sum > adds two numbers @ test-mocha/expect.js:2:48 | adds two numbers:',
      '73 sum > of objects > compares deeply @ test-mocha/expect.js:2:84 | compares deeply:',
      '116 load > reads a file that is there @ src/sum.js:2:49 | reads a file that is there:',
      '124 load > ends in time @ - | ends in time:',
    ],
  ],
  [
    'the dot reporter',
    'mocha-dot',
    { failed: 7, passed: 3, skipped: 2 },
    [
      '11 hooks > "before all" hook: connects for "works" @ test-mocha/hooks.js:1:60 | "before all" hook: connects for "works":',
      '17 strings > are equal @ test-mocha/hooks.js:2:63 | are equal:',
      '30 strings > throws a string @ - | throws a string:',
      '35 sum > adds two numbers @ test-mocha/expect.js:2:48 | adds two numbers:',
      '51 sum > of objects > compares deeply @ test-mocha/expect.js:2:84 | compares deeply:',
      '94 load > reads a file that is there @ src/sum.js:2:49 | reads a file that is there:',
      '102 load > ends in time @ - | ends in time:',
    ],
  ],
  ['all passed', 'mocha-passed', { passed: 1, skipped: 1 }, []],
  ['no tests found', 'mocha-none', {}, ['1 Error: No test files found: "nothing" @ - | -']],
  [
    'a file that cannot be parsed',
    'mocha-syntax',
    {},
    ['2 Exception during run: /home/dev/app/test-mocha/zz-broken.js:1 @ /home/dev/app/test-mocha/zz-broken.js:1 | const x = ;'],
  ],
]

describe('mocha', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(mocha, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of a failure the message, what was expected, and its place', () => {
    expect(inBrief(recogniseWith(mocha, sample('mocha-spec')))).toMatchObject({
      failures: {
        1: { details: ['are equal:', 'Error: expected values', '-three', '+two', 'at Context.<anonymous> (test-mocha/hooks.js:2:63)', '+ expected - actual'] },
      },
      totals: ['3 passing (162ms)', '2 pending', '7 failing'],
    })
  })

  it('reads the failures that are left of a cut log', () => {
    const lines = linesOf(sample('mocha-spec'))
    expect(recogniseWith(mocha, lines.slice(0, 56))).toMatchObject({ counts: { failed: 7, passed: 3 }, failures: { length: 3 } })
    expect(recogniseWith(mocha, [...lines.slice(28, 34), ...lines.slice(50)])).toMatchObject({ failures: { length: 6 } })
  })
})
