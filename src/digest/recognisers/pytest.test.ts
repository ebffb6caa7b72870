import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { pytest } from './pytest.ts'

describe('the recogniser for pytest', () => {
  it.each<[string, object, string[]]>([
    [
      'pytest-collection',
      { total: 0, errors: 2 },
      [
        "47 broken/test_import.py @ broken/test_import.py:1 | E   ModuleNotFoundError: No module named 'shop.payments'",
        '48 broken/test_syntax.py @ /srv/app/broken/test_syntax.py:1 | E   SyntaxError: invalid syntax',
      ],
    ],
    [
      'pytest-conftest',
      { errors: 1 },
      ["1 ImportError while loading conftest '/srv/app/broken/conftest.py'. @ broken/conftest.py:1 | E   ModuleNotFoundError: No module named 'nowhere'"],
    ],
    [
      'pytest-crash',
      { total: 2, errors: 1 },
      ['8 crash_test.py::test_crash Fatal Python error: Segmentation fault @ /srv/app/crash_test.py:8 | File "/srv/app/crash_test.py", line 8 in test_crash'],
    ],
    [
      'pytest-failing',
      { failed: 4, passed: 6, skipped: 1, total: 13, errors: 1, warnings: 1 },
      [
        '96 tests/test_cart.py::TestOrders::test_order_is_saved @ tests/conftest.py:6 | E       ConnectionRefusedError: connection to 127.0.0.1:5432 refused',
        '92 tests/test_cart.py::test_discount_is_rounded_up @ tests/test_cart.py:13 | E       AssertionError: assert 95 == 94',
        "93 tests/test_cart.py::test_parse_price[2-200] @ src/shop/cart.py:24 | E       ValueError: invalid literal for int() with base 10: ''",
        '94 tests/test_cart.py::test_find_item_by_name @ src/shop/cart.py:19 | E       StopIteration',
        "95 tests/test_cart.py::TestOrders::test_order_lines @ tests/test_cart.py:47 | E       AssertionError: assert {'currency': ...uantity': 1}]} == {'currency': ...uantity': 3}]}",
      ],
    ],
    ['pytest-internal', { total: 1, errors: 1 }, ["6 KeyError: 'plugin' @ /srv/app/inner/conftest.py:2 | INTERNALERROR> KeyError: 'plugin'"]],
    [
      'pytest-line-quiet',
      { failed: 4, passed: 6, skipped: 1, errors: 1, warnings: 1 },
      [
        '33 tests/test_cart.py::TestOrders::test_order_is_saved @ - | E   ConnectionRefusedError: connection to 127.0.0.1:5432 refused',
        '29 tests/test_cart.py::test_discount_is_rounded_up @ /srv/app/tests/test_cart.py:13 | E   AssertionError: assert 95 == 94',
        "30 tests/test_cart.py::test_parse_price[2-200] @ /srv/app/src/shop/cart.py:24 | E   ValueError: invalid literal for int() with base 10: ''",
        '31 tests/test_cart.py::test_find_item_by_name @ /srv/app/src/shop/cart.py:19 | E   StopIteration',
        "32 tests/test_cart.py::TestOrders::test_order_lines @ /srv/app/tests/test_cart.py:47 | E   AssertionError: assert {'currency': ...uantity': 1}]} == {'currency': ...uantity': 3}]}",
      ],
    ],
    [
      'pytest-native-quiet',
      { failed: 2, passed: 2 },
      [
        "132 tests/test_cart.py::test_parse_price[2-200] @ /srv/app/src/shop/cart.py:24 | ValueError: invalid literal for int() with base 10: ''",
        '133 tests/test_cart.py::test_find_item_by_name @ /srv/app/src/shop/cart.py:19 | StopIteration',
      ],
    ],
    [
      'pytest-no-traceback',
      { failed: 4, passed: 6, skipped: 1, total: 13, errors: 1, warnings: 1 },
      [
        '16 tests/test_cart.py::test_discount_is_rounded_up @ - | -',
        '17 tests/test_cart.py::test_parse_price[2-200] @ - | -',
        '18 tests/test_cart.py::test_find_item_by_name @ - | -',
        '19 tests/test_cart.py::TestOrders::test_order_lines @ - | -',
        '20 tests/test_cart.py::TestOrders::test_order_is_saved @ - | -',
      ],
    ],
    ['pytest-nofile', { total: 0, errors: 1 }, ['8 ERROR: file or directory not found: tests/nothere @ - | -']],
    ['pytest-none', { total: 0 }, []],
    ['pytest-passing', { passed: 2, total: 2 }, []],
    [
      'pytest-short-colour',
      { failed: 4, passed: 6, skipped: 1, total: 13, errors: 1, warnings: 1 },
      [
        '67 tests/test_cart.py::test_discount_is_rounded_up @ tests/test_cart.py:13 | E   AssertionError: assert 95 == 94',
        "68 tests/test_cart.py::test_parse_price[2-200] @ src/shop/cart.py:24 | E   ValueError: invalid literal for int() with base 10: ''",
        '69 tests/test_cart.py::test_find_item_by_name @ src/shop/cart.py:19 | E   StopIteration',
        '71 tests/test_cart.py::TestOrders::test_order_is_saved @ tests/conftest.py:6 | E   ConnectionRefusedError: connection to 127.0.0.1:5432 refused',
        "70 tests/test_cart.py::TestOrders::test_order_lines @ tests/test_cart.py:47 | E   AssertionError: assert {'currency': ...uantity': 1}]} == {'currency': ...uantity': 3}]}",
      ],
    ],
    [
      'pytest-stopped',
      { failed: 1, passed: 1, total: 13 },
      ['19 tests/test_cart.py::test_discount_is_rounded_up @ tests/test_cart.py:13 | E       AssertionError: assert 95 == 94'],
    ],
    ['pytest-usage', { errors: 1 }, ['2 pytest: error: unrecognized arguments: --nope @ - | -']],
    [
      'pytest-workers',
      { failed: 4, passed: 6, skipped: 1, total: 13, errors: 1, warnings: 1 },
      [
        '128 tests/test_cart.py::test_discount_is_rounded_up @ tests/test_cart.py:13 | E       AssertionError: assert 95 == 94',
        "129 tests/test_cart.py::test_parse_price[2-200] @ src/shop/cart.py:24 | E       ValueError: invalid literal for int() with base 10: ''",
        '130 tests/test_cart.py::test_find_item_by_name @ src/shop/cart.py:19 | E       StopIteration',
        '132 tests/test_cart.py::TestOrders::test_order_is_saved @ tests/conftest.py:6 | E       ConnectionRefusedError: connection to 127.0.0.1:5432 refused',
        "131 tests/test_cart.py::TestOrders::test_order_lines @ tests/test_cart.py:47 | E       AssertionError: assert {'currency': ...uantity': 1}]} == {'currency': ...uantity': 3}]}",
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(pytest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a failure by its message, what was compared, its places, the marked source and a little of what it printed', () => {
    const recognised = recogniseWith(pytest, sample('pytest-failing'))
    expect(recognised?.failures[2]?.details.map(({ text }) => text)).toEqual([
      "E       ValueError: invalid literal for int() with base 10: ''",
      'tests/test_cart.py:18:',
      'src/shop/cart.py:24: ValueError',
      '>       assert parse_price(text) == cents',
      '>       return int(whole) * 100 + int(cents)',
    ])
    expect(recognised?.failures[4]?.details.at(-1)?.text).toBe('preparing order')
    expect(recognised?.warnings.map(({ text }) => text)).toEqual([
      '  /srv/app/tests/test_cart.py:27: DeprecationWarning: legacy_total is deprecated, use total',
    ])
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['==== 4 failed, 6 passed, 1 skipped, 1 xpassed, 1 warning, 1 error in 2.45s ====='])
  })

  it('counts what it sees of a run that was cut off', () => {
    const lines = linesOf(sample('pytest-workers'))
    expect(recogniseWith(pytest, lines.slice(0, 30))?.counts).toEqual({ failed: 3, errors: 1, total: 13 })
    const tail = recogniseWith(pytest, lines.slice(-6))
    expect(tail?.counts).toEqual({ failed: 4, passed: 6, skipped: 1, errors: 1, warnings: 1 })
    expect(tail?.failures).toHaveLength(5)
  })

  it('keeps tests of one name in two files apart', () => {
    const names = ['a/test_x.py::test_it', 'b/test_x.py::test_it']
    const sections = names.map((_name, i) => `___________ test_it ___________\n\nE   assert ${i}\n\na.py:${i + 1}: AssertionError\n`)
    const log = `${'='.repeat(30)} FAILURES ${'='.repeat(30)}\n${sections.join('')}${'='.repeat(23)} short test summary info ${'='.repeat(23)}\n${names.map((name) => `FAILED ${name} - assert\n`).join('')}`
    expect(failuresOf(recogniseWith(pytest, log))).toEqual([
      '13 a/test_x.py::test_it @ a.py:1 | E   assert 0',
      '14 b/test_x.py::test_it @ a.py:2 | E   assert 1',
    ])
  })
})
