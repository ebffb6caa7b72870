import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { gtest } from './gtest.ts'

describe('the recogniser for GoogleTest', () => {
  it.each<[string, string, object, string[]]>([
    [
      'ctest+gtest-output',
      'GoogleTest 1.12',
      {
        failed: 1,
        passed: 1,
        total: 2,
      },
      ['18 Refund.LateIsRefused @ refund_test.cc:5 | the window is inclusive'],
    ],
    [
      'ctest+gtest-verbose',
      'GoogleTest 1.12',
      {
        failed: 1,
        passed: 2,
        total: 3,
      },
      ['30 Refund.LateIsRefused @ refund_test.cc:5 | 1: the window is inclusive'],
    ],
    [
      'gtest-brief',
      'GoogleTest 1.12',
      {
        failed: 4,
        passed: 2,
        skipped: 1,
        total: 7,
      },
      [
        '10 Refund.LateIsRefused @ refund_test.cc:5 | the window is inclusive',
        '15 Cart.Names @ refund_test.cc:7 | Expected equality of these values:',
        '18 Cart.Throws @ - | C++ exception with description "no store is open" thrown in the test body.',
        '26 Few/Sums.Even/1 @ refund_test.cc:12 | Expected equality of these values:',
      ],
    ],
    [
      'gtest-colour',
      'GoogleTest 1.12',
      {
        failed: 1,
        passed: 1,
        total: 2,
      },
      ['15 Refund.LateIsRefused @ refund_test.cc:5 | the window is inclusive'],
    ],
    [
      'gtest-crash',
      'GoogleTest 1.12',
      {
        failed: 1,
      },
      ['7 Store.Closes @ - | Segmentation fault'],
    ],
    [
      'gtest-failed',
      'GoogleTest 1.12',
      {
        failed: 4,
        passed: 2,
        skipped: 1,
        total: 7,
      },
      [
        '14 Refund.LateIsRefused @ refund_test.cc:5 | the window is inclusive',
        '25 Cart.Names @ refund_test.cc:7 | Expected equality of these values:',
        '29 Cart.Throws @ - | C++ exception with description "no store is open" thrown in the test body.',
        '46 Few/Sums.Even/1 @ refund_test.cc:12 | Expected equality of these values:',
      ],
    ],
    [
      'gtest-none',
      'GoogleTest 1.12',
      {
        passed: 0,
        total: 0,
      },
      [],
    ],
    [
      'gtest-passed',
      'GoogleTest 1.12',
      {
        passed: 2,
        total: 2,
      },
      [],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(gtest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it.each(['ctest+gtest-output', 'ctest+gtest-verbose', 'gtest-failed'])('explains a test by what was said and compared in %s', (name) => {
    const details = recogniseWith(gtest, sample(name))?.failures[0]?.details.map(({ text }) => text.replace(/^\d+: /, '').trim())
    expect(details).toEqual([
      'the window is inclusive',
      'Expected: (window) < (10), actual: 30 vs 10',
      'Expected equality of these values:',
      'window',
      'Which is: 30',
      '31',
      'refund_test.cc:5: Failure',
      'refund_test.cc:5: Failure',
    ])
  })

  it('takes the failures from the list at the end where the rest is missing', () => {
    const recognised = recogniseWith(gtest, linesOf(sample('gtest-failed')).slice(48))
    expect(recognised?.counts).toEqual({ failed: 4, passed: 2, skipped: 1, total: 7 })
    expect(recognised?.failures.map(({ title }) => title)).toEqual(['Refund.LateIsRefused', 'Cart.Names', 'Cart.Throws', 'Few/Sums.Even/1'])
  })
})
