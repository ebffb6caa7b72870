import { readSnapshot, writeSnapshot } from '../context/snapshot-file.ts'
import { failure, toHoldfastError } from '../core/errors.ts'
import type { SnapshotResult } from './api.ts'
import type { AppContext } from './context.ts'
import { tryHome } from './home.ts'
import { countNotesOn } from './notes.ts'
import { composePage, maxSnapshotBytes } from './snapshots-page.ts'
import { type FoundSession, latestSession, type OwnSource, ownSourcePath, pageOf, readOwn, requireSession } from './snapshots-session.ts'

/** Makes the page and stores it. Without a context, the one of the last snapshot stays; an empty one clears it. */
export async function takeSnapshot(context: AppContext, input: { context?: string | undefined; limit?: number | undefined }): Promise<SnapshotResult> {
  const asked = input.limit ?? maxSnapshotBytes
  if (!Number.isInteger(asked) || asked < 0) throw failure('invalid', { field: 'limit', value: asked, accepted: 'a whole number of bytes from 0' })
  const warnings = asked > maxSnapshotBytes ? [`limit ${asked} is above ${maxSnapshotBytes} bytes and was set to it`] : []
  const active = input.context === undefined ? (readOwn(context)?.context ?? null) : input.context === '' ? null : context.masking.general.mask(input.context)
  const source: OwnSource = { at: context.now().toISOString(), context: active, limit: Math.min(asked, maxSnapshotBytes) }
  const text = await composePage(context, source)
  tryHome(context.home, context.homePlace)
  let path: string | null = context.home.snapshot
  try {
    writeSnapshot(ownSourcePath(context), `${JSON.stringify(source)}\n`)
    writeSnapshot(path, text)
  } catch (error) {
    warnings.push(`the snapshot could not be stored: ${toHoldfastError(error).message}`)
    path = null
  }
  return told(context, { text, bytes: Buffer.byteLength(text), path, warnings })
}

/** What stands on the page counts as used. */
async function told(context: AppContext, page: SnapshotResult): Promise<SnapshotResult> {
  await countNotesOn(context, page.text).catch(() => {})
  return page
}

/**
 * Where the last session of an agent stood, or the one that is named, with what is known of runs and notes now. Where no agent has
 * told of a session since `holdfast snapshot`, its page as long as it is still true, or the same context with what is known now.
 */
export async function resumeFrom(context: AppContext, input: { session?: string | undefined } = {}): Promise<SnapshotResult> {
  const own = readOwn(context)
  const session = input.session === undefined ? latestSession(context) : requireSession(context, input.session)
  if (session && (input.session !== undefined || !own || Date.parse(session.at) >= Date.parse(own.at))) return resumeSession(context, session)
  const stored = readSnapshot(context.home.snapshot)
  if (stored !== undefined && (!own || (await composePage(context, own)) === stored)) {
    return told(context, { text: stored, bytes: Buffer.byteLength(stored), path: context.home.snapshot, warnings: [] })
  }
  const text = await composePage(context, { context: null, limit: maxSnapshotBytes, ...own, at: context.now().toISOString() })
  return told(context, { text, bytes: Buffer.byteLength(text), path: null, warnings: [] })
}

async function resumeSession(context: AppContext, session: FoundSession): Promise<SnapshotResult> {
  const { host, id, at, folder } = session
  const ageMs = Math.max(0, context.now().getTime() - Date.parse(at))
  const text = await pageOf(context, session, folder, ageMs)
  return told(context, { text, bytes: Buffer.byteLength(text), path: folder.snapshot, warnings: [], session: { host, id, at, ageMs } })
}
