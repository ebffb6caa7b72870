import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { make } from './make.ts'

describe('the recogniser for make', () => {
  it.each<[string, string, object, string[]]>([
    [
      'make+gcc-cmake',
      'GNU make 4.3',
      {
        failed: 1,
      },
      [
        '7 CMakeFiles/store.dir/store.c.o: Error 1 @ CMakeFiles/store.dir/build.make:76 | /srv/app/store.c:1:34: error: ‘lenght’ undeclared (first use in this function)',
      ],
    ],
    [
      'make+gcc-parallel',
      'GNU make 4.3',
      {
        failed: 2,
      },
      [
        "6 docs: Error 1 @ Makefile:8 | cp: cannot stat 'manual.adoc': No such file or directory",
        '15 store.o: Error 1 @ Makefile:4 | store.c:1:22: error: ‘lenght’ undeclared (first use in this function)',
      ],
    ],
    [
      'make+gcc-recursive',
      'GNU make 4.3',
      {
        failed: 1,
      },
      ['12 store.o: Error 1 @ Makefile:4 | store.c:1:22: error: ‘lenght’ undeclared (first use in this function)'],
    ],
    [
      'make-killed',
      'GNU make 4.3',
      {
        failed: 1,
      },
      ['3 all: Killed @ Makefile:2 | kill -9 $$'],
    ],
    [
      'make-no-rule',
      'GNU make 4.3',
      {
        failed: 1,
      },
      ["2 No rule to make target 'report.md', needed by 'report.html' @ - | -"],
    ],
    [
      'make-separator',
      'GNU make 4.3',
      {
        failed: 1,
      },
      ['2 missing separator @ Makefile:2 | -'],
    ],
    [
      'make-step',
      'GNU make 4.3',
      {
        failed: 1,
        warnings: 1,
      },
      ['7 check: Error 3 @ Makefile:5 | style.css: 3 rules are unused'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(make, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('takes the failure of a make that ran another make for its echo', () => {
    const recognised = recogniseWith(make, sample('make+gcc-parallel'))
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['make: *** [Makefile:4: lib] Error 2'])
    expect(recognised?.failures[0]?.details[0]?.text).toBe("cp: cannot stat 'manual.adoc': No such file or directory")
  })

  it('takes status 2 of a program for what it is', () => {
    expect(failuresOf(recogniseWith(make, 'tests/a.test\nmake: *** [Makefile:9: check] Error 2\n'))).toEqual(['2 check: Error 2 @ Makefile:9 | tests/a.test'])
  })

  it('warns of what it tolerated', () => {
    expect(recogniseWith(make, sample('make-step'))?.warnings.map(({ text }) => text)).toEqual(['make: [Makefile:4: check] Error 1 (ignored)'])
  })

  it('shows that there was nothing to do', () => {
    expect(recogniseWith(make, "make: Nothing to be done for 'all'.\n")).toMatchObject({ counts: {}, failures: [], totals: [{ number: 1 }] })
  })

  it('knows a failure and its echo in other languages', () => {
    const log = 'cp gen/schema.h .\ncp: Datei nicht gefunden\nmake[1]: *** [Makefile:3: all] Fehler 1\nmake: *** [Makefile:9: lib] Fehler 2\n'
    expect(failuresOf(recogniseWith(make, log))).toEqual(['3 all: Fehler 1 @ Makefile:3 | cp: Datei nicht gefunden'])
  })

  it('explains a program that make could not start', () => {
    expect(failuresOf(recogniseWith(make, './check.sh\nmake: ./check.sh: Permission denied\nmake: *** [Makefile:2: all] Error 127\n'))).toEqual([
      '3 all: Error 127 @ Makefile:2 | make: ./check.sh: Permission denied',
    ])
  })
})
