import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { gradle } from './gradle.ts'

describe('the recogniser for Gradle', () => {
  it.each<[string, string, object, string[]]>([
    [
      'gradle+javac-compile',
      'Gradle 4.4',
      {
        failed: 1,
      },
      ["18 Execution failed for task ':compileJava'. @ - | > Compilation failed; see the compiler error output for details."],
    ],
    [
      'gradle-full',
      'Gradle 4.4',
      {
        failed: 2,
        passed: 1,
        skipped: 1,
        total: 4,
      },
      [
        '20 shop.OldTest > total @ OldTest.java:8 | java.lang.AssertionError: total of two items expected:<7> but was:<8>',
        '27 shop.OldTest > missing @ OldTest.java:9 | java.lang.IllegalStateException: no store is open',
      ],
    ],
    [
      'gradle-kotlin',
      'as documented',
      {
        failed: 2,
        errors: 1,
        warnings: 1,
      },
      [
        '4 Unresolved reference: prise @ /srv/app/src/main/kotlin/shop/Cart.kt:12:18 | -',
        "24 Execution failed for task ':processResources'. @ - | > Cannot expand ZIP '/srv/app/assets.zip' as it does not exist.",
      ],
    ],
    ['gradle-passed', 'Gradle 4.4', {}, []],
    [
      'gradle-resolve',
      'Gradle 4.4',
      {
        failed: 1,
      },
      ["9 Could not resolve all files for configuration ':compileClasspath'. @ - | > Could not find org.absent:money:1.2."],
    ],
    [
      'gradle-script',
      'Gradle 4.4',
      {
        failed: 1,
      },
      ["11 Could not compile build file '/srv/app/build.gradle'. @ /srv/app/build.gradle:7 | > startup failed:"],
    ],
    [
      'gradle-tasks',
      'as documented',
      {
        failed: 2,
        passed: 9,
        skipped: 1,
        total: 12,
      },
      [
        '7 CartTest > addsUp() @ CartTest.java:8 | org.opentest4j.AssertionFailedError: total of two items ==> expected: <7> but was: <4>',
        '13 CartTest > sums(int) > [2] 4 @ Store.java:31 | java.lang.IllegalStateException: no store is open',
      ],
    ],
    [
      'gradle-tests',
      'Gradle 4.4',
      {
        failed: 2,
        passed: 1,
        skipped: 1,
        total: 4,
      },
      [
        '18 shop.OldTest > total @ OldTest.java:8 | java.lang.AssertionError at OldTest.java:8',
        '21 shop.OldTest > missing @ OldTest.java:9 | java.lang.IllegalStateException at OldTest.java:9',
      ],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(gradle, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a test by its exceptions and the frames of own code', () => {
    const recognised = recogniseWith(gradle, sample('gradle-tasks'))
    expect(recognised?.failures[1]?.details.map(({ text }) => text.trim())).toEqual([
      'java.lang.IllegalStateException: no store is open',
      'Caused by:',
      'java.io.FileNotFoundException: store.db (No such file or directory)',
      'at shop.Store.open(Store.java:31)',
      'at shop.CartTest.sums(CartTest.java:17)',
      'at shop.Store.open(Store.java:29)',
    ])
    expect(recognised?.noun).toBe('test')
    expect(recognised?.totals.map(({ number }) => number)).toEqual([23, 30, 40])
  })

  it('names a task as failed where nothing else in the log tells why', () => {
    const log =
      "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':test'.\n> There were failing tests. See the report at: file:///srv/app/index.html\n\nBUILD FAILED in 2s\n"
    expect(failuresOf(recogniseWith(gradle, log))).toEqual([
      "4 Execution failed for task ':test'. @ - | > There were failing tests. See the report at: file:///srv/app/index.html",
    ])
  })

  it('reads what two streams wrote into each other', () => {
    const log =
      "10 tests completed, 1 failed\n\nLogTest > reads() FAILED\nFAILURE: Build failed with an exception.\n    java.lang.IllegalArgumentException at LogTest.java:61\n\n* What went wrong:\n> Task :checkstyleMain FAILED\nExecution failed for task ':checkstyleMain'.\n> Unable to create Root Module\n6 actionable tasks: 6 executed\n"
    expect(failuresOf(recogniseWith(gradle, log))).toEqual([
      '3 LogTest > reads() @ LogTest.java:61 | java.lang.IllegalArgumentException at LogTest.java:61',
      "9 Execution failed for task ':checkstyleMain'. @ - | > Unable to create Root Module",
    ])
  })
})
