import { describe, expect, it } from 'vitest'
import { checkLimit } from './check-limit.ts'

describe('checkLimit', () => {
  it('takes what is asked for, and the usual where nothing is', () => {
    expect([checkLimit(undefined, 20, 200), checkLimit(1, 20, 200), checkLimit(200, 20, 200)]).toEqual([20, 1, 200])
  })

  it.each([[0], [201], [1.5], [Number.NaN]])('refuses %d', (limit) => {
    expect(() => checkLimit(limit, 20, 200)).toThrow(/^limit is .*; accepted: a whole number from 1 to 200$/)
  })
})
