import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sample } from '../../test/support/recognised.ts'
import { byteLength, splitLines } from '../core/text.ts'
import { digestLog } from './digest.ts'
import type { LogStream } from './log.ts'
import { textSection } from './log.ts'
import { describeRecognised, recognise } from './recognise.ts'

const stream = (text: string): LogStream => ({
  name: 'stdout',
  sections: [textSection(text)],
  bytes: byteLength(text),
  lines: splitLines(text).length,
  droppedBytes: 0,
})
const runner = (name: string): string => readFileSync(new URL(`lane-samples/${name}.txt`, import.meta.url), 'utf8')
const said = (text: string): string[] => recognise([stream(text)]).map(describeRecognised)
const placesIn = (text: string): string[] => recognise([stream(text)]).flatMap(({ failures }) => failures.flatMap(({ place }) => place ?? []))

const all = 'vitest: 3 failed, 5 passed (8 tests)'
const two = 'vitest: 3 failed, 3 passed (6 tests)'
const scoped = '@shop/api: 2 failed, 1 passed; @shop/web: 1 failed, 2 passed'
const mocha = 'mocha in @shop/jobs: 1 test failed, 1 passed'

describe('what several packages print into one log', () => {
  it.each([
    [
      'pnpm',
      [
        `${all}; packages/api: 2 failed, 1 passed; packages/web: 1 failed, 2 passed; packages/lib: 2 passed`,
        'mocha in packages/jobs: 1 test failed, 1 passed',
        'pnpm: 3 scripts failed, 1 passed, 1 warning',
      ],
    ],
    ['pnpm-aggregated', [`${all}; packages/api: 2 failed, 1 passed; packages/web: 1 failed, 2 passed; packages/lib: 2 passed`]],
    ['npm', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha, 'npm: 3 errors; @shop/api: 1 error; @shop/jobs: 1 error; @shop/web: 1 error']],
    ['turbo', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha]],
    ['lerna', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha]],
    ['lerna-stream', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha]],
    ['nx', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha]],
    ['nx-stream', [`${all}; ${scoped}; @shop/lib: 2 passed`, mocha]],
    ['concurrently', [`${two}; api: 2 failed, 1 passed; web: 1 failed, 2 passed`, 'mocha in jobs: 1 test failed, 1 passed']],
    ['concurrently-numbers', [`${two}; 1: 2 failed, 1 passed; 0: 1 failed, 2 passed`]],
    ['foreman', [`${two}; api.1: 2 failed, 1 passed; web.1: 1 failed, 2 passed`]],
    ['yarn-foreach', ['vitest in @shop/api: 2 failed, 1 passed (3 tests)', 'yarn: 1 error']],
  ])('through %s is counted for each and in all, with the places of failures', (name, expected) => {
    const text = runner(name)
    expect(said(text)).toEqual(expect.arrayContaining(expected))
    expect(placesIn(text)).toEqual(expect.arrayContaining(['test/orders.test.js:4:55', 'test/orders.test.js:5:74']))
    if (name !== 'yarn-foreach') expect(placesIn(text)).toContain('test/cart.test.js:3:95')
  })

  it.each(['pnpm', 'turbo', 'nx', 'concurrently', 'foreman'])('through %s has the numbers that lines have in the log', (name) => {
    const text = runner(name)
    const lines = splitLines(text)
    const [vitest] = recognise([stream(text)])
    expect(vitest?.failures).toHaveLength(3)
    for (const { line, title } of vitest?.failures ?? []) expect(lines[line.number - 1]).toContain(title.split(' > ').at(-1))
    const digest = digestLog([stream(text)], { budget: 2048, failed: true })
    expect(digest).toMatch(/^\d+ \| .*rounds the total/m)
    expect(digest).toMatch(/^vitest: 3 failed/)
  })
})

const clock = (i: number): string => new Date(1_790_000_000_000 + i * 1371).toISOString()
const mix = (logs: readonly (readonly [name: string, text: string])[], mark: (name: string, line: string, i: number) => string): string => {
  const queues = logs.map(([name, text]) => ({ name, lines: text.trimEnd().split('\n') }))
  const out: string[] = []
  for (let i = 0; queues.some(({ lines }) => lines.length > 0); i += 1)
    for (const { name, lines } of queues) for (const line of lines.splice(0, 1 + ((i * 7) % 3))) out.push(mark(name, line, i))
  return out.join('\n')
}
const apart = (
  logs: readonly (readonly [name: string, text: string])[],
  open: (name: string) => string,
  close: string,
  mark = (line: string, _i: number) => line,
): string =>
  logs
    .flatMap(([name, text]) => [...open(name).split('\n'), ...text.trimEnd().split('\n'), ...(close === '' ? [] : [close])])
    .map(mark)
    .join('\n')

