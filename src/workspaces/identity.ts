import { join } from 'node:path'
import type { WorkspaceRecord } from '../core/workspace.ts'
import { readPlainText, replacePlain } from '../git/plain-file.ts'

/** How a tree is known as the one of a workspace: by the reason of git's lock on it, and by a file that dies with its registration. */

export type TreeOwner = Pick<WorkspaceRecord, 'id' | 'nonce'>

/** What stands in git's lock on the tree. It is there from the first moment of the registration. */
export const lockReasonOf = ({ id, nonce }: TreeOwner): string => `holdfast:${id}:${nonce}`

/** undefined for a lock of somebody else, and for none. */
export function ownerOf(lockReason: string | null): TreeOwner | undefined {
  const [, id, nonce] = /^holdfast:([0-9a-f]{10}):([A-Za-z0-9-]+)$/.exec(lockReason ?? '') ?? []
  return id !== undefined && nonce !== undefined ? { id, nonce } : undefined
}

/** What the administrative folder of a tree says of the workspace that it belongs to. */
export interface AdminCopy extends TreeOwner {
  readonly key: string
  readonly commonDir: string
}

const maxCopyBytes = 64 * 1024

const fileOf = (adminDir: string): string => join(adminDir, 'holdfast.json')

export function writeAdminCopy(adminDir: string, { id, nonce, key, commonDir }: AdminCopy): void {
  const path = fileOf(adminDir)
  replacePlain(path, `${JSON.stringify({ id, key, nonce, commonDir })}\n`, { temporary: `${path}.${process.pid}.new` })
}

/** undefined where there is none that can be understood. */
export function readAdminCopy(adminDir: string): AdminCopy | undefined {
  try {
    const { id, key, nonce, commonDir } = JSON.parse(readPlainText(fileOf(adminDir), maxCopyBytes)) as Partial<AdminCopy>
    return id && key && nonce && commonDir ? { id, key, nonce, commonDir } : undefined
  } catch {
    return undefined
  }
}
