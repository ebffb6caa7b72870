import { expect, it } from 'vitest'
import { logTraits, traitsOf } from './log-traits.ts'

const { escapes, controls, letters, signs, others } = logTraits

it.each([
  ['plain text,\twith tabs\r\nand lines ~', 0],
  ['', 0],
  ['\u001b[31mred\u001b[0m', escapes],
  ['a\bb', controls],
  ['a\u007fb', controls],
  ['a\u0085b', controls],
  ['café', letters],
  ['cafe\u0301', letters],
  ['soft\u00adhyphen', letters],
  ['ﬁnal ™', letters],
  ['Ж', letters],
  ['жук', others],
  ['it’s — a “quote”…', signs],
  ['✓ 語 🔥 │', others],
  ['\u0000\ufffd', others],
  ['\ud83d alone', others],
  ['\u{1d41a} is a bold a', letters],
  ['é\u001b[0m\b✓–', escapes | controls | letters | signs | others],
])('the traits of %j', (text, expected) => {
  expect(traitsOf(text)).toBe(expected)
  // What was seen before is told alike.
  expect(traitsOf(`some words ${text}`)).toBe(expected)
})
