import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { maven } from './maven.ts'

describe('the recogniser for Maven', () => {
  it.each<[string, string, object, string[]]>([
    [
      'maven-colour',
      'Maven 3.8, surefire 2.22',
      {
        errors: 3,
        warnings: 2,
      },
      [
        '18 incompatible types: java.lang.String cannot be converted to int @ /srv/app/src/main/java/shop/Cart.java:6:15 | -',
        '19 cannot find symbol @ /srv/app/src/main/java/shop/Cart.java:7:40 | symbol:   method prise()',
        '22 cannot find symbol @ /srv/app/src/main/java/shop/Cart.java:8:12 | symbol:   variable summ',
      ],
    ],
    [
      'maven-compile',
      'Maven 3.8, surefire 2.22',
      {
        errors: 3,
        warnings: 2,
      },
      [
        '18 incompatible types: java.lang.String cannot be converted to int @ /srv/app/src/main/java/shop/Cart.java:6:15 | -',
        '19 cannot find symbol @ /srv/app/src/main/java/shop/Cart.java:7:40 | symbol:   method prise()',
        '22 cannot find symbol @ /srv/app/src/main/java/shop/Cart.java:8:12 | symbol:   variable summ',
      ],
    ],
    [
      'maven-modules',
      'as documented',
      {
        failed: 2,
        passed: 3,
        skipped: 1,
        total: 6,
      },
      [
        '19 shop.CartTest.addsUp @ CartTest.java:8 | org.opentest4j.AssertionFailedError: total of two items ==> expected: <7> but was: <4>',
        '25 shop.CartTest.prints @ CartTest.java:14 | org.opentest4j.AssertionFailedError:',
      ],
    ],
    [
      'maven-old',
      'as documented',
      {
        failed: 2,
        passed: 3,
        skipped: 1,
        total: 6,
      },
      [
        '11 total(shop.OldTest) @ OldTest.java:8 | java.lang.AssertionError: total of two items expected:<7> but was:<8>',
        '28 missing(shop.OldTest): no store is open @ - | -',
      ],
    ],
    [
      'maven-passed',
      'Maven 3.8, surefire 2.22',
      {
        failed: 0,
        passed: 2,
        total: 2,
        warnings: 3,
      },
      [],
    ],
    [
      'maven-pom',
      'Maven 3.8, surefire 2.22',
      {
        errors: 1,
      },
      ['5 The build could not read 1 project -> [Help 1] @ /srv/app/pom.xml:6:17 | [ERROR]   The project org.example:shop:1.0 (/srv/app/pom.xml) has 1 error'],
    ],
    [
      'maven-resolve',
      'Maven 3.8, surefire 2.22',
      {
        errors: 1,
        warnings: 1,
      },
      [
        '15 Failed to execute goal on project shop: Could not resolve dependencies for project org.example:shop:jar:1.0: Could not find artifact org.absent:money:jar:1.2 in debian (file:///usr/share/maven-repo) -> [Help 1] @ - | -',
      ],
    ],
    [
      'maven-tests',
      'Maven 3.8, surefire 2.22',
      {
        failed: 2,
        passed: 3,
        skipped: 1,
        total: 6,
        warnings: 3,
      },
      [
        '30 total(shop.OldTest) @ OldTest.java:8 | java.lang.AssertionError: total of two items expected:<7> but was:<8>',
        '34 missing(shop.OldTest) @ OldTest.java:9 | java.lang.IllegalStateException: no store is open',
      ],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(maven, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a test by its exception, what was compared and the frames of own code', () => {
    const recognised = recogniseWith(maven, sample('maven-modules'))
    expect(recognised?.failures[1]?.details.map(({ text }) => text.trim())).toEqual([
      'org.opentest4j.AssertionFailedError:',
      'expected: "7 items"',
      'but was: "4 items"',
      'at shop.CartTest.prints(CartTest.java:14)',
    ])
    expect(recognised?.totals.map(({ number }) => number)).toEqual([14, 41, 47, 49, 51])
  })

  it('takes a compiler error that the end of the log repeats once', () => {
    const lines = linesOf(sample('maven-compile'))
    expect(recogniseWith(maven, lines)?.failures).toHaveLength(3)
    expect(recogniseWith(maven, lines.slice(28))?.failures.map(({ place }) => place)).toEqual([
      undefined,
      ...['6:15', '7:40', '8:12'].map((at) => `/srv/app/src/main/java/shop/Cart.java:${at}`),
    ])
  })

  it('counts by classes where the sum of a module is not at hand', () => {
    const lines = linesOf(sample('maven-tests'))
    expect(recogniseWith(maven, lines.slice(0, 40))?.counts).toEqual({ failed: 2, passed: 3, skipped: 1, total: 6, warnings: 3 })
    expect(failuresOf(recogniseWith(maven, lines.slice(40)))).toEqual([
      '44 OldTest.total:8 total of two items expected:<7> but was:<8> @ - | -',
      '46 OldTest.missing:9 IllegalState no store is open @ - | -',
    ])
  })

  it('says nothing of errors that the program under test logs', () => {
    const log =
      '[INFO] Scanning for projects...\n[INFO] Running shop.StoreTest\n[ERROR] connection lost\n[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n'
    expect(recogniseWith(maven, log)).toMatchObject({ counts: { failed: 0, passed: 1, total: 1 }, failures: [] })
  })

  it('does not take for an error what a build came through', () => {
    const marked = '[ERROR] /srv/app/src/Entities.java:[63,29] unmappable character for encoding UTF-8\n'
    expect(failuresOf(recogniseWith(maven, `${marked}[INFO] BUILD SUCCESS\n`))).toEqual([])
    expect(failuresOf(recogniseWith(maven, `${marked}[INFO] BUILD FAILURE\n`))).toHaveLength(1)
  })

  it('explains a goal by what Maven marks and by exceptions, not by what else the log goes on with', () => {
    const log =
      '[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.example:x-plugin:1:run (default) on project shop: it broke -> [Help 1]\nCaused by: java.io.IOException: disk full\n    at shop.Store.open(Store.java:31)\n[ERROR] Signature errors found.\n[Pipeline] }\nArchiving artifacts\n'
    const recognised = recogniseWith(maven, log)
    expect(recognised?.failures[0]?.place).toBe('Store.java:31')
    expect(recognised?.failures[0]?.details.map(({ text }) => text.trim())).toEqual([
      'Caused by: java.io.IOException: disk full',
      '[ERROR] Signature errors found.',
      'at shop.Store.open(Store.java:31)',
    ])
  })

  it.each([
    ['[ERROR] /srv/app/src/main/kotlin/Cart.kt: (12, 18) Unresolved reference: prise', 'Unresolved reference: prise @ /srv/app/src/main/kotlin/Cart.kt:12:18'],
    [
      '[ERROR] src/main/java/Cart.java:[12,5] (sizes) LineLength: Line is longer than 100 characters.',
      '(sizes) LineLength: Line is longer than 100 characters. @ src/main/java/Cart.java:12:5',
    ],
    ['[ERROR] /srv/app/src/Cart.scala:12: not found: value prise', 'not found: value prise @ /srv/app/src/Cart.scala:12'],
  ])('finds the place in %s', (line, failure) => {
    expect(failuresOf(recogniseWith(maven, `[INFO] Scanning for projects...\n${line}\n[INFO] BUILD FAILURE\n`))).toEqual([`2 ${failure} | -`])
  })
})
