import { describe, expect, it } from 'vitest'
import { failuresOf, inBrief, linesOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import type { Counts } from './recogniser.ts'
import { tsc } from './tsc.ts'

// What the digest says of each failure: the number of its line, its title, its place, and the most telling detail.
const table: readonly (readonly [what: string, sample: string, counts: Counts, failures: readonly string[]])[] = [
  [
    'a line an error',
    'tsc-plain',
    { errors: 8 },
    [
      "1 TS2355: A function whose declared type is neither 'undefined', 'void', nor 'any' must return a value. @ src/cart.ts:5:20 | -",
      '2 TS2554: Expected 1 arguments, but got 2. @ src/cart.ts:6:33 | -',
      "3 TS2322: Type 'string' is not assignable to type 'boolean'. @ src/cart.ts:9:112 | -",
      "4 TS2322: Type 'number' is not assignable to type 'string'. @ src/price.ts:4:7 | -",
      "5 TS2551: Property 'prise' does not exist on type 'Item'. Did you mean 'price'? @ src/price.ts:5:41 | -",
      "6 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:6:3 | -",
      "7 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:9:42 | -",
      "8 TS2307: Cannot find module './missing' or its corresponding type declarations. @ src/price.ts:10:25 | -",
    ],
  ],
  [
    'errors with their source, in colour',
    'tsc-pretty',
    { errors: 8 },
    [
      "1 TS2355: A function whose declared type is neither 'undefined', 'void', nor 'any' must return a value. @ src/cart.ts:5:20 | 5   add(item: Item): this { this.items.push(item) }",
      '6 TS2554: Expected 1 arguments, but got 2. @ src/cart.ts:6:33 | 6   sum = () => total(this.items, 3)',
      "11 TS2322: Type 'string' is not assignable to type 'boolean'. @ src/cart.ts:9:112 | 9 const configuration: { server: { port: number; options: { tls: boolean } } } = { server: { port: 1, options: { tls: 'yes' } } }",
      "21 TS2322: Type 'number' is not assignable to type 'string'. @ src/price.ts:4:7 | 4   let sum: string = 0",
      "26 TS2551: Property 'prise' does not exist on type 'Item'. Did you mean 'price'? @ src/price.ts:5:41 | 5   for (const item of items) sum += item.prise",
      "36 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:6:3 | 6   return sum",
      "41 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:9:42 | 9 export const broken: Item = { name: 'x', price: '3', size: 4 }",
      "51 TS2307: Cannot find module './missing' or its corresponding type declarations. @ src/price.ts:10:25 | 10 import { nothing } from './missing'",
    ],
  ],
  [
    'messages of several lines',
    'tsc-continued',
    { errors: 2 },
    [
      "1 TS2322: Type '(n: string) => string' is not assignable to type '(n: number) => number'. @ deep/a.ts:3:26 | Types of parameters 'n' and 'n' are incompatible.",
      "4 TS2345: Argument of type 'boolean' is not assignable to parameter of type 'string'. @ deep/a.ts:5:6 | -",
    ],
  ],
  [
    'a build of several projects',
    'tsc-build',
    { errors: 2 },
    [
      "9 TS2322: Type 'number' is not assignable to type 'string'. @ pa/a.ts:1:14 | -",
      "14 TS2322: Type 'string' is not assignable to type 'number'. @ pb/b.ts:1:41 | -",
    ],
  ],
  [
    'watching',
    'tsc-watch',
    { errors: 8 },
    [
      "3 TS2355: A function whose declared type is neither 'undefined', 'void', nor 'any' must return a value. @ src/cart.ts:5:20 | -",
      '4 TS2554: Expected 1 arguments, but got 2. @ src/cart.ts:6:33 | -',
      "5 TS2322: Type 'string' is not assignable to type 'boolean'. @ src/cart.ts:9:112 | -",
      "6 TS2322: Type 'number' is not assignable to type 'string'. @ src/price.ts:4:7 | -",
      "7 TS2551: Property 'prise' does not exist on type 'Item'. Did you mean 'price'? @ src/price.ts:5:41 | -",
      "8 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:6:3 | -",
      "9 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:9:42 | -",
      "10 TS2307: Cannot find module './missing' or its corresponding type declarations. @ src/price.ts:10:25 | -",
    ],
  ],
  ['a project that is not there', 'tsc-noproject', { errors: 1 }, ["1 TS5058: The specified path does not exist: 'nowhere'. @ - | -"]],
  [
    'as a script of npm',
    'npm+tsc-six',
    { errors: 8 },
    [
      "5 TS2355: A function whose declared type is neither 'undefined', 'void', nor 'any' must return a value. @ src/cart.ts:5:20 | -",
      '6 TS2554: Expected 1 arguments, but got 2. @ src/cart.ts:6:33 | -',
      "7 TS2322: Type 'string' is not assignable to type 'boolean'. @ src/cart.ts:9:112 | -",
      "8 TS2322: Type 'number' is not assignable to type 'string'. @ src/price.ts:4:7 | -",
      "9 TS2551: Property 'prise' does not exist on type 'Item'. Did you mean 'price'? @ src/price.ts:5:41 | -",
      "10 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:6:3 | -",
      "11 TS2322: Type 'string' is not assignable to type 'number'. @ src/price.ts:9:42 | -",
      "12 TS2307: Cannot find module './missing' or its corresponding type declarations. @ src/price.ts:10:25 | -",
    ],
  ],
]

describe('tsc', () => {
  it.each(table)('is read: %s', (_what, name, counts, failures) => {
    const recognised = recogniseWith(tsc, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('shows of an error what its message goes on with, or the source below it', () => {
    expect(inBrief(recogniseWith(tsc, sample('tsc-continued')))).toMatchObject({
      failures: [{ details: ["Types of parameters 'n' and 'n' are incompatible.", "Type 'number' is not assignable to type 'string'."] }, { details: [] }],
    })
    expect(inBrief(recogniseWith(tsc, sample('tsc-pretty')))).toMatchObject({
      failures: { 4: { details: ['5   for (const item of items) sum += item.prise', 'src/price.ts:1:39', expect.anything(), "'price' is declared here."] } },
      totals: ['Found 8 errors in 2 files.'],
    })
  })

  it('believes the total where errors are missing from the log', () => {
    const tail = linesOf(sample('tsc-pretty')).slice(40)
    expect(recogniseWith(tsc, tail)).toMatchObject({ counts: { errors: 8 }, failures: [{ place: 'src/price.ts:9:42' }, { place: 'src/price.ts:10:25' }] })
  })

  it('leaves the total of another checker of types alone', () => {
    const log = `${sample('tsc-plain')}\na.py:1: error: Incompatible types  [assignment]\nFound 30 errors in 2 files (checked 9 source files)\n`
    expect(recogniseWith(tsc, log)?.counts).toEqual({ errors: 8 })
  })

  it('forgets the errors of a compilation that a change started anew', () => {
    const log = `${sample('tsc-watch')}12:21:00 PM - File change detected. Starting incremental compilation...\n\nsrc/a.ts(1,1): error TS1005: ';' expected.\n\n12:21:01 PM - Found 1 error. Watching for file changes.\n`
    expect(failuresOf(recogniseWith(tsc, log))).toEqual(["15 TS1005: ';' expected. @ src/a.ts:1:1 | -"])
    expect(recogniseWith(tsc, log)?.counts.errors).toBe(1)
  })
})
