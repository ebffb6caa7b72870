import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, recogniseWith, sample } from '../../../test/support/recognised.ts'
import type { Counts } from './recogniser.ts'
import { tap } from './tap.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'tape',
    'tap-tape',
    { failed: 2, passed: 2, skipped: 1, total: 4 },
    ['3 adds @ /home/dev/app/test-tape/a.js:2:24 | 3', '21 should be deeply equivalent @ /home/dev/app/test-tape/a.js:2:94 | { a: 2 }'],
  ],
  [
    'node:test, subtests among them',
    'tap-node',
    { failed: 6, passed: 2, skipped: 1, total: 10 },
    [
      "23 /home/dev/app/test-node/missing.test.js @ /home/dev/app/test-node/missing.test.js:1:1 | # Error: Cannot find module './nowhere'",
      '35 adds two numbers @ /home/dev/app/tn/sum.test.js:5:41 | Expected values to be strictly equal:',
      '74 compares deeply @ /home/dev/app/tn/sum.test.js:10:14 | Expected values to be strictly deep-equal:',
      `141 load reads a file @ /home/dev/app/src/sum.js:2:49 | error: "ENOENT: no such file or directory, open '/nowhere/file.txt'"`,
      "161 load ends in time @ /home/dev/app/tn/sum.test.js:15:1 | error: 'test timed out after 100ms'",
      "193 has a message @ /home/dev/app/tn/sum.test.js:18:38 | error: 'the flag is off'",
    ],
  ],
  ['node:test, all passed', 'tap-node-passed', { passed: 2, total: 2 }, []],
  [
    'Mocha',
    'tap-mocha',
    { failed: 7, passed: 3, skipped: 2, total: 10 },
    [
      '3 hooks "before all" hook: connects for "works" @ test-mocha/hooks.js:1:60 | connection refused',
      '8 strings are equal @ test-mocha/hooks.js:2:63 | expected values',
      '13 strings throws a string @ - | the string "just text" was thrown, throw an Error :)',
      '17 sum adds two numbers @ test-mocha/expect.js:2:48 | AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
      '31 sum of objects compares deeply @ test-mocha/expect.js:2:84 | AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:',
      "75 load reads a file that is there @ src/sum.js:2:49 | ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '82 load ends in time @ - | Timeout of 100ms exceeded. For async tests and hooks, ensure "done()" is called; if returning a Promise, ensure it resolves. (/home/dev/app/test-mocha/sum.js)',
    ],
  ],
  [
    'Vitest',
    'tap-vitest',
    { failed: 4, skipped: 1 },
    [
      '12 adds two numbers @ /home/dev/app/tv/sum.test.js:6:52 | name: "AssertionError"',
      '25 compares deeply @ /home/dev/app/tv/sum.test.js:11:62 | name: "AssertionError"',
      '57 reads a file that is there @ /home/dev/app/src/sum.js:2:49 | name: "Error"',
      '64 ends in time @ /home/dev/app/tv/sum.test.js:17:3 | name: "Error"',
    ],
  ],
  [
    'a test in Perl',
    'tap-perl',
    { failed: 2, passed: 1, skipped: 2 },
    ["2 adds @ t/sum.t:2 | #          got: '-1'", '8 compares deeply @ t/sum.t:2 | #     Structures begin differing at:'],
  ],
  [
    'prove, files that end on their own',
    'tap-prove',
    { failed: 2, total: 7, errors: 2 },
    [
      "8 adds @ t/sum.t:2 | #          got: '-1'",
      '13 compares deeply @ t/sum.t:2 | #     Structures begin differing at:',
      '32 t/die.t exited 255 @ - | cannot connect',
      '38 t/syntax.t exited 255 @ - | syntax error at t/syntax.t line 1, at EOF',
    ],
  ],
  [
    'prove --verbose',
    'tap-prove-verbose',
    { failed: 2, passed: 2, skipped: 2, total: 6, errors: 1 },
    [
      "2 adds @ t/sum.t:2 | #          got: '-1'",
      '7 compares deeply @ t/sum.t:2 | #     Structures begin differing at:',
      '38 t/die.t exited 255 @ - | cannot connect',
    ],
  ],
  ['prove, all passed', 'tap-prove-passed', { total: 1 }, []],
  ['a run that bails out', 'tap-bail', { failed: 1, passed: 1 }, ['3 writes @ - | -', '4 Bail out! disk is full @ - | -']],
]

describe('tap', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(tap, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of a failure what was expected, and its place', () => {
    expect(inBrief(recogniseWith(tap, sample('tap-tape')))).toMatchObject({
      failures: { 1: { details: ['{ a: 2 }', '{ a: 1 }', 'at: Test.<anonymous> (/home/dev/app/test-tape/a.js:2:94)', expect.anything()] } },
      totals: ['# tests 4', '# pass  2', '# fail  2'],
    })
    expect(inBrief(recogniseWith(tap, sample('tap-perl')))).toMatchObject({
      failures: { 0: { details: ["#          got: '-1'", "#     expected: '3'", '#   at t/sum.t line 2.', "#   Failed test 'adds'"] } },
    })
  })

  it('counts the results it sees where no totals follow', () => {
    expect(recogniseWith(tap, '1..4\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no network\nnot ok 4 - d # TODO later\n')?.counts).toEqual({
      failed: 1,
      passed: 1,
      skipped: 2,
    })
  })

  it('takes a test that fails because of its subtests for no failure of its own', () => {
    const nested = '# Subtest: a\n    # Subtest: b\n    not ok 1 - b\n    1..1\nnot ok 1 - a\n# Subtest: c\nnot ok 2 - c\n'
    expect(failuresOf(recogniseWith(tap, nested))).toEqual(['3 b @ - | -', '7 c @ - | -'])
  })
})