const pair = [
  ['api', sample('vitest-colour')],
  ['web', sample('vitest-dot')],
] as const
const tools = [
  ['api', sample('pytest-failing')],
  ['web', sample('eslint-stylish')],
] as const
const inAll = 'vitest: 8 failed, 6 passed, 2 skipped (16 tests)'

describe('lines of several jobs', () => {
  it.each([
    ['docker compose', mix(pair, (name, line) => `${name}-1  | ${line}`)],
    ['overmind', mix(pair, (name, line) => `${name}  | ${line}`)],
    ['foreman', mix(pair, (name, line, i) => `${clock(i).slice(11, 19)} ${name}.1   | ${line}`)],
    ['foreman without a time', mix(pair, (name, line) => `${name}.1  | ${line}`)],
    ['act', mix(pair, (name, line) => `[ci/${name}]   | ${line}`)],
    ['yarn', mix(pair, (name, line) => `[@shop/${name}]: ${line}`)],
    ['turbo, behind a time', mix(pair, (name, line, i) => `${clock(i)} @shop/${name}:test: ${line}`)],
    ['concurrently, with returns at the end', mix(pair, (name, line) => `[${name}] ${line}\r`)],
    [
      'groups of a CI',
      apart(
        pair,
        (name) => `##[group]${name}:test`,
        '##[endgroup]',
        (line, i) => `${clock(i)} ${line}`,
      ),
    ],
    ['scripts of npm, one after the other', apart(pair, (name) => `\n> ${name}@1.0.0 test\n> vitest run\n`, '')],
  ])('of %s are told apart', (_name, text) => {
    expect(said(text)[0]).toMatch(
      new RegExp(`^${inAll.replace(/[()]/g, '\\$&')}; \\S*(?:api|web)\\S*: 4 failed, \\d passed, 1 skipped; \\S*(?:api|web)\\S*: 4 failed`),
    )
  })

  it.each([
    [
      'sections of GitLab',
      apart(tools, (name) => `section_start:1790000000:${name}\r\u001b[0K\u001b[36;1mRun ${name}\u001b[0;m`, 'section_end:1790000009:x\r\u001b[0K'),
    ],
    [
      'sections of GitLab, with times',
      apart(
        tools,
        (name) => `section_start:1790000000:${name}`,
        'section_end:1790000009:x',
        (line, i) => `${clock(i).replace('Z', '000Z')} 0${i % 2}O ${line}`,
      ),
    ],
    [
      'groups of Buildkite',
      apart(
        tools,
        (name) => `~~~ Preparing\n--- ${name}\n+++ Running ${name}`,
        '',
        (line, i) => `\u001b_bk;t=${1_790_000_000_000 + i}\u0007${line}`,
      ),
    ],
    [
      'steps of GitHub Actions',
      apart(
        tools,
        (name) => `##[group]Run npm run ${name}\nnpm run ${name}\nshell: bash\n##[endgroup]`,
        '##[error]Process completed with exit code 1.',
        (line, i) => `${clock(i).replace('Z', '0000Z')} ${line}`,
      ),
    ],
    [
      'a downloaded log of GitHub Actions',
      apart(
        tools,
        (name) => `##[group]${name}`,
        '',
        (line, i) => `build\tRun the checks\t${clock(i)} ${line}`,
      ),
    ],
    ['act', mix(tools, (name, line) => `[ci/${name}]   | ${line}`)],
  ])('and several tools in one log are known in %s', (_name, text) => {
    const tools = recognise([stream(text)])
    const [pytest, eslint] = ['pytest', 'eslint'].map((name) => tools.find(({ tool }) => tool === name))
    expect(pytest?.counts).toEqual(recognise([stream(sample('pytest-failing'))])[0]?.counts)
    expect(eslint?.counts).toEqual(recognise([stream(sample('eslint-stylish'))])[0]?.counts)
  })

  it('are one log where each has the same mark, or none', () => {
    expect(said(sample('vitest-colour'))).toEqual(['vitest: 4 failed, 2 passed, 1 skipped (7 tests)'])
    expect(said(mix([['api', sample('vitest-colour')]], (name, line) => `[${name}] ${line}`))).toEqual([
      'vitest in api: 4 failed, 2 passed, 1 skipped (7 tests)',
    ])
  })

  it('name the packages with failures first, as far as there is room, and count the others', () => {
    const many = Array.from({ length: 30 }, (_, i) => [`package-${i}`, i === 17 ? sample('vitest-colour') : sample('vitest-passed')] as const)
    const [words = ''] = said(mix(many, (name, line) => `[${name}] ${line}`))
    expect(words).toMatch(/^vitest: 4 failed, 60 passed, 1 skipped \(65 tests\); package-17: 4 failed/)
    expect(words).toMatch(/; in \d\d more packages$/)
    expect(byteLength(words)).toBeLessThan(260)
  })
})
