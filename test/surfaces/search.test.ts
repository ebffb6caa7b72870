import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { SearchInput } from '../../src/app/api.ts'
import { type Holdfast, openHoldfast } from '../../src/index.ts'
import { type Random, random } from '../support/random.ts'
import { openWorld, type World } from '../support/world.ts'

const scans = vi.hoisted(() => ({ count: 0, marks: 0 }))
vi.mock('../../src/engine/ripgrep.ts', async (original) => {
  const { ripgrep } = await original<typeof import('../../src/engine/ripgrep.ts')>()
  return {
    ripgrep: (...given: Parameters<typeof ripgrep>): ReturnType<typeof ripgrep> => {
      const scan = ripgrep(...given)
      return async (request) => {
        const found = await scan(request)
        scans.count += 1
        if ('marks' in found) scans.marks += found.marks.size
        return found
      }
    },
  }
})

// A small history will do then.
vi.mock('../../src/app/worth-scanning.ts', () => ({ worthScanning: { bytes: 0, runs: 0 } }))

const esc = '\u001b'
const words = [
  'error',
  'Connection',
  'refused',
  'parseRow2345',
  'snake_case_name',
  'src/app/search.ts:12',
  '日本語',
  'straße',
  'Größe',
  '🔥',
  'x™',
  "can't",
  'row',
  '2345',
  '1',
]
const rare = ['quetzal', 'Ｗｉｄｅ', 'ﬁnal', `spl${esc}[31mit${esc}[39mted`, 'naïve', 'zwölf', `be\bhind`, '漢字かな', 'rareIdentifier77', 'rare-7-thing']

/** A log of about so many bytes, in which words stand as programs print them. */
function logOf({ int, pick }: Random, bytes: number): string {
  let text = ''
  while (text.length < bytes) {
    const line = Array.from({ length: int(1, 9) }, () => (int(0, 1_500) === 0 ? pick(rare) : pick(words)))
    if (int(0, 30) === 0) line.push(`${esc}[1m${pick(words)}${esc}[22m`)
    if (int(0, 500) === 0) line.push('token=ghp_abcdefghijklmnopqrstuvwxyz0123456789')
    if (int(0, 60) === 0) line.push('\r', pick(words))
    text += `${line.join(pick([' ', ' ', ', ', '  ']))}${pick(['\n', '\n', '\n', '\r\n'])}`
    if (int(0, 3_000) === 0) text += '-'.repeat(int(1, 300_000))
  }
  return text
}

const queries: readonly SearchInput[] = [
  ...[
    'error',
    'quetzal',
    'wide',
    'final',
    'splitted',
    'naive',
    'zwolf',
    'behind',
    '漢字',
    'かな',
    '日本',
    'rareIdentifier',
    'identifier77',
    'rare-7',
    'row 2345',
  ].map((query) => ({ query })),
  ...[
    'parseRow',
    'connection refused',
    'quetzal error',
    'strasse quetzal',
    '"refused error"',
    'x tm',
    'ghp_abc',
    'masked',
    'a',
    '🔥 quetzal',
    'grosse',
    'nowhere',
  ].map((query) => ({ query })),
  ...['quetzal|naive', 'rare.*7', 'rareId\\w+77', 'token=', '\\[masked\\]', '^error$', 'nowhere\\d', '[a-z]{7}Identifier\\d', 'x.$'].map((query) => ({
    query,
    regex: true,
  })),
  ...['rareIdentifier77', 'rareidentifier77', 'row, 2345', "can't", 'final', '[masked]'].map((query) => ({ query, literal: true })),
]

