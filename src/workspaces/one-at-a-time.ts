const last = new Map<string, Promise<unknown>>()

/** Within this process, work on the same thing goes on in the order in which it was asked for. Other processes are kept out by locks. */
export async function oneAtATime<T>(thing: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(thing)
  const mine = (async () => {
    await before?.catch(() => {})
    return work()
  })()
  last.set(thing, mine)
  try {
    return await mine
  } finally {
    if (last.get(thing) === mine) last.delete(thing)
  }
}
