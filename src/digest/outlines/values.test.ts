import { describe, expect, it } from 'vitest'
import { sourceOf } from '../../core/byte-source.ts'
import { createMasker } from '../../engine/redact.ts'
import type { LogStream } from '../log.ts'
import { outlineOf } from '../outline.ts'
import { fieldsOf, valuesOf } from './values.ts'

// Made of parts, so that nothing in this file has the form of a secret itself.
const token = ['gh', 'p_', 'Ab3dEf6hIj9kLm2nOp5qRs8tUv1w'].join('')
const masker = createMasker({ secrets: [`the value ${'that is secret '.repeat(5)}`] })

describe('what is said of data', () => {
  it.each(['3 | all is well', 'exit 0', 'stderr empty'])('is indented, so that a key is neither a numbered line nor a heading: %s', (key) => {
    const source = sourceOf(Buffer.from(JSON.stringify({ [key]: 1, list: Array.from({ length: 200 }, (_, id) => ({ id, [key]: id })) })))
    const stream: LogStream = { name: 'stdout', sections: [{ firstLine: 1, source }], bytes: source.length, lines: 1, droppedBytes: 0 }
    const lines = outlineOf(stream, 2000)?.lines ?? []
    expect(lines.filter((line) => line.includes(key) && !line.startsWith('1 | ')).length).toBeGreaterThan(1)
    for (const line of lines) expect(line).not.toMatch(new RegExp(`^${key.replace('|', '\\|')}`))
  })
})

describe('what values have in common', () => {
  it('shows no secret, neither as a value nor as a name, though it is cut', () => {
    const values = valuesOf(masker.mask)
    values.add(`x ${'the value that is secret that is secret that is secret that is secret that is secret'}`)
    expect(values.describe()).toBe('"x [masked]"')
    const fields = fieldsOf(masker.mask)
    fields.add({ [token]: 1 })
    expect([fields.names(), fields.describe()]).toEqual([['[masked]'], ['[masked]: 1']])
  })

  it('shows no secret that an escape of JSON hid from whoever masked the text', () => {
    const escaped = token.replace('g', '\\u0067')
    const entries = Array.from({ length: 100 }, (_, i) => `{"id":${i},"text":"${escaped}","${escaped}":true}`)
    const text = `{"list":[${entries.join(',\n')}],"${escaped}":{"${escaped}":1}}\n`
    const source = sourceOf(Buffer.from(text))
    const stream: LogStream = { name: 'stdout', sections: [{ firstLine: 1, source, mask: masker }], bytes: source.length, lines: 100, droppedBytes: 0 }
    const outline = outlineOf(stream, 2000)
    expect(outline?.kind).toBe('JSON')
    expect(outline?.lines.join('\n')).not.toContain(token.slice(0, 12))
    expect(outline?.lines.join('\n')).toContain('\n  text: all "[masked]"\n')
  })
})
