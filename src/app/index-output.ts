import { performance } from 'node:perf_hooks'
import { streamNames } from '../core/command.ts'
import { tokensOf } from '../core/query.ts'
import { logTotals, type RunRecord } from '../core/run.ts'
import { stripControls } from '../core/text.ts'
import { sectionsOf } from '../engine/log-reader.ts'
import type { AppContext } from './context.ts'
import { prepareText, textOf } from './screen-text.ts'

/**
 * How much of each stream goes to the index: of a longer one its beginning and end, the rest is scanned when somebody searches.
 * The words of a real log take a fiftieth of its bytes, but some 60 ms of this process for each megabyte.
 */
const indexBytes = { whole: 256 * 1024, ofLonger: 64 * 1024 }

/** What indexing may keep this process from anything else for, about. */
const indexTurnMs = 10

/** A run that ended, and of its output what was shown of it: the lines that matter, also from the middle of a long log. */
export interface ToIndex {
  readonly record: RunRecord
  readonly digest?: string | undefined
}

/** Makes the output of ended runs findable. Those of one turn go to the store together. */
export async function indexRuns(context: AppContext, runs: readonly ToIndex[]): Promise<void> {
  for (let at = 0; at < runs.length; ) {
    const until = performance.now() + indexTurnMs
    const writes: Promise<void>[] = []
    do writes.push(indexRun(context, runs[at++] as ToIndex))
    while (at < runs.length && performance.now() < until)
    await Promise.all(writes)
    if (at < runs.length) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Its purpose, its command, and both streams, of long ones their beginning and end and what a digest chose. */
async function indexRun(context: AppContext, { record, digest }: ToIndex): Promise<void> {
  const folder = context.records.folder(record.id)
  const masker = context.masking.forRun(folder)
  const texts = [record.command, record.purpose ?? '']
  let whole = true
  await prepareText(folder, record)
  for (const stream of streamNames) {
    const totals = record[stream]
    if (totals.bytes === 0) continue
    if (totals.bytes > indexBytes.whole) whole = false
    const known = record.pty ? undefined : logTotals(record, stream)
    for (const { text } of sectionsOf(textOf(folder, record, stream).pieces, indexBytes, known)) texts.push(stripControls(masker.mask(text)))
  }
  if (!whole && digest !== undefined) texts.push(digest)
  await context.records.index(record.id, tokensOf(texts.join('\n')), whole)
}

/** Indexes what a Holdfast that ended early has left, newest first. */
export async function indexPending(context: AppContext, limit: number): Promise<void> {
  const ids = await context.records.listUnindexed(limit)
  const records = await Promise.all(ids.map((id) => context.records.require(id).catch(() => undefined)))
  await indexRuns(
    context,
    records.flatMap((record) => (record && record.state !== 'running' ? [{ record }] : [])),
  )
}
