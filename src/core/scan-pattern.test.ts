import { describe, expect, it } from 'vitest'
import { foldText } from './fold.ts'
import { traitsOf } from './log-traits.ts'
import { matchLine, parseQuery } from './query.ts'
import { foldedRanges, scanPatterns } from './scan-pattern.ts'
import { cleanLine } from './text.ts'

const label = '[masked]'

function found(text: string, line: string, folded = true): boolean {
  const patterns = scanPatterns({ text, folded }, label)
  if (!patterns) throw new Error(`no patterns for ${text}`)
  const traits = traitsOf(line)
  const asked = [patterns.pattern, ...patterns.disguises.filter((disguise) => (disguise.traits & traits) !== 0)]
  return asked.some(({ source, ignoreCase }) => new RegExp(source, ignoreCase ? 'iu' : 'u').test(line))
}

const esc = '\u001b'

describe('the patterns of a text', () => {
  it.each([
    ['connection', 'a Connection was made'],
    ['connection', `con${esc}[31mnection`],
    ['connection', `c${esc}[1mo${esc}[22mnnection`],
    ['connection', `connec${esc}[1m${esc}[31mtion`],
    ['connection', `connec${esc}]0;a title\u0007tion`],
    ['connection', 'connec\btion'],
    ['connection', 'con\u00adnection'],
    ['connection', 'connéction'],
    ['connection', 'connectio\u0301n'],
    ['connection', 'ｃｏｎｎｅｃｔｉｏｎ'],
    ['ecole', `é${esc}[0mcole`],
    ['file', 'a ﬁle'],
    ['fi', 'ﬁ'],
    ['tm', 'x™'],
    ['strasse', 'Straße'],
    ["don't", 'don’t'],
    ['日本', '日本語'],
    ['日本', `日${esc}[1m本`],
    ['жук', 'ЖУК'],
  ])('find %s in %j', (text, line) => {
    expect(matchLine(parseQuery(text), cleanLine(line))).toBeGreaterThan(0)
    expect(found(text, line)).toBe(true)
  })

  it.each([
    ['connection', 'nothing of it'],
    ['connection', `${esc}[31merror${esc}[39m: ${esc}[1mtest${esc}[22m failed ✓ in 3 ms`],
    ['connection', `${esc}[1m${esc}[46mnotice${esc}[49m${esc}[22m at café 12 日本`],
    ['connection', 'carriage\r\n'.trim()],
  ])('leave out what cannot show it: %s in %j', (text, line) => {
    // An accent beside a letter of the text counts as a disguise; the last line has none.
    expect(found(text, line.replace('café', 'kaff'))).toBe(false)
  })

  it.each(['e', 'masked', 'mask', 'x[ma', 'ed]x', '가나', 'が'])('are not there for %s', (text) => {
    expect(scanPatterns({ text, folded: true }, label)).toBeUndefined()
  })

  it('of a text that is not folded mind case and controls only', () => {
    expect(found('E1', 'e1', false)).toBe(false)
    expect(found('E1', 'E1', false)).toBe(true)
    expect(found('E1', `E${esc}[1m1`, false)).toBe(true)
    expect(found('ab', 'é b', false)).toBe(false)
  })

  it('know every character that is folded', () => {
    const outside: string[] = []
    for (let code = 0x80; code < 0x11_0000; code += 1) {
      if ((code >= 0xd800 && code < 0xe000) || foldedRanges.some(([from, to]) => code >= from && code < to)) continue
      const char = String.fromCodePoint(code)
      if (foldText(char) !== char) outside.push(code.toString(16))
    }
    expect(outside).toEqual([])
  }, 60_000)

  it('find every line of random characters in which the text is found', () => {
    const pieces = [
      'c',
      'C',
      'a',
      'fe',
      'é',
      'É',
      'ﬀ',
      '\u0301',
      '\u00ad',
      `${esc}[31m`,
      `${esc}[m`,
      `${esc}]8;;x\u0007`,
      `${esc}[2K`,
      '\b',
      '\r',
      ' ',
      'ｃ',
      'ａ',
      'x',
      '語',
      '\u0000',
      `${esc}c`,
      '™',
      `${esc}[;`,
      '1',
      '\u009b1m',
    ]
    let seed = 7
    const next = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    let hits = 0
    for (let i = 0; i < 30_000; i += 1) {
      const line = Array.from({ length: 2 + next(9) }, () => pieces[next(pieces.length)]).join('')
      for (const text of ['ca', 'cafe', 'fe', 'a1', 'ac', '語c']) {
        if (matchLine(parseQuery(text), cleanLine(line)) === 0) continue
        hits += 1
        expect(found(text, line), JSON.stringify([text, line])).toBe(true)
      }
    }
    expect(hits).toBeGreaterThan(1_000)
  }, 60_000)
})
