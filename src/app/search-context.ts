import type { StreamName } from '../core/command.ts'
import { clampLine, cleanLine } from '../core/text.ts'
import { type LineBlock, type LogPiece, readBlocks } from '../engine/log-reader.ts'
import { readMarked } from '../engine/marked-blocks.ts'
import type { SearchHit } from './api.ts'
import type { AppContext } from './context.ts'
import { textOf } from './screen-text.ts'
import { type Found, toHit } from './search-hits.ts'

/** Lines before and after each hit. */
export const maxContext = 20
const maxLineBytes = 300

/** The hits with the lines around them, as `output` shows them. */
export function withContext(context: AppContext, hits: readonly Found[], lines: number): SearchHit[] {
  // Hits that stand together are read together.
  const known = new Map<string, ReadonlyMap<number, string>>()
  return hits.map((hit) => {
    const { line, from, record } = hit
    if (line === null || !from) return toHit(hit)
    const stream = hit.stream as StreamName
    const read = (beside: number): ReadonlyMap<number, string> => {
      const key = `${record.id} ${stream} ${from.offset} ${beside}`
      const before = known.get(key)
      if (before) return before
      const folder = context.records.folder(record.id)
      const masker = context.masking.forRun(folder)
      const numbered = new Map<number, string>()
      for (const { firstLine, text } of blocksAround(textOf(folder, record, stream).pieces, from, beside, line + lines))
        for (const [i, raw] of masker.mask(text).split('\n').entries()) numbered.set(firstLine + i, raw)
      known.set(key, numbered)
      return numbered
    }
    const near = read(0)
    const around = near.has(Math.max(1, line - lines)) && near.has(line + lines) ? near : read(1)
    const shown = (first: number, last: number): string[] => {
      const texts: string[] = []
      for (let at = first; at <= last; at += 1) {
        const raw = around.get(at)
        if (raw !== undefined) texts.push(clampLine(cleanLine(raw), maxLineBytes))
      }
      return texts
    }
    return { ...toHit(hit), before: shown(line - lines, line - 1), after: shown(line + 1, line + lines) }
  })
}

/** The block that begins at a place of the stream, and so many beside it. */
function blocksAround(pieces: readonly LogPiece[], from: NonNullable<Found['from']>, beside: number, last: number): LineBlock[] {
  const piece = pieces.findLast(({ offset }) => offset <= from.offset)
  const marked = piece && readMarked(pieces, [{ offset: piece.position + from.offset - piece.offset, line: from.line }], beside)
  const anchor = marked?.find(({ offset }) => offset === from.offset)
  // Marks count lines by the file, which differ behind a gap.
  if (marked && anchor) return marked.map((block) => ({ ...block, firstLine: block.firstLine + from.line - anchor.firstLine }))
  const blocks: LineBlock[] = []
  for (const block of readBlocks(pieces)) {
    if (block.firstLine > last) break
    blocks.push(block)
    while (blocks.length > 3 && (blocks[1] as LineBlock).end <= from.offset) blocks.shift()
  }
  return blocks
}
