import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { goTest } from './go-test.ts'

describe('the recogniser for go test', () => {
  it.each<[string, object, string[]]>([
    ['go-test+go-build-failing', { failed: 2, passed: 1 }, []],
    [
      'go-test-failing',
      { failed: 4 },
      [
        '2 TestTotals/two_prices @ cart_test.go:28 | cart_test.go:28: Total([1 2]) = 3, want 4',
        '6 TestTotals/negative @ cart_test.go:28 | cart_test.go:28: Total([-1]) = -1, want 1',
        '10 TestFatal @ cart_test.go:38 | cart_test.go:38: no database',
        '16 TestLength @ /srv/app/crash/crash_test.go:7 | panic: runtime error: invalid memory address or nil pointer dereference [recovered]',
      ],
    ],
    [
      'go-test-json',
      { failed: 3, passed: 3, skipped: 1 },
      [
        '30 TestTotals/two_prices @ cart_test.go:28 | {"Time":"2026-11-30T12:35:47.498254417Z","Action":"output","Package":"example.com/app/shop","Test":"TestTotals/two_prices","Output":"    cart_test.go:28: Total([1 2]) = 3, want 4\\n"}',
        '32 TestTotals/negative @ cart_test.go:28 | {"Time":"2026-11-30T12:35:47.498263876Z","Action":"output","Package":"example.com/app/shop","Test":"TestTotals/negative","Output":"    cart_test.go:28: Total([-1]) = -1, want 1\\n"}',
        '43 TestFatal @ cart_test.go:38 | {"Time":"2026-11-30T12:35:47.499453035Z","Action":"output","Package":"example.com/app/shop","Test":"TestFatal","Output":"    cart_test.go:38: no database\\n"}',
      ],
    ],
    ['go-test-passing', { passed: 1 }, []],
    [
      'go-test-race',
      { failed: 1, errors: 1 },
      [
        '2 WARNING: DATA RACE @ /srv/app/race/race_test.go:8 | Read at 0x00c000018228 by goroutine 8:',
        '37 TestRace @ - | testing.go:1319: race detected during execution of test',
      ],
    ],
    ['go-test-timeout', { failed: 1, errors: 1 }, ['1 panic: test timed out after 1s @ /srv/app/slow/slow_test.go:8 | /srv/app/slow/slow_test.go:8 +0x25']],
    [
      'go-test-verbose',
      { failed: 3, passed: 3, skipped: 1 },
      [
        '16 TestTotals/two_prices @ cart_test.go:28 | cart_test.go:28: Total([1 2]) = 3, want 4',
        '17 TestTotals/negative @ cart_test.go:28 | cart_test.go:28: Total([-1]) = -1, want 1',
        '23 TestFatal @ cart_test.go:38 | cart_test.go:38: no database',
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(goTest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('tells what a panic said and where in own code it rose, and not the test below which it stands twice', () => {
    const crashed = recogniseWith(goTest, sample('go-test-failing'))?.failures[3]
    expect(crashed?.line.text).toBe('--- FAIL: TestLength (0.00s)')
    expect(crashed?.details.map(({ text }) => text.trim())).toEqual([
      'panic: runtime error: invalid memory address or nil pointer dereference [recovered]',
      'crash_test.go:12: about to crash',
      'panic: runtime error: invalid memory address or nil pointer dereference',
      '[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4f50f4]',
      '/srv/app/crash/crash_test.go:7 +0x14',
      '/srv/app/crash/crash_test.go:7 +0x1c',
      '/srv/app/crash/crash_test.go:13 +0x6b',
    ])
  })

  it('keeps the last message of a test that said much', () => {
    const notes = Array.from({ length: 50 }, (_, i) => `    a_test.go:${i + 1}: step ${i + 1}\n`).join('')
    const log = `--- FAIL: TestLong (0.10s)\n${notes}    a_test.go:99: the row is gone\nFAIL\nFAIL\texample.com/a\t0.1s\n`
    const verbose = `=== RUN   TestLong\n${notes}    a_test.go:99: the row is gone\n--- FAIL: TestLong (0.10s)\nFAIL\n`
    expect(failuresOf(recogniseWith(goTest, log))).toEqual(['1 TestLong @ a_test.go:99 | a_test.go:99: the row is gone'])
    expect(failuresOf(recogniseWith(goTest, verbose))).toEqual(['53 TestLong @ a_test.go:99 | a_test.go:99: the row is gone'])
  })

  it('gives a test its own message where its subtests failed, too', () => {
    const log =
      '--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:5: got 1, want 2\n            more\n    a_test.go:9: one failed\nFAIL\n'
    expect(failuresOf(recogniseWith(goTest, log))).toEqual([
      '1 TestA @ a_test.go:9 | a_test.go:9: one failed',
      '2 TestA/b @ a_test.go:5 | a_test.go:5: got 1, want 2',
    ])
  })
})