describe('a search', () => {
  let world: World
  let quick: Holdfast
  let slow: Holdfast

  beforeAll(async () => {
    world = openWorld()
    const env = { ...world.env, HOLDFAST_SUPERVISOR: 'never' }
    quick = await openHoldfast({ root: world.root, env })
    const made = random(5)
    for (let i = 0; i < 6; i += 1) {
      const log = i % 2 === 0 ? logOf(made, made.int(1, 20_000)) : logOf(made, made.int(270_000, 330_000))
      writeFileSync(join(world.root, 'log'), log)
      const limited = i === 5 ? { maxOutputBytes: 100_000 } : {}
      const argv: [string, ...string[]] = ['sh', '-c', `cat log; ${i % 4 === 1 ? 'tail -c 100000 log >&2; exit 1' : 'true'}`]
      await quick.exec({ argv, purpose: i === 7 ? 'look for the quetzal' : 'fill', ...limited })
    }
    slow = await openHoldfast({ root: world.root, env: { ...env, HOLDFAST_RIPGREP: 'never' } })
  }, 120_000)

  afterAll(async () => {
    await quick.close()
    await slow.close()
    await world[Symbol.asyncDispose]()
  })

  it.each(queries)(
    'for %j finds the same with ripgrep as without',
    async (input) => {
      const asked = { ...input, limit: 200, all: true }
      const [a, b] = [await quick.search(asked), await slow.search(asked)]
      expect(a.hits.map(({ ref, text }) => [ref, text])).toEqual(b.hits.map(({ ref, text }) => [ref, text]))
      expect(a).toEqual(b)
    },
    60_000,
  )

  it('really scans', () => {
    expect(scans.count).toBeGreaterThan(10)
    expect(scans.marks).toBeGreaterThan(10)
  })

  it('shows lines with their true numbers and what is around them', async () => {
    const { hits } = await quick.search({ query: 'quetzal', context: 3, limit: 200 })
    const lines = hits.filter(({ line }) => line !== null)
    expect(lines.length).toBeGreaterThan(1)
    for (const hit of lines) {
      const line = hit.line as number
      const { lines: shown } = await quick.output({
        run: hit.run,
        stream: hit.stream as 'stdout',
        lines: `${Math.max(1, line - 3)}-${line + 3}`,
        maxBytes: 1_000_000,
      })
      const numbered = shown.filter((other) => other.line > 0)
      const texts = (from: number, to: number): string[] => numbered.filter((other) => other.line >= from && other.line <= to).map(({ text }) => text)
      const short = (text: string): boolean => text.length < 100
      expect(hit.before?.filter(short)).toEqual(texts(line - 3, line - 1).filter(short))
      expect(hit.after?.filter(short)).toEqual(texts(line + 1, line + 3).filter(short))
    }
  }, 60_000)

  it('never finds what stands in a secret only', async () => {
    for (const query of ['abcdefghijklmnopqrstuvwxyz', 'ghp']) expect((await quick.search({ query })).hits).toEqual([])
  })

  it('is kept to a run, a stream, runs that failed', async () => {
    const all = (await quick.search({ query: 'quetzal', limit: 200 })).hits
    const { run } = all[0] as (typeof all)[number]
    const refs = async (input: Partial<SearchInput>): Promise<string[]> =>
      (await quick.search({ query: 'quetzal', limit: 200, ...input })).hits.map(({ ref }) => ref)
    expect(new Set((await quick.search({ query: 'quetzal', run })).hits.map((hit) => hit.run))).toEqual(new Set([run]))
    expect(await refs({ stream: 'stderr' })).toEqual(all.filter(({ stream }) => stream === 'stderr').map(({ ref }) => ref))
    expect(await refs({ failing: true })).toEqual(all.filter(({ failing }) => failing).map(({ ref }) => ref))
    expect(all.length).toBeGreaterThan(0)
    expect(await refs({ workspace: 'none' })).toEqual([])
  }, 60_000)

  it('suggests what a misspelt word may mean', async () => {
    expect(await quick.search({ query: 'conection refsued' })).toMatchObject({
      hits: [],
      suggestions: [
        { word: 'conection', instead: 'connection' },
        { word: 'refsued', instead: 'refused' },
      ],
    })
  })

  it('knows what looks like trouble in the middle of a long log, and is told of it without a scan', async () => {
    const line = (i: number): string => `step ${i} of the long way went as it should, with nothing to be told`
    const lines = Array.from({ length: 12_000 }, (_, i) =>
      i === 6_000 ? 'error: gizmoExploded in the engine room' : i === 7_000 ? 'a word like zanzibarQuiet is no trouble' : line(i),
    )
    writeFileSync(join(world.root, 'log'), `${lines.join('\n')}\n`)
    const { id } = await quick.exec({ argv: ['cat', 'log'] })
    const before = scans.count
    expect((await quick.search({ query: 'gizmoExploded', run: id })).hits.map(({ ref }) => ref)).toEqual([`${id}:6001`])
    const { hits } = await quick.search({ query: 'gizmoExploded' })
    expect(hits.map(({ ref }) => ref)).toEqual([`${id}:6001`])
    expect(scans.count).toBeGreaterThan(before)
    expect((await quick.search({ query: 'zanzibarQuiet' })).hits.map(({ ref }) => ref)).toEqual([`${id}:7001`])
  }, 60_000)
})
