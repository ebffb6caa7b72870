import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { jest } from './jest.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'failed tests, a file that does not load',
    'jest-failing',
    { failed: 5, passed: 5, skipped: 2, total: 12, errors: 1 },
    [
      '21 sum › adds two numbers @ sum.test.js:3:52 | Expected: 3',
      '38 sum › of objects › compares deeply @ sum.test.js:8:62 | +     2,',
      "68 load › reads a file that is there @ ../src/sum.js:2:49 | ENOENT: no such file or directory, open '/nowhere/file.txt'",
      '81 load › ends in time @ sum.test.js:14:3 | thrown: "Exceeded timeout of 100 ms for a test.',
      '105 snap @ fine.test.js:1:83 | - {"a": 2}',
      "127 test-jest2/missing.test.js: Test suite failed to run @ missing.test.js:1:17 | Cannot find module './nowhere' from 'missing.test.js'",
    ],
  ],
  [
    'in colour, verbose',
    'jest-colour',
    { failed: 1, passed: 3, skipped: 1, total: 5, errors: 1 },
    [
      '6 snap @ fine.test.js:1:83 | - {"a": 2}',
      "28 test-jest2/missing.test.js: Test suite failed to run @ missing.test.js:1:17 | Cannot find module './nowhere' from 'missing.test.js'",
    ],
  ],
  [
    'a file that cannot be parsed',
    'jest-syntax',
    { total: 0, errors: 1 },
    ['2 test-jest/broken.test.js: Test suite failed to run @ /home/dev/app/test-jest/broken.test.js:2:10 | Jest encountered an unexpected token'],
  ],
  ['all passed', 'jest-passed', { passed: 2, total: 2 }, []],
  ['no tests found', 'jest-none', {}, ['1 No tests found, exiting with code 1 @ - | -']],
  ['a test that ends the process', 'jest-exit', { failed: 1 }, ['1 process.exit called with "3" @ exit.test.js:1:32 | at Object.exit (exit.test.js:1:32)']],
  ['a wrong configuration', 'jest-badconfig', {}, ['1 ● Validation Error: @ - | Preset nope not found relative to rootDir /home/dev/app.']],
  [
    'coverage missed, and all failures once more at the end, as documented',
    'jest-documented',
    { failed: 1, passed: 1, total: 2 },
    ['2 adds @ src/a.test.js:2:17 | Expected: 3', '23 Jest: "global" coverage threshold for lines (80%) not met: 50% @ - | -'],
  ],
  ['several projects, in colour', 'jest-projects', { failed: 1, total: 1 }, ['4 adds @ a.test.js:1:36 | Expected: 3']],
  [
    'a file with an error of types, as documented',
    'jest-types-documented',
    { total: 0, errors: 1 },
    [
      "2 src/cart.test.ts: Test suite failed to run @ src/cart.test.ts:3:7 | src/cart.test.ts:3:7 - error TS2322: Type 'number' is not assignable to type 'string'.",
    ],
  ],
  ['as a script of pnpm', 'pnpm+jest-script', { failed: 1, passed: 3, skipped: 1, total: 5 }, ['6 snap @ fine.test.js:1:83 | - {"a": 2}']],
]

describe('jest', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(jest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of a failure what was expected, where, and the line of source', () => {
    expect(inBrief(recogniseWith(jest, sample('jest-failing')))).toMatchObject({
      failures: {
        0: {
          details: [
            'Expected: 3',
            'Received: -1',
            'at Object.toBe (sum.test.js:3:52)',
            "> 3 |   it('adds two numbers', () => { expect(sum(1, 2)).toBe(3) })",
            'expect(received).toBe(expected) // Object.is equality',
          ],
        },
      },
      totals: ['Test Suites: 3 failed, 1 passed, 4 total', 'Tests:       5 failed, 1 skipped, 1 todo, 5 passed, 12 total', 'Snapshots:   1 failed, 1 total'],
    })
  })

  it('counts what it sees where the run was ended before its totals', () => {
    const lines = linesOf(sample('jest-failing'))
    expect(recogniseWith(jest, lines.slice(0, 100))?.counts).toEqual({ failed: 4 })
    expect(recogniseWith(jest, lines.slice(100))).toMatchObject({ counts: { failed: 5, passed: 5, errors: 1 }, failures: { length: 2 } })
  })

  it('takes the list of tests for what failed where the reasons are missing', () => {
    expect(failuresOf(recogniseWith(jest, 'FAIL src/a.test.js\n  sum\n    ✓ adds (2 ms)\n    ✕ subtracts (4 ms)\n'))).toEqual([
      '4 src/a.test.js › subtracts @ - | -',
    ])
  })
})
