import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { turn } from '../../test/support/clock.ts'
import { mergeChunks } from './merge-chunks.ts'

describe('merging two streams', () => {
  it('gives every byte of each with its offset, in order of arrival', async () => {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
    const { output } = mergeChunks(streams)
    for (const [name, text] of [
      ['stdout', 'one'],
      ['stderr', 'two'],
      ['stdout', 'three'],
    ] as const) {
      streams[name].write(text)
      await turn()
    }
    streams.stdout.end('four')
    streams.stderr.end()
    const got: [string, number, string][] = []
    for await (const { stream, offset, bytes } of output) got.push([stream, offset, Buffer.from(bytes).toString()])
    expect(got).toEqual([
      ['stdout', 0, 'one'],
      ['stderr', 0, 'two'],
      ['stdout', 3, 'three'],
      ['stdout', 8, 'four'],
    ])
  })

  it('holds the command back while nobody reads, and loses nothing by it', async () => {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
    const { output } = mergeChunks(streams)
    const chunk = Buffer.alloc(64 * 1024, 'x')
    let taken = 0
    for (let blocked = false; !blocked; taken += 1) {
      blocked = !streams.stdout.write(chunk)
      await turn()
      if (taken > 1_000) throw new Error('nothing holds it back')
    }
    expect(taken).toBeLessThan(40)
    streams.stdout.end()
    streams.stderr.end()
    let bytes = 0
    for await (const part of output) bytes += part.bytes.length
    expect(bytes).toBe(taken * chunk.length)
  })

  it('ends when both have ended, one of them by an error', async () => {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
    const { output } = mergeChunks(streams)
    streams.stdout.write('kept')
    await turn()
    streams.stdout.destroy(new Error('EIO'))
    streams.stderr.end('too')
    const got: string[] = []
    for await (const { bytes } of output) got.push(Buffer.from(bytes).toString())
    expect(got).toEqual(['kept', 'too'])
  })

  it('ends when it is released, whether it is read at that time or not', async () => {
    for (const reading of [true, false]) {
      const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
      const { output, release } = mergeChunks(streams)
      streams.stdout.write('so far')
      await turn()
      const read = async (): Promise<string> => {
        let text = ''
        for await (const { bytes } of output) text += Buffer.from(bytes).toString()
        return text
      }
      const early = reading ? read() : undefined
      await turn()
      release()
      release()
      await turn()
      expect(await (early ?? read())).toBe('so far')
    }
  })
})
