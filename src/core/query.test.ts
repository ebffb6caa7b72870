import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from './errors.ts'
import { foldText } from './fold.ts'
import { compileRegex, excerpt, excerptAt, matchLine, parseQuery, queryTokens, tokenCollector, tokensOf } from './query.ts'
import { byteLength, stripControls } from './text.ts'

const tokenSet = (text: string): Set<string> => new Set(tokensOf(text).split(' '))

/** What a store answers: whether the index of `text` lets the query through. */
function indexHas(text: string, query: string): boolean {
  const known = [...tokenSet(text)]
  const wanted = queryTokens(parseQuery(query))
  return wanted.length > 0 && wanted.every((token) => (token.endsWith('*') ? known.some((each) => each.startsWith(token.slice(0, -1))) : known.includes(token)))
}

const hits = (query: string, line: string): boolean => matchLine(parseQuery(query), line) >= 1_000

/** Lines by how well they answer, best first. */
const ranked = (query: string, lines: readonly string[]): string[] => {
  const parsed = parseQuery(query)
  return [...lines].sort((a, b) => matchLine(parsed, b) - matchLine(parsed, a))
}

const wellFormed = (text: string): boolean => Buffer.from(text).toString() === text

const casesFile = fileURLToPath(new URL('../../../shared/cases/B062.js', import.meta.url))

describe('every text is a legal query', () => {
  it('B062: each stored text is found by its query, or by none where nothing can be found', (context) => {
    if (!existsSync(casesFile)) context.skip(`${casesFile} is absent`)
    // The file prints its list; here the list is read from its source, so that no process is needed.
    const source = readFileSync(casesFile, 'utf8')
    const list = source.slice(source.indexOf('const cases = [') + 'const cases = '.length, source.indexOf('\n];') + 2)
    const cases = new Function(`return ${list}`)() as [string, string, boolean?][]
    expect(cases.length).toBeGreaterThan(30)
    for (const [raw, query, hit = true] of cases) {
      const text = stripControls(raw)
      const where = `${JSON.stringify(query.slice(0, 40))} in ${JSON.stringify(raw)}`
      expect(hits(query, text), where).toBe(hit)
      expect(indexHas(text, query), `index: ${where}`).toBe(hit)
    }
  })

  it.each(['', '   ', '-', '"', '*', '""', '" "', '--', '"-" *', '\u0000', '\u001b[31m', '++', "';--", '\u0301', '\u200b', '\ufffd'])(
    '%j has nothing to search for and finds nothing',
    (text) => {
      const query = parseQuery(text)
      expect(query.terms).toEqual([])
      expect(queryTokens(query)).toEqual([])
      expect(matchLine(query, `any line with ${text}`)).toBe(0)
    },
  )

  it('takes 20,000 characters of anything', () => {
    for (const text of [
      'x'.repeat(20_000),
      'a b '.repeat(5_000),
      '"'.repeat(20_000),
      '日本'.repeat(10_000),
      '\ud83d'.repeat(20_000),
      'a\u0000'.repeat(10_000),
      '🔥'.repeat(10_000),
    ]) {
      const query = parseQuery(text)
      expect(queryTokens(query).length).toBeLessThanOrEqual(32)
      expect(matchLine(query, 'a line that has none of it')).toBeLessThan(1_000)
    }
    expect(hits('x'.repeat(20_000), 'x'.repeat(20_000))).toBe(true)
    expect(hits('x'.repeat(400), 'x'.repeat(399))).toBe(false)
  })
})

