import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, recogniseWith, sample } from '../../../test/support/recognised.ts'
import type { Counts } from './recogniser.ts'
import { yarn } from './yarn.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'a package that is not there',
    'yarn-e404',
    { errors: 1, warnings: 4 },
    [`8 Couldn't find package "@holdfast-nobody/nothing-here" on the "npm" registry. @ - | -`],
  ],
  ['a version that is not there', 'yarn-etarget', { errors: 1, warnings: 4 }, [`8 Couldn't find any versions for "is-odd" that matches "99.0.0" @ - | -`]],
  [
    'a lock file that does not match',
    'yarn-frozen',
    { errors: 1, warnings: 4 },
    ['7 Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`. @ - | -'],
  ],
  ['a script that is not there', 'yarn-missing', { errors: 1 }, ['4 Command "nothing" not found. @ - | -']],
  ['a command that is not installed', 'yarn-build', { errors: 1 }, ['5 /bin/sh: 1: tsc-not-there: not found @ - | -']],
  ['a script of an installation that fails', 'yarn-post', { warnings: 4 }, []],
  ['a failed script', 'yarn-test', {}, []],
  ['packages installed', 'yarn-passed', { warnings: 4 }, []],
  [
    'Yarn 4: a package that is not there',
    'yarn-berry-e404',
    { errors: 1 },
    ['3 @holdfast-nobody/nothing-here@npm:1.0.0: Package not found @ - | ➤ YN0035: │   Response Code: 404 (Not Found)'],
  ],
  ['Yarn 4: a version that is not there', 'yarn-berry-etarget', { errors: 1 }, ['3 is-odd@npm:99.0.0: No candidates found @ - | -']],
  ['Yarn 4: versions that do not go together', 'yarn-berry-eresolve', { warnings: 2 }, []],
  [
    'Yarn 4: a lock file that does not match',
    'yarn-berry-immutable',
    { errors: 1 },
    ['44 The lockfile would have been modified by this install, which is explicitly forbidden. @ - | -'],
  ],
  [
    'Yarn 4: a script of an installation that fails',
    'yarn-berry-post',
    { errors: 1 },
    ["10 a@workspace:. couldn't be built successfully (exit code 1, logs can be found here: /tmp/xfs-8827b1d5/build.log) @ - | -"],
  ],
  [
    'Yarn 4: a script that fails in a workspace',
    'yarn-berry-foreach',
    { errors: 1 },
    ['3 The command failed in workspace b@workspace:packages/b with exit code 4 @ - | -'],
  ],
  ['Yarn 4: nothing to do', 'yarn-berry-passed', {}, []],
]

describe('yarn', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(yarn, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of an error of several lines the rest of it', () => {
    expect(inBrief(recogniseWith(yarn, sample('yarn-berry-e404')))).toMatchObject({
      failures: [
        { details: [expect.stringContaining('Response Code: 404'), expect.stringContaining('Request Method: GET'), expect.stringContaining('Request URL:')] },
      ],
      totals: [expect.stringContaining('Failed with errors in')],
    })
  })

  it('takes what a script prints for its own only where it is', () => {
    expect(inBrief(recogniseWith(yarn, 'yarn run v1.22.22\n$ make\nerror something of make\nerror Command failed with exit code 2.\n'))).toEqual({
      counts: {},
      failures: [],
      warnings: [],
      totals: ['error Command failed with exit code 2.'],
    })
  })
})
