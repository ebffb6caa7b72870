/** Who cancels may name another signal to begin with: the reason of the abort is then `{ signal }`. */
export function politeSignal(signal: AbortSignal | undefined): NodeJS.Signals | undefined {
  const reason = signal?.aborted ? (signal.reason as { signal?: NodeJS.Signals } | null | undefined) : undefined
  return typeof reason === 'object' ? reason?.signal : undefined
}
