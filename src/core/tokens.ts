/*
 * The weights are fitted to two byte-pair vocabularies in wide use (o200k and cl100k) over build logs, TypeScript, Markdown,
 * JSON, listings, hashes, Chinese, Japanese, Korean, Russian and emoji: of the larger of the two counts the estimate is
 * between 0.9 and 1.2 for all of them. Base64 is the exception, at 0.7.
 */
const pieces = /([A-Z]?[a-z]+|[A-Z]+)|(\d+)|([ \t]+)|(\n\s*)|([!-/:-@[-`{-~]+)|([\p{L}\p{M}]+)|[\s\S]/gu
const perCharacter = /[\u3000-\u9fff\uac00-\ud7af]/
const caution = 1.05

/**
 * About how many tokens a language model reads in a text. No vocabulary is the same as another, so this is an estimate, meant
 * to be rather a little high than low.
 */
export function estimateTokens(text: string): number {
  let tokens = 0
  for (const [piece, word, digits, blanks, feed, symbol, letters] of text.matchAll(pieces)) {
    const { length } = piece
    if (word !== undefined) tokens += Math.max(0.85, length / 6)
    else if (digits !== undefined) tokens += Math.ceil(length / 3)
    else if (blanks !== undefined) tokens += length > 1 ? 0.7 + length / 60 : 0.05
    else if (feed !== undefined) tokens += 0.95
    else if (symbol !== undefined) tokens += 0.7 + Math.min(length, 4) * 0.25 + length / 16
    else if (letters !== undefined) tokens += length * (perCharacter.test(letters) ? 0.9 : 0.5)
    else tokens += 2.2
  }
  return Math.ceil(tokens * caution)
}
