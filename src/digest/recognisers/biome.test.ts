import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { biome } from './biome.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'more diagnoses than are shown',
    'biome-check',
    { errors: 8, warnings: 3 },
    [
      '1 parse: expected a name for the function in a function declaration, but found none @ lint/two.js:1:10 | × expected a name for the function in a function declaration, but found none',
      '10 parse: Expected an identifier, a member name, or a rest pattern but instead found the end of the file. @ lint/two.js:2:1 | × Expected an identifier, a member name, or a rest pattern but instead found the end of the file.',
      '25 lint/correctness/noEmptyPattern: Unexpected empty object pattern. @ lint/two.js:1:12 | × Unexpected empty object pattern.',
      "38 lint/two.js format: Code formatting aborted due to parsing errors. To format code with errors, enable the 'formatter.formatWithErrors' option. @ - | × Code formatting aborted due to parsing errors. To format code with errors, enable the 'formatter.formatWithErrors' option.",
    ],
  ],
  [
    'lint',
    'biome-lint',
    { errors: 5, warnings: 3 },
    [
      '1 parse: expected a name for the function in a function declaration, but found none @ lint/two.js:1:10 | × expected a name for the function in a function declaration, but found none',
      '10 parse: Expected an identifier, a member name, or a rest pattern but instead found the end of the file. @ lint/two.js:2:1 | × Expected an identifier, a member name, or a rest pattern but instead found the end of the file.',
      '25 lint/correctness/noEmptyPattern: Unexpected empty object pattern. @ lint/two.js:1:12 | × Unexpected empty object pattern.',
    ],
  ],
  [
    'files to be formatted',
    'biome-format',
    { errors: 4 },
    [
      '1 lint/one.ts format: Formatter would have printed the following content: @ - | × Formatter would have printed the following content:',
      '20 lint/three.js format: Formatter would have printed the following content: @ - | × Formatter would have printed the following content:',
      '29 parse: expected a name for the function in a function declaration, but found none @ lint/two.js:1:10 | × expected a name for the function in a function declaration, but found none',
      '38 parse: Expected an identifier, a member name, or a rest pattern but instead found the end of the file. @ lint/two.js:2:1 | × Expected an identifier, a member name, or a rest pattern but instead found the end of the file.',
      "53 lint/two.js format: Code formatting aborted due to parsing errors. To format code with errors, enable the 'formatter.formatWithErrors' option. @ - | × Code formatting aborted due to parsing errors. To format code with errors, enable the 'formatter.formatWithErrors' option.",
    ],
  ],
  [
    'in colour',
    'biome-colour',
    { errors: 1 },
    [
      '1 lint/suspicious/noDoubleEquals: Using == may be unsafe if you are relying on type coercion. @ lint/small.ts:1:38 | ✖ Using == may be unsafe if you are relying on type coercion.',
    ],
  ],
  ['a file that is not there', 'biome-nofiles', { errors: 1 }, ['1 nowhere fs/cantRead: Cannot read file. @ - | × Cannot read file.']],
  ['nothing to say', 'biome-passed', {}, []],
]

describe('biome', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(biome, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('leaves the totals of other tools alone', () => {
    expect(recogniseWith(biome, `${sample('biome-lint')}\na.py:1:1: F401 unused import\nFound 1 error.\n`)?.counts).toEqual({ errors: 5, warnings: 3 })
  })

  it('shows message, marked source and change of a diagnosis', () => {
    expect(inBrief(recogniseWith(biome, sample('biome-check')))).toMatchObject({
      failures: [{ details: ['× expected a name for the function in a function declaration, but found none', '> 1 │ function ( {'] }, {}, {}, {}],
      totals: ['Checked 3 files in 33ms. No fixes applied.', 'Found 8 errors.', 'Found 3 warnings.'],
    })
    expect(inBrief(recogniseWith(biome, sample('biome-format')))).toMatchObject({
      failures: { 1: { details: [expect.anything(), "1   │ - console.log('only·a·warning')", '1 │ + console.log("only·a·warning");'] } },
    })
  })
})
