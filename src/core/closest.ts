/** The known word that `given` most likely means: few edits away, or one begins the other; undefined where none is near. */
export function closest(given: string, known: readonly string[]): string | undefined {
  const written = plain(given)
  if (written === '') return undefined
  let best: { word: string; distance: number } | undefined
  for (const word of known) {
    const other = plain(word)
    const near = written.length > 2 && (other.startsWith(written) || written.startsWith(other)) ? 1 : edits(written, other)
    if (near <= Math.max(1, Math.floor(other.length / 3)) && (!best || near < best.distance)) best = { word, distance: near }
  }
  return best?.word
}

// Spelling in another style (timeoutMs, --timeout-ms, timeout_ms) is the most frequent slip, so style does not count.
const plain = (word: string): string => word.toLowerCase().replace(/[-_]/g, '').slice(0, 64)

/** How many slips lie between two words: insertions, deletions, changes, and two neighbours that changed places. */
export function edits(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, i) => i)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j += 1) {
      const change = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min(change, swap, at(i - 1, j) + 1, at(i, j - 1) + 1))
    }
  }
  return at(a.length, b.length)
}
