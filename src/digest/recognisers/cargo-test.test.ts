import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { cargoTest } from './cargo-test.ts'

describe('the recogniser for cargo-test', () => {
  it.each<[string, object, string[]]>([
    ['cargo-test-colour', { failed: 1, passed: 0 }, ['5 tests::adds_wrongly @ src/lib.rs:26:9 | assertion `left == right` failed: sums differ']],
    [
      'cargo-test-failing',
      { failed: 6, passed: 2, skipped: 1 },
      [
        '6 tests::gives_a_result @ - | Error: "no connection"',
        '7 tests::adds_wrongly @ src/lib.rs:26:9 | assertion `left == right` failed: sums differ',
        '8 tests::panics @ src/lib.rs:36:8 | note: test did not panic as expected at src/lib.rs:36:8',
        '9 tests::parses @ src/lib.rs:11:18 | called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }',
        '53 is_empty @ tests/flow.rs:9:5 | assertion failed: v.is_empty()',
        '73 src/lib.rs - add (line 3) @ src/lib.rs:5:1 | assertion `left == right` failed',
      ],
    ],
    ['cargo-test-passing', { failed: 0, passed: 1 }, []],
    [
      'cargo-test-quiet',
      { failed: 4, passed: 1, skipped: 1 },
      [
        '4 tests::adds_wrongly @ src/lib.rs:26:9 | assertion `left == right` failed: sums differ',
        '5 tests::gives_a_result @ - | Error: "no connection"',
        '6 tests::panics @ src/lib.rs:36:8 | note: test did not panic as expected at src/lib.rs:36:8',
        '8 tests::parses @ src/lib.rs:11:18 | called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }',
      ],
    ],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(cargoTest, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a failed test by its message, both sides and its place', () => {
    const [, adds] = recogniseWith(cargoTest, sample('cargo-test-failing'))?.failures ?? []
    expect(adds?.details.map(({ text }) => text)).toEqual([
      'assertion `left == right` failed: sums differ',
      '  left: 3',
      ' right: 4',
      "thread 'tests::adds_wrongly' (20474) panicked at src/lib.rs:26:9:",
      'about to add',
    ])
  })

  it('reads what older compilers print', () => {
    const log =
      "---- a stdout ----\nthread 'a' panicked at 'index out of bounds: the len is 1', src/lib.rs:7:5\nnote: run with `RUST_BACKTRACE=1`\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    expect(failuresOf(recogniseWith(cargoTest, log))).toEqual([
      "1 a @ src/lib.rs:7:5 | thread 'a' panicked at 'index out of bounds: the len is 1', src/lib.rs:7:5",
    ])
  })

  it('adds to the totals what failed after them in a log that was cut', () => {
    const lines = linesOf(sample('cargo-test-failing'))
    expect(recogniseWith(cargoTest, lines.slice(0, 55))?.counts).toEqual({ failed: 5, passed: 1, skipped: 1 })
    expect(recogniseWith(cargoTest, lines.slice(0, 10))?.counts).toEqual({ failed: 4 })
  })
})
