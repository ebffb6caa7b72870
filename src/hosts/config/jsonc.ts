import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { endOfLine, Fault, type Path } from './editing.ts'

/*
 * JSON with comments and trailing commas, changed by cutting text in and out. What is put in gets a line of its own where its
 * neighbours have one, and the comment behind a neighbour stays with it.
 */

export function parse(text: string): unknown {
  const root = tree(text)
  return root === undefined ? {} : getNodeValue(root)
}

export function set(text: string, path: Path, value: unknown): string {
  const { container, rest } = nearest(text, path)
  const [key, ...deeper] = rest
  if (container === undefined) return `${text}${text === '' || text.endsWith('\n') ? '' : endOfLine(text)}${JSON.stringify(nested(path, value), null, 2)}\n`
  if (key === undefined) {
    const isOneLine = !text.slice(container.offset, endOf(container)).includes('\n')
    const by = isOneLine ? onOneLine(value) : written(text, lineIndent(text, container.offset), value)
    return replaced(text, container.offset, container.length, by)
  }
  if (container.type !== 'object') throw new Fault(`${nameOf(path.slice(0, path.length - rest.length))} is no object`, container.offset)
  return inserted(text, container, `${JSON.stringify(key)}:${isDense(text, container) ? '' : ' '}`, nested(deeper, value))
}

export function append(text: string, path: Path, value: unknown): string {
  const { container, rest } = nearest(text, path)
  if (container === undefined || rest.length > 0) return set(text, path, [value])
  if (container.type !== 'array') throw new Fault(`${nameOf(path)} is no list`, container.offset)
  return inserted(text, container, '', value)
}

export function remove(text: string, path: Path): string {
  const { container, rest } = nearest(text, path)
  if (container === undefined || rest.length > 0) return text
  const node = container.parent?.type === 'property' ? container.parent : container
  const siblings = node.parent?.children ?? []
  const place = siblings.indexOf(node)
  if (place < 0) return text
  return cut(text, node, siblings[place - 1], siblings[place + 1])
}

export function isBare(text: string, path: Path): boolean {
  const { container, rest } = nearest(text, path)
  return container !== undefined && rest.length === 0 && /^(?:\{\s*\}|\[\s*\])$/.test(text.slice(container.offset, endOf(container)))
}

function tree(text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first) throw new Fault(problemOf(first), first.offset)
  if (root && root.type !== 'object') throw new Fault('it is no object', root.offset)
  return root
}

/** `CommaExpected` as words. */
const problemOf = ({ error }: ParseError): string =>
  printParseErrorCode(error)
    .replace(/([A-Z])/g, ' $1')
    .trim()
    .toLowerCase()

/** The value that stands at the path, or at the longest beginning of it, and what is left of the path then. */
function nearest(text: string, path: Path): { readonly container: Node | undefined; readonly rest: Path } {
  let container = tree(text)
  for (const [depth, key] of path.entries()) {
    const next = container && childAt(container, key)
    if (next === undefined) return { container, rest: path.slice(depth) }
    container = next
  }
  return { container, rest: [] }
}

// Of members with the same name, the last one counts.
function childAt({ type, children = [] }: Node, key: string | number): Node | undefined {
  if (type === 'array') return typeof key === 'number' ? children[key] : undefined
  return children.findLast(({ children: [name] = [] }) => name?.value === key)?.children?.[1]
}

