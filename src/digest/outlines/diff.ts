import { formatCount, plural } from '../../core/text.ts'
import type { LineRef } from '../log.ts'
import type { Found, Source } from './source.ts'

const maxFiles = 200
const maxChanged = 60

/** A unified diff: which files, and how many lines each gains and loses. */
export function diff(source: Source): Found | undefined {
  if (!source.probe.slice(0, 12).some(({ text }) => /^(?:diff --git |Index: |--- \S)/.test(text))) return undefined
  const files: { name: string; added: number; removed: number; ref: LineRef }[] = []
  const changed: LineRef[] = []
  let hunks = 0
  let hidden = 0
  let before: string | undefined
  for (const { text, ref } of source.lines()) {
    const header = /^diff --git a\/(.{1,400}?) b\/|^Index: (.{1,400})$/.exec(text)
    const plainHeader = before !== undefined && /^\+\+\+ (?:b\/)?([^\t]{1,400})/.exec(text)
    const last = files.at(-1)
    const name = header ? (header[1] ?? header[2]) : plainHeader && last?.name !== plainHeader[1] && last?.name !== before ? plainHeader[1] : undefined
    before = /^--- (?:a\/)?([^\t]{1,400})/.exec(text)?.[1]
    if (name !== undefined) {
      if (files.length >= maxFiles) hidden += 1
      files.push({ name, added: 0, removed: 0, ref })
    } else if (text.startsWith('@@ ')) hunks += 1
    else if (last && hunks > 0 && /^(?:\+(?!\+\+ )|-(?!-- ))/.test(text)) {
      last[text.startsWith('+') ? 'added' : 'removed'] += 1
      if (changed.length < maxChanged) changed.push(ref)
    }
  }
  if (files.length === 0 || hunks === 0) return undefined
  const sum = (key: 'added' | 'removed'): number => files.reduce((total, file) => total + file[key], 0)
  const facts = [
    `${plural(files.length, 'file')}, +${formatCount(sum('added'))} -${formatCount(sum('removed'))} in ${plural(hunks, 'hunk')}${source.unread > 0 ? `; ${plural(source.unread, 'more line')} not looked at` : ''}`,
    ...[...files]
      .sort((a, b) => b.added + b.removed - a.added - a.removed)
      .map(({ name, added, removed, ref }) => `${name} +${added} -${removed}, from line ${ref.number}`),
    ...(hidden > 0 ? [`and ${plural(hidden, 'more file')}`] : []),
  ]
  return { kind: 'diff', facts, rows: changed }
}
