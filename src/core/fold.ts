// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is what ASCII means
const nonAscii = /[^\u0000-\u007f]/
// biome-ignore lint/suspicious/noMisleadingCharacterClass: combining characters are matched for themselves
const ignored = /[\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff]/g

/** The text in one form, its case kept; lower case of the result has the same length. */
export function normalize(text: string): string {
  if (!nonAscii.test(text)) return text
  return text
    .normalize('NFKD')
    .replace(ignored, '')
    .normalize('NFKC')
    .replace(/[ßẞıİς‘’ʼ“”‐‑–—−]/g, (char) => replacements[char] ?? char)
}

const replacements: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  ı: 'i',
  İ: 'I',
  ς: 'σ',
  '‘': "'",
  '’': "'",
  ʼ: "'",
  '“': '"',
  '”': '"',
  '‐': '-',
  '‑': '-',
  '–': '-',
  '—': '-',
  '−': '-',
}

// A capital sigma at the end of a word becomes the final form, which the other side may not have there.
export const lowerCase = (normalized: string): string => {
  const text = normalized.toLowerCase()
  return nonAscii.test(text) ? text.replaceAll('ς', 'σ') : text
}

/** Text as it is compared: NFKC, without case and diacritics (`STRASSE`, `straße`; `Zurich`, `Zürich`). */
export function foldText(text: string): string {
  return lowerCase(normalize(text))
}
