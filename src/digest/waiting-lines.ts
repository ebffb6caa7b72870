import type { Sifted } from './sieve.ts'

/** The latest of many lines, none of which makes an object while it waits. */
export interface WaitingLines {
  /** Some of those that came long before this one are passed over. */
  add(line: Sifted, passOver: PassOver): void
  /** All that came too long before the last one are passed over; gives the others. */
  end(passOver: PassOver): Sifted[]
}

type PassOver = (kind: number, feeds: number) => void

/** Keeps `most` lines, in the order in which they came. */
export function waitingLines(most: number): WaitingLines {
  let places: Float64Array | undefined
  let kinds: Int32Array | undefined
  let size = 0
  const passFirst = (count: number, passOver: PassOver): void => {
    if (!places || !kinds) return
    for (let i = 0; i < count; i += 1) passOver(kinds[i] as number, places[3 * i + 2] as number)
    places.copyWithin(0, 3 * count, 3 * size)
    kinds.copyWithin(0, count, size)
    size -= count
  }
  return {
    add(line, passOver) {
      places ??= new Float64Array(3 * 2 * most)
      kinds ??= new Int32Array(2 * most)
      places[3 * size] = line.start
      places[3 * size + 1] = line.end
      places[3 * size + 2] = line.feeds
      kinds[size] = line.kind
      size += 1
      if (size === 2 * most) passFirst(most, passOver)
    },
    end(passOver) {
      passFirst(Math.max(0, size - most), passOver)
      return Array.from({ length: size }, (_, i) => {
        const [start = 0, end = 0, feeds = 0] = places?.subarray(3 * i, 3 * i + 3) ?? []
        return { start, end, feeds, shape: 0, kind: kinds?.[i] ?? 0 }
      })
    },
  }
}
