import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { unittest } from './unittest.ts'

describe('the recogniser for unittest', () => {
  it.each<[string, object, string[]]>([
    [
      'unittest-failing',
      { failed: 3, skipped: 1, total: 8, errors: 3 },
      [
        '3 setUpClass (test_calc.BrokenSetUp) @ /srv/app/test_calc.py:40 | OSError: no database',
        '11 test_divide_by_zero (test_calc.CalcTest.test_divide_by_zero) @ /srv/app/test_calc.py:6 | ZeroDivisionError: division by zero',
        "24 test_import (unittest.loader._FailedTest.test_import) @ /srv/app/test_import.py:1 | ModuleNotFoundError: No module named 'nowhere'",
        "39 test_multi (test_calc.CalcTest.test_multi) @ /srv/app/test_calc.py:21 | AssertionError: 'one\\ntwo\\nthree\\n' != 'one\\n2\\nthree\\n'",
        "52 test_names (test_calc.CalcTest.test_names) @ /srv/app/test_calc.py:18 | AssertionError: {'a': 1, 'b': [1, 2, 3]} != {'a': 1, 'b': [1, 2, 4]}",
        '66 test_parts (test_calc.CalcTest.test_parts) (n=1) @ /srv/app/test_calc.py:26 | AssertionError: 1 == 1',
      ],
    ],
    ['unittest-none', { total: 0 }, []],
    ['unittest-passing', { skipped: 1, total: 2 }, []],
    [
      'unittest-python-3.8',
      { failed: 3, skipped: 1, total: 7, errors: 2 },
      [
        '3 setUpClass (test_calc.BrokenSetUp) @ /srv/app/test_calc.py:40 | OSError: no database',
        '11 test_divide_by_zero (test_calc.CalcTest) @ /srv/app/test_calc.py:6 | ZeroDivisionError: division by zero',
        "22 test_multi (test_calc.CalcTest) @ /srv/app/test_calc.py:21 | AssertionError: 'one\\ntwo\\nthree\\n' != 'one\\n2\\nthree\\n'",
        "35 test_names (test_calc.CalcTest) @ /srv/app/test_calc.py:18 | AssertionError: {'a': 1, 'b': [1, 2, 3]} != {'a': 1, 'b': [1, 2, 4]}",
        '49 test_parts (test_calc.CalcTest) (n=1) @ /srv/app/test_calc.py:26 | AssertionError: 1 == 1',
      ],
    ],
    [
      'unittest-verbose',
      { failed: 3, passed: 1, skipped: 1, total: 8, errors: 3 },
      [
        '14 setUpClass (test_calc.BrokenSetUp) @ /srv/app/test_calc.py:40 | OSError: no database',
        '22 test_divide_by_zero (test_calc.CalcTest.test_divide_by_zero) @ /srv/app/test_calc.py:6 | ZeroDivisionError: division by zero',
        "50 test_multi (test_calc.CalcTest.test_multi) @ /srv/app/test_calc.py:21 | AssertionError: 'one\\ntwo\\nthree\\n' != 'one\\n2\\nthree\\n'",
        "64 test_names (test_calc.CalcTest.test_names) @ /srv/app/test_calc.py:18 | AssertionError: {'a': 1, 'b': [1, 2, 3]} != {'a': 1, 'b': [1, 2, 4]}",
        '79 test_parts (test_calc.CalcTest.test_parts) (n=1) @ /srv/app/test_calc.py:26 | AssertionError: 1 == 1',
        "35 test_import (unittest.loader._FailedTest.test_import) @ /srv/app/test_import.py:1 | ModuleNotFoundError: No module named 'nowhere'",
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(unittest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a failure by its message, the difference, its places and their source', () => {
    const recognised = recogniseWith(unittest, sample('unittest-verbose'))
    expect(recognised?.failures[1]?.details.map(({ text }) => text.trim())).toEqual([
      'ZeroDivisionError: division by zero',
      'File "/srv/app/test_calc.py", line 15, in test_divide_by_zero',
      'File "/srv/app/test_calc.py", line 6, in divide',
      'self.assertEqual(divide(1, 0), float("inf"))',
      'return a / b',
    ])
    expect(recognised?.failures[2]?.details.slice(0, 3).map(({ text }) => text)).toEqual([
      "AssertionError: 'one\\ntwo\\nthree\\n' != 'one\\n2\\nthree\\n'",
      '  one',
      '- two',
    ])
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['Ran 8 tests in 0.002s', 'FAILED (failures=3, errors=3, skipped=1, expected failures=1)'])
  })

  it('names what failed of a run that was cut off before its report', () => {
    const recognised = recogniseWith(unittest, linesOf(sample('unittest-verbose')).slice(0, 9))
    expect(recognised?.counts).toEqual({ failed: 3, errors: 2, passed: 1 })
    expect(failuresOf(recognised)[1]).toBe('4 test_divide_by_zero (test_calc.CalcTest.test_divide_by_zero) @ - | -')
  })
})
