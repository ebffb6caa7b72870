import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { errnoOf } from '../../core/errors.ts'
import { isInside } from '../../core/paths.ts'

const answerWithinMs = 2_000

/**
 * The folder to work in. Some hosts start their servers in the person's home, or in `/`, and tell the folders that are open only when they
 * are asked: where `cwd` is inside none of these, the first one that is there is meant. A host that does not answer in time is not waited for.
 */
export async function chooseRoot(server: Server, cwd: string, onNote: (line: string) => void): Promise<string> {
  if (server.getClientCapabilities()?.roots === undefined) return cwd
  try {
    const { roots } = await server.listRoots(undefined, { timeout: answerWithinMs })
    return pickRoot(
      roots.map(({ uri }) => uri),
      cwd,
    )
  } catch (error) {
    onNote(`the client did not tell its roots (${(error as Error).message.split('\n', 1)[0]}); working in ${cwd}`)
    return cwd
  }
}

/** See `chooseRoot`; what is no folder of this machine is passed over. */
export function pickRoot(uris: readonly string[], cwd: string): string {
  const folders = uris.flatMap((uri) => pathOf(uri)).filter(isFolder)
  return folders.some((folder) => isInside(folder, cwd)) ? cwd : (folders[0] ?? cwd)
}

function pathOf(uri: string): string[] {
  try {
    return [fileURLToPath(uri)]
  } catch {
    return []
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    // A folder that may not be looked at is there all the same; opening it says what is wrong.
    return errnoOf(error) === 'EACCES'
  }
}
