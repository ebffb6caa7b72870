import type { ShownWorkspace } from '../core/workspace-provider.ts'
import type { WorkspaceContext } from './context.ts'
import { readEvents } from './events.ts'
import { findWorkspace } from './find.ts'
import { summaryOf } from './list.ts'
import { listRescues } from './rescues.ts'

/** Everything about one workspace. Changes nothing, takes no lock. */
export async function showWorkspace(context: WorkspaceContext, reference: string, repo?: string | undefined): Promise<ShownWorkspace> {
  const found = await findWorkspace(context, reference, repo)
  const { commonDir, key, record } = found
  const summary = await summaryOf(context, found, { status: true, bytes: true })
  const rescues = await listRescues(context, { repo: commonDir })
  return { ...summary, options: record.options, rescues: rescues.filter(({ workspace }) => workspace === record.id), events: readEvents(commonDir, key) }
}
