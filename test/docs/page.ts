/** The pages of the documentation as what they are to a test: commands, in order, with what each prints. */

export interface Step {
  /** What is typed, possibly over several lines. */
  readonly command: string
  /** What the page says that it prints. */
  readonly output: string
  /** The exit status that the page states; null: any. */
  readonly status: number | null
  /** From 1, of the command in the page. */
  readonly line: number
}

export interface Block {
  readonly steps: readonly Step[]
  /** Why it is not run; undefined where it is. */
  readonly skipped: string | undefined
  /** Lines of the page from the first to the last inside the fence, from 0, the last excluded. */
  readonly from: number
  readonly to: number
  readonly language: 'console' | 'sh'
}

/** Blocks are fenced as `console` (`$ ` before a command, `> ` before a line that goes on, then its output) or `sh` (commands alone); a comment `run: …` is typed and not shown. */
export function blocksOf(page: string): Block[] {
  const lines = page.split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const hidden = /^<!-- run: (.+) -->$/.exec(lines[at] as string)?.[1]
    if (hidden) blocks.push({ language: 'sh', steps: [{ command: hidden, output: '', status: 0, line: at + 1 }], skipped: undefined, from: at, to: at + 1 })
    const language = /^```(console|sh)$/.exec(lines[at] as string)?.[1] as Block['language'] | undefined
    if (!language) continue
    const to = lines.indexOf('```', at + 1)
    if (to === -1) throw new Error(`the fence of line ${at + 1} has no end`)
    const about = /^<!-- (not run|ends with): (.+) -->$/.exec(lines[at - 1] ?? '')
    const status = about?.[1] === 'ends with' ? (about[2] === 'any' ? null : Number(about[2])) : 0
    const inner = lines.slice(at + 1, to)
    blocks.push({
      language,
      steps: language === 'console' ? consoleSteps(inner, at + 2, status) : [{ command: inner.join('\n'), output: '', status, line: at + 2 }],
      skipped: about?.[1] === 'not run' ? about[2] : undefined,
      from: at + 1,
      to,
    })
    at = to
  }
  return blocks
}

function consoleSteps(lines: readonly string[], first: number, status: number | null): Step[] {
  const steps: { command: string; output: string[]; line: number }[] = []
  for (const [i, line] of lines.entries()) {
    const last = steps.at(-1)
    // The second line of a digest shows the command in the same way.
    const isDigest = / run [a-z0-9]{12}$/.test(lines[i - 1] ?? '')
    if (line.startsWith('$ ') && !isDigest) steps.push({ command: line.slice(2), output: [], line: first + i })
    else if (last && last.output.length === 0 && line.startsWith('> ')) last.command += `\n${line.slice(2)}`
    else if (last) last.output.push(line)
    else throw new Error(`line ${first + i} stands before any command`)
  }
  return steps.map(({ command, output, line }) => ({ command, output: output.join('\n'), line, status }))
}

/** The page with what its commands really print. */
export function withOutputs(page: string, outputs: ReadonlyMap<number, string>): string {
  const lines = page.split('\n')
  for (const block of blocksOf(page).reverse()) {
    if (block.skipped !== undefined || block.language !== 'console') continue
    const inner = block.steps.flatMap(({ command, output, line }) => {
      const printed = outputs.get(line) ?? output
      return [...command.split('\n').map((part, at) => (at === 0 ? `$ ${part}` : `> ${part}`)), ...(printed === '' ? [] : printed.split('\n'))]
    })
    lines.splice(block.from, block.to - block.from, ...inner)
  }
  return lines.join('\n')
}

/**
 * Output without what differs from one run to the next: ids, times, durations, sizes of what is measured, hashes. What is left must be the
 * same, line by line.
 */
export function withoutNoise(text: string): string {
  return (
    text
      .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, 'TIME')
      .replace(/\b\d{8}T\d{6}Z\b/g, 'TIME')
      .replace(/\b\d+(?:\.\d+)? (?:ms|s|min|h)(?: \d+ (?:s|min|ms))?\b/g, 'DURATION')
      .replace(/\bduration_ms [\d.]+/g, 'DURATION')
      .replace(/\([\d.]+ms\)/g, 'DURATION')
      .replace(/\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b/g, 'HASH')
      // Ids have no i, l, o and u.
      .replace(/\b[0-9a-hjkmnp-tv-z]{12}\b/g, 'RUN')
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{10}\b/g, 'WORKSPACE')
      .replace(/\b(shop)-[0-9a-f]{6}\b/g, '$1-HASH')
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{7}\b/g, 'HASH')
      .replace(/\b(pid) \d+/g, '$1 N')
      .replace(/\b[\d,]+(?:\.\d+)? (bytes?|KiB|MiB|KB|MB)\b/g, 'N $1')
      .replace(/node:internal\/\S+/g, 'NODE')
      .replace(/\bNode \d+\.\d+\.\d+|\bv\d+\.\d+\.\d+\b/g, 'VERSION')
      .replace(/[ \t]+/g, ' ')
      .replace(/ $/gm, '')
  )
}

/**
 * Whether a command prints what a page says. How many lines of a digest find room depends on how many digits a duration has, and one
 * that is cut leaves room for others: so of its numbered lines half must be there, and of everything else each, in its order.
 */
export function isAlike(printed: string, page: string): boolean {
  const [real, shown] = [printed, page].map((text) => withoutNoise(text).split('\n'))
  const isNumbered = (line: string): boolean => /^\d+ \| |^ … .*(more|lines?) like it/.test(line)
  const plain = (lines: readonly string[] = []): string => lines.filter((line) => !isNumbered(line)).join('\n')
  const numbered = (lines: readonly string[] = []): string[] => lines.filter(isNumbered)
  const missing = (from: readonly string[], lines: readonly string[]): number => lines.filter((line) => !from.includes(line)).length
  const [a, b] = [numbered(real), numbered(shown)]
  const mayMiss = Math.max(2, Math.floor(Math.max(a.length, b.length) / 2))
  return plain(real) === plain(shown) && (a.length === 0) === (b.length === 0) && missing(a, b) <= mayMiss && missing(b, a) <= mayMiss
}
