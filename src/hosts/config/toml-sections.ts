import type { Path } from './editing.ts'

/** One `key = value`. */
export interface Statement {
  /** From the root, with the places of elements of lists of tables. */
  readonly path: Path
  readonly start: number
  readonly valueStart: number
  readonly valueEnd: number
  /** Behind the end of its line. */
  readonly end: number
}

/** A table with a header, or what stands before the first one. */
export interface Section {
  readonly path: Path
  readonly isList: boolean
  readonly start: number
  /** Behind the line of its last statement, or of its header: comments that follow belong to what comes next. */
  readonly contentEnd: number
  readonly statements: readonly Statement[]
}

/** The tables of a text that parses, in their order. */
export function readSections(text: string): Section[] {
  const counts = new Map<string, number>()
  const sections: { path: Path; isList: boolean; start: number; contentEnd: number; statements: Statement[] }[] = [
    { path: [], isList: false, start: 0, contentEnd: 0, statements: [] },
  ]
  for (let at = 0; at < text.length; ) {
    const begun = at + (/^[ \t]*/.exec(text.slice(at, at + maxIndent))?.[0].length ?? 0)
    const first = text[begun]
    if (first === undefined || first === '#' || first === '\n' || first === '\r') {
      at = lineEnd(text, begun)
      continue
    }
    const section = sections.at(-1) as (typeof sections)[number]
    if (first === '[') {
      const isList = text[begun + 1] === '['
      const { keys, end } = readKeys(text, begun + (isList ? 2 : 1))
      const next = lineEnd(text, end)
      sections.push({ path: placed(counts, keys, isList), isList, start: at, contentEnd: next, statements: [] })
      at = next
      continue
    }
    const { keys, end } = readKeys(text, begun)
    const valueStart = end + 1 + (/^[ \t]*/.exec(text.slice(end + 1, end + 1 + maxIndent))?.[0].length ?? 0)
    const valueEnd = endOfValue(text, valueStart)
    const next = lineEnd(text, valueEnd)
    section.statements.push({ path: [...section.path, ...keys], start: at, valueStart, valueEnd, end: next })
    section.contentEnd = next
    at = next
  }
  return sections
}

const maxIndent = 1_000

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf('\n', from)
  return feed < 0 ? text.length : feed + 1
}

/** `a."b.c".d`, up to what is no key any more. */
function readKeys(text: string, from: number): { readonly keys: readonly string[]; readonly end: number } {
  const keys: string[] = []
  let at = from
  for (;;) {
    while (text[at] === ' ' || text[at] === '\t') at += 1
    const quote = text[at]
    if (quote === '"' || quote === "'") {
      const end = endOfString(text, at)
      const inner = text.slice(at + 1, end - 1)
      keys.push(quote === '"' ? unescaped(inner) : inner)
      at = end
    } else {
      const start = at
      while (/[\w-]/.test(text[at] ?? '')) at += 1
      keys.push(text.slice(start, at))
    }
    while (text[at] === ' ' || text[at] === '\t') at += 1
    if (text[at] !== '.') return { keys, end: at }
    at += 1
  }
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}

/** Headers name a list of tables without a place: the last element is meant, or a new one. */
function placed(counts: Map<string, number>, keys: readonly string[], isList: boolean): Path {
  const path: (string | number)[] = []
  for (const [depth, key] of keys.entries()) {
    path.push(key)
    const name = JSON.stringify(path)
    const count = counts.get(name)
    if (isList && depth === keys.length - 1) {
      counts.set(name, (count ?? 0) + 1)
      path.push(count ?? 0)
    } else if (count !== undefined) path.push(count - 1)
  }
  return path
}

/** Behind a value: the end of its line, or where a comment begins, without the spaces before that. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  let end = from
  for (let at = from; at < text.length; ) {
    const character = text[at] as string
    if (character === '"' || character === "'") {
      at = endOfString(text, at)
      end = at
      continue
    }
    if (character === '#') {
      if (depth === 0) return end
      at = lineEnd(text, at)
      continue
    }
    if (character === '\n' && depth === 0) return end
    if ('[{'.includes(character)) depth += 1
    if (']}'.includes(character)) depth -= 1
    at += 1
    if (!/\s/.test(character)) end = at
  }
  return end
}

function endOfString(text: string, from: number): number {
  const quote = text[from] as string
  const isLong = text.startsWith(quote.repeat(3), from)
  const closing = isLong ? quote.repeat(3) : quote
  for (let at = from + closing.length; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text.startsWith(closing, at)) {
      let end = at + closing.length
      // Up to two quotes may stand before the closing ones.
      while (isLong && text[end] === quote && end < at + 5) end += 1
      return end
    }
  }
  return text.length
}
