/** Milliseconds of a clock that never jumps. Not `performance`: Node loads that when it is first used, a millisecond of every start. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
