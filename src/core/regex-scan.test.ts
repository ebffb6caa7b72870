import { describe, expect, it } from 'vitest'
import { random } from '../../test/support/random.ts'
import { ripgrepLines, ripgrepProgram } from '../../test/support/ripgrep.ts'
import { traitsOf } from './log-traits.ts'
import { compileRegex } from './query.ts'
import { regexScan } from './regex-scan.ts'
import { requiredLiteral } from './required-literal.ts'
import { cleanLine } from './text.ts'

const label = '[masked]'
const patternsOf = (source: string) => regexScan(compileRegex(source, 'query'), requiredLiteral(source), label)

const program = ripgrepProgram() ?? ''
if (program === '') console.warn('skipped: what ripgrep finds for a regular expression: its package is not installed for this platform')

/** Which of the lines, as they were printed, a scan is interested in; all where there is none. */
function interesting(source: string, lines: readonly Buffer[]): Set<number> {
  const patterns = patternsOf(source)
  if (!patterns) return new Set(lines.keys())
  const found = new Set<number>()
  for (const { pattern, traits } of [
    { pattern: patterns.pattern, traits: undefined },
    ...patterns.disguises.map((one) => ({ pattern: one, traits: one.traits })),
  ]) {
    const asked = [...lines.entries()].filter(([, line]) => traits === undefined || (traitsOf(line.toString()) & traits) !== 0)
    if (asked.length === 0) continue
    const text = Buffer.concat(asked.flatMap(([, line]) => [line, Buffer.from('\n')]))
    for (const at of ripgrepLines(program, pattern.ignoreCase ? `(?i)${pattern.source}` : pattern.source, text))
      found.add((asked[at - 1] as [number, Buffer])[0])
  }
  return found
}

const matches = (source: string, line: Buffer): boolean => {
  const shown = cleanLine(line.toString())
  return shown !== '' && compileRegex(source, 'query').test(shown)
}

describe.skipIf(program === '')('what ripgrep finds for a regular expression', () => {
  it.each<[string, string | Buffer, boolean]>([
    ['^error$', 'warning', false],
    ['^error$', 'error', true],
    ['^error$', 'loading\rerror  \r', true],
    ['^error$', '\u001b[31merror\u001b[39m', true],
    ['[A-Z]{3}\\d{4}', 'abc ABC1234', true],
    ['[A-Z]{3}\\d{4}', 'ABC12', false],
    ['[A-Z]{3}\\d{4}', '\u001b[1mA\u001b[31mBC\u001b[0m12\u001b[2m34', true],
    ['[A-Z]{3}\\d{4}', '✓ passed in 12 ms', false],
    ['[A-Z]{3}\\d{4}', '\u001b[32m✓\u001b[39m abc', false],
    ['(?<name>a|b)\\k<name>!', 'aa!', true],
    ['(a|b)\\1c', 'bbc', true],
    ['(?=x)x\\d', 'x1', true],
    ['(?!y(?:[)]))x\\d', 'x1', true],
    ['\\bword\\b', 'a word here', true],
    ['[^\\s-]+@[\\w.-]+', 'to a.b@c-d.e', true],
    ['\\x41\\u0042', 'AB', true],
    ['caf.\\d', 'café1', true],
    ['\\d\\s\\d', '1\u00a02', true],
    ['\\d\\w\\d', '1é2', false],
    ['\\d[٠-٩]', '1٣', true],
    ['\\d\\d', '٣٣', false],
    ['\\p{Lu}\\d', 'Ä7', true],
    ['[^\\x00-\\x7f]\\d', 'é7', true],
    ['[^\\n]\\d[\\r\\n]*x', 'a7x', true],
    ['a.b|c{2,}?', 'x ccc', true],
    ['a.b|c{2,}?', 'x c', false],
    ['x{40,60}y', `${'x'.repeat(50)}y`, true],
    // In the mode without Unicode, which takes more than the other.
    ['\\-\\d{2}\\_', 'a-12_', true],
    ['[\\w-z]\\-{2}', 'y--', true],
    ['^\\-.\\d..$', '-17😀', true],
    ['{x}\\-\\d]', '{x}-1]', true],
    // Bytes that are no text are shown as one character or more.
    ['a.\\d', Buffer.from([97, 0xff, 49]), true],
    ['a.\\d', Buffer.from([97, 0xe2, 0x82, 49]), true],
    ['a[^b]\\d', Buffer.from([97, 0, 49]), true],
    ['a\\W\\d', Buffer.from([97, 0xc3, 49]), true],
  ])('%s in %j', (source, line, expected) => {
    const bytes = Buffer.from(line)
    if (expected) expect(matches(source, bytes), 'what is found is a match').toBe(true)
    expect(interesting(source, [bytes]).has(0)).toBe(expected)
  })

  it('is every line that shows a match, for expressions put together at random', () => {
    const { int, pick } = random(11)
    const atoms = ['a', 'b', '1', ' ', '.', '\\d', '\\w', '\\s', '\\S', '\\W', '[ab]', '[^a1]', '[^\\w-]', '(?:a|b1)', '(a)', '\\b', '\\-', '(?=b)', '\\.', '-']
    const signs = ['', '', '', '+', '*', '?', '{2}', '{1,2}?']
    const parts = ['a', 'b', '1', ' ', '-', '.', '\t', '\r', 'é', '✓', '\u001b[1m', '\u001b]0;t\u0007', '\b', '\u0000', '\u00a0', '\u001b[2K'].map((part) =>
      Buffer.from(part),
    )
    const pieces = [...parts, Buffer.from([0xff]), Buffer.from([0xe2, 0x82])]
    const isFixed = (atom: string): boolean => atom === '\\b' || atom.startsWith('(?=')
    let matched = 0
    let passed = 0
    for (let round = 0; round < 120; round += 1) {
      const body = Array.from({ length: int(2, 5) }, () => pick(atoms)).map((atom) => atom + (isFixed(atom) ? '' : pick(signs)))
      const source = `${pick(['', '', '^'])}${body.join('')}${pick(['', '', '$', '|b-'])}`
      const lines = Array.from({ length: 120 }, () =>
        Buffer.concat(Array.from({ length: int(1, 9) }, () => pick(int(0, 2) === 0 ? pieces : parts.slice(0, 7)))),
      )
      const found = interesting(source, lines)
      for (const [at, line] of lines.entries()) {
        if (!matches(source, line)) {
          if (!found.has(at)) passed += 1
          continue
        }
        matched += 1
        expect(found.has(at), `${source} in ${JSON.stringify(line.toString('latin1'))}`).toBe(true)
      }
    }
    expect(matched).toBeGreaterThan(300)
    expect(passed).toBeGreaterThan(300)
  }, 60_000)
})

describe('the patterns of a regular expression', () => {
  it.each(['masked', '\\[mask', 'ed\\]', '.', '\\w+', '[^]x', '\\cJ|\\d\\d'])('are not there for %s', (source) => {
    expect(patternsOf(source)).toBeUndefined()
  })
})
