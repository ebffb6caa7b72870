import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { factsOf } from '../context/session-facts.ts'
import { readTranscript } from './hooks-transcript.ts'

const plain = (text: string): string => text
const asked = (text: string): string => `${JSON.stringify({ type: 'user', message: { role: 'user', content: text } })}\n`
const called = (i: number, filler: string): string => {
  const call = { type: 'assistant', message: { content: [{ type: 'tool_use', id: `t${i}`, name: 'Edit', input: { file_path: `/srv/app/${i}.ts` } }] } }
  const result = { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: filler }] } }
  return `${JSON.stringify(call)}\n${JSON.stringify(result)}\n`
}
const always = (): boolean => true
const never = (): boolean => false

describe('a transcript', () => {
  it('of 50 MB tells its task and what happened last, and of its middle nothing', async () => {
    await using world = openWorld()
    const path = world.path('long.jsonl')
    const file = openSync(path, 'w')
    writeSync(file, asked('mend the door'))
    writeSync(file, asked('in the middle'))
    // Characters of three bytes, so that parts of the file begin inside of one.
    const block = called(1, '長い出力'.repeat(20_000))
    for (let bytes = 0; bytes < 50 * 1024 ** 2; bytes += Buffer.byteLength(block)) writeSync(file, block)
    writeSync(file, called(2, 'ok'))
    writeSync(file, asked('at last'))
    closeSync(file)
    const facts = factsOf(readTranscript(path, plain, always))
    expect(facts).toMatchObject({ task: 'mend the door', requests: ['at last'] })
    expect(facts.files.map((file) => file.path).sort()).toEqual(['/srv/app/1.ts', '/srv/app/2.ts'])
    expect(JSON.stringify(facts)).not.toContain('\ufffd')
    // Without time, the last lines and the task are read all the same.
    expect(factsOf(readTranscript(path, plain, never))).toMatchObject({ task: 'mend the door', requests: ['at last'] })
  })

  it.each([
    ['a half line at its end', `${asked('mend the door')}${asked('and the roof').slice(0, 40)}`],
    ['a character cut at its end', `${asked('mend the door')}{"type":"user","message":{"content":"長`],
    ['broken lines', `{broken\n${asked('mend the door')}\n\n[1,2\nnull\n7\n"text"\n{}\n`],
    [
      'entries that nobody knows',
      `{"type":"future","message":{"content":[{"type":"hologram"}]}}\n${asked('mend the door')}{"type":"user","message":{"content":[[[]]]}}\n`,
    ],
    ['line feeds of Windows', asked('mend the door').replace('\n', '\r\n')],
    ['no line feed at its end', asked('mend the door').trimEnd()],
    ['a mark of byte order', `\ufeff\n${asked('mend the door')}`],
    ['zero bytes', `${asked('mend the door')}${'\0'.repeat(5_000)}`],
  ])('with %s tells the rest', async (_what, text) => {
    await using world = openWorld()
    const bytes = Buffer.from(text)
    writeFileSync(world.path('t.jsonl'), text.endsWith('長') ? bytes.subarray(0, -1) : bytes)
    expect(factsOf(readTranscript(world.path('t.jsonl'), plain, always)).task).toBe('mend the door')
  })

  it('that is one document is read too', async () => {
    await using world = openWorld()
    const messages = [
      { id: '1', type: 'user', content: 'mend the door' },
      {
        id: '2',
        type: 'gemini',
        content: 'I decided to oil it.',
        toolCalls: [{ id: 'k', name: 'write_file', args: { file_path: 'door.ts' }, status: 'success', result: [] }],
      },
    ]
    for (const spaces of [0, 2]) {
      writeFileSync(world.path('session.json'), JSON.stringify({ sessionId: 's', messages }, null, spaces))
      expect(factsOf(readTranscript(world.path('session.json'), plain, always))).toMatchObject({
        task: 'mend the door',
        decisions: ['I decided to oil it.'],
        files: [{ path: 'door.ts' }],
      })
    }
  })

  it('that is none tells nothing', async () => {
    await using world = openWorld()
    writeFileSync(world.path('empty'), '')
    for (const path of [world.path('none'), world.folder, world.path('empty'), '/dev/null', '']) expect(readTranscript(path, plain, always)).toEqual([])
  })
})
