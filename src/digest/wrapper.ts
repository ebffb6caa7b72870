/** What a runner, a container or a clock puts before every line, and no tool prints itself. */
const wrapper =
  /^(?:\s*(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\[\d{1,9}\.\d{1,9}\]|#\d{1,4} \d{1,6}\.\d{1,4}|[\w.-]{1,60}[-_]\d{1,3} {1,40}\|)(?=\s|$))+ ?/

/** A clean line as the tool itself printed it. Its indentation stays. */
export function unwrap(line: string): string {
  return line.replace(wrapper, '')
}

// A time of day alone, not a zone or a host after it.
const clock = /^(?:(?:\[(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[^\]]{0,20}\]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S{0,30}|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\s{1,8})+(?=\S)/

/** How many characters of a clean line are the time that stands before everything else. */
export function clockLength(line: string): number {
  return clock.exec(line)?.[0].length ?? 0
}
