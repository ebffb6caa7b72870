/** The content that a caller gives failed; why is its cause. */
export class ContentFailed extends Error {}

/** The same pieces. What goes wrong with them is told apart from what goes wrong with the file. */
export async function* toldApart(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = content[Symbol.asyncIterator]()
  let isOver = false
  try {
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        isOver = true
        throw new ContentFailed('the content failed', { cause: error })
      })
      isOver = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    if (!isOver) await pieces.return?.()
  }
}
