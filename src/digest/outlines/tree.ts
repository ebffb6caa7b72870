import { plural } from '../../core/text.ts'
import { edges, type Found, refsOf, type Source, type SourceLine } from './source.ts'

const node = /^\s*- '?([a-z]{2,20})(?:\s|:|$)/
const property = /^\s*- \/[a-z]{1,20}:/
const roles = new Set(
  `alert alertdialog article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo definition dialog document emphasis figure form
   generic grid gridcell group heading iframe img link list listbox listitem main mark menu menubar menuitem meter navigation note option paragraph progressbar radio radiogroup region row rowgroup
   rowheader search searchbox separator slider spinbutton status strong switch tab table tablist tabpanel term text textbox time timer toolbar tooltip tree treeitem`.split(
    /\s+/,
  ),
)
/** What a reader of a page looks for first. */
const telling = ['alert', 'alertdialog', 'dialog', 'status', 'heading', 'textbox', 'searchbox', 'combobox', 'checkbox', 'button', 'tab', 'link']
const rowsOfRole = 6

/** The accessibility tree of a page as browser tools print it: how many of each role, and the lines of what is telling. */
export function accessibilityTree(source: Source): Found | undefined {
  const probe = source.probe.filter(({ text }) => /^\s*- /.test(text))
  const known = probe.filter(({ text }) => roles.has(node.exec(text)?.[1] ?? '') || property.test(text))
  if (known.length < 8 || known.length < source.probe.length * 0.7) return undefined
  const counts = new Map<string, number>()
  const kept = new Map<string, SourceLine[]>()
  let depth = 0
  let nodes = 0
  for (const line of source.lines()) {
    const role = node.exec(line.text)?.[1]
    if (role === undefined || !roles.has(role)) continue
    nodes += 1
    depth = Math.max(depth, /^\s*/.exec(line.text)?.[0].length ?? 0)
    counts.set(role, (counts.get(role) ?? 0) + 1)
    const lines = kept.get(role) ?? []
    kept.set(role, lines)
    if (telling.includes(role) && lines.length < rowsOfRole) lines.push(line)
  }
  const byCount = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 16)
  const facts = [
    `accessibility tree of ${plural(nodes, 'node')}, ${depth / 2 + 1} deep${source.unread > 0 ? `, and ${plural(source.unread, 'more line')} not looked at` : ''}`,
    `roles: ${byCount.map(([role, count]) => `${role} ${count}`).join(', ')}`,
  ]
  const rows = telling.flatMap((role) => (kept.get(role) ?? []).map(({ ref }) => ref))
  return {
    kind: 'page snapshot',
    facts,
    rows: [...edges(refsOf(source.probe.slice(0, 1)), refsOf(lastTelling(source))), ...rows],
  }
}

/** The last line of the page and, where that only closes it, the last one that says something. */
function lastTelling(source: Source): SourceLine[] {
  const last = source.last(4)
  const at = last.findLastIndex(({ text }) => /\p{L}/u.test(text))
  return at < 0 ? last.slice(-1) : last.slice(at)
}
