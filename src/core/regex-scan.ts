import { everyTrait, logTraits } from './log-traits.ts'
import { type ScanPatterns, scanPatterns } from './scan-pattern.ts'
import { weakenRegex } from './weaken-regex.ts'

/*
 * What a scan looks for on behalf of a regular expression. It may find more lines than that matches, never fewer; so what it cannot
 * say becomes something weaker, and what nothing is known of is not scanned for.
 */

/**
 * Patterns of which at least one is found in each line, as it was printed, in which the expression matches as the line is shown;
 * undefined where none can be named. `required` stands in every match; `label` where secrets were.
 */
export function regexScan(regex: RegExp, required: string, label: string): ScanPatterns | undefined {
  const literal = required === '' ? undefined : scanPatterns({ text: required, folded: false }, label)
  // What may lie in a label by itself may do so in a match.
  if (!literal && required.length > 1) return undefined
  const isLiteral = regex.source === required
  const plain = isLiteral || regex.test(label) ? undefined : weakenRegex(regex, 'plain')
  if (plain === undefined) return literal
  const pattern = { source: plain, ignoreCase: false }
  // The text that stands in every match is quicker to find than an expression with all that is not shown in between.
  if (literal) return { pattern, disguises: [{ ...literal.pattern, traits: everyTrait }, ...literal.disguises] }
  const printed = weakenRegex(regex, 'printed')
  if (printed === undefined) return undefined
  // A match may take in a label: then it is of a line that was printed otherwise.
  return { pattern, disguises: [{ source: printed, ignoreCase: false, traits: everyTrait & ~logTraits.secrets }], unscanned: logTraits.secrets }
}
