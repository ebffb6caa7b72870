import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { digestLog } from './digest.ts'
import { textSection } from './log.ts'

const folder = new URL('../../../shared/digest-cases/', import.meta.url)
const present = existsSync(folder)
if (!present) console.log('skipped: real build logs behind a carrier (../shared/digest-cases is not there)')

interface Case {
  readonly log: string
  /** Of each who labelled it, the numbers of the lines that say why the build failed. */
  readonly error_lines: readonly (readonly number[])[]
}

// Longer ones take long and are of the same builds.
const maxChars = 500_000
const cases = (): Case[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json.gz'))
    .map((name) => JSON.parse(gunzipSync(readFileSync(new URL(name, folder))).toString('utf8')) as Case)
    .filter(({ log }) => log.length < maxChars)

const clock = (i: number): string => new Date(1_790_000_000_000 + i * 37).toISOString()
const glog = (i: number): string => clock(i).slice(11, 23)

// How much of what was labelled is shown at least. What is long and is shown takes the room of a line or two.
const short = 0.88
const long = 0.82

type Carrier = readonly [name: string, put: (line: string, i: number) => string, cover?: number]

const carriers: readonly Carrier[] = [
  ['a time and a level', (line, i) => `${clock(i)} INFO ${line}`],
  ['a time and a level in colour', (line, i) => `\u001b[2m${clock(i)}\u001b[0m \u001b[32m INFO\u001b[0m ${line}`],
  ['a time and a level in brackets', (line, i) => `[${clock(i)}] [INFO] ${line}`],
  ['a time, a level and a host', (line, i) => `${clock(i)} INFO  build-17 ${line}`],
  ['a thread, a level and a logger', (line, i) => `${glog(i)} [worker-${i % 3}] INFO  dev.acme.build.Runner - ${line}`, long],
  ['a level as a letter and a place', (line, i) => `I0921 ${glog(i)}000       1 runner.go:${40 + (i % 9)}] ${line}`, long],
  ['a time, a host and a program', (line, i) => `Sep 21 ${clock(i).slice(11, 19)} edge-1 build[4711]: ${line}`, long],
  ['an envelope of docker', (line, i) => JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: clock(i) }), long],
  ['the name of a stream', (line, i) => `${clock(i)} stdout F ${line}`],
  ['a time alone', (line, i) => `${clock(i)} ${line}`],
  ['a time, and returns at the end', (line, i) => `[${clock(i)}] ${line}\r`],
  ['a time and a step', (line, i) => `[${clock(i).slice(11, 19)}]${i % 50 === 0 ? 'W' : ' '}:\t [Step 2/4] ${line}`],
  ['a time and the mark of a stream', (line, i) => `${clock(i)} 0${i % 2}O ${line}`],
]

// As lines are compared by whoever scores a digest: by what stands behind a time and a level.
const plain = (text: string): string =>
  text
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
const prefix = /^(?:\[[^\]]{0,40}\]\s*|\d{4}-\d\d-\d\d[T ]\S+\s*|\d\d:\d\d:\d\d(?:[.,]\d+)?\s*|(?:INFO|ERROR|WARN(?:ING)?|DEBUG|FATAL)\b\s*[-:]?\s*)+/
const keyOf = (line: string): string => (plain(line).replace(prefix, '') || plain(line)).slice(0, 60)

const counted = 10

function scoreOf({ log, error_lines }: Case): { readonly hit: number; readonly cover: number } {
  const lines = log.split('\n')
  const stream = { name: 'stdout', sections: [textSection(log)], bytes: Buffer.byteLength(log), lines: lines.length, droppedBytes: 0 } as const
  const digest = plain(digestLog([stream], { budget: 2048, failed: true }))
  const has = (number: number): boolean => digest.includes(keyOf(lines[number - 1] ?? ''))
  const scores = error_lines.map((labels) => ({
    hit: labels.some((number) => !labels.includes(number - 1) && has(number)) ? 1 : 0,
    cover: labels.slice(0, counted).filter(has).length / Math.min(counted, labels.length),
  }))
  return { hit: Math.max(...scores.map(({ hit }) => hit)), cover: Math.max(...scores.map(({ cover }) => cover)) }
}

describe.skipIf(!present)('the digest of a real build log', () => {
  it.each(carriers.map(([name, put, cover = short]) => ({ name, put, cover })))(
    'behind $name holds why it failed',
    ({ put, cover }) => {
      const scores = cases().map(({ log, ...rest }) => scoreOf({ ...rest, log: log.split('\n').map(put).join('\n') }))
      const mean = (key: 'hit' | 'cover'): number => scores.reduce((sum, score) => sum + score[key], 0) / scores.length
      expect(mean('hit')).toBeGreaterThanOrEqual(0.97)
      expect(mean('cover')).toBeGreaterThanOrEqual(cover)
    },
    120_000,
  )
})
