/** Does the work for every item, for at most `count` at a time, and resolves to the results in the order of the items. */
export async function atOnce<T, R>(count: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length)
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, worker))
  return results
}

/** What the work resolves to, or undefined when that takes longer. The work itself goes on. */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    // Whoever waits no longer hears of its failure.
    work.catch(() => {})
  }
}