describe('what a term matches', () => {
  it.each([
    ['TIMEOUT', 'a timeout happened'],
    ['straße', 'die STRASSE'],
    ['STRASSE', 'die straße'],
    ['istanbul', 'İSTANBUL'],
    ['İstanbul', 'istanbul'],
    ['zurich', 'Zürich'],
    ['Zu\u0308rich', 'Z\u00fcrich'],
    ['ΟΔΟΣ', 'οδος'],
    ['οδοσ', 'ΟΔΟΣ'],
    ['file', 'ﬁle'],
    ['12', '１２'],
    ["don't", 'I don’t know'],
    ['time', 'a timeout'],
    ['row2345', 'Row2345'],
    ['2345', 'row2345'],
    ['case', 'myCamelCase'],
    ['camelcase', 'myCamelCase'],
    ['server', 'HTTPServer'],
    ['bar', 'FOO_BAR=1'],
    ['init', '__init__'],
    ['10:00', '2026-03-14T10:00:00Z'],
    ['"a  b"', 'a\tb'],
    ['wild*', 'wildcard'],
    ['(paren', 'paren'],
    ['本語', '日本語'],
    ['語の', '日本語のエラー'],
    ['ｴﾗｰ', 'エラー'],
    ['한국', '대한국'],
    ['👍🏽', 'ok 👍🏽'],
    ['🥹', 'new 🥹 here'],
    ['❤️', 'I ❤ it'],
    ['{"error":"x1"}', 'x1 is an error'],
    ['src/core/query.ts:12', 'at src/core/query.ts:12:5'],
    ['C#', 'in C# and F#'],
    ['🔥日本', '🔥日本'],
    ['𝐀', 'a'],
    ['2345', 'row 2345ms'],
    ['2026-11', 'on 2026-11-30'],
    ['v1.2', 'v1.2.3'],
    ['1f6a2c9', 'commit 1f6a2c93ab'],
    ['row23', 'row2345'],
  ])('%j is in %j', (query, line) => {
    expect(hits(query, line)).toBe(true)
    expect(indexHas(line, query)).toBe(true)
  })

  it.each([
    ['out', 'a timeout'],
    ['C++', 'C and C#'],
    ['C#', 'C++'],
    ['pre-edit', 'pre edit'],
    ['a.b.c', 'a b c'],
    ['"fix the"', 'fix all the'],
    ['"hello world"', 'hello, world'],
    ['日語', '日本語'],
    ['🔥', '🔦'],
    ['error timeout', 'error only'],
    ['2345', 'row 23456'],
    ['"row 2345"', 'row 23456'],
    ['v1.2', 'v1.20'],
    ['file.ts:1', 'file.ts:12'],
    ['x 12', 'x １２３'],
  ])('%j is not in %j', (query, line) => {
    expect(hits(query, line)).toBe(false)
  })

  it('an unbalanced quote is a character to ignore', () => {
    expect(parseQuery('one "two three" fo"ur').terms.map(({ chunks }) => chunks)).toEqual([['one'], ['two', 'three'], ['fo'], ['ur']])
  })

  it('typographic quotes make phrases too', () => {
    expect(parseQuery('“two words”').terms.map(({ chunks }) => chunks)).toEqual([['two', 'words']])
  })
})

describe('the order of lines', () => {
  it('puts the line with the words together and whole before all others', () => {
    const lines = ['row 12345', '2345 of the row', 'row 23456', 'row and 2345', 'row 2345', 'row', 'rows 2345']
    expect(ranked('row 2345', lines)[0]).toBe('row 2345')
    expect(ranked('row 2345', lines).at(-1)).not.toBe('row 2345')
    expect(ranked('row 2345', lines).slice(-3).sort()).toEqual(['row', 'row 12345', 'row 23456'])
  })

  it('puts a whole word before the beginning of one, and that before a part of an identifier', () => {
    expect(ranked('error', ['myErrorCount', 'errors', 'an error.'])).toEqual(['an error.', 'errors', 'myErrorCount'])
  })

  it('prefers the punctuation of the query where it is there', () => {
    expect(ranked('--dry-run', ['the dry-run', 'with --dry-run'])[0]).toBe('with --dry-run')
    expect(ranked('^start', ['start', '^start'])[0]).toBe('^start')
  })

  it('scores a line with all terms far above one with some', () => {
    const query = parseQuery('alpha beta gamma')
    const all = matchLine(query, 'gammas xx betas xx alphas')
    const some = matchLine(query, 'alpha beta')
    expect(all).toBeGreaterThanOrEqual(1_000)
    expect(some).toBeGreaterThan(matchLine(query, 'alpha'))
    expect(some).toBeLessThan(100)
  })
})

