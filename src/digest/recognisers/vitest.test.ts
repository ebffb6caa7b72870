import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import type { Counts } from './recogniser.ts'
import { vitest } from './vitest.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'failed tests, files that do not load, an error outside of tests',
    'vitest-ci',
    { failed: 4, passed: 6, skipped: 3, total: 13, errors: 4 },
    [
      '29 broken.test.js @ /broken.test.js:1:10 | RolldownError: Parse failure: Parse failed with 1 error:',
      '48 fine.test.js > with hook @ fine.test.js:4:55 | TypeError: hook is broken',
      "60 missing.test.js @ missing.test.js:1:1 | Error: Cannot find module './nowhere' imported from /home/dev/app/test-vitest/missing.test.js",
      '72 sum.test.js > sum > adds two numbers @ sum.test.js:6:52 | AssertionError: expected -1 to be 3 // Object.is equality',
      "91 sum.test.js > sum > of objects > compares deeply @ sum.test.js:11:62 | AssertionError: expected { name: 'a', list: [ 1, 2, 3 ], …(1) } to deeply equal { name: 'b', list: [ 1, 3 ], …(1) }",
      "120 sum.test.js > load > reads a file that is there @ ../src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '133 sum.test.js > load > ends in time @ sum.test.js:17:3 | Error: Test timed out in 100ms.',
      '152 Error: after the test @ fine.test.js:5:56 | ❯ Timeout._onTimeout fine.test.js:5:56',
    ],
  ],
  ['an error before anything is found', 'vitest-startup', {}, ["3 Error: ENOENT: no such file or directory, scandir '/srv/app/nowhere' @ - | -"]],
  [
    'in colour',
    'vitest-colour',
    { failed: 4, passed: 2, skipped: 1, total: 7 },
    [
      '21 sum.test.js > sum > adds two numbers @ sum.test.js:6:52 | AssertionError: expected -1 to be 3 // Object.is equality',
      "40 sum.test.js > sum > of objects > compares deeply @ sum.test.js:11:62 | AssertionError: expected { name: 'a', list: [ 1, 2, 3 ], …(1) } to deeply equal { name: 'b', list: [ 1, 3 ], …(1) }",
      "69 sum.test.js > load > reads a file that is there @ ../src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '82 sum.test.js > load > ends in time @ sum.test.js:17:3 | Error: Test timed out in 100ms.',
    ],
  ],
  [
    'the verbose reporter',
    'vitest-verbose',
    { failed: 4, passed: 4, skipped: 1, total: 9 },
    [
      '27 sum.test.js > sum > adds two numbers @ sum.test.js:6:52 | AssertionError: expected -1 to be 3 // Object.is equality',
      "46 sum.test.js > sum > of objects > compares deeply @ sum.test.js:11:62 | AssertionError: expected { name: 'a', list: [ 1, 2, 3 ], …(1) } to deeply equal { name: 'b', list: [ 1, 3 ], …(1) }",
      "75 sum.test.js > load > reads a file that is there @ ../src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '90 sum.test.js > load > ends in time @ sum.test.js:17:3 | Error: Test timed out in 100ms.',
    ],
  ],
  [
    'the dot reporter',
    'vitest-dot',
    { failed: 4, passed: 4, skipped: 1, total: 9 },
    [
      '14 sum.test.js > sum > adds two numbers @ sum.test.js:6:52 | AssertionError: expected -1 to be 3 // Object.is equality',
      "33 sum.test.js > sum > of objects > compares deeply @ sum.test.js:11:62 | AssertionError: expected { name: 'a', list: [ 1, 2, 3 ], …(1) } to deeply equal { name: 'b', list: [ 1, 3 ], …(1) }",
      "62 sum.test.js > load > reads a file that is there @ ../src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '75 sum.test.js > load > ends in time @ sum.test.js:17:3 | Error: Test timed out in 100ms.',
    ],
  ],
  ['all passed', 'vitest-passed', { passed: 2, total: 2 }, []],
  ['no tests found', 'vitest-none', {}, ['4 No test files found, exiting with code 1 @ - | filter: zzz']],
  [
    'as a script of npm',
    'vitest-npm-script',
    { failed: 4, passed: 2, skipped: 1, total: 7 },
    [
      '25 sum.test.js > sum > adds two numbers @ sum.test.js:6:52 | AssertionError: expected -1 to be 3 // Object.is equality',
      "44 sum.test.js > sum > of objects > compares deeply @ sum.test.js:11:62 | AssertionError: expected { name: 'a', list: [ 1, 2, 3 ], …(1) } to deeply equal { name: 'b', list: [ 1, 3 ], …(1) }",
      "73 sum.test.js > load > reads a file that is there @ ../src/sum.js:2:49 | Error: ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '86 sum.test.js > load > ends in time @ sum.test.js:17:3 | Error: Test timed out in 100ms.',
    ],
  ],
  [
    'several projects, in colour',
    'vitest-projects',
    { failed: 2, passed: 2, total: 4 },
    [
      '12 unit  a.test.js > adds @ a.test.js:2:36 | AssertionError: expected -1 to be 3 // Object.is equality',
      '29 all of it  a.test.js > adds @ a.test.js:2:36 | AssertionError: expected -1 to be 3 // Object.is equality',
    ],
  ],
  [
    'several projects',
    'vitest-projects-plain',
    { failed: 2, passed: 2, total: 4 },
    [
      '12 |unit| a.test.js > adds @ a.test.js:2:36 | AssertionError: expected -1 to be 3 // Object.is equality',
      '29 |all of it| a.test.js > adds @ a.test.js:2:36 | AssertionError: expected -1 to be 3 // Object.is equality',
    ],
  ],
  [
    'a file that cannot be parsed by an older version, as documented',
    'vitest-transform-documented',
    { errors: 1 },
    ['8 src/broken.test.ts @ /home/dev/app/src/broken.test.ts:1:10 | Error: Transform failed with 1 error:'],
  ],
  [
    'a run of an older version that was ended, as documented',
    'vitest-documented',
    { failed: 2 },
    [
      '5 src/sum.test.ts > sum > adds two numbers @ - | → expected -1 to be 3 // Object.is equality',
      '7 src/sum.test.ts > sum > adds many @ - | → expected 5 to be 6 // Object.is equality',
    ],
  ],
]

