import { performance } from 'node:perf_hooks'
import { streamNames } from '../core/command.ts'
import { everyTrait, logTraits, traitsOf } from '../core/log-traits.ts'
import { tokensOf } from '../core/query.ts'
import { logTotals, type RunRecord } from '../core/run.ts'
import { stripControls } from '../core/text.ts'
import { type LogStream, shownLine } from '../digest/log.ts'
import { survey } from '../digest/survey.ts'
import { type LogPiece, readBlocks, sectionsOf } from '../engine/log-reader.ts'
import type { Masker } from '../engine/redact.ts'
import type { AppContext } from './context.ts'
import { logStreams } from './log-streams.ts'
import { prepareText, textOf } from './screen-text.ts'

/**
 * How much of each stream goes to the index: of a longer one its beginning and end, the rest is scanned when somebody searches.
 * The words of a real log take a fiftieth of its bytes, but some 60 ms of this process for each megabyte.
 */
const indexBytes = { whole: 256 * 1024, ofLonger: 64 * 1024 }

/** What indexing may keep this process from anything else for, about. */
const indexTurnMs = 10

/** Of a longer stream also the lines that look like trouble, wherever they stand, the worst first; of each so much. */
const troubleBytes = { all: 32 * 1024, line: 400 }

/**
 * Up to so many bytes of a stream are looked through for what they have besides printable ASCII, which takes two milliseconds for each
 * megabyte, and for secrets, which takes six more. Whether longer ones are plain a search finds out itself.
 */
const traitBytes = { any: 256 * 1024 ** 2, secrets: 16 * 1024 ** 2 }

/** Makes the output of ended runs findable. Those of one turn go to the store together. */
export async function indexRuns(context: AppContext, records: readonly RunRecord[]): Promise<void> {
  for (let at = 0; at < records.length; ) {
    const until = performance.now() + indexTurnMs
    const writes: Promise<void>[] = []
    do writes.push(indexRun(context, records[at++] as RunRecord))
    while (at < records.length && performance.now() < until)
    await Promise.all(writes)
    if (at < records.length) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Its purpose, its command, and both streams, of long ones their beginning and end and the lines that matter. */
async function indexRun(context: AppContext, record: RunRecord): Promise<void> {
  const folder = context.records.folder(record.id)
  const masker = context.masking.forRun(folder)
  const texts = [record.command, record.purpose ?? '']
  let whole = true
  let traits: number | undefined = 0
  await prepareText(folder, record)
  for (const stream of streamNames) {
    const totals = record[stream]
    if (totals.bytes === 0) continue
    if (totals.bytes > indexBytes.whole) whole = false
    const known = record.pty ? undefined : logTotals(record, stream)
    const { pieces } = textOf(folder, record, stream)
    const sections = sectionsOf(pieces, indexBytes, known)
    for (const { text } of sections) {
      const masked = masker.mask(text)
      texts.push(stripControls(masked))
      if (traits !== undefined) traits |= traitsIn(text, masked)
    }
    if (traits !== undefined && totals.bytes > indexBytes.whole) traits = await traitsOfLog(pieces, masker, traits)
  }
  // More may come of what was left behind.
  if (record.leftovers.length > 0) traits = undefined
  if (!whole) for (const stream of logStreams(folder, record, { masker })) if (stream.bytes > indexBytes.whole) texts.push(...troubleIn(stream))
  await context.records.index(record.id, tokensOf(texts.join('\n')), whole, traits)
}

const traitsIn = (text: string, masked: string): number => traitsOf(text) | (masked === text ? 0 : logTraits.secrets)

/** What a long log has besides printable ASCII, with what is known already; undefined where it is too long for that. */
async function traitsOfLog(pieces: readonly LogPiece[], masker: Masker, known: number): Promise<number | undefined> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (bytes > traitBytes.any) return undefined
  let traits = known
  let until = performance.now() + indexTurnMs
  for (const { text } of readBlocks(pieces)) {
    traits |= traitsIn(text, bytes > traitBytes.secrets || traits & logTraits.secrets ? text : masker.mask(text))
    if (traits === everyTrait) break
    if (performance.now() < until) continue
    await new Promise((resolve) => setImmediate(resolve))
    until = performance.now() + indexTurnMs
  }
  return traits
}

function troubleIn(stream: LogStream): string[] {
  const texts: string[] = []
  let left = troubleBytes.all
  for (const { members } of [...survey(stream).findings].sort((a, b) => b.weight - a.weight)) {
    for (const member of members) {
      const text = shownLine(member, troubleBytes.line)
      left -= text.length
      if (left < 0) return texts
      texts.push(text)
    }
  }
  return texts
}

/** Indexes what a Holdfast that ended early has left, newest first. */
export async function indexPending(context: AppContext, limit: number): Promise<void> {
  const ids = await context.records.listUnindexed(limit)
  const records = await Promise.all(ids.map((id) => context.records.require(id).catch(() => undefined)))
  await indexRuns(
    context,
    records.flatMap((record) => (record && record.state !== 'running' ? [record] : [])),
  )
}
