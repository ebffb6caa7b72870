import { describe, expect, it } from 'vitest'
import { estimateTokens } from './tokens.ts'

// Counted with the o200k and the cl100k vocabulary; the larger of the two.
const counted: readonly (readonly [name: string, text: string, tokens: number])[] = [
  ['nothing', '', 0],
  ['a sentence', 'The quick brown fox jumps over the lazy dog, and the dog sleeps on.', 16],
  ['a diagnosis', "src/app/search.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.", 27],
  ['a stack frame', '    at Object.<anonymous> (/app/src/index.test.ts:14:23)', 17],
  ['a line of a build', '[INFO] Tests run: 42, Failures: 1, Errors: 0, Skipped: 2, Time elapsed: 1.234 s', 34],
  ['JSON', '{"name":"holdfast","version":"1.2.3","tags":["a","b"],"ok":true}', 25],
  ['hashes', '9e3779b97f4a7c15 3c6ef372fe94f82a daa66d2c7ddf743f', 33],
  ['Chinese', '中文输出：测试失败，找不到文件。', 12],
  ['Russian', 'Ошибка: файл не найден в каталоге сборки.', 17],
]

describe('the estimate of tokens', () => {
  it.each(counted)('of %s is hardly lower than what is counted, and not double', (_, text, tokens) => {
    const estimate = estimateTokens(text)
    expect(estimate).toBeGreaterThanOrEqual(Math.floor(tokens * 0.88))
    expect(estimate).toBeLessThanOrEqual(Math.ceil(tokens * 1.7))
  })

  it('grows with the text and takes any text', () => {
    expect(estimateTokens('\ud800 \u0000 \uffff')).toBeGreaterThan(0)
    expect(estimateTokens('word '.repeat(1000))).toBeGreaterThan(900)
  })
})
