import { headBytes, oneLine, plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source } from './source.ts'

const maxHeadings = 20
const worthCounting = ['h1', 'h2', 'h3', 'p', 'a', 'img', 'form', 'input', 'button', 'table', 'tr', 'li', 'script', 'style', 'iframe']

/** HTML or XML: title, headings, and how many there are of each element. */
export function markup(source: Source): Found | undefined {
  const [first] = source.probe
  if (!first || !/^\s*<(?:!doctype|\?xml|!--|[a-zA-Z][\w:.-]*[\s>/])/i.test(first.text)) return undefined
  const text = source.whole() ?? source.head(1 << 20)
  const html = /<html[\s>]|<body[\s>]|<!doctype html/i.test(text.slice(0, 4096))
  const counts = new Map<string, number>()
  for (const [, name] of text.matchAll(/<([a-zA-Z][\w:.-]{0,60})/g)) {
    const key = html ? (name as string).toLowerCase() : (name as string)
    if (counts.has(key) || counts.size < 200) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  // A line that begins with a bracket is not yet a document.
  if (counts.size < 3 || [...counts.values()].reduce((sum, n) => sum + n, 0) < source.probe.length / 4) return undefined
  const facts = html ? factsOfHtml(text, counts) : factsOfXml(text, counts)
  return {
    kind: html ? 'HTML' : 'XML',
    facts,
    rows: edges(refsOf(source.probe.slice(0, 2)), refsOf(source.last(1))),
  }
}

function factsOfHtml(text: string, counts: ReadonlyMap<string, number>): string[] {
  const title = inner(text, /<title[^<>]{0,200}>([^<]{0,300})/i)
  const headings = [...text.matchAll(/<(h[1-3])\b[^<>]{0,300}>((?:[^<]|<(?!\/?h[1-3])){0,300})<\/h[1-3]>/gi)]
    .slice(0, maxHeadings)
    .map((match) => `${match[1]}: ${plain(match[2] ?? '')}`)
  const counted = worthCounting.filter((name) => counts.has(name)).map((name) => `${name} ${counts.get(name)}`)
  return [...(title === '' ? [] : [`title: ${title}`]), `elements: ${counted.join(', ')}`, ...headings]
}

function factsOfXml(text: string, counts: ReadonlyMap<string, number>): string[] {
  const root = /<([a-zA-Z][\w:.-]{0,60})((?:\s[^<>]{0,600})?)>/.exec(text)
  const counted = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 15)
  return [
    ...(root ? [`root: <${oneLine(`${root[1]}${root[2] ?? ''}`)}>`] : []),
    `${plural(counts.size, 'kind')} of elements: ${counted.map(([name, n]) => `${name} ${n}`).join(', ')}`,
  ]
}

const inner = (text: string, pattern: RegExp): string => plain(pattern.exec(text)?.[1] ?? '')
const plain = (text: string): string =>
  headBytes(
    oneLine(text.replace(/<[^>]{0,300}>/g, ' '))
      .replace(/\s+/g, ' ')
      .trim(),
    120,
  )
