const fewestChars = 40

/** Whether a line is a piece of encoded data, base64 or hexadecimal: one long word that is none. */
export function isBlob(text: string): boolean {
  const word = text.trim()
  if (word.length < fewestChars || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(word)) return false
  return /^[0-9a-f]+$/i.test(word) || (/[0-9]/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word))
}