describe('vitest', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(vitest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of a failure what was expected, where, and the line of source', () => {
    expect(inBrief(recogniseWith(vitest, sample('vitest-ci')))).toMatchObject({
      failures: {
        3: {
          details: [
            'AssertionError: expected -1 to be 3 // Object.is equality',
            '- 3',
            '+ -1',
            '❯ sum.test.js:6:52',
            "6|   it('adds two numbers', () => { expect(sum(1, 2)).toBe(3) })",
            '- Expected',
            '+ Received',
          ],
        },
      },
      totals: ['Test Files  4 failed | 1 passed (5)', 'Tests  4 failed | 6 passed | 2 skipped | 1 todo (13)', 'Errors  1 error'],
    })
  })

  it('counts what it sees where the run was ended before its totals', () => {
    const lines = linesOf(sample('vitest-ci'))
    expect(recogniseWith(vitest, lines.slice(0, 22))?.counts).toEqual({ failed: 4 })
    expect(recogniseWith(vitest, lines.slice(0, 62))).toMatchObject({ counts: { failed: 4, errors: 3 }, failures: { length: 3 } })
    expect(recogniseWith(vitest, lines.slice(26, 62))?.counts.failed).toBeUndefined()
    expect(recogniseWith(vitest, lines.slice(0, 118))).toMatchObject({ counts: { failed: 4, errors: 3 } })
    expect(recogniseWith(vitest, lines.slice(118))).toMatchObject({ counts: { failed: 4, passed: 6, errors: 1 }, failures: { length: 3 } })
  })

  it('gives tests that share a reason the same details', () => {
    const log = ' FAIL  a.test.js > one\n FAIL  a.test.js > two\nError: no database\n ❯ a.test.js:3:1\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/2]⎯\n'
    expect(failuresOf(recogniseWith(vitest, log))).toEqual([
      '1 a.test.js > one @ a.test.js:3:1 | Error: no database',
      '2 a.test.js > two @ a.test.js:3:1 | Error: no database',
    ])
  })
})
