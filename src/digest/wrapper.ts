const date = String.raw`\d{4}[-/]\d\d[-/]\d\d`
const time = String.raw`\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`
const zone = String.raw`(?: ?Z| ?[+-]\d\d:?\d\d| (?:UTC|GMT))?`

const prefixes = [
  // 2026-01-02T03:04:05.678Z, [2026-01-02 03:04:05,678], 03:04:05
  String.raw`\[?${date}[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?${zone}\]?:?`,
  // [03:04:05]W:<tab> [Step 1/3]
  String.raw`\[${time}\][ A-Za-z]?:(?:\s{1,4}\[Step \d{1,3}/\d{1,3}\])?`,
  String.raw`\[?${time}Z?\]?`,
  // 00O, 01E+ behind a time
  String.raw`(?<=Z )\d\d[OE]\+?`,
  // Jan  2 03:04:05 host program[123]:
  String.raw`[A-Z][a-z]{2} [ \d]\d ${time}(?: [\w.-]{1,64} [\w./@()-]{1,64}(?:\[\d{1,8}\])?:)?`,
  // 12-06 15:43:14.659  1004  1007 before a level of one letter
  String.raw`\d\d-\d\d ${time}(?: {1,6}\d{1,7}){2}(?= [VDIWEF] )`,
  // <14>1 2026-01-02T03:04:05Z host program 812 - -
  String.raw`<\d{1,3}>1 ${date}T${time}(?:Z|[+-]\d\d:\d\d) [\w.-]{1,64} [\w./-]{1,64} [\w-]{1,16} [\w-]{1,32} -`,
  // 12.345s
  String.raw`\d{1,6}\.\d{3}s`,
  // [   12.345678], #6 12.34
  String.raw`\[ {0,6}\d{1,9}\.\d{1,9}\]`,
  String.raw`#\d{1,4} \d{1,6}\.\d{1,4}`,
  // web-1  |, stderr F, pod/web-7d9f/app
  String.raw`[\w.-]{1,60}[-_]\d{1,3} {1,40}\|`,
  'std(?:out|err) [FP]',
  String.raw`\[pod/[\w./-]{1,160}\]`,
  // job<tab>step<tab> before a time
  String.raw`[^\t]{1,80}\t[^\t]{1,80}\t(?=${date})`,
  // build<tab>02-Jan-2026 03:04:05 before a tab
  String.raw`(?:build|simple|error|command)\t\d\d-[A-Z][a-z]{2}-\d{4} ${time}`,
  // [2026.01.02-03.04.05:678][ 12] before the name of what logs
  String.raw`\[\d{4}(?:\.\d\d){2}-\d\d(?:\.\d\d){2}:\d{3}\]\[[ \d]{1,5}\]`,
]

/** What a runner, a container, a collector or a clock puts before every line, and no tool prints itself. */
const wrapper = new RegExp(`^(?:\\s*(?:${prefixes.join('|')})(?=\\s|$|${date}|Log[A-Z]))+[ \\t]?`)

// How such prefixes begin; those of other words have a bar or a tab.
const wrapperSign = /^\s*(?:[[\d<#]|[A-Z][a-z]{2} |std(?:out|err) )|[|\t]/

/** A clean line as the tool itself printed it. Its indentation stays. */
export function unwrap(line: string): string {
  return wrapperSign.test(line) ? line.replace(wrapper, '') : line
}

// A time of day alone, not a zone or a host after it.
const clock =
  /^(?:\[\d{4}(?:\.\d\d){2}-\d\d(?:\.\d\d){2}:\d{3}\]\[[ \d]{1,5}\] ?)?(?:(?:\[(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?) )*(?=\s*\S)/

/** How many characters of a clean line are the time that stands before everything else. */
export function clockLength(line: string): number {
  return clock.exec(line)?.[0].length ?? 0
}

const source =
  /^(?:\s*(?:\[?\d{4}-\d\d-\d\d[T ]\S{1,40}|\d\d:\d\d:\d\d\S{0,12}))?\s*(?:([\w.-]{1,60}[-_]\d{1,3}) {1,40}\||(std(?:out|err) [FP])\s|\[(pod\/[\w./-]{1,160})\]|(#\d{1,4}) \d{1,6}\.\d|[A-Z][a-z]{2} [ \d]\d [\d:.]{8,18} ([\w.-]{1,64} [\w./@()-]{1,64})(?:\[\d{1,8}\])?:)/

/** Which container, pod, process or step a line of an interleaved log is of; empty where it does not say. */
export function sourceOf(line: string): string {
  return (
    source
      .exec(line)
      ?.slice(1)
      .find((name) => name !== undefined) ?? ''
  )
}
