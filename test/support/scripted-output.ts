import type { OutputChunk } from '../../src/core/backend.ts'

/** What a program prints and how it ends, as a test says it. */
export interface ScriptedOutput<End> {
  /** Iterated once; ends when it is closed, after what was printed before. */
  readonly output: AsyncIterable<OutputChunk>
  readonly ended: Promise<End>
  push(chunk: OutputChunk): void
  close(): void
  /** The iteration rejects, after what was printed before. */
  breakOff(error: Error): void
  end(how: End): void
  lose(error: Error): void
}

export function scriptedOutput<End>(): ScriptedOutput<End> {
  const waiting: OutputChunk[] = []
  let over = false
  let broken: Error | undefined
  let wake = (): void => {}
  let settle: { resolve(how: End): void; reject(error: Error): void } | undefined
  const ended = new Promise<End>((resolve, reject) => {
    settle = { resolve, reject }
  })
  ended.catch(() => {})

  async function* iterate(): AsyncGenerator<OutputChunk> {
    for (;;) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      if (broken) throw broken
      if (over) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    output: iterate(),
    ended,
    push(chunk) {
      waiting.push(chunk)
      wake()
    },
    close() {
      over = true
      wake()
    },
    breakOff(error) {
      broken = error
      wake()
    },
    end: (how) => settle?.resolve(how),
    lose: (error) => settle?.reject(error),
  }
}
