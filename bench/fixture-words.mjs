/** What the texts of the fixtures are made of. The same seed gives the same text for ever, on every machine. */
export function dice(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (from, to) => from + Math.floor(next() * (to - from + 1))
  const pick = (list) => list[whole(0, list.length - 1)]
  const hex = (length) => Array.from({ length }, () => whole(0, 15).toString(16)).join('')
  const phrase = (words) => Array.from({ length: words }, () => pick(nouns)).join(' ')
  return { whole, pick, hex, phrase }
}

/** Adds parts, each from its index, until the text has about as many bytes as wanted. */
export function untilBytes(bytes, first, part) {
  let text = first
  for (let i = 0; Buffer.byteLength(text) < bytes - 40; i += 1) text += part(i)
  return text
}

/** Days and times of the fixtures begin here and go on by the given seconds. */
export const isoAt = (seconds) => new Date(Date.UTC(2026, 2, 2, 8, 0, 0) + seconds * 1000).toISOString()

export const capital = (word) => word[0].toUpperCase() + word.slice(1)

export const nouns =
  'harbour lantern orchard meadow pebble timber copper willow anchor ferry kettle saddle velvet marble canyon glacier compass ribbon barrel feather lattice quarry'.split(
    ' ',
  )
export const people = ['ines', 'tomas', 'amara', 'yuki', 'noor', 'pavel', 'lucia', 'kofi']
export const verbs = ['load', 'store', 'merge', 'render', 'resolve', 'schedule', 'collect', 'validate']
