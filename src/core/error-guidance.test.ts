import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { codeGuidance, guidanceOf, outcomeGuidance } from './error-guidance.ts'
import { errorCodes, failure } from './errors.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

describe('whether to ask again', () => {
  it('stands in docs/errors.md for each code and each end as the tables have it', () => {
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (yes|no|unknown-if-ran) \| (\w+) \| ([^|]+) \|$/gm)].map(([, key, retryable, fault, next]) => [
      key,
      { retryable, fault, next },
    ])
    expect(Object.fromEntries(rows)).toEqual({ ...codeGuidance, ...outcomeGuidance })
    expect(Object.keys(codeGuidance)).toEqual([...errorCodes])
  })

  it.each([
    ['contact that was lost after something was asked', failure('supervisor_lost', { why: 'it ended' }), 'unknown-if-ran', 'lane'],
    ['contact that was lost before anything was asked', failure('supervisor_lost', { why: 'it ended', unsent: true }), 'yes', 'lane'],
    ['a program that could not be started', failure('start_failed', { program: 'sh', errno: 'EAGAIN' }), 'yes', 'lane'],
    ['a working directory outside', failure('cwd_outside', { cwd: '/', root: '/tmp' }), 'no', 'caller'],
    ['a fault of Holdfast', failure('internal', { what: 'surprise' }), 'unknown-if-ran', 'host'],
  ])('after %s is told by its code, its reason and its details', (_, error, retryable, fault) => {
    expect(guidanceOf(error)).toMatchObject({ retryable, fault })
  })

  it('is never advised after a refusal: what was refused would be again', () => {
    const refusals = ['invalid_argument', 'not_found', 'already_exists', 'failed_precondition', 'permission_denied', 'unsupported', 'conflict'] as const
    expect(refusals.map((code) => codeGuidance[code].retryable)).toEqual(refusals.map(() => 'no'))
  })
})
