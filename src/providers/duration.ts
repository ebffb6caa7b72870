const unitMs: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?|秒钟?)$/i, 1_000],
  [/^(?:m|mins?|minutes?|分钟?)$/i, 60_000],
  [/^(?:h|hrs?|hours?|小时)$/i, 3_600_000],
  [/^(?:d|days?|天)$/i, 86_400_000],
  [/^(?:w|wks?|weeks?)$/i, 7 * 86_400_000],
]

/** A number and its unit. */
export const durationPart = String.raw`\d{1,9}(?:\.\d{1,9})?\s?(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w|秒钟?|分钟?|小时|天)(?![a-z])`
/** Some of them: `6m0s`, `3 hours 2 minutes`, `1 day, 4 hours and 5 minutes`. Units without a gap may touch the next number. */
export const durationPattern = `${durationPart}(?:(?:,? (?:and )?|)${durationPart}){0,4}`

/** Milliseconds of a text that is a duration with units, or undefined. */
export function parseDurationMs(text: string): number | undefined {
  let total: number | undefined
  for (const [, number, unit] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)\s?([a-z]{1,12}|秒钟?|分钟?|小时|天)/gi)) {
    const known = unitMs.find(([pattern]) => pattern.test(unit as string))
    if (!known) return undefined
    total = (total ?? 0) + Number(number) * known[1]
  }
  return total
}
