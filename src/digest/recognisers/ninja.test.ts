import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { ninja } from './ninja.ts'

describe('the recogniser for Ninja', () => {
  it.each<[string, string, object, string[]]>([
    [
      'ninja+gcc-failed',
      'Ninja 1.11',
      {
        failed: 1,
      },
      ['3 CMakeFiles/store.dir/store.c.o @ /srv/app/store.c:1:34 | /srv/app/store.c:1:34: error: ‘lenght’ undeclared (first use in this function)'],
    ],
    [
      'ninja+gcc-verbose',
      'Ninja 1.11',
      {
        failed: 1,
      },
      ['3 CMakeFiles/store.dir/store.c.o @ /srv/app/store.c:1:34 | /srv/app/store.c:1:34: error: ‘lenght’ undeclared (first use in this function)'],
    ],
    [
      'ninja-no-file',
      'Ninja 1.11',
      {
        failed: 1,
      },
      ["2 loading 'build.ninja': No such file or directory @ - | -"],
    ],
    ['ninja-no-work', 'Ninja 1.11', {}, []],
    ['ninja-passed', 'Ninja 1.11', {}, []],
    [
      'ninja-unknown-target',
      'Ninja 1.11',
      {
        failed: 1,
      },
      ["2 unknown target 'nosuch' @ - | -"],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(ninja, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a step by what it printed, its command last', () => {
    const recognised = recogniseWith(ninja, sample('ninja+gcc-failed'))
    const details = recognised?.failures[0]?.details.map(({ text }) => text)
    expect(details?.[0]).toMatch(/ error: /)
    expect(details?.at(-1)).toMatch(/^\/usr\/bin\/cc /)
    expect(details).toHaveLength(5)
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['ninja: build stopped: subcommand failed.'])
  })

  it('shows the last step of a build that came to its end', () => {
    expect(recogniseWith(ninja, sample('ninja-passed'))?.totals.map(({ text }) => text)).toEqual(['[3/3] Linking C executable demo'])
  })

  it('reads a failed step with its status', () => {
    const log =
      "ninja: Entering directory `b'\nFAILED: [code=2] docs/index.html \npandoc docs/index.md\npandoc: docs/index.md: withBinaryFile: does not exist (No such file or directory)\nninja: build stopped: subcommand failed.\n"
    expect(failuresOf(recogniseWith(ninja, log))).toEqual([
      '2 docs/index.html @ - | pandoc: docs/index.md: withBinaryFile: does not exist (No such file or directory)',
    ])
  })
})
