import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import { openRepository } from '../git/open.ts'
import { findLeakedFetchRefs, sweepFetchRefs } from '../git/resolve-base.ts'
import type { WorkspaceContext } from './context.ts'
import { trashFolder } from './layout.ts'
import { collectBases } from './overlay.ts'
import { freeOrphanPorts, orphanReservations } from './ports.ts'
import { dropRescue, listRescues } from './rescues.ts'
import { emptyTrash } from './trash.ts'

/** Things of one kind that were left over and are taken away. */
export interface Tidied {
  readonly what: 'trash' | 'ports' | 'frozen checkouts' | 'fetched commits' | 'rescues'
  /** One sentence without a full stop. */
  readonly detail: string
}

const dayMs = 86_400_000
/** What of the trash is not deleted by then is left for the next time. */
const trashMs = 60_000
/** A frozen checkout is made anew in the time of an ordinary one. */
const frozenUnusedMs = 7 * dayMs

/**
 * Takes away what nobody needs any more: below the root, and in these repositories. What cannot be taken away is told and stays. A dry run
 * tells the same and changes nothing.
 */
export async function tidy(context: WorkspaceContext, commonDirs: readonly string[], { dryRun }: { readonly dryRun: boolean }): Promise<readonly Tidied[]> {
  const steps: readonly [Tidied['what'], () => Promise<readonly string[]>][] = [
    ['trash', async () => (dryRun ? oldTrash(context) : (await emptyTrash(context, { olderThanMs: dayMs, budgetMs: trashMs })).removed)],
    ['ports', async () => (dryRun ? orphanReservations(context).map(({ port }) => port) : await freeOrphanPorts(context)).map(String)],
    ['frozen checkouts', () => collectBases(context, { unusedForMs: frozenUnusedMs, dryRun })],
    ...commonDirs.flatMap((commonDir): [Tidied['what'], () => Promise<readonly string[]>][] => [
      ['fetched commits', () => fetched(context, commonDir, dryRun)],
      ['rescues', () => rescues(context, commonDir, dryRun)],
    ]),
  ]
  const tidied: Tidied[] = []
  for (const [what, step] of steps) {
    try {
      const taken = await step()
      if (taken.length > 0) tidied.push({ what, detail: taken.join(', ') })
    } catch (error) {
      tidied.push({ what, detail: `could not be looked through: ${messageOf(error)}` })
    }
  }
  return tidied
}

function oldTrash({ root }: WorkspaceContext): string[] {
  try {
    const entries = readdirSync(trashFolder(root)).map((name) => join(trashFolder(root), name))
    return entries.filter((path) => Date.now() - lstatSync(path).ctimeMs >= dayMs)
  } catch {
    return []
  }
}

async function fetched(context: WorkspaceContext, commonDir: string, dryRun: boolean): Promise<readonly string[]> {
  const repository = await openRepository(context, commonDir)
  const leaked = await findLeakedFetchRefs(repository, context.now())
  if (!dryRun && leaked.length > 0) await sweepFetchRefs(repository, context.now())
  return leaked
}

/** Those that are old enough; what the branch of one does not hold is kept all the same, however old it is. */
async function rescues(context: WorkspaceContext, commonDir: string, dryRun: boolean): Promise<readonly string[]> {
  const { rescueMs } = context.settings.limits
  if (dryRun) {
    const old = (await listRescues(context, { repo: commonDir })).filter(({ savedAt }) => context.now().getTime() - Date.parse(savedAt) >= rescueMs)
    return old.map(({ id }) => `${id} (where its branch holds the same)`)
  }
  return (await dropRescue(context, { repo: commonDir, olderThanMs: rescueMs })).dropped
}
