import { describe, expect, it } from 'vitest'
import { parseQuery, queryTokens, tokensOf } from './query.ts'
import { literalTokens, requiredLiteral } from './required-literal.ts'

describe('the text that every match holds', () => {
  it.each([
    ['E[0-9]{4}', 'E'],
    ['expected \\d+ to be 12', 'expected '],
    ['brontosaurus \\d+', 'brontosaurus '],
    ['ab+cde', 'cde'],
    ['abc?d', 'ab'],
    ['abc*', 'ab'],
    ['abc{0,3}d', 'ab'],
    ['a{x', 'a'],
    ['one|two', ''],
    ['(one|two) three', ' three'],
    ['(a)(b)*long tail', 'long tail'],
    ['src/parse\\.ts:\\d+', 'src/parse.ts:'],
    ['\\bword\\b', 'word'],
    ['[a\\]b]+xyz', 'xyz'],
    ['(?:[)]x)abc', 'abc'],
    ['\\x41bc', ''],
    ['^start.*end$', 'start'],
    ['wait+?ing', 'wait'],
    ['', ''],
  ])('of %s is %j', (pattern, text) => {
    expect(requiredLiteral(pattern)).toBe(text)
  })

  it('is part of what random expressions match', () => {
    const pieces = ['ab', 'c?', 'd+', '(?:x|yz)', '[ef]', '\\d', 'gh*', '\\.', 'i{2}', '.', '(j)?', 'k{0,1}?', ' ', 'foo']
    let seed = 3
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    let matches = 0
    for (let i = 0; i < 20_000; i += 1) {
      const pattern = Array.from({ length: 1 + next(5) }, () => pieces[next(pieces.length)]).join('')
      const text = Array.from({ length: 12 }, () => 'abcddxyzef1ghhh.iij k foo'[next(25)]).join('')
      const match = new RegExp(pattern).exec(text)
      if (!match) continue
      matches += 1
      expect(match[0], pattern).toContain(requiredLiteral(pattern))
    }
    expect(matches).toBeGreaterThan(1_000)
  })
})

describe('the tokens of a literal', () => {
  it.each([
    ['expected 1 to be 12', ['1', 'to', 'be', '12*']],
    ['expected', []],
    [' Failed_test ', ['failed_test']],
    ['src/parse.ts:', ['parse', 'ts']],
  ])('of %j are its words that begin inside of it', (literal, tokens) => {
    expect(literalTokens(literal)).toEqual(tokens)
  })

  it('are in the index of every text that holds it', () => {
    for (const literal of ['x expected 12', '/src/parse.ts:', ' a_b-C1 d2e']) {
      const known = tokensOf(`before${literal}after`).split(' ')
      for (const token of literalTokens(literal))
        expect(known.some((word) => (token.endsWith('*') ? word.startsWith(token.slice(0, -1)) : word === token))).toBe(true)
    }
    expect(queryTokens(parseQuery('to'))).toEqual(['to*'])
  })
})
