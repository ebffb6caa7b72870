import { describe, expect, it } from 'vitest'
import { failuresOf, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { javac } from './javac.ts'

describe('the recogniser for javac', () => {
  it.each<[string, string, object, string[]]>([
    [
      'gradle+javac-compile',
      'Gradle 4.4',
      {
        errors: 2,
      },
      [
        '4 incompatible types: String cannot be converted to int @ /srv/app/src/main/java/shop/Cart.java:3 | int total() { int sum = "0"; return summ; }',
        '7 cannot find symbol @ /srv/app/src/main/java/shop/Cart.java:3 | symbol:   variable summ',
      ],
    ],
    [
      'javac-errors',
      'JDK 17',
      {
        errors: 4,
        warnings: 4,
      },
      [
        '1 package org.absent does not exist @ src/shop/Cart.java:5 | -',
        '4 incompatible types: String cannot be converted to int @ src/shop/Cart.java:11 | int sum = "0";',
        '7 cannot find symbol @ src/shop/Cart.java:12 | symbol:   method prise()',
        '12 cannot find symbol @ src/shop/Cart.java:13 | symbol:   variable summ',
      ],
    ],
    [
      'javac-no-file',
      'JDK 17',
      {
        errors: 1,
      },
      ['1 file not found: src/Nothere.java @ - | -'],
    ],
    [
      'javac-syntax',
      'JDK 17',
      {
        errors: 1,
      },
      ["1 ';' expected @ src/shop/Item.java:4 | public int price() { return 3 }"],
    ],
    [
      'javac-warnings',
      'JDK 17',
      {
        warnings: 5,
      },
      [],
    ],
    [
      'javac-werror',
      'JDK 17',
      {
        errors: 1,
        warnings: 4,
      },
      ['24 warnings found and -Werror specified @ - | -'],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(javac, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains an error by what the compiler looked for and the source', () => {
    const recognised = recogniseWith(javac, sample('javac-errors'))
    expect(recognised?.failures[2]?.details.map(({ text }) => text.trim())).toEqual([
      'symbol:   method prise()',
      'location: variable item of type Item',
      'for (Item item : items) sum += item.prise();',
    ])
    expect(recognised?.warnings).toHaveLength(4)
    expect(recognised?.totals.map(({ text }) => text)).toEqual(['4 errors', '4 warnings'])
  })

  it('believes the stated count where lines are missing', () => {
    const lines = linesOf(sample('javac-errors'))
    expect(recogniseWith(javac, lines.slice(11))?.counts).toEqual({ errors: 4, warnings: 4 })
  })

  it('reads what Ant puts its task before', () => {
    const log =
      '    [javac] Compiling 2 source files to /srv/app/out\n    [javac] /srv/app/src/Cart.java:12: error: cannot find symbol\n    [javac]     sum += item.prise();\n    [javac]                ^\n    [javac]   symbol:   method prise()\n    [javac] 1 error\n'
    expect(failuresOf(recogniseWith(javac, log))).toEqual(['2 cannot find symbol @ /srv/app/src/Cart.java:12 | [javac]   symbol:   method prise()'])
  })
})
