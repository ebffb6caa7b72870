/** Only what is said to be decided: a sentence that merely explains or plans is none. */
const openings = [
  /^(?:\*\*)?decisions?(?:\*\*)?:/i,
  /^(?:so |then |therefore |ok(?:ay)?,? )?(?:i|we)(?:'ve| have)? (?:decided|chose|opted|settled|agreed) /i,
  /^(?:so |then |therefore |ok(?:ay)?,? )?(?:i|we)(?:'ll| will) (?:go with|stick with|keep using) /i,
  /^(?:going|sticking|we go|i go) with /i,
  /^let'?s (?:go|stick) with /i,
]

const maxLength = 20_000
const maxSentenceLength = 400

/** Decisions that a text states, in its order, each as one sentence. */
export function decisionsIn(text: string): string[] {
  return text
    .slice(-maxLength)
    .split(/\r?\n|(?<=[.!?。！？])\s/u)
    .map((part) => part.replace(/^[\s>#*-]{1,8}/, (mark) => (mark.endsWith('**') ? '**' : '')).trim())
    .filter((sentence) => sentence.length <= maxSentenceLength && openings.some((opening) => opening.test(sentence)))
    .map((sentence) => sentence.replaceAll('**', ''))
}
