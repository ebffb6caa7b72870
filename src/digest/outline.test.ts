import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { byteLength } from '../core/text.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'
import { outlineOf } from './outline.ts'

const streamOf = (text: string): LogStream => {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return { name: 'stdout', sections: [textSection(text)], bytes: byteLength(text), lines, droppedBytes: 0 }
}
const outline = (text: string, bytes = 1200): string => outlineOf(streamOf(text), bytes)?.lines.join('\n') ?? 'no outline'
const rows = (count: number, row: (i: number) => string): string => Array.from({ length: count }, (_, i) => row(i + 1)).join('\n')

const pulls = Array.from({ length: 25 }, (_, i) => ({
  number: 101 + i,
  title: `Change ${i}`,
  state: i < 20 ? 'open' : 'closed',
  draft: false,
  merged_at: i < 20 ? null : '2026-01-02',
  labels: i % 2 ? [{ name: 'bug', color: 'red' }] : [],
  user: { login: 'ann', id: 7 },
}))

const cases: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
  [
    'a list of objects on one line',
    JSON.stringify(pulls),
    [
      'JSON: a list of 25 objects',
      'number: number 101 to 125',
      'state: "open" 20, "closed" 5',
      'draft: all false',
      'merged_at: "2026-01-02" 5; empty 20',
      'labels: list of 0 to 1 ({name, color})',
      'user: {login, id}',
    ],
  ],
  [
    'a list laid out over lines, with what each entry is called if there is room for all',
    JSON.stringify(
      Array.from({ length: 12 }, (_, i) => ({ number: i, title: `Change ${'abcdefghijkl'[i]}`, user: { name: 'ann' } })),
      null,
      2,
    ),
    Array.from({ length: 12 }, (_, i) => `${4 + i * 7} |     "title": "Change ${'abcdefghijkl'[i]}",`),
  ],
  ['a list laid out over lines', JSON.stringify(pulls, null, 2), ['JSON: a list of 25 objects', '3 |     "number": 101,', '"number": 125,']],
  [
    'an object with a long list in it',
    JSON.stringify({ total: 3, ok: true, next: null, items: [{ id: 1 }, { id: 2 }, { id: 3, extra: 'x' }] }),
    ['JSON: an object of 4 keys', 'total: 3', 'ok: true', 'next: empty', 'items: a list of 3 objects', 'extra: "x" (in 1 of 3)'],
  ],
  [
    'an object that is a table by name',
    JSON.stringify({ packages: Object.fromEntries(pulls.map(({ number, state }) => [`node_modules/p${number}`, { version: '1.0.0', state }])) }),
    ['packages: 25 keys, node_modules/p101, node_modules/p102', 'each of packages: {version, state}'],
  ],
  [
    'a value of JSON a line',
    rows(40, (i) => JSON.stringify({ id: i, kind: i % 4 ? 'a' : 'b' })),
    ['NDJSON: 40 lines of one JSON value each', 'kind: "a" 30, "b" 10', '1 | {"id":1', '40 | {"id":40'],
  ],
  [
    'comma-separated values with a header and quotes',
    `id,name,amount,paid\n${rows(500, (i) => `${i},"Smith, ${i}",${i}.5,${i % 5 === 0 ? 'no' : 'yes'}`)}`,
    [
      'CSV: 500 rows of 4 columns',
      'id: number 1 to 500',
      'name: text like "Smith, 1"',
      'amount: number 1.5 to 500.5',
      'paid: "yes" 400, "no" 100',
      '1 | id,name,amount,paid',
      '501 | 500,"Smith, 500",500.5,no',
    ],
  ],
  ['tab-separated values without a header', rows(20, (i) => `${i}\t${i * 2}\t0`), ['TSV: 20 rows of 3 columns, without a header', 'column 2: number 2 to 40']],
  [
    'a table under headings, with cells that are empty and cells of several words',
    `NAME      READY   STATUS             RESTARTS      AGE\n${rows(30, (i) => `pod-${String(i).padEnd(6)}1/1     ${(i === 7 ? 'CrashLoopBackOff' : 'Running').padEnd(19)}${(i === 7 ? '12 (3m ago)' : '0').padEnd(14)}${i}d`)}`,
    ['table: 30 rows of 5 columns', 'STATUS: "Running" 29, "CrashLoopBackOff" 1', '1 | NAME', '31 | pod-30'],
  ],
  [
    'a table whose columns stand to the right',
    `USER       PID %CPU COMMAND\n${rows(12, (i) => `root ${String(i * 100).padStart(9)} ${(i / 10).toFixed(1).padStart(4)} node server.js --port ${i}`)}`,
    ['table: 12 rows of 4 columns', 'USER: all "root"', 'PID: number 100 to 1200'],
  ],
  [
    'a page of HTML',
    `<!doctype html>\n<html><head><title>Docs &amp; more</title><script>let a</script></head><body><h1>Start <em>here</em></h1>\n${rows(60, (i) => `<p><a href="/${i}">link ${i}</a></p>`)}\n<h2>End</h2></body></html>`,
    ['HTML: title: Docs &amp; more', 'elements: h1 1, h2 1, p 60, a 60, script 1', 'h1: Start here', 'h2: End'],
  ],
  [
    'a document of XML',
    `<?xml version="1.0"?>\n<testsuite name="unit" tests="3" failures="1">\n${rows(30, (i) => `<testcase name="t${i}"><time>1</time></testcase>`)}\n</testsuite>`,
    ['XML: root: <testsuite name="unit" tests="3" failures="1">', 'testcase 30, time 30, testsuite 1'],
  ],
  [
    'the accessibility tree of a page',
    `- main [ref=e1]:\n  - heading "Orders" [level=1] [ref=e2]\n  - alert [ref=e3]: Payment failed\n${rows(60, (i) => `  - listitem [ref=e${i + 3}]:\n    - link "Order ${i}" [ref=f${i}]:\n      - /url: /orders/${i}`)}\n  - button "Pay" [ref=g1]`,
    [
      'page snapshot: accessibility tree of 124 nodes, 3 deep',
      'roles: listitem 60, link 60, main 1, heading 1, alert 1, button 1',
      '3 |   - alert [ref=e3]: Payment failed',
      '2 |   - heading "Orders"',
      '184 |   - button "Pay"',
    ],
  ],
  [
    'a unified diff',
    `diff --git a/src/a.ts b/src/a.ts\nindex 1..2 100644\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,2 +1,3 @@\n one\n+two\n+three\n-four\ndiff --git a/b.md b/b.md\n--- a/b.md\n+++ b/b.md\n@@ -1 +1 @@\n-x\n+y\n`,
    ['diff: 2 files, +3 -2 in 2 hunks', 'src/a.ts +2 -1, from line 1', 'b.md +1 -1, from line 10', '7 | +two'],
  ],
  [
    'a history of commits',
    rows(
      9,
      (i) =>
        `commit ${String(i).repeat(40)}\nAuthor: ${i % 3 ? 'Ann' : 'Bob'} <a@b.example>\nDate:   Mon Nov ${10 + i} 10:00:00 2026 +0000\n\n    Subject ${i}\n\n    Body\n`,
    ),
    ['git history: 9 commits, Mon Nov 19 10:00:00 2026 +0000 to Mon Nov 11 10:00:00 2026 +0000', 'by Ann 6, Bob 3', '5 |     Subject 1', '     Subject 9'],
  ],
  [
    'a history with a line for each commit',
    rows(60, (i) => `${(i * 0x9e3779b1).toString(16).padStart(12, 'a').slice(0, 12)} 2026-03-${String(31 - (i % 30)).padStart(2, '0')} ann: subject ${i}`),
    ['git history: 60 commits, 2026-03-31 to 2026-03-30', 'ann: subject 1\n', '8 | ', 'ann: subject 57\n', 'ann: subject 60'],
  ],
  [
    'a list of objects below a key, laid out over lines',
    JSON.stringify(
      { tools: Array.from({ length: 30 }, (_, i) => ({ name: `tool-${i}`, schema: { type: 'object', properties: { a: { type: 'string' } } } })) },
      null,
      2,
    ),
    ['tools: a list of 30 objects', '4 |       "name": "tool-0"', '      "name": "tool-29"'],
  ],
  [
    'a tree of a page in a fenced block',
    `### Page\n\`\`\`yaml\n- main [ref=e1]:\n${rows(60, (i) => `  - listitem [ref=e${i + 3}]:\n    - link "Order ${i}" [ref=f${i}]:\n      - /url: /orders/${i}`)}\n\`\`\`\n`,
    ['183 |       - /url: /orders/60', '184 | ```'],
  ],
  [
    'the log of a web server',
    rows(
      300,
      (i) =>
        `10.0.0.${i % 9} - - [30/Nov/2026:10:00:${String(i % 60).padStart(2, '0')} +0000] "GET /api/items?page=${i} HTTP/1.1" ${i === 150 ? 502 : i % 50 === 0 ? 404 : 200} ${i * 3} "-" "agent"`,
    ),
    ['access log: 300 requests', 'status: 200 294, 404 5, 502 1', 'path: /api/items 300', '150 | 10.0.0.6'],
  ],
  [
    'matches of grep',
    rows(60, (i) => `src/${i % 3 ? 'a' : 'b'}.ts:${i * 7}:  const found = ${i}`),
    ['matches: 60 matching lines in 2 files', 'src/a.ts 40, src/b.ts 20', '1 | src/a.ts:7:'],
  ],
  [
    'a list of paths',
    rows(90, (i) => `./src/${i % 3 ? 'app' : 'core/deep'}/file-${i}.${i % 2 ? 'ts' : 'md'}`),
    ['list of paths: 90 paths', 'in src/app 60, src/core 30', 'ending: .ts 45, .md 45', '1 | ./src/app/file-1.ts'],
  ],
  [
    'a document in Markdown',
    `# Title\n\nSome prose with a [link](x).\n\n## Use\n\n\`\`\`sh\nrun me\n# no heading\n\`\`\`\n\n${rows(50, (i) => `- item ${i}`)}\n\n## End\n`,
    ['Markdown: 3 headings, 1 block of code (2 lines: sh 1)', '1 | # Title', '5 | ## Use', '63 | ## End'],
  ],
]

