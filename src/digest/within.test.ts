import { describe, expect, it } from 'vitest'
import { headBytes } from '../core/text.ts'
import { estimateTokens } from '../core/tokens.ts'
import { fitInto } from './within.ts'

const texts: readonly (readonly [name: string, text: string])[] = [
  ['prose', 'Several words that stand in a row and mean little. '.repeat(400)],
  ['hashes', '9e3779b97f4a7c15 '.repeat(900)],
  ['Chinese', '测试失败，找不到文件。'.repeat(700)],
  ['symbols', '{}[]()<>=!;:,. '.repeat(900)],
  ['emoji', '✅🚀🎉'.repeat(700)],
]

describe('a room of tokens', () => {
  it.each(texts)('is kept by %s, and well used', (_, text) => {
    for (const tokens of [0, 1, 2, 10, 100, 512, 1500]) {
      const shown = fitInto({ tokens }, (bytes) => headBytes(text, bytes))
      expect(estimateTokens(shown)).toBeLessThanOrEqual(tokens)
      if (tokens >= 100) expect(estimateTokens(shown)).toBeGreaterThan(tokens * 0.7)
    }
  })

  it('is kept where what is made does not shrink evenly', () => {
    const stubborn = (bytes: number): string => (bytes < 40 ? '' : '#!? '.repeat(Math.floor(bytes / 4)))
    for (const tokens of [0, 1, 5, 17, 100]) expect(estimateTokens(fitInto({ tokens }, stubborn))).toBeLessThanOrEqual(tokens)
  })

  it('of bytes is handed on as it is', () => {
    expect(fitInto({ bytes: 7 }, (bytes) => `${bytes}`)).toBe('7')
  })
})
