import { byteLength, formatCount, oneLine, plural } from '../core/text.ts'
import type { Counts, Part, Recognised } from './recognisers/recogniser.ts'

/** `vitest: 3 failed, 20 passed (23 tests)`. Only what is known is said, and never that nothing failed unless the log states it. */
export function describeRecognised(recognised: Recognised): string {
  const { tool, noun, counts, parts = [] } = recognised
  const said = countWords(counts, noun)
  const words = said !== '' && recognised.isPartial && !isStated(recognised) ? `at least ${said}` : said
  const counted = parts.filter((part) => countWords(part.counts, '') !== '')
  const [only] = counted
  if (words === '') return tool
  if (counted.length > 1) return `${tool}: ${words}${partWords(counted)}`
  return `${tool}${only && only.name !== '' ? ` in ${oneLine(only.name)}` : ''}: ${words}`
}

function countWords({ failed, passed, skipped, total, errors, warnings }: Counts, noun: string): string {
  // Where no total says what is counted, the first count does.
  let what = total === undefined && noun !== ''
  const counted = (count: number, word: string): string => {
    const said = what ? `${plural(count, noun)} ${word}` : `${formatCount(count)} ${word}`
    what = false
    return said
  }
  const parts = [
    failed === undefined ? '' : counted(failed, 'failed'),
    passed === undefined ? '' : counted(passed, 'passed'),
    skipped ? counted(skipped, 'skipped') : '',
    errors === undefined ? '' : plural(errors, 'error'),
    warnings ? plural(warnings, 'warning') : '',
  ].filter((part) => part !== '')
  return `${parts.join(', ')}${total === undefined ? '' : `${parts.length === 0 ? '' : ' '}(${plural(total, noun)})`}`
}

const maxParts = 6
const maxPartBytes = 160

/** `; web 2 failed, 3 passed; api 4 passed`: those with failures first. */
function partWords(parts: readonly Part[]): string {
  const bad = ({ counts }: Part): number => (counts.failed ?? 0) + (counts.errors ?? 0)
  const sorted = [...parts].sort((a, b) => bad(b) - bad(a))
  let text = ''
  let said = 0
  for (const { name, counts } of sorted) {
    const own = `; ${name === '' ? 'elsewhere' : oneLine(name)}: ${countWords({ ...counts, total: undefined }, '')}`
    if (said >= maxParts || byteLength(text) + byteLength(own) > maxPartBytes) break
    text += own
    said += 1
  }
  return said < parts.length ? `${text}; in ${formatCount(parts.length - said)} ${said === 0 ? '' : 'more '}packages` : text
}

/** Whether a closing line of the tool has each count, so that it holds for lines that were not read, too. */
const isStated = ({ counts, totals }: Recognised): boolean =>
  Object.values(counts).every((count) => !count || totals.some(({ text }) => numbersIn(text).includes(count)))

const numbersIn = (text: string): number[] => (text.slice(0, 400).match(/\d[\d,]{0,12}/g) ?? []).map((digits) => Number(digits.replaceAll(',', '')))
