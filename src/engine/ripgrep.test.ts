import { expect, it } from 'vitest'
import { everyTrait, logTraits } from '../core/log-traits.ts'
import type { Outcome } from '../core/outcome.ts'
import type { ProgramRequest, ProgramResult } from '../core/program.ts'
import type { ScannedFile, ScanResult, Unusable } from '../core/scan.ts'
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

const unknown = ['one', 'two'].map((path) => ({ path, traits: undefined }))

/** What a scan for `abc` makes of the answers of the program. */
async function scanned(
  answer: (request: ProgramRequest) => ProgramResult | Error,
  files: readonly ScannedFile[] = unknown,
): Promise<Partial<ScanResult & Unusable>> {
  const scan = ripgrep('rg', async (request) => {
    const given = answer(request)
    if (given instanceof Error) throw given
    return given
  })
  const pattern = { source: 'abc', ignoreCase: true }
  return scan({ pattern, disguises: [{ source: 'a.c', ignoreCase: false, traits: logTraits.letters }], folder: '/logs', files, timeoutMs: 1_000 })
}

it('what was found is told by file, once a line, in order', async () => {
  const found = await scanned((request) => {
    if (isLookForPlain(request)) return ended('two\0')
    if (request.argv.includes('abc')) return ended('two\x003:20:abc\none\x001:4:abc\none\x001:9:ABC\n')
    expect(request.argv.slice(request.argv.indexOf('--'))).toEqual(['--', 'two'])
    return ended('two\x001:0:a.c\n')
  })
  expect([...(found.marks ?? [])]).toEqual([
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
  expect((await scanned((request) => (request.argv.includes('abc') ? ended(lines) : nothing))).capped).toEqual(new Set(['one']))
})

it('a disguise is looked for only in files that can have it, without a look at those of which that is known', async () => {
  const asked: (readonly string[])[] = []
  const files = [
    { path: 'plain', traits: 0 },
    { path: 'coloured', traits: logTraits.escapes },
    { path: 'accented', traits: everyTrait },
  ]
  const found = await scanned((request) => {
    asked.push([...request.argv.slice(request.argv.indexOf('-e') + 1)])
    return nothing
  }, files)
  expect(found).toMatchObject({ complete: true })
  expect(asked).toEqual([
    ['abc', '--', 'plain', 'coloured', 'accented'],
    ['a.c', '--', 'accented'],
  ])
})

it.each<[string, ProgramResult | Error, string]>([
  ['is not there', new Error('no such program'), 'could not be started: no such program'],
  ['crashes', ended('', { outcome: { kind: 'signaled', exitCode: 139, signal: 'SIGSEGV', limit: null } }), 'was ended by SIGSEGV'],
  [
    'is killed by somebody',
    ended('one\x001:0:abc\n', { outcome: { kind: 'signaled', exitCode: 137, signal: 'SIGKILL', limit: null } }),
    'was ended by SIGKILL',
  ],
  ['ends with a code that it does not have', ended('', { outcome: exited(101) }), 'ended with 101'],
  ['does not know the pattern', ended('', { outcome: exited(2), stderr: Buffer.from('regex parse\n  error') }), 'says: regex parse error'],
])('one that %s gives nothing but why', async (_, answer, why) => {
  expect(await scanned(() => answer)).toEqual({ why })
  expect(await scanned((request) => (isLookForPlain(request) ? answer : nothing))).toEqual({ why })
})

it.each<[string, Partial<ProgramResult>]>([
  ['whose time was up', { outcome: { kind: 'timed_out', exitCode: null, signal: 'SIGTERM', limit: 'wall' } }],
  ['that found more than is kept', { truncated: true }],
])('one %s tells what it has found, and that it is not all', async (_, more) => {
  const found = await scanned((request) => (request.argv.includes('abc') ? ended('one\x001:4:abc\ntwo\x001', more) : nothing))
  expect([...(found.marks?.keys() ?? [])]).toEqual(['one'])
  expect(found).toMatchObject({ complete: false })
})

it('files that cannot be read are named', async () => {
  expect(await scanned(() => ended('', { outcome: exited(2) }))).toMatchObject({ complete: true, unread: new Set(['one', 'two']) })
  expect(await scanned(() => nothing)).toMatchObject({ complete: true, unread: new Set() })
})
