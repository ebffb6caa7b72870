import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { npm } from './npm.ts'
import type { Counts } from './recogniser.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'versions that do not go together',
    'npm-eresolve',
    { errors: 1 },
    ['2 ERESOLVE unable to resolve dependency tree @ - | npm error While resolving: a@1.0.0'],
  ],
  [
    'the same with an older version of npm',
    'npm-nine',
    { errors: 1 },
    ['2 ERESOLVE unable to resolve dependency tree @ - | npm ERR! While resolving: a@1.0.0'],
  ],
  [
    'a package that is not there',
    'npm-e404',
    { errors: 1 },
    ['2 E404: 404 Not Found - GET https://registry.example/@holdfast-nobody%2fnothing-here @ - | npm error code E404'],
  ],
  [
    'a version that is not there',
    'npm-etarget',
    { errors: 1 },
    ['2 ETARGET: notarget No matching version found for is-odd@99.0.0. @ - | npm error code ETARGET'],
  ],
  [
    'a lock file that does not match',
    'npm-ci',
    { errors: 1 },
    [
      "3 EUSAGE: `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync. Please update your lock file with `npm install` before continuing. @ - | npm error Invalid: lock file's is-number@6.0.0 does not satisfy is-number@7.0.0",
    ],
  ],
  [
    'a broken package.json',
    'npm-badjson',
    { errors: 1 },
    [
      '2 EJSONPARSE: JSON.parse Invalid package.json: JSONParseError: Expected double-quoted property name in JSON at position 12 while parsing "{\\"name\\":\\"a\\",}\\n" @ - | npm error code EJSONPARSE',
    ],
  ],
  ['a script of an installation that fails', 'npm-postinstall', { errors: 1 }, ['23 command sh -c node dep/build.js @ - | npm error code 1']],
  ['a script that is not there', 'npm-missing', { errors: 1 }, ['1 Missing script: "nothing" @ - | -']],
  ['a command that is not installed', 'npm-run', { errors: 1 }, ['5 sh: 1: tsc-not-there: not found @ - | -']],
  [
    'a script that fails in a workspace',
    'npm-workspaces',
    { errors: 1 },
    ['17 command sh -c echo broken b; exit 4 @ - | npm error Lifecycle script `test` failed with error:'],
  ],
  ['a failed test with npm 6', 'npm-six', {}, []],
  ['packages installed', 'npm-passed', {}, []],
  [
    'a native package that does not compile, as documented',
    'npm-documented',
    { errors: 1, warnings: 3 },
    ['11 command sh -c node-gyp rebuild @ ../src/thing.cc:14:10 | npm error ../src/thing.cc:14:10: fatal error: zlib.h: No such file or directory'],
  ],
]

describe('npm', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(npm, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of an error what it is about before what it explains', () => {
    expect(inBrief(recogniseWith(npm, sample('npm-eresolve')))).toMatchObject({
      failures: [
        {
          details: [
            'npm error While resolving: a@1.0.0',
            'npm error Found: react@17.0.2',
            'npm error peer react@"^18.2.0" from react-dom@18.2.0',
            ...Array(7).fill(expect.anything()),
          ],
        },
      ],
    })
  })

  it('finds the reason of a build in it, and warns once for a warning of several lines', () => {
    expect(inBrief(recogniseWith(npm, sample('npm-documented')))).toMatchObject({
      failures: [{ details: { 0: 'npm error ../src/thing.cc:14:10: fatal error: zlib.h: No such file or directory' } }],
      warnings: [expect.stringContaining('EBADENGINE Unsupported engine'), expect.stringContaining('inflight@1.0.6'), expect.stringContaining('glob@7.2.3')],
    })
  })

  it('calls a failed script no failure of its own: what it says of one stands among the totals', () => {
    expect(inBrief(recogniseWith(npm, sample('npm+tsc-six')))).toEqual({
      counts: {},
      failures: [],
      warnings: [],
      totals: ['npm ERR! shop@1.0.0 typecheck: `tsc -p .`', 'npm ERR! Exit status 2'],
    })
  })
})
