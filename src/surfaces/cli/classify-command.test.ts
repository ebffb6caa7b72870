import { describe, expect, it } from 'vitest'
import { play } from '../../../test/support/fake-cli.ts'

const lines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('holdfast classify', () => {
  it('prints one object for each line: a message, an answer, a body, plain text, an empty line', async () => {
    const stdin = [
      '"529 Overloaded"',
      '{"status":429,"headers":{"retry-after":"7"},"body":""}',
      '{"error":{"type":"overloaded_error"}}',
      '401 Unauthorized',
      '',
      '',
    ].join('\n')
    const { code, stdout, stderr } = await play(['classify'], { stdin })
    expect([code, stderr]).toEqual([0, ''])
    expect(lines(stdout)).toMatchObject([
      { class: 'server', status: 529 },
      { class: 'rate-limit', retryAfterMs: 7_000 },
      { class: 'server' },
      { class: 'permanent-auth' },
      { class: 'unknown' },
    ])
  })

  it('takes the time that it is told, and a last line without its end', async () => {
    const { stdout } = await play(['classify', '--json', '--now', '2026-11-30T12:00:00Z'], { stdin: '"resets 3pm (UTC)"' })
    expect(lines(stdout)).toMatchObject([{ retryAfterMs: 3 * 3_600_000 }])
  })

  it('opens no project, and leaves a line that comes in pieces whole', async () => {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      const bytes = Buffer.from('"429 zu viele Anfragen für heute"\n')
      for (const byte of bytes) yield Uint8Array.of(byte)
    }
    const { stdout, opened } = await play(['classify'], { stdin: pieces() })
    expect(lines(stdout)).toMatchObject([{ class: 'rate-limit', status: 429 }])
    expect(opened).toEqual([])
  })

  it('refuses a time that is none', async () => {
    expect(await play(['classify', '--now', 'soon'])).toMatchObject({ code: 125, stderr: expect.stringContaining('--now is "soon"; accepted: a time such as') })
  })
})