describe('tokens', () => {
  it('are words, with what follows each part of an identifier', () => {
    expect(tokensOf('myHTTPServer2 FOO_BAR, x86_64')).toBe('myhttpserver2 httpserver2 server2 2 foo_bar bar x86_64 86_64 64')
  })

  it('come once each', () => {
    expect(tokensOf('a A a\nb ä\u0000a 日日日')).toBe('a b 日 日日')
  })

  it('of hashes and of very long words stay few', () => {
    expect(tokensOf('d41d8cd98f00b204e9800998ecf8427e').split(' ')).toHaveLength(1)
    const long = tokensOf(`${'ab_'.repeat(5_000)}`)
    expect(long.split(' ').length).toBeLessThanOrEqual(12)
    expect(Math.max(...long.split(' ').map(({ length }) => length))).toBeLessThanOrEqual(64)
  })

  it('never split a pair of surrogates where a long token is cut', () => {
    const word = `a${'𝒳𐐀'.repeat(60)}`
    for (const token of tokensOf(word).split(' ')) expect(wellFormed(token)).toBe(true)
    expect(indexHas(word, word)).toBe(true)
    expect(indexHas(`${word}.end`, `${word}.end`)).toBe(true)
  })

  it('of a text that comes in pieces are those of the whole', () => {
    const collector = tokenCollector()
    for (const line of ['first line\n', 'second Line 日本\n', 'FIRST again\n']) collector.add(line)
    expect(collector.tokens()).toBe(tokensOf('first line\nsecond Line 日本\nFIRST again\n'))
    expect(collector.size).toBe(collector.tokens().split(' ').length)
  })

  it('hold no white space, quotes or asterisks, whatever the text', () => {
    const anything = Array.from({ length: 0x3000 }, (_, i) => String.fromCharCode(i)).join(' ')
    for (const token of tokensOf(`${anything}${anything.replaceAll(' ', '')}`).split(' ')) {
      expect(/^[\p{L}\p{N}\p{M}\p{S}_]+$/u.test(token), JSON.stringify(token)).toBe(true)
      expect(/[\s"*'$+<=>^`|~]/.test(token), JSON.stringify(token)).toBe(false)
    }
  })
})

describe('index and lines agree', () => {
  // A small generator with a seed: a failure can be repeated.
  const random = (seed: number) => (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  const alphabet = [
    'a',
    'B',
    'c',
    'x',
    'Foo',
    'BAR',
    '1',
    '23',
    '_',
    '-',
    '.',
    ':',
    '/',
    ' ',
    ' ',
    '\t',
    'ß',
    'é',
    'e\u0301',
    'İ',
    'Σ',
    'ς',
    '日',
    '本',
    'エ',
    'ラ',
    'が',
    'か\u3099',
    '한',
    '🔥',
    '❤\ufe0f',
    '+',
    '#',
    '"',
    "'",
    '*',
    '\ufffd',
    '\ud83d',
    'क',
    'ि',
    '①',
    'ﬁ',
    '＝',
    '\u200d',
  ]
  const next = random(7)
  const text = (max: number): string => Array.from({ length: 1 + Math.floor(next() * max) }, () => alphabet[Math.floor(next() * alphabet.length)]).join('')

  it('a line that a query matches is never ruled out by its tokens', () => {
    let matched = 0
    for (let round = 0; round < 6_000; round += 1) {
      const line = stripControls(text(30))
      const from = Math.floor(next() * line.length)
      const query = round % 3 === 0 ? text(5) : line.slice(from, from + 1 + Math.floor(next() * 8))
      if (!hits(query, line)) continue
      matched += 1
      expect(indexHas(line, query), JSON.stringify({ line, query, tokens: tokensOf(line), asked: queryTokens(parseQuery(query)) })).toBe(true)
    }
    expect(matched).toBeGreaterThan(1_500)
  })

  it('every word of a line is found in it', () => {
    for (let round = 0; round < 2_000; round += 1) {
      const line = stripControls(text(30)).replaceAll('"', ' ')
      for (const word of line.split(/[\s\p{P}+#＝]+/u)) {
        if (parseQuery(word).terms.length === 0) continue
        expect(hits(word, line), JSON.stringify({ word, line })).toBe(true)
      }
    }
  })

  it('an excerpt has at most the bytes asked for, is well formed, and is a part of its line', () => {
    for (let round = 0; round < 1_500; round += 1) {
      const line = Buffer.from(text(80)).toString()
      const query = parseQuery(line.slice(10, 14))
      for (const maxBytes of [0, 1, 3, 6, 7, 12, 40, 100]) {
        const part = excerpt(query, line, maxBytes)
        expect(byteLength(part)).toBeLessThanOrEqual(maxBytes)
        expect(wellFormed(part)).toBe(true)
        expect(line.includes(part.replace(/^…/, '').replace(/…$/, ''))).toBe(true)
        const at = Math.floor(next() * line.length)
        const other = excerptAt(line, at, Math.floor(next() * 10), maxBytes)
        expect(byteLength(other)).toBeLessThanOrEqual(maxBytes)
        expect(wellFormed(other)).toBe(true)
      }
    }
  })
})

describe('excerpts', () => {
  const long = `${'before '.repeat(1_000)}the needle42 in it${' after'.repeat(1_000)}`

  it('show the match with what stands around it, and say where something was cut', () => {
    const part = excerpt(parseQuery('needle42'), long, 60)
    expect(part).toMatch(/^….*the needle42 in it.*…$/)
    expect(byteLength(part)).toBeGreaterThan(50)
    expect(excerpt(parseQuery('needle42'), 'short needle42', 60)).toBe('short needle42')
  })

  it('have one mark where the match stands at an end', () => {
    expect(excerpt(parseQuery('first'), `first ${'x '.repeat(500)}`, 30)).toMatch(/^first .*…$/)
    expect(excerpt(parseQuery('last'), `${'x '.repeat(500)}last`, 30)).toMatch(/^….* last$/)
  })

  it('find the place of a match behind characters that change their length when folded', () => {
    const line = `${'ßﬁe\u0301İ'.repeat(300)} needle ${'ß'.repeat(300)}`
    expect(excerpt(parseQuery('NEEDLE'), line, 40)).toContain('needle')
  })

  it('show the place where the words stand together', () => {
    const line = `row ${'- '.repeat(300)} row 2345 ${'- '.repeat(300)}`
    expect(excerpt(parseQuery('row 2345'), line, 40)).toContain('row 2345')
  })

  it('show the beginning of a match that is longer than the room', () => {
    expect(excerptAt(`${'a'.repeat(50)}${'b'.repeat(500)}`, 50, 500, 20)).toBe(`…${'b'.repeat(14)}…`)
  })

  it('show a place given by a regular expression', () => {
    const match = compileRegex('needle\\d+', 'query').exec(long)
    expect(excerptAt(long, match?.index ?? 0, match?.[0].length ?? 0, 40)).toContain('needle42')
  })
})

describe('regular expressions', () => {
  it('know Unicode, and fall back for patterns of habit', () => {
    expect(compileRegex('^\\p{L}+$', 'query').test('日本')).toBe(true)
    expect(compileRegex('a\\-b', 'query').test('a-b')).toBe(true)
    expect(compileRegex('{x', 'query').test('{x')).toBe(true)
  })

  it('that are invalid are refused with their field, the pattern and what is accepted', () => {
    expect(() => compileRegex('(', 'grep')).toThrow(HoldfastError)
    try {
      compileRegex('(', 'grep')
    } catch (error) {
      expect(error).toMatchObject({
        code: 'invalid_argument',
        details: { reason: 'invalid', field: 'grep', value: '(', accepted: 'a JavaScript regular expression' },
      })
    }
  })
})

it('folding is the same when done twice', () => {
  const all = Array.from({ length: 0x20000 }, (_, code) => (code >= 0xd800 && code <= 0xdfff ? '' : String.fromCodePoint(code)))
  for (const char of all) expect(foldText(foldText(char)), JSON.stringify(char)).toBe(foldText(char))
})
