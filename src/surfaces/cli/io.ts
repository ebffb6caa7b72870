import type { Writable } from 'node:stream'
import type { App } from '../../app/api.ts'
import { errnoOf } from '../../core/errors.ts'
import { maxTerminalSide } from '../../core/limits.ts'

export type Surface = 'cli' | 'mcp' | 'library'
export type StopName = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** Everything that the command line touches outside itself, so that a test can stand in for all of it. */
export interface CliIo {
  readonly stdin: TerminalInput
  readonly stdout: Terminal
  readonly stderr: Terminal
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly platform: NodeJS.Platform
  openApp(options: { cwd: string; env: NodeJS.ProcessEnv; surface: Surface; ephemeral?: boolean | undefined }): Promise<App>
  /** Calls back for each signal that asks this process to end, until the returned function is called. */
  onSignal(listener: (name: StopName) => void): () => void
  /** Ends this process at once. */
  exit(code: number): void
  nowMs(): number
}

export type Terminal = Writable & { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined; readonly rows?: number | undefined }

export interface TerminalInput extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean | undefined
  /** Whether each key comes as it is typed, also those that are signals otherwise. */
  setRawMode?(isRaw: boolean): unknown
}

export interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** A stream that is written to until its reader leaves; a reader that leaves is no error. */
export interface Outlet {
  readonly isTerminal: boolean
  readonly columns: number
  /** Bytes that the reader has not taken yet. */
  readonly queuedBytes: number
  readonly gone: boolean
  /** What kept text from its reader other than that reader having left, such as a full disk. */
  readonly failure: string | undefined
  write(data: string | Uint8Array): void
  /** Resolves when what was written has been taken, or the reader has left. */
  drained(): Promise<void>
  onGone(listener: () => void): void
  /** Of the terminal; undefined where it is none, or does not know. */
  readonly size: TerminalSize | undefined
  /** Calls back when the size of the terminal changes, until the returned function is called. */
  onResize(listener: () => void): () => void
}

const within = (side: number): number => Math.min(Math.max(side, 2), maxTerminalSide)

// After `| head`, and after the terminal was closed: nobody is left to be told.
const leavings = new Set(['EPIPE', 'EIO', 'ECONNRESET', 'ERR_STREAM_DESTROYED'])

export function outletOf(stream: Terminal): Outlet {
  let gone = false
  const listeners: (() => void)[] = []
  const leave = (): void => {
    if (gone) return
    gone = true
    for (const listener of listeners) listener()
  }
  let failed: string | undefined
  stream.on('error', (error) => {
    const errno = errnoOf(error) ?? error.message
    if (!leavings.has(errno)) failed ??= errno
    leave()
  })
  stream.on('close', leave)
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      // A terminal that does not know its size says 0.
      return Math.max(20, stream.columns || 80)
    },
    get size() {
      const { isTTY, rows, columns } = stream
      return isTTY && rows && columns ? { rows: within(rows), columns: within(columns) } : undefined
    },
    onResize(listener) {
      stream.on('resize', listener)
      return () => stream.off('resize', listener)
    },
    get queuedBytes() {
      return stream.writableLength
    },
    get failure() {
      return failed
    },
    get gone() {
      return gone
    },
    write(data) {
      if (!gone && data.length > 0) stream.write(data)
    },
    drained() {
      if (gone) return Promise.resolve()
      return new Promise((resolve) => {
        stream.write('', () => resolve())
        listeners.push(resolve)
      })
    },
    onGone(listener) {
      if (gone) listener()
      else listeners.push(listener)
    },
  }
}

/** An outlet that counts the bytes that go through it. */
export function countingOutlet(outlet: Outlet): { readonly outlet: Outlet; bytes(): number } {
  let bytes = 0
  const write: Outlet['write'] = (data) => {
    bytes += Buffer.byteLength(data)
    outlet.write(data)
  }
  // What else it has it tells at the moment of asking.
  return { outlet: Object.create(outlet, { write: { value: write } }) as Outlet, bytes: () => bytes }
}
