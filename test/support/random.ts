/** Numbers that look random and are the same for the same seed, so that a failure can be had again. */
export interface Random {
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number
  pick<T>(values: readonly T[]): T
  bytes(length: number): Uint8Array
}

// mulberry32 (public domain): 32 bits of state, one multiplication a step.
export function random(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    int,
    pick: (values) => values[int(0, values.length - 1)] as (typeof values)[number],
    bytes: (length) => Uint8Array.from({ length }, () => int(0, 255)),
  }
}
