import { expect, it } from 'vitest'
import { digestLog } from './digest.ts'
import { textSection } from './log.ts'

/** What programs say all day with words of trouble in it, and that nothing is wrong with. */
const routine = [
  (i: number) => `INFO  error budget at ${i % 97}% for service-${i % 40}`,
  (i: number) => `INFO  GET /errors/${i} 200 ${i % 300}ms`,
  (i: number) => `WARN  attempt ${i % 3} of fetching the queue failed-jobs, will try again`,
  (i: number) => `INFO  ErrorHandlerTest.failsGracefully passed in ${i % 90} ms`,
  (i: number) => `DEBUG compiled src/errors/exception_${i % 500}.ts`,
  (i: number) => `INFO  0 failed, ${i} passed`,
  (i: number) => `ERROR (ignored) optional cache node-${i % 9} not reachable, going on`,
]
const reason = 'ERROR migration 0042_add_index aborted: column "tenant_id" does not exist'

function logOf(bytes: number): string {
  const parts: string[] = []
  let size = 0
  let isTold = false
  for (let i = 0; size < bytes; i += 1) {
    const at = new Date(1_790_000_000_000 + i * 7).toISOString()
    if (!isTold && size >= bytes / 2) {
      parts.push(`${at} ${reason}\n`)
      isTold = true
    }
    const line = `${at} ${routine[(i * 7 + (i >> 3)) % routine.length]?.(i)}\n`
    parts.push(line)
    size += line.length
  }
  return parts.join('')
}

it('the digest of a log of 40 MB, in which most lines have a word of trouble, holds the one line in its middle that tells why', { timeout: 60_000 }, () => {
  const text = logOf(40_000_000)
  const stream = { name: 'stdout', sections: [textSection(text)], bytes: text.length, lines: text.split('\n').length - 1, droppedBytes: 0 } as const
  for (const budget of [512, 1024, 2048]) {
    const digest = digestLog([stream], { budget, failed: true })
    expect(Buffer.byteLength(digest)).toBeLessThanOrEqual(budget)
    expect(digest).toContain(reason)
  }
})
