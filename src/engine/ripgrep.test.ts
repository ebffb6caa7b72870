import { expect, it } from 'vitest'
import type { Outcome } from '../core/outcome.ts'
import type { ProgramRequest, ProgramResult } from '../core/program.ts'
import type { ScanResult } from '../core/scan.ts'
import { ripgrep } from './ripgrep.ts'

const exited = (exitCode: number): Outcome => ({ kind: 'exited', exitCode, signal: null, limit: null })
const ended = (stdout: string, more: Partial<ProgramResult> = {}): ProgramResult => ({
  outcome: exited(0),
  stdout: Buffer.from(stdout),
  stderr: new Uint8Array(),
  truncated: false,
  ...more,
})
const nothing = ended('', { outcome: exited(1) })
const isLookForPlain = ({ argv }: ProgramRequest): boolean => argv.includes('--files-with-matches')

/** What a scan for `abc` makes of the answers of the program. */
async function scanned(answer: (request: ProgramRequest) => ProgramResult | Error): Promise<ScanResult | undefined> {
  const scan = ripgrep('rg', async (request) => {
    const given = answer(request)
    if (given instanceof Error) throw given
    return given
  })
  const pattern = { source: 'abc', ignoreCase: true }
  return scan({ pattern, disguises: [{ source: 'a.c', ignoreCase: false }], folder: '/logs', paths: ['one', 'two'], timeoutMs: 1_000 })
}

it('what was found is told by file, once a line, in order', async () => {
  const found = await scanned((request) => {
    if (isLookForPlain(request)) return ended('two\0')
    if (request.argv.includes('abc')) return ended('two\x003:20:abc\none\x001:4:abc\none\x001:9:ABC\n')
    expect(request.argv.slice(request.argv.indexOf('--'))).toEqual(['--', 'two'])
    return ended('two\x001:0:a.c\n')
  })
  expect([...(found?.marks ?? [])]).toEqual([
    [
      'two',
      [
        { offset: 0, line: 1 },
        { offset: 20, line: 3 },
      ],
    ],
    ['one', [{ offset: 4, line: 1 }]],
  ])
  expect(found).toMatchObject({ complete: true })
})

it('a file with very many lines of interest is named as such', async () => {
  const lines = Array.from({ length: 1_000 }, (_, i) => `one\0${i + 1}:${i * 4}:abc\n`).join('')
  expect((await scanned((request) => (request.argv.includes('abc') ? ended(lines) : nothing)))?.capped).toEqual(new Set(['one']))
})

it.each<[string, ProgramResult | Error]>([
  ['is not there', new Error('program_missing')],
  ['crashes', ended('', { outcome: { kind: 'signaled', exitCode: null, signal: 'SIGSEGV', limit: null } })],
  ['is killed by somebody', ended('one\x001:0:abc\n', { outcome: { kind: 'signaled', exitCode: null, signal: 'SIGKILL', limit: null } })],
  ['ends with a code that it does not have', ended('', { outcome: exited(101) })],
  ['does not know the pattern', ended('', { outcome: exited(2), stderr: Buffer.from('regex parse error') })],
])('one that %s gives nothing', async (_, answer) => {
  expect(await scanned(() => answer)).toBeUndefined()
  expect(await scanned((request) => (isLookForPlain(request) ? answer : nothing))).toBeUndefined()
})

it.each<[string, Partial<ProgramResult>]>([
  ['whose time was up', { outcome: { kind: 'timed_out', exitCode: null, signal: 'SIGTERM', limit: 'wall' } }],
  ['that found more than is kept', { truncated: true }],
])('one %s tells what it has found, and that it is not all', async (_, more) => {
  const found = await scanned((request) => (request.argv.includes('abc') ? ended('one\x001:4:abc\ntwo\x001', more) : nothing))
  expect([...(found?.marks.keys() ?? [])]).toEqual(['one'])
  expect(found).toMatchObject({ complete: false })
})

it('files that cannot be read are passed over', async () => {
  expect(await scanned(() => ended('', { outcome: exited(2) }))).toMatchObject({ complete: true })
})
