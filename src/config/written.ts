/** Values as they are written in a configuration file; reading them again gives the same value. */

const durationUnits = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** Milliseconds as `90d`, `24h`, `10m`, `1500ms`. A single day stays `24h`. */
export function writtenDuration(ms: number): string {
  const [size, unit] = durationUnits.find(([size, unit]) => ms % size === 0 && (unit !== 'd' || ms > size)) ?? [1, 'ms']
  return `${ms / size}${unit}`
}

const sizeUnits = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
] as const

/** Bytes as `10GiB`, `64MiB`, or as the plain number where neither fits. */
export function writtenSize(bytes: number): string | number {
  const fit = sizeUnits.find(([size]) => bytes % size === 0)
  return fit ? `${bytes / fit[0]}${fit[1]}` : bytes
}
