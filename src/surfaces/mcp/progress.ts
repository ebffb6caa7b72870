import { formatDuration } from '../../core/limits.ts'
import { clampLine, oneLine, plural } from '../../core/text.ts'

const firstAfterMs = 1_000
/** Clients that give up after a silence of 5 seconds must hear twice in that time, also when this process is slow. */
const everyMs = 2_000
const longestLine = 200

export interface ProgressSources {
  /** What the command has printed so far, or undefined where that is not known. */
  bytes(): number | undefined
  /** The last line that was printed, as it may be shown. */
  lastLine(): Promise<string | undefined>
  /** `progress` is the time since the beginning in seconds; it only rises. */
  send(update: { progress: number; message: string }): void
}

/** Tells at least every 4 seconds how a call goes on; the function that it gives back ends that. */
export function reportProgress(sources: ProgressSources): () => void {
  const startedAt = performance.now()
  let stopped = false
  let reading = false
  let line: string | undefined

  const say = (): void => {
    if (stopped) return
    const elapsedMs = Math.round(performance.now() - startedAt)
    const bytes = sources.bytes()
    const parts = [formatDuration(elapsedMs), ...(bytes === undefined ? [] : [plural(bytes, 'byte')])]
    const last = line === undefined || line === '' ? '' : `: ${clampLine(oneLine(line), longestLine)}`
    sources.send({ progress: elapsedMs / 1_000, message: parts.join(', ') + last })
  }

  const tick = async (): Promise<void> => {
    timer = setTimeout(tick, everyMs)
    // A store that is slow to answer must not silence the progress.
    if (reading) return say()
    reading = true
    line = await sources.lastLine().catch(() => undefined)
    reading = false
    say()
  }
  let timer = setTimeout(tick, firstAfterMs)

  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