function nested([key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  return { [key]: nested(rest, value) }
}

function inserted(text: string, container: Node, prefix: string, value: unknown): string {
  const { children = [] } = container
  const last = children.at(-1)
  const close = container.offset + container.length - 1
  const eol = endOfLine(text)
  const closing = eol + lineIndent(text, container.offset)
  if (isCompact(text, container)) {
    if (!last) return replaced(text, close, 0, prefix + JSON.stringify(value))
    const end = endOf(last)
    const comma = commaAfter(text, end)
    const space = /[,[{:] /.test(text.slice(container.offset, end)) ? ' ' : ''
    if (comma !== undefined) return replaced(text, comma + 1, 0, `${space}${prefix}${JSON.stringify(value)},`)
    return replaced(text, end, 0, `,${space}${prefix}${JSON.stringify(value)}`)
  }
  const indent = last && startsLine(text, last.offset) ? lineIndent(text, last.offset) : lineIndent(text, container.offset) + unitOf(text)
  const line = `${eol}${indent}${prefix}${written(text, indent, value)}`
  const end = last ? endOf(last) : container.offset + 1
  const comma = last && commaAfter(text, end)
  const from = last ? endOfTrivia(text, comma === undefined ? end : comma + 1, close, 'line') : endOfTrivia(text, end, close, 'all')
  const room = text.slice(from, close)
  const tail = room.includes('\n') ? room : closing
  const put = text.slice(0, from) + line + (comma === undefined ? '' : ',') + tail + text.slice(close)
  return last && comma === undefined ? replaced(put, end, 0, ',') : put
}

/** On one line with its neighbours: where these are, and where all of the text is one line. */
function isCompact(text: string, { offset, children = [] }: Node): boolean {
  if (!text.trim().includes('\n')) return !/^\{[ \t]*\}$/.test(text.trim())
  const [first] = children
  return first !== undefined && !text.slice(offset, first.offset).includes('\n')
}

/** Without a space behind colons. */
const isDense = (text: string, node: Node): boolean => isCompact(text, node) && !/": /.test(text.slice(node.offset, endOf(node)))

function cut(text: string, node: Node, before: Node | undefined, after: Node | undefined): string {
  const comma = commaAfter(text, endOf(node))
  const end = comma === undefined ? endOf(node) : comma + 1
  if (startsLine(text, node.offset)) {
    const from = lineStart(text, node.offset) - lineEndBefore(text, node.offset)
    const parent = node.parent as Node
    const close = parent.offset + parent.length - 1
    // Nothing is left: the line on which the object would end belongs to nobody any more.
    const isAlone = !before && !after && text.slice(parent.offset + 1, from).trim() === '' && text.slice(end, close).trim() === ''
    if (isAlone) return text.slice(0, parent.offset + 1) + text.slice(close)
    const without = text.slice(0, from) + text.slice(end)
    const needless = before && !after && comma === undefined ? commaAfter(text, endOf(before)) : undefined
    return needless === undefined ? without : replaced(without, needless, 1, '')
  }
  if (after) return replaced(text, node.offset, after.offset - node.offset, '')
  const from = before
    ? comma === undefined
      ? endOf(before)
      : endOfTrivia(text, (commaAfter(text, endOf(before)) ?? endOf(before)) + 1, node.offset, 'none')
    : node.offset
  return replaced(text, from, end - from, '')
}

const endOf = ({ offset, length }: Node): number => offset + length
const replaced = (text: string, at: number, length: number, by: string): string => text.slice(0, at) + by + text.slice(at + length)
const nameOf = (path: Path): string => (path.length === 0 ? 'the whole' : path.join('.'))

/** The comma behind a value, comments passed over; undefined where the object or list ends instead. */
function commaAfter(text: string, from: number): number | undefined {
  const at = endOfTrivia(text, from, text.length, 'all', true)
  return text[at] === ',' ? at : undefined
}

/** Behind the comments that follow: those of the same line, or all. White space counts where something follows it, or where it is asked for. */
function endOfTrivia(text: string, from: number, to: number, which: 'line' | 'all' | 'none', withSpace = false): number {
  let at = from
  let end = from
  while (which !== 'none' && at < to) {
    const two = text.slice(at, at + 2)
    if (two === '//') {
      const feed = text.indexOf('\n', at)
      at = feed < 0 ? to : feed
      if (text[at - 1] === '\r') at -= 1
      end = at
    } else if (two === '/*') {
      const stop = text.indexOf('*/', at)
      const next = stop < 0 ? to : stop + 2
      if (which === 'line' && text.slice(at, next).includes('\n')) break
      at = next
      end = at
    } else if (/\s/.test(text[at] as string) && !(which === 'line' && text[at] === '\n')) at += 1
    else break
  }
  return withSpace ? at : end
}

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1
const lineIndent = (text: string, offset: number): string => /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''
const startsLine = (text: string, offset: number): boolean =>
  offset > 0 && lineStart(text, offset) > 0 && text.slice(lineStart(text, offset), offset).trim() === ''

/** How long the line end before this line is. */
const lineEndBefore = (text: string, offset: number): number => (text[lineStart(text, offset) - 2] === '\r' ? 2 : 1)

/** One step of indentation, as the first indented line has it. */
const unitOf = (text: string): string => /\n([ \t]+)[^\s]/.exec(text)?.[1] ?? '  '

const written = (text: string, indent: string, value: unknown): string =>
  JSON.stringify(value, null, unitOf(text))
    .split('\n')
    .join(endOfLine(text) + indent)

const onOneLine = (value: unknown): string => (Array.isArray(value) ? `[${value.map((each) => JSON.stringify(each)).join(', ')}]` : JSON.stringify(value))
