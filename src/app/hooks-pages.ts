import { combineFacts, factsOf, noFacts, saysSomething } from '../context/session-facts.ts'
import { formatAge } from '../context/snapshot.ts'
import { clampLine, oneLine } from '../core/text.ts'
import type { HookEvent } from '../hosts/hooks/event.ts'
import { hostTitles } from '../hosts/host.ts'
import type { AppContext } from './context.ts'
import { makeFolder, makeHome } from './home.ts'
import type { TimeLeft } from './hooks.ts'
import { readTranscript } from './hooks-transcript.ts'
import { collectSessions, readRecorded, type SessionFolder } from './session-facts.ts'
import { latestSession, pageOf, readSession, type StoredSession, storeSession } from './snapshots-session.ts'

/** The pages that hooks write and put back; loaded when one is wanted, which is seldom. */

/** So much is left for what comes after: of the transcript for the history, of the history for writing. */
const afterTranscriptMs = 90
const afterHistoryMs = 30

/** A session that goes on after a compaction, or is taken up again, gets its page; a new one is told that there is one. */
export async function pageAtStart(context: AppContext, event: HookEvent, folder: SessionFolder, timeLeft: TimeLeft): Promise<string | undefined> {
  if (event.source === 'compact' || event.source === 'resume') return pageNow(context, event, folder, timeLeft)
  if (event.source === 'clear' || event.source === 'reload') return undefined
  const pointer = pointerTo(context, folder)
  collectSessions(context.home.path, context.now())
  return pointer
}

/** Older ones are not what somebody who begins anew would go on with. */
const pointedAtMs = 7 * 24 * 60 * 60_000

function pointerTo(context: AppContext, but: SessionFolder): string | undefined {
  const last = latestSession(context, but)
  if (!last || !saysSomething(last.facts)) return undefined
  const ageMs = Math.max(0, context.now().getTime() - Date.parse(last.at))
  if (ageMs > pointedAtMs) return undefined
  const task = last.facts.requests[0] ?? last.facts.task
  const about = task === null ? '' : ` It was last asked: “${clampLine(oneLine(task), 160)}”.`
  return `An earlier session in this project (${hostTitles[last.host]}, ${formatAge(ageMs)} ago) is kept by Holdfast.${about} If this goes on with it, its page is printed by: holdfast resume (or the tool resume).`
}

/** Whether a page tells more than where it was made: also of a session of which nothing is known there are notes and runs. */
const tellsSomething = (page: string): boolean => /^## /m.test(page)

/** Replaces the snapshot of the session; resolves to its page, or to undefined where there is nothing to tell. */
export async function storePage(context: AppContext, event: HookEvent, folder: SessionFolder, timeLeft: TimeLeft): Promise<string | undefined> {
  const session = gather(context, event, folder, timeLeft)
  // A session in which nothing happened leaves nothing behind.
  if (event.moment === 'session-end' && !saysSomething(session.facts)) return undefined
  const page = await pageOf(context, session, folder, null, timeLeft() - afterHistoryMs)
  if (!tellsSomething(page)) return undefined
  makeHome(context.home, context.homePlace)
  makeFolder(folder.path)
  storeSession(folder, session, page)
  return page
}

/** The page as it is now: compactions may come unannounced, or long after they were announced. */
export async function pageNow(context: AppContext, event: HookEvent, folder: SessionFolder, timeLeft: TimeLeft): Promise<string | undefined> {
  const session = gather(context, event, folder, timeLeft)
  const page = await pageOf(context, session, folder, null, timeLeft() - afterHistoryMs)
  return tellsSomething(page) ? page : undefined
}

/** What is known of the session: what was recorded and stored, and what its transcript, or what came along, tells now. */
function gather(context: AppContext, event: HookEvent, folder: SessionFolder, timeLeft: TimeLeft): StoredSession {
  const { mask } = context.masking.general
  const sent = event.conversation(mask)
  const told = sent.length > 0 || event.transcript === null ? sent : readTranscript(event.transcript, mask, () => timeLeft() > afterTranscriptMs)
  const at = context.now().toISOString()
  const id = event.session ?? 'unnamed'
  if (told.length === 0) return { ...(readSession(folder) ?? { host: event.host, id, facts: noFacts }), at }
  return { host: event.host, id, at, facts: combineFacts(factsOf(readRecorded(folder), mask), factsOf(told, mask)) }
}