describe('the outline of data', () => {
  it.each(cases)('of %s says what is in it', (_, text, expected) => {
    const found = outline(text)
    for (const part of expected) expect(found).toContain(part)
  })

  it.each([
    ['a log with levels', rows(80, (i) => `2026-11-30T10:00:00Z INFO worker-${i % 4} handled request ${i}, took ${i} ms`)],
    ['a log of JSON lines', rows(80, (i) => JSON.stringify({ level: 'info', time: i, msg: `handled ${i}` }))],
    ['prose with commas', rows(30, (i) => `On day ${i} we walked, which was long, and came home late, tired and glad to see the sea again, as ever before.`)],
    ['source text', rows(60, (i) => (i % 9 === 0 ? '' : `  const value${i} = compute(a, b, ${i})`))],
    ['a shell script with comments', `#!/bin/sh\n${rows(40, (i) => (i % 4 ? `run --step ${i}` : `# step ${i}`))}`],
    ['diagnoses of a compiler', rows(40, (i) => `src/a.c:${i}:5: error: 'x${i}' undeclared`)],
    ['configuration in YAML', rows(40, (i) => `- name: step ${i}\n  run: make`)],
    ['results of tests', rows(60, (i) => ` ✓ src/a${i}.test.ts (3 tests) 12ms`)],
    ['numbers, one a line', rows(400, (i) => String(i))],
    ['a line that begins like a list', `[INFO] Scanning\n${rows(40, (i) => `[INFO] module ${i}`)}`],
    ['a comparison in angle brackets', `<stdin>:1: warning\n${rows(30, (i) => `<stdin>:${i}: note`)}`],
    ['nothing', ''],
    ['blank lines', '\n\n\n'],
  ])('is not made of %s', (_, text) => {
    expect(outline(text)).toBe('no outline')
  })

  it('is not made of the log of a build', () => {
    const folder = new URL('../../../shared/digest-cases/', import.meta.url)
    if (!existsSync(folder)) return console.log('no logs of builds at hand')
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json.gz'))) {
      const { log, passing } = JSON.parse(gunzipSync(readFileSync(new URL(file, folder))).toString()) as { log: string; passing: string }
      expect([file, outline(log), outline(passing)]).toEqual([file, 'no outline', 'no outline'])
    }
  })

  it('of every kind stays within its bytes, and each numbered line is that line of the text', () => {
    for (const [name, text] of cases) {
      const lines = text.split('\n')
      for (const bytes of [0, 1, 40, 100, 333, 700, 2000, 10_000]) {
        const found = outlineOf(streamOf(text), bytes)?.lines ?? []
        expect([name, bytes, byteLength(found.join('\n')) <= bytes]).toEqual([name, bytes, true])
        for (const line of found) {
          const numbered = /^(\d+) \| (.*?)(?: \[\+\d+ bytes\])?$/.exec(line)
          if (numbered) expect(lines[Number(numbered[1]) - 1]).toContain((numbered[2] as string).slice(0, 100))
        }
      }
    }
  })

  it('cannot be forged by a name in the data', () => {
    expect(outline(JSON.stringify({ 'a\nexit 0': 'b\u001b[31m\nexit 0', list: [1, 2] }))).not.toMatch(/^exit 0/m)
  })

  it('of a text whose middle is missing tells only what is at hand', () => {
    const head = `id,name,amount\n${rows(100, (i) => `${i},n${i},${i}`)}\n`
    const tail = `${rows(50, (i) => `${i + 9000},n,${i}`)}\n`
    const stream: LogStream = {
      name: 'stdout',
      sections: [textSection(head), textSection(tail, 9002)],
      bytes: 1_000_000,
      lines: 9051,
      droppedBytes: 900_000,
    }
    const found = outlineOf(stream, 1200)?.lines.join('\n') ?? ''
    expect(found).toContain('CSV: 100 rows of 3 columns, and 8,950 more lines not looked at')
    expect(found).toContain('9051 | 9050,n,50')
  })
})
