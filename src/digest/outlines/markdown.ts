import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source, type SourceLine } from './source.ts'

/** A document in Markdown: its headings with their lines, and how much code is in it. */
export function markdown(source: Source): Found | undefined {
  if (!source.probe.some(({ text }) => /^#{1,6} \S/.test(text))) return undefined
  const headings: SourceLine[] = []
  const languages = new Map<string, number>()
  let blocks = 0
  let code = 0
  let fence: string | undefined
  for (const line of source.lines()) {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*([\w+#-]{0,20})/.exec(line.text)
    if (mark && (fence === undefined || (mark[1] as string).startsWith(fence))) {
      if (fence === undefined) {
        blocks += 1
        const language = mark[2] || 'plain'
        languages.set(language, (languages.get(language) ?? 0) + 1)
      }
      fence = fence === undefined ? mark[1] : undefined
    } else if (fence !== undefined) code += 1
    else if (/^#{1,6} \S/.test(line.text)) headings.push(line)
  }
  // A hash begins a comment in many languages; a document has links, lists, tables or code besides.
  const marks = source.probe.filter(({ text }) => /^(?:\s*[-*] \S|\s*\d+\. \S|> |\|.*\|)|\]\(|\*\*\S/.test(text)).length
  if (headings.length < 2 || (blocks === 0 && marks < Math.max(3, source.probe.length / 10))) return undefined
  const facts = [
    `${plural(headings.length, 'heading')}, ${plural(blocks, 'block')} of code (${plural(code, 'line')}${languages.size > 0 ? `: ${[...languages].map(([name, n]) => `${name} ${n}`).join(', ')}` : ''})`,
  ]
  const refs = refsOf(headings)
  return {
    kind: 'Markdown',
    facts,
    rows: [...refs, ...edges(refsOf(source.probe.slice(0, 1)), refsOf(source.last(1)))],
  }
}
