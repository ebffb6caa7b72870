import { expect, it } from 'vitest'
import { readTarget } from '../../config/check.ts'
import { targetVariants } from '../../config/targets.ts'
import { targetOptions } from './target-options.ts'

const read = (...words: readonly string[]): unknown => {
  const given = { input: {} as Record<string, unknown> }
  for (let at = 0; at < words.length; ) {
    const option = targetOptions.find(({ flag }) => flag === words[at])
    const takesValue = option && 'value' in option
    option?.read(given as never, takesValue ? (words[at + 1] ?? '') : '')
    at += takesValue ? 2 : 1
  }
  return given.input.target
}

it('every option names a field of a target, and what it says is read as in a file', () => {
  const known = new Set(Object.values(targetVariants).flatMap(({ entries }) => Object.keys(entries)))
  for (const { flag } of targetOptions) for (const field of Object.keys(read(flag, '1') as object)) expect([flag, known.has(field)]).toEqual([flag, true])
  expect(readTarget(read('--backend', 'docker', '--image', 'x', '--memory', '64MiB', '--idle', '5m', '--cpus', '1.5', '--pids', '9', '--read-only'))).toEqual({
    backend: 'docker',
    image: 'x',
    memory: 64 * 1024 ** 2,
    idleMs: 300_000,
    cpus: 1.5,
    pids: 9,
    readOnly: true,
  })
  expect(readTarget(read('--backend', 'ssh', '--host', 'box', '--port', '2222'))).toEqual({ backend: 'ssh', host: 'box', port: 2222 })
})

it.each([
  [['--memory', 'much'], 'target.memory is "much"; accepted: a size like "512MiB"'],
  [['--idle', 'soon'], 'target.idleMs is "soon"; accepted: a duration like "30s"'],
  [['--pids', 'few'], 'target.pids is "few"; accepted: a whole number'],
])('what cannot be read is named with what is accepted: %j', (words, said) => {
  expect(() => readTarget(read('--backend', 'docker', '--image', 'x', ...words))).toThrow(said)
})
