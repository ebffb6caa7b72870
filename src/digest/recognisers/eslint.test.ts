import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { eslint } from './eslint.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'errors and warnings of three files',
    'eslint-stylish',
    { errors: 7, warnings: 2 },
    [
      "3 'x' is never reassigned. Use 'const' instead  prefer-const @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      "4 'x' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      '5 Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any @ /home/dev/app/lint/one.ts:2:22 | /home/dev/app/lint/one.ts',
      "6 Expected '===' and instead saw '=='  eqeqeq @ /home/dev/app/lint/one.ts:3:9 | /home/dev/app/lint/one.ts",
      "8 'unused' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:4:9 | /home/dev/app/lint/one.ts",
      '9 Unexpected var, use let or const instead  no-var @ /home/dev/app/lint/one.ts:5:3 | /home/dev/app/lint/one.ts',
      '15 Parsing error: Identifier expected @ /home/dev/app/lint/two.js:1:9 | /home/dev/app/lint/two.js',
    ],
  ],
  [
    'the same in colour',
    'eslint-colour',
    { errors: 7, warnings: 2 },
    [
      "3 'x' is never reassigned. Use 'const' instead  prefer-const @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      "4 'x' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      '5 Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any @ /home/dev/app/lint/one.ts:2:22 | /home/dev/app/lint/one.ts',
      "6 Expected '===' and instead saw '=='  eqeqeq @ /home/dev/app/lint/one.ts:3:9 | /home/dev/app/lint/one.ts",
      "8 'unused' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:4:9 | /home/dev/app/lint/one.ts",
      '9 Unexpected var, use let or const instead  no-var @ /home/dev/app/lint/one.ts:5:3 | /home/dev/app/lint/one.ts',
      '15 Parsing error: Identifier expected @ /home/dev/app/lint/two.js:1:9 | /home/dev/app/lint/two.js',
    ],
  ],
  ['warnings alone', 'eslint-warn', { errors: 0, warnings: 1 }, []],
  ['more warnings than may be', 'eslint-maxwarn', { errors: 0, warnings: 1 }, ['7 ESLint found too many warnings (maximum: 0). @ - | -']],
  [
    'a file that is not there',
    'eslint-nofiles',
    {},
    ['6 No files matching the pattern "nowhere" were found. @ - | Please check for typing mistakes in the pattern.'],
  ],
  ['a configuration that is not there', 'eslint-noconfig', {}, ["6 Error: ENOENT: no such file or directory, stat '/home/dev/app/nope.js' @ - | -"]],
  [
    'a line a problem, format unix',
    'eslint-unix',
    { errors: 2, warnings: 1 },
    ['2 Missing semicolon. @ /home/dev/es8/lint/three.js:1:30 | -', '3 Parsing error: Unexpected token ( @ /home/dev/es8/lint/two.js:1:10 | -'],
  ],
  [
    'a line a problem, format compact',
    'eslint-compact',
    { errors: 2, warnings: 1 },
    ['2 Missing semicolon. (semi) @ /home/dev/es8/lint/three.js:1:30 | -', '3 Parsing error: Unexpected token ( @ /home/dev/es8/lint/two.js:1:10 | -'],
  ],
  [
    'as Next.js prints it, as documented',
    'eslint-next-documented',
    { errors: 1, warnings: 1 },
    [
      '3 Do not use an `<a>` element to navigate to `/about/`. Use `<Link />` from `next/link` instead.  @next/next/no-html-link-for-pages @ ./pages/index.js:7:13 | ./pages/index.js',
    ],
  ],
  [
    'as a script of yarn',
    'yarn+eslint-script',
    { errors: 7, warnings: 2 },
    [
      "5 'x' is never reassigned. Use 'const' instead  prefer-const @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      "6 'x' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:1:5 | /home/dev/app/lint/one.ts",
      '7 Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any @ /home/dev/app/lint/one.ts:2:22 | /home/dev/app/lint/one.ts',
      "8 Expected '===' and instead saw '=='  eqeqeq @ /home/dev/app/lint/one.ts:3:9 | /home/dev/app/lint/one.ts",
      "10 'unused' is assigned a value but never used  @typescript-eslint/no-unused-vars @ /home/dev/app/lint/one.ts:4:9 | /home/dev/app/lint/one.ts",
      '11 Unexpected var, use let or const instead  no-var @ /home/dev/app/lint/one.ts:5:3 | /home/dev/app/lint/one.ts',
      '17 Parsing error: Identifier expected @ /home/dev/app/lint/two.js:1:9 | /home/dev/app/lint/two.js',
    ],
  ],
]

describe('eslint', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(eslint, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('counts and lists what warns', () => {
    expect(inBrief(recogniseWith(eslint, sample('eslint-stylish')))).toMatchObject({
      warnings: ['3:15  warning  Unexpected console statement                  no-console', '1:1  warning  Unexpected console statement  no-console'],
      totals: ['✖ 9 problems (7 errors, 2 warnings)'],
    })
  })

  it('leaves the total of another linter alone', () => {
    const log = `${sample('eslint-stylish')}\nsrc/a.css\n  1:5  ✖  Unexpected empty block  block-no-empty\n\n✖ 1 problem (1 error, 0 warnings)\n`
    expect(recogniseWith(eslint, log)?.counts).toEqual({ errors: 7, warnings: 2 })
  })

  it('names no file where the log does not', () => {
    expect(failuresOf(recogniseWith(eslint, linesOf(sample('eslint-stylish')).slice(2, 4)))).toEqual([
      "3 'x' is never reassigned. Use 'const' instead  prefer-const @ - | -",
      "4 'x' is assigned a value but never used  @typescript-eslint/no-unused-vars @ - | -",
    ])
  })
})
