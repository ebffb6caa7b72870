import { describe, expect, it } from 'vitest'
import { lineShape } from './noise.ts'

const same: readonly (readonly [what: string, a: string, b: string])[] = [
  ['times before a line', '2026-11-30T12:00:01.123Z compiling core', '2026-12-01T08:15:59.001Z compiling core'],
  ['times of day', '[12:00:01] build started', '[08:59:59] build started'],
  ['dates in words', 'Built on Mon Nov 30 12:14:58 UTC 2026 by make', 'Built on Tue Dec 1 08:00:00 CET 2026 by make'],
  ['dates with a slash', 'updated 30/11/2026', 'updated 1/12/2026'],
  ['durations', 'Done in 950ms', 'Done in 1.25s'],
  ['durations of several parts', 'finished in 1m 30s', 'finished in 59.2 s'],
  ['durations in words', 'took 2 minutes', 'took 31 seconds'],
  ['durations of nothing', 'test_a passed (0.00s)', 'test_a passed (1.27s)'],
  ['durations without a fraction', 'test_a passed (0 ms)', 'test_a passed (12 ms)'],
  ['short hashes', 'HEAD is now at 3f9a2b1 Fix it', 'HEAD is now at a0017cc Fix it'],
  ['long hashes', 'sha256:9f86d081884c7d659a2feaa0c55ad015', 'sha256:60303ae22b998861bce3b28f33eec1be'],
  ['addresses', 'object at 0x7f3a12bc9d00', 'object at 0x5581aa00'],
  ['identities of objects', 'com.acme.Job@1b2c3d4 started', 'com.acme.Job@7ffe stopped'.replace('stopped', 'started')],
  ['UUIDs', 'request 550e8400-e29b-41d4-a716-446655440000 done', 'request 16fd2706-8baf-433b-82eb-8c7fada847da done'],
  ['ports', 'listening on http://127.0.0.1:43817/', 'listening on http://127.0.0.1:50102/'],
  ['process ids', 'daemon started (pid 4711)', 'daemon started (pid 99)'],
  ['sizes', 'bundle.js  1.2 MB', 'bundle.js  987 KiB'],
  ['rates', 'Downloaded core.jar (24 kB at 310 kB/s)', 'Downloaded core.jar (24 kB at 1.1 MB/s)'],
  ['percentages', 'progress: 45%', 'progress: 100 %'],
  ['nothing of a hundred', 'progress: 0%', 'progress: 100%'],
  ['bars', '[====>      ] resolving', '[=========> ] resolving'],
  ['bars of blocks', '██████░░░░ fetch', '█░░░░░░░░░ fetch'],
  ['wheels', '⠋ installing', '⠙ installing'],
  ['temporary folders', 'wrote /tmp/tmpab12cd/report.xml', 'wrote /tmp/Xy_99q/report.xml'],
  ['temporary folders of macOS', 'wrote /var/folders/ab/x1y2/T/foo.Qw/report.xml', 'wrote /var/folders/zz/q9/T/bar.Er/report.xml'],
  ['random names', 'container Xa3dKq9fGh1z removed', 'container b7Uw2Pz0Lk4m removed'],
  ['numbers at the end of names', 'at /srv/go-build839201123/b001', 'at /srv/go-build119/b001'.replace('119', '44102200')],
  ['workers', '[gw3] PASSED test_a', '[gw0] PASSED test_a'],
  ['threads', 'Thread-12 starts', 'Thread-3 starts'],
  ['line numbers', 'src/a.ts:12:5: error: no such name', 'src/a.ts:120:17: error: no such name'],
  ['versions', 'using cache v3.1.2', 'using cache v3.1.10'],
  ['positions of many', '[ 12/340] Compiling a.c', '[339/340] Compiling a.c'],
  ['spaces', 'a   b', 'a b'],
  ['counts other than none', '3 passed', '17 passed'],
]

const different: readonly (readonly [what: string, a: string, b: string])[] = [
  ['a count of none', '0 failed', '3 failed'],
  ['a count of none behind a colon', 'Tests run: 12, Failures: 0, Errors: 0', 'Tests run: 12, Failures: 1, Errors: 0'],
  ['an exit code of none', 'exit code 0', 'exit code 1'],
  ['words', 'test alpha passed', 'test alpha failed'],
  ['marks', '✓ adds', '✗ adds'],
  ['names with a number', 'FAIL test_case_3', 'FAIL test_case_4'],
  ['codes of errors', 'error TS2304: bad', 'error TS2551: bad'],
  ['the sides of a comparison', '-  total: ten', '+  total: ten'],
  ['files in temporary folders', 'wrote /tmp/a1/report.xml', 'wrote /tmp/a1/summary.xml'],
  ['other scripts', 'エラー 接続', 'エラー 切断'],
  ['letters', 'expected foo', 'expected bar'],
  ['case', 'Error', 'error'],
  ['a word more', 'not ok', 'ok'],
]

describe('two lines are the same apart from', () => {
  it.each(same)('%s', (_, a, b) => {
    expect(lineShape(a)).toBe(lineShape(b))
    expect(lineShape(a)).not.toBe(0)
  })
})

describe('two lines differ by', () => {
  it.each(different)('%s', (_, a, b) => {
    expect(lineShape(a)).not.toBe(lineShape(b))
  })
})

it.each(['', '   ', '12:00:01', '2026-11-30', '=====', '45%', '└──────┘', '9f86d081884c7d659a2feaa0c55ad015'])('nothing is said by "%s"', (line) => {
  expect(lineShape(line)).toBe(0)
})

it('a line of any length costs no more than its first thousand characters', () => {
  expect(lineShape(`start ${'word '.repeat(1_000_000)}`)).toBe(lineShape(`start ${'word '.repeat(1_000)}`))
})
