import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { ctest } from './ctest.ts'

describe('the recogniser for CTest', () => {
  it.each<[string, string, object, string[]]>([
    [
      'ctest+gtest-output',
      'GoogleTest 1.12',
      {
        failed: 1,
        total: 2,
        passed: 1,
      },
      ['3 refund @ refund_test.cc:5 | refund_test.cc:5: Failure'],
    ],
    [
      'ctest+gtest-verbose',
      'GoogleTest 1.12',
      {
        failed: 1,
        total: 2,
        passed: 1,
      },
      ['42 refund @ - | 1:  1 FAILED TEST'],
    ],
    [
      'ctest-failed',
      'CMake 3.25',
      {
        failed: 4,
        total: 6,
        passed: 1,
        skipped: 1,
      },
      ['5 close @ - | -', '7 slow @ - | -', '9 crash @ - | -', '30 absent @ - | Unable to find executable: nosuchprogram'],
    ],
    ['ctest-none', 'CMake 3.25', {}, []],
    [
      'ctest-output',
      'CMake 3.25',
      {
        failed: 4,
        total: 6,
        passed: 1,
        skipped: 1,
      },
      ['5 close @ - | close: expected 2 handles, found 3', '9 slow @ - | -', '12 crash @ - | -', '34 absent @ - | Unable to find executable: nosuchprogram'],
    ],
    [
      'ctest-passed',
      'CMake 3.25',
      {
        failed: 0,
        total: 1,
        passed: 1,
      },
      [],
    ],
    [
      'ctest-verbose',
      'CMake 3.25',
      {
        failed: 1,
        total: 2,
        passed: 1,
      },
      ['24 close @ - | 2: close: expected 2 handles, found 3'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(ctest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('does not say what passed where outcomes are missing', () => {
    const lines = linesOf(sample('ctest-failed'))
    expect(recogniseWith(ctest, lines.slice(6))?.counts).toEqual({ failed: 4, total: 6 })
    expect(failuresOf(recogniseWith(ctest, lines.slice(31)))).toEqual(['40 close @ - | -', '41 slow @ - | -', '42 crash @ - | -', '43 absent @ - | -'])
    expect(recogniseWith(ctest, lines.slice(0, 12))?.counts).toEqual({ failed: 3, passed: 1, skipped: 1 })
  })

  it('gives a test the place that its output names', () => {
    const log =
      '1/1 Test #1: store ....***Failed    0.01 sec\ntests/store.cpp:31: Failure\nExpected equality of these values:\n\n0% tests passed, 1 tests failed out of 1\n'
    expect(failuresOf(recogniseWith(ctest, log))).toEqual(['1 store @ tests/store.cpp:31 | tests/store.cpp:31: Failure'])
  })
})
