import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { compileRegex } from './query.ts'
import { regexScan } from './regex-scan.ts'
import { requiredLiteral } from './required-literal.ts'
import { cleanLine } from './text.ts'

const label = '[masked]'
const patternsOf = (source: string) => regexScan(compileRegex(source, 'query'), requiredLiteral(source), label)

function finds(source: string, line: string): boolean {
  const patterns = patternsOf(source)
  if (!patterns) return true
  return [patterns.pattern, ...patterns.disguises].some(({ source, ignoreCase }) => new RegExp(source, ignoreCase ? 'iu' : 'u').test(line))
}

describe('the patterns of a regular expression', () => {
  it.each([
    ['^error$', 'warning', false],
    ['^error$', 'error', true],
    ['^error$', 'loading\rerror  \r', true],
    ['^error$', '\u001b[31merror\u001b[39m', true],
    ['[A-Z]{3}\\d{4}', 'abc ABC1234', true],
    ['[A-Z]{3}\\d{4}', 'ABC12', false],
    ['(?<name>a|b)\\k<name>!', 'aa!', true],
    ['(a|b)\\1c', 'bbc', true],
    ['(?=x)x\\d', 'x1', true],
    ['(?!y(?:[)]))x\\d', 'x1', true],
    ['\\bword\\b', 'a word here', true],
    ['[^\\s-]+@[\\w.-]+', 'to a.b@c-d.e', true],
    ['\\x41\\u0042', 'AB', true],
    ['caf.\\d', 'café1', true],
    ['a.b|c{2,}?', 'x ccc', true],
    ['a.b|c{2,}?', 'x c', false],
  ])('for %s in %j', (source, line, expected) => {
    if (expected) expect(compileRegex(source, 'query').test(cleanLine(line)), 'what is found is a match').toBe(true)
    expect(finds(source, line)).toBe(expected)
  })

  it.each(['masked', '\\[mask', 'ed\\]', '.', '\\w+', '[^]x', 'é\\p{L}', '\\cJ|a', 'a\\nb'])('are not there for %s', (source) => {
    expect(patternsOf(source)).toBeUndefined()
  })

  it('find every line that shows a match, for expressions put together at random', () => {
    const { int, pick } = random(11)
    const atoms = ['a', 'b', '1', ' ', '.', '\\d', '\\w', '\\S', '[ab]', '[^a1]', '(?:a|b1)', '(a)', '\\b', '\\-', '(?=b)', '\\.', '-', '\t']
    const signs = ['', '', '', '+', '*', '?', '{2}', '{1,2}?']
    const parts = ['a', 'b', '1', ' ', '-', '.', '\t', '\r', 'é', '\u001b[1m', '\b']
    let matched = 0
    for (let round = 0; round < 3_000; round += 1) {
      const isFixed = (atom: string): boolean => atom === '\\b' || atom.startsWith('(?=')
      const body = Array.from({ length: int(1, 5) }, () => pick(atoms)).map((atom) => atom + (isFixed(atom) ? '' : pick(signs)))
      const source = `${pick(['', '', '^'])}${body.join('')}${pick(['', '', '$', '|b-'])}`
      const line = Array.from({ length: int(0, 10) }, () => pick(parts)).join('')
      if (!compileRegex(source, 'query').test(cleanLine(line)) || cleanLine(line) === '') continue
      matched += 1
      expect(finds(source, line), `${source} in ${JSON.stringify(line)}`).toBe(true)
    }
    expect(matched).toBeGreaterThan(300)
  })
})
