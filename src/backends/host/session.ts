import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import type { Running, Session } from '../../core/backend.ts'
import type { ResolvedCommand } from '../../core/command.ts'
import { checkTexts } from '../../core/command-texts.ts'
import { failure } from '../../core/errors.ts'
import { mergeChunks } from '../../core/merge-chunks.ts'
import type { ExitStatus } from '../../core/outcome.ts'
import { launch } from '../../process/launch.ts'
import { findTree, signalTree, type TreeKey, toLeftovers } from '../../process/tree.ts'
import { startFailure } from './start-failure.ts'

/** Commands on this machine, as the user that Holdfast runs as. `pipes: false` gives them sockets for their streams. */
export function openHostSession(root: string, { pipes = true }: { readonly pipes?: boolean } = {}): Session {
  let closed = false
  return {
    logs: 'streamed',
    handle: root,
    async start(command) {
      if (closed) throw failure('closed', {})
      if (command.pty) throw failure('supervisor_needed', { what: 'a pseudo-terminal', why: 'there is none here' })
      return startOnHost(command, pipes)
    },
    async close() {
      closed = true
    },
  }
}

async function startOnHost(command: ResolvedCommand, pipes: boolean): Promise<Running> {
  checkTexts(command, process.platform)
  const launched = await launch({ ...command, pipes }).catch((error: unknown) => {
    throw startFailure(error, command)
  })
  const key: TreeKey = { leader: launched.identity, mark: command.mark, seen: new Map() }
  const others = async () => (await findTree(key)).filter(({ pid }) => pid !== launched.identity.pid)
  const { output, release } = mergeChunks(launched)
  return {
    id: String(launched.identity.pid),
    process: launched.identity,
    output,
    ended: launched.exit.then(toStatus),
    ...openInput(launched.stdin),
    signal: async (name) => ({ delivered: await signalTree(key, name, launched.unreaped()) }),
    tree: async () => toLeftovers(await others()),
    busy: async () => (await others()).some(({ busy }) => busy),
    release() {
      release()
      // Something that was left behind may hold the other end without reading: what it did not take is not waited for.
      launched.stdin?.destroy()
    },
  }
}

function toStatus({ code, signal }: { code: number | null; signal: NodeJS.Signals | null }): ExitStatus {
  return signal ? { signal, number: constants.signals[signal] } : { exitCode: code ?? 0 }
}

/** Writes with back-pressure. The program may end without reading: that is its business, not an error of the run. */
function openInput(stdin: Writable | undefined): Pick<Running, 'write' | 'endInput'> {
  if (!stdin) return { write: async () => {}, endInput: async () => {} }
  stdin.on('error', () => {})
  const gone = new Promise<void>((resolve) => {
    stdin.once('close', () => resolve())
  })
  return {
    write: (bytes) => Promise.race([gone, new Promise<void>((resolve) => void stdin.write(bytes, () => resolve()))]),
    endInput: async () => {
      stdin.end()
    },
  }
}
