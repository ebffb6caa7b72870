import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { rustc } from './rustc.ts'

describe('the recogniser for rustc', () => {
  it.each<[string, object, string[]]>([
    [
      'rustc-alone',
      { errors: 1, warnings: 1 },
      ['1 E0382: borrow of moved value: `p` @ src/main.rs:15:20 | |                    ^^^ value borrowed here after move'],
    ],
    [
      'rustc-build-script',
      { errors: 1 },
      [
        "2 failed to run custom build command for `broken v0.1.0 (/srv/app)` @ - | process didn't exit successfully: `/srv/app/target/debug/build/broken-b42d2b2d2627ffd6/build-script-build` (exit status: 101)",
      ],
    ],
    [
      'rustc-cargo',
      { errors: 2, warnings: 1 },
      [
        '2 E0106: missing lifetime specifier @ src/main.rs:10:33 | |               ----     ----     ^ expected named lifetime parameter',
        '14 E0382: borrow of moved value: `p` @ src/main.rs:18:20 | |                    ^^^ value borrowed here after move',
      ],
    ],
    ['rustc-clippy', { errors: 1, warnings: 6 }, ['61 approximate value of `f{32, 64}::consts::PI` found @ src/main.rs:14:13 | |             ^^^^']],
    [
      'rustc-colour',
      { errors: 3 },
      [
        '2 E0432: unresolved import `std::collections::HashMop` @ src/main.rs:1:5 | |     ^^^^^^^^^^^^^^^^^^^^^^^^^ no `HashMop` in `collections`',
        '14 E0425: cannot find value `missing` in this scope @ src/main.rs:23:26 | |                          ^^^^^^^ not found in this scope',
        '20 E0308: mismatched types @ src/main.rs:15:18 | |            ---   ^^^^^^ expected `i32`, found `&str`',
      ],
    ],
    ['rustc-link', { errors: 1 }, ['2 linking with `cc` failed: exit status: 1 @ - | = note: rust-lld: error: undefined symbol: not_there']],
    ['rustc-manifest', { errors: 1 }, ['1 unclosed table, expected `]` @ Cargo.toml:1:9 | |         ^']],
    ['rustc-no-package', { errors: 1 }, ['1 no matching package named `serde` found @ - | location searched: example.com index']],
    [
      'rustc-short',
      { errors: 3 },
      [
        '2 E0432: unresolved import `std::collections::HashMop`: no `HashMop` in `collections` @ src/main.rs:1:5 | -',
        '3 E0425: cannot find value `missing` in this scope: not found in this scope @ src/main.rs:23:26 | -',
        '4 E0308: mismatched types: expected `i32`, found `&str` @ src/main.rs:15:18 | -',
      ],
    ],
    ['rustc-warnings', { warnings: 3 }, []],
  ])('counts and places what %s holds', (name, counts, failures) => {
    const recognised = recogniseWith(rustc, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains an error by what is marked, its place, the source and the notes', () => {
    const [, moved] = recogniseWith(rustc, sample('rustc-cargo'))?.failures ?? []
    expect(moved?.details.slice(0, 6).map(({ text }) => text)).toEqual([
      '   |                    ^^^ value borrowed here after move',
      '  --> src/main.rs:18:20',
      '16 |     let p = Point { x: 1, _y: 2 };',
      '   |         - move occurs because `p` has type `Point`, which does not implement the `Copy` trait',
      '17 |     take(p);',
      '   |          - value moved here',
    ])
  })

  it('has what a build script and a linker said', () => {
    const script = recogniseWith(rustc, sample('rustc-build-script'))
    expect(script?.tool).toBe('cargo')
    expect(script?.failures[0]?.details.map(({ text }) => text)).toContain('  libfoo.h not found')
    expect(recogniseWith(rustc, sample('rustc-link'))?.failures[0]?.details[0]?.text).toBe('  = note: rust-lld: error: undefined symbol: not_there')
  })

  it('leaves an error of another tool alone, also where cargo runs beside it', () => {
    const log =
      '   Compiling a v0.1.0 (/srv/app)\nerror: failed to push some refs\nhint: fetch first\nerror: Recipe `check` failed\n    Finished `dev` profile [unoptimized] target(s) in 0.18s\n'
    expect(recogniseWith(rustc, log)).toMatchObject({ tool: 'cargo', counts: {}, failures: [] })
  })
})
