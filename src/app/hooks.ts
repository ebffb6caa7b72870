import type { Activity } from '../core/activity.ts'
import { putsBackLater, takesContext } from '../hosts/hooks/answers.ts'
import type { HookEvent } from '../hosts/hooks/event.ts'
import type { AppBasis, AppContext, AppEquipment } from './context.ts'
import { makeHome } from './home.ts'
import { isKept, markPending, recordActivities, type SessionFolder, sessionFolder, takePending, takeTurn } from './session-facts.ts'

/** How much time is left for an answer. */
export type TimeLeft = () => number

/** Does what the moment asks for; resolves to the text that the agent is to see, or to undefined. What is not needed is not loaded. */
export async function answerHook(basis: AppBasis, equip: () => Promise<AppEquipment>, event: HookEvent, timeLeft: TimeLeft): Promise<string | undefined> {
  if (basis.settings.disabledBy !== null) return undefined
  const folder = sessionFolder(basis.home.path, event.host, event.session ?? 'unnamed')
  await record(basis, equip, event, folder)
  // Subagents hand their results to who started them; what is put back is not for them.
  if (event.fromSubagent) return undefined
  const pages = async () => ({ ...(await import('./hooks-pages.ts')), context: { ...basis, ...(await equip()) } satisfies AppContext })
  const putBack = async (): Promise<string | undefined> => {
    const { pageNow, context } = await pages()
    return pageNow(context, event, folder, timeLeft)
  }
  switch (event.moment) {
    case 'session-start': {
      const { pageAtStart, context } = await pages()
      return pageAtStart(context, event, folder, timeLeft)
    }
    case 'prompt':
    case 'after-tool':
    case 'after-failed-tool':
      if (!takesContext(event.host, event.moment)) return undefined
      if (takePending(folder)) return putBack()
      return basis.settings.leadToExec ? suggestion(event, folder, basis.now()) : undefined
    case 'before-compaction': {
      const { storePage, context } = await pages()
      const page = await storePage(context, event, folder, timeLeft)
      if (page !== undefined && putsBackLater(event.host)) markPending(folder)
      return page
    }
    case 'after-compaction':
      // Where the host takes nothing then, it waits for a moment at which it does.
      return takesContext(event.host, event.moment) && takePending(folder) ? putBack() : undefined
    case 'session-end': {
      const { storePage, context } = await pages()
      await storePage(context, event, folder, timeLeft)
      return undefined
    }
  }
}

/** Of a subagent only what it edited: its requests and its errors are not those of the session. */
async function record(basis: AppBasis, equip: () => Promise<AppEquipment>, event: HookEvent, folder: SessionFolder): Promise<void> {
  const isWanted = (activity: Activity): boolean => isKept(activity) && (!event.fromSubagent || (activity.kind === 'tool' && activity.tool.action === 'edit'))
  if (!event.activities((text) => text).some(isWanted)) return
  makeHome(basis.home, basis.homePlace)
  const { mask } = (await equip()).masking.general
  recordActivities(folder, event.activities(mask).filter(isWanted), mask)
}

const largeOutputBytes = 8 * 1024
const suggestEveryMs = 15 * 60_000

/** Says where a large output would have taken less room. Never before the call, which it could not change any more. */
function suggestion({ shellOutputBytes }: HookEvent, folder: SessionFolder, now: Date): string | undefined {
  if (shellOutputBytes === null || shellOutputBytes < largeOutputBytes || !takeTurn(folder, suggestEveryMs, now)) return undefined
  return `That output took about ${Math.round(shellOutputBytes / 1024)} KiB of the context. Holdfast's exec runs such a command with a digest of 2 KiB as its answer and keeps all of the output for search and output.`
}
