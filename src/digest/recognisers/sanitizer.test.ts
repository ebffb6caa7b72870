import { describe, expect, it } from 'vitest'
import { failuresOf, recogniseWith, sample } from '../../../test/support/recognised.ts'
import { sanitizer } from './sanitizer.ts'

describe('the recogniser for sanitizers', () => {
  it.each<[string, string, object, string[]]>([
    [
      'sanitizer-address',
      'gcc 12.2',
      {
        errors: 1,
      },
      [
        '2 AddressSanitizer: heap-buffer-overflow on address 0x602000000015 at pc 0x7fda1e4602ca bp 0x7fffebb5bff0 sp 0x7fffebb5b7a0 @ src/asan.c:3 | WRITE of size 6 at 0x602000000015 thread T0',
      ],
    ],
    [
      'sanitizer-leak',
      'gcc 12.2',
      {
        errors: 1,
      },
      ['3 LeakSanitizer: detected memory leaks @ src/leak.c:2 | Direct leak of 32 byte(s) in 1 object(s) allocated from:'],
    ],
    [
      'sanitizer-thread',
      'gcc 12.2',
      {
        errors: 1,
      },
      ['2 ThreadSanitizer: data race (pid=19933) @ src/race.c:3 | Read of size 4 at 0x5603891b4054 by thread T2:'],
    ],
    [
      'sanitizer-undefined',
      'gcc 12.2',
      {
        errors: 4,
      },
      [
        "1 signed integer overflow: 2147483647 + 1 cannot be represented in type 'int' @ src/ubsan.c:3:54 | -",
        "2 index 3 out of bounds for type 'int [3]' @ src/ubsan.c:3:105 | -",
        "3 load of address 0x7ffe9b6f2bbc with insufficient space for an object of type 'int' @ src/ubsan.c:3:83 | -",
        "7 shift exponent 40 is too large for 32-bit type 'int' @ src/ubsan.c:3:125 | -",
      ],
    ],
  ])('counts and places what %s holds (%s)', (name, _by, counts, failures) => {
    const recognised = recogniseWith(sanitizer, sample(name))
    expect(recognised?.counts).toEqual(counts)
    expect(failuresOf(recognised)).toEqual(failures)
  })

  it('explains a report by what was accessed and by the frames of own code', () => {
    const report = recogniseWith(sanitizer, sample('sanitizer-address'))
    expect(report?.failures[0]?.details.map(({ text }) => text.trim())).toEqual([
      'WRITE of size 6 at 0x602000000015 thread T0',
      '0x602000000015 is located 0 bytes to the right of 5-byte region [0x602000000010,0x602000000015)',
      'allocated by thread T0 here:',
      '#1 0x55bcbb8c81ef in copy src/asan.c:3',
      '#2 0x55bcbb8c820c in main src/asan.c:4',
      '#1 0x55bcbb8c81d8 in copy src/asan.c:3',
    ])
    expect(report?.totals.map(({ number }) => number)).toEqual([18])
  })
})
