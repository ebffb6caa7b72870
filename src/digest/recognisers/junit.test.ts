import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { junit } from './junit.ts'

describe('the recogniser for JUnit', () => {
  it.each<[string, string, object, string[]]>([
    [
      'junit-4-failed',
      'JUnit 4.13',
      {
        failed: 2,
        passed: 1,
        total: 3,
      },
      [
        '5 total(shop.OldTest) @ OldTest.java:8 | java.lang.AssertionError: total of two items expected:<7> but was:<8>',
        '11 missing(shop.OldTest) @ OldTest.java:9 | java.lang.IllegalStateException: no store is open',
      ],
    ],
    [
      'junit-4-passed',
      'JUnit 4.13',
      {
        failed: 0,
        passed: 2,
        total: 2,
      },
      [],
    ],
    [
      'junit-ascii',
      'JUnit 5.9',
      {
        failed: 4,
        passed: 1,
        skipped: 1,
        total: 6,
      },
      [
        '18 JUnit Jupiter:CartTest:addsUp() @ CartTest.java:8 | => org.opentest4j.AssertionFailedError: total of two items ==> expected: <7> but was: <4>',
        '32 JUnit Jupiter:CartTest:a discount is taken off @ CartTest.java:9 | => org.opentest4j.AssertionFailedError: expected: <90> but was: <95>',
        '46 JUnit Jupiter:CartTest:missing() @ CartTest.java:11 | => java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null',
        '60 JUnit Jupiter:CartTest:WhenFull:refuses() @ CartTest.java:12 | => org.opentest4j.AssertionFailedError: Expected java.lang.IllegalStateException to be thrown, but nothing was thrown.',
      ],
    ],
    [
      'junit-colour',
      'JUnit 5.9',
      {
        failed: 4,
        passed: 1,
        skipped: 1,
        total: 6,
      },
      [
        '18 JUnit Jupiter:CartTest:addsUp() @ CartTest.java:8 | => org.opentest4j.AssertionFailedError: total of two items ==> expected: <7> but was: <4>',
        '32 JUnit Jupiter:CartTest:a discount is taken off @ CartTest.java:9 | => org.opentest4j.AssertionFailedError: expected: <90> but was: <95>',
        '46 JUnit Jupiter:CartTest:missing() @ CartTest.java:11 | => java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null',
        '60 JUnit Jupiter:CartTest:WhenFull:refuses() @ CartTest.java:12 | => org.opentest4j.AssertionFailedError: Expected java.lang.IllegalStateException to be thrown, but nothing was thrown.',
      ],
    ],
    [
      'junit-none',
      'JUnit 5.9',
      {
        failed: 0,
        passed: 0,
        total: 0,
      },
      [],
    ],
    [
      'junit-passed',
      'JUnit 5.9',
      {
        failed: 0,
        passed: 2,
        total: 2,
      },
      [],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(junit, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a failure by its exception and by the first frame of own code', () => {
    const details = (name: string, index: number) => recogniseWith(junit, sample(name))?.failures[index]?.details.map(({ text }) => text.trim())
    expect(details('junit-ascii', 0)).toEqual([
      '=> org.opentest4j.AssertionFailedError: total of two items ==> expected: <7> but was: <4>',
      'shop.CartTest.addsUp(CartTest.java:8)',
    ])
    expect(details('junit-4-failed', 0)).toEqual([
      'java.lang.AssertionError: total of two items expected:<7> but was:<8>',
      'at shop.OldTest.total(OldTest.java:8)',
    ])
  })

  it.each(['junit-ascii', 'junit-colour'])('reads the tree of %s where the list of failures is not at hand', (name) => {
    const recognised = recogniseWith(junit, linesOf(sample(name)).slice(0, 15))
    expect(recognised?.counts).toEqual({ failed: 4 })
    expect(recognised?.failures.map(({ title }) => title)).toEqual(['addsUp()', 'a discount is taken off', 'missing()', 'refuses()'])
  })
})
