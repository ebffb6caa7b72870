import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { pnpm } from './pnpm.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'a package that is not there',
    'pnpm-e404',
    { errors: 1 },
    [
      '1 ERR_PNPM_FETCH_404: GET https://registry.example/@holdfast-nobody%2Fnothing-here: Not Found - 404 @ - | @holdfast-nobody/nothing-here is not in the npm registry, or you have no permission to fetch it.',
    ],
  ],
  [
    'a version that is not there',
    'pnpm-etarget',
    { errors: 1 },
    [
      '1 ERR_PNPM_NO_MATCHING_VERSION: No matching version found for is-odd@99.0.0 while fetching it from https://registry.example/ @ - | The latest release of is-odd is "3.0.1". Published at 12/2/2024',
    ],
  ],
  ['versions that do not go together', 'pnpm-eresolve', { warnings: 1 }, []],
  [
    'a lock file that does not match',
    'pnpm-frozen',
    { errors: 1 },
    [
      '1 ERR_PNPM_OUTDATED_LOCKFILE: Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date with <ROOT>/package.json @ - | Failure reason:',
    ],
  ],
  ['a script that is not there', 'pnpm-missing', { errors: 1 }, ['1 ERR_PNPM_NO_SCRIPT: Missing script: nothing @ - | Command "nothing" not found.']],
  ['a command that is not installed', 'pnpm-build', { errors: 1, warnings: 1 }, ['5 sh: 1: tsc-not-there: not found @ - | -']],
  [
    'a script that fails in a package',
    'pnpm-recursive',
    { errors: 1, warnings: 1 },
    ['8 ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL: b@1.0.0 test: `echo broken b; exit 4` @ - | Exit status 4'],
  ],
  [
    'a script that fails in a package while others go on',
    'pnpm-nobail',
    { failed: 1, passed: 1, warnings: 1 },
    ['14 b@1.0.0 test: `echo broken b; exit 4` @ - | Exit status 4'],
  ],
  ['a script of an installation that fails', 'pnpm-post', {}, []],
  ['packages installed', 'pnpm-passed', {}, []],
  ['failed tests', 'pnpm+jest-script', {}, []],
]

describe('pnpm', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(pnpm, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of an error what it is about before what it explains', () => {
    expect(inBrief(recogniseWith(pnpm, sample('pnpm-frozen')))).toMatchObject({
      failures: [
        {
          details: [
            'Failure reason:',
            "specifiers in the lockfile don't match specifiers in package.json:",
            '* 1 dependencies are mismatched:',
            '- is-odd (lockfile: 3.0.0, manifest: 3.0.1)',
            expect.anything(),
          ],
        },
      ],
    })
  })

  it('calls a failed script no failure of its own: what it says of one stands among the totals', () => {
    expect(inBrief(recogniseWith(pnpm, sample('pnpm-test')))).toMatchObject({
      failures: [],
      totals: [expect.stringContaining('Test failed. See above for more details.')],
    })
  })
})
