import { describe, expect, it } from 'vitest'
import type { App } from '../app/api.ts'
import { failure, HoldfastError } from '../core/errors.ts'
import { fieldsOf } from './fields.ts'
import { exec, operations, output, search, stop, wait, workspaceOpen } from './index.ts'
import { inputJsonSchema } from './input-json-schema.ts'
import { flagOf, fromWire, wireNameOf } from './names.ts'
import { invoke, parseInput } from './operation.ts'
import { linesAround, parseRef } from './output-ref.ts'
import { parseSince } from './since.ts'

const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (error instanceof HoldfastError) return error.message
    throw error
  }
  return 'nothing was refused'
}

const argv = ['true']

describe('the input of an operation', () => {
  it.each([
    [{ argv, timeoutMs: Number.NaN }, 'timeoutMs is NaN; accepted: a positive number of milliseconds'],
    [{ argv, timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs is Infinity; accepted: a positive number of milliseconds'],
    [{ argv, timeoutMs: '5' }, 'timeoutMs is "5"; accepted: a positive number of milliseconds'],
    [{ argv, timeoutMs: null }, 'timeoutMs is null; accepted: a positive number of milliseconds'],
    [{ argv, waitMs: -1 }, 'waitMs is -1; accepted: a number of milliseconds from 0'],
    [{ argv: ['a\0b'] }, 'argv is ["a\\u0000b"]; accepted: a list of texts without NUL, the program first'],
    [{ argv: [] }, 'argv is missing; accepted: a program with its arguments, or a script'],
    [{ argv: [''] }, 'argv is [""]; accepted: a program with its arguments, or a script'],
    [{}, 'argv is missing; accepted: a program with its arguments, or a script'],
    [{ argv, script: 'true' }, 'script is "true"; accepted: a script or a program with arguments, not both'],
    [{ argv, runtime: 'node' }, 'runtime is "node"; accepted: a runtime together with a script'],
    [{ argv, env: { A: 1 } }, 'env is {"A":1}; accepted: variables with text as their values'],
    [{ argv, leftovers: 'keep' }, 'leftovers is "keep"; accepted: report, kill'],
    [{ argv, budget: 1.5 }, 'budget is 1.5; accepted: a whole number of bytes from 0'],
    [{ argv, timeout_ms: 5 }, 'exec has no option timeout_ms; did you mean timeoutMs?'],
    [{ argv, zzz: 5 }, 'exec has no option zzz'],
  ])('%j is refused in one sentence', (raw, sentence) => {
    expect(refusal(() => parseInput(exec, raw))).toBe(sentence)
  })

  it.each([
    [{}, 'branch is missing; accepted: a name of a git branch, or an operator instead'],
    [{ branch: 'a', operator: 'b' }, 'operator is "b"; accepted: a branch or an operator, not both'],
    [{ operator: 'a\nb' }, 'operator is "a\\nb"; accepted: a name of 1 to 200 characters on one line'],
    [{ branch: 'a', setup: ' ' }, 'setup is " "; accepted: a script that is not empty'],
    [{ branch: 'a', ports: 101 }, 'ports is 101; accepted: a whole number from 0 to 100'],
    [{ branch: 'a', ports: -1 }, 'ports is -1; accepted: a whole number from 0'],
    [{ branch: 'a', sparse: 'half' }, 'sparse is "half"; accepted: inherit, full, or a list of folders'],
    [{ branch: 'a', carry: 'x' }, 'carry is "x"; accepted: a list of paths inside the repository'],
    [{ branch: 'a', passEnv: ['A=b'] }, 'passEnv is "A=b"; accepted: names of variables'],
    [{ branch: 'a', setup: null, sparse: ['src'], ports: 2, passEnv: ['CI'] }, 'nothing was refused'],
  ])('of workspace open, %j, is refused in one sentence or taken', (raw, sentence) => {
    expect(refusal(() => parseInput(workspaceOpen, raw))).toBe(sentence)
  })

  it('takes fields that are undefined as left out', () => {
    expect(parseInput(exec, { argv, timeoutMs: undefined })).toEqual({ argv })
  })

  it('names a missing field and what it takes', () => {
    expect(refusal(() => parseInput(wait, {}))).toBe('run is missing; accepted: a run id, a unique prefix of one, or "last"')
  })

  it.each(['TERM', 'SIGTERM', 'term', 'sigTerm'])('reads the signal %s', (signal) => {
    expect(parseInput(stop, { run: 'x', signal }).signal).toBe('SIGTERM')
  })

  it('refuses a signal that cannot stop anything, as it was written', () => {
    expect(refusal(() => parseInput(stop, { run: 'x', signal: 'usr1' }))).toContain('signal is "usr1"; accepted: SIGTERM')
  })

  it('takes a query with NUL, since every text is a legal query', () => {
    expect(parseInput(search, { query: '\0' }).query).toBe('\0')
  })
})

describe('running an operation', () => {
  it('names the field of a later refusal as the caller wrote it', async () => {
    const app = { exec: () => Promise.reject(failure('invalid', { field: 'timeoutMs', value: 0, accepted: 'more' })) } as unknown as App
    const failed = await invoke(exec, app, { argv }, {}, wireNameOf).catch((error: unknown) => error)
    expect(failed).toMatchObject({ message: 'timeout_ms is 0; accepted: more', operation: 'exec', details: { field: 'timeout_ms' } })
  })

  it('turns whatever is thrown into an error with a code', async () => {
    const app = { wait: () => Promise.reject(new TypeError('oh')) } as unknown as App
    await expect(invoke(wait, app, { run: 'last' })).rejects.toMatchObject({ code: 'internal', message: 'internal error: oh' })
  })

  it.each([
    [{ run: 'ab12:120' }, { run: 'ab12', stream: 'stdout', lines: '110-130' }],
    [{ run: 'ab12:e:7' }, { run: 'ab12', stream: 'stderr', lines: '1-17' }],
    [
      { run: 'ab12', lines: 'ab12:stderr:7' },
      { run: 'ab12', stream: 'stderr', lines: '1-17' },
    ],
    [
      { run: 'ab12:120', lines: '3-4' },
      { run: 'ab12', stream: 'stdout', lines: '3-4' },
    ],
    [
      { run: 'ab12:120', bytes: '0-9' },
      { run: 'ab12', stream: 'stdout', bytes: '0-9' },
    ],
    [
      { run: 'last', lines: '-20' },
      { run: 'last', lines: '-20' },
    ],
    [
      { run: 'last', lines: 'stderr:7' },
      { run: 'last', lines: 'stderr:7' },
    ],
  ])('output reads the reference in %j', async (raw, asked) => {
    const app = { output: async (input: unknown) => input } as unknown as App
    expect(await invoke(output, app, raw)).toEqual(asked)
  })
})

describe('names', () => {
  const flags = (op: (typeof operations)[number]) => fieldsOf(op.input).map((field) => flagOf(op, field))

  it('are made from the fields, without units as flags', () => {
    expect(flags(exec)).toEqual(
      '--argv --script --runtime --cwd --workspace --target --timeout --idle-timeout --grace --max-output --purpose --env --pass-env --stdin --leftovers --wait --detach --pty --interactive --ephemeral --budget --tokens'.split(
        ' ',
      ),
    )
  })

  it('are unique in every operation', () => {
    for (const op of operations) expect(new Set(flags(op)).size).toBe(flags(op).length)
    expect(new Set(operations.map((op) => op.name)).size).toBe(operations.length)
  })

  it('carry their unit on the wire, and other spellings are refused with the right one', () => {
    expect(fromWire(exec, { timeout_ms: 5, argv })).toEqual({ timeoutMs: 5, argv })
    expect(refusal(() => fromWire(exec, { timeoutMs: 5 }))).toContain('did you mean timeout_ms?')
  })

  it('and descriptions exist for every field', () => {
    for (const op of operations) {
      for (const field of fieldsOf(op.input)) expect(field, `${op.name} ${field.name}`).toMatchObject({ description: expect.stringMatching(/\.$/) })
    }
  })

  it('appear in the JSON Schema of an input', () => {
    expect(inputJsonSchema(wait.input, { nameOf: wireNameOf, only: ['run', 'waitMs'] })).toEqual({
      type: 'object',
      properties: { run: { type: 'string', description: expect.any(String) }, wait_ms: { type: 'number', description: expect.any(String) } },
      required: ['run'],
      additionalProperties: false,
    })
  })
})

describe('references and times', () => {
  it.each(['ab', 'ab:0', 'ab:x:3', ':3', '100-150', '-20', ''])('%j is no reference', (written) => {
    expect(parseRef(written)).toBeUndefined()
  })

  it('show ten lines around', () => {
    expect([linesAround(1), linesAround(100)]).toEqual(['1-11', '90-110'])
  })

  it('reads times back from now, dates and ISO times', () => {
    expect(parseSince('since', '2h', 10_000_000)).toBe(2_800_000)
    expect(parseSince('since', '2026-11-30T12:00:00Z', 0)).toBe(Date.UTC(2026, 10, 30, 12))
    expect(parseSince('since', '2026-11-30', 0)).toBe(new Date(2026, 10, 30).getTime())
  })

  it.each(['yesterday', '2', '2026-13-45', '11/30/2026', ''])('refuses %j as a time', (written) => {
    expect(refusal(() => parseSince('since', written, 0))).toContain(`since is ${JSON.stringify(written)}; accepted: a time back like 2h`)
  })
})
