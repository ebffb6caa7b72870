import { describe, expect, it } from 'vitest'
import { boundRegex, runWithin } from './bounded-regex.ts'

const endless = `${'a'.repeat(60)}!`

describe('boundRegex', () => {
  it('says where each text matches', () => {
    expect(boundRegex(/b+/, 1_000).find(['abbc', 'x', 'b'])).toEqual([{ index: 1, length: 2 }, null, { index: 0, length: 1 }])
  })

  it('gives up on an expression that would never end, and stays given up', () => {
    const regex = boundRegex(/(a+)+$/, 100)
    expect(regex.find([endless])).toBeUndefined()
    expect(regex.find(['a'])).toBeUndefined()
  })
})

describe('runWithin', () => {
  it('passes on what the work gives or throws', () => {
    expect(runWithin(1_000, () => 7)).toBe(7)
    expect(() =>
      runWithin(1_000, () => {
        throw new Error('its own')
      }),
    ).toThrow('its own')
  })

  it('interrupts work without end', () => {
    expect(
      runWithin(50, () => {
        for (;;);
      }),
    ).toBeUndefined()
  })
})
