import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SearchResult } from '../../src/app/api.ts'
import { type Holdfast, openHoldfast } from '../../src/index.ts'
import { openWorld, type World } from '../support/world.ts'

const scan = vi.hoisted(() => ({ why: undefined as string | undefined }))
vi.mock('../../src/engine/ripgrep.ts', async (original) => {
  const { ripgrep } = await original<typeof import('../../src/engine/ripgrep.ts')>()
  return {
    ripgrep: (...given: Parameters<typeof ripgrep>): ReturnType<typeof ripgrep> => {
      const real = ripgrep(...given)
      return async (request) => (scan.why === undefined ? real(request) : { why: scan.why })
    },
  }
})

// A small history will do then.
vi.mock('../../src/app/worth-scanning.ts', () => ({ worthScanning: { bytes: 0, runs: 0 } }))

describe('a search', () => {
  let world: World
  let holdfast: Holdfast

  beforeEach(async () => {
    scan.why = undefined
    world = openWorld()
    holdfast = await openHoldfast({ root: world.root, env: { ...world.env, HOLDFAST_SUPERVISOR: 'never' } })
  })
  afterEach(async () => {
    await holdfast.close()
    await world[Symbol.asyncDispose]()
  })

  const print = async (content: string | Uint8Array): Promise<string> => {
    writeFileSync(join(world.root, 'log'), content)
    return (await holdfast.exec({ argv: ['cat', 'log'] })).id
  }
  const textsOf = ({ hits }: SearchResult): string[] => hits.filter(({ line }) => line !== null).map(({ text }) => text)
  const refsOf = ({ hits }: SearchResult): string[] => hits.filter(({ line }) => line !== null).map(({ ref }) => ref)

  it('whose scan cannot be done finds the same, and names what is the matter once', async () => {
    await print(`a needle\n${'x'.repeat(300)}\n`)
    const found = await holdfast.search({ query: 'needle' })
    expect(found.warnings).toEqual([])
    scan.why = 'was ended by SIGSEGV'
    expect(await holdfast.search({ query: 'needle' })).toEqual({
      ...found,
      warnings: ['ripgrep was ended by SIGSEGV; the logs were read without it, which takes longer'],
    })
    await print('another needle\n')
    expect((await holdfast.search({ query: 'needle', all: true })).warnings).toHaveLength(1)
  })

  it.each<[string, string | Uint8Array, Record<string, number>]>([
    ['with bytes that are no text', Buffer.from([0x63, 0xe9, 0x20, 0x6f, 0x6e, 0x65, 0x0a, 0xff, 0xfe, 0x74, 0x77, 0x6f, 0x0a]), { one: 1, two: 2 }],
    ['with NUL characters', 'a\0one \0\0\0 x\n\0two\n', { one: 1, two: 2 }],
    ['of a single line of a megabyte', `${'x'.repeat(500_000)} one ${'y'.repeat(500_000)} two\n`, { one: 1, two: 1 }],
    ['with a line longer than what is read at once', `first\n${'x'.repeat(2_600_000)} one ${'y'.repeat(900_000)}\ntwo`, { one: 2, two: 3 }],
  ])('finds lines in a log %s', async (_, log, expected) => {
    const id = await print(log)
    for (const [query, line] of Object.entries(expected)) {
      expect(refsOf(await holdfast.search({ query })), query).toEqual([`${id}:${line}`])
      expect(refsOf(await holdfast.search({ query: `${query}(?=\\W|$)`, regex: true })), query).toEqual([`${id}:${line}`])
      expect(refsOf(await holdfast.search({ query, literal: true, context: 1 })), query).toEqual([`${id}:${line}`])
    }
  })

  it.each(['token=\\[masked\\] fine', 'token=.{8} fine', '=\\W\\w+\\W f', 'token=.* fine'])('for %s finds what takes in a masked secret', async (query) => {
    const filler = 'a line that says nothing\n'.repeat(14_000)
    await print(`${filler}deploy token=ghp_abcdefghijklmnopqrstuvwxyz0123456789 fine\n${filler}`)
    expect(textsOf(await holdfast.search({ query, regex: true }))).toEqual(['deploy token=[masked] fine'])
  })

  it('finds a row by its number, and not one whose number only begins so', async () => {
    await print('row 23456 was skipped\nrow 2345 was kept\nparseRow2345(x)\n')
    expect(textsOf(await holdfast.search({ query: 'row 2345' }))).toEqual(['row 2345 was kept', 'parseRow2345(x)'])
  })

  it('suggests identifiers, and parts of them, for those that are misspelt', async () => {
    await print('snake_case_name = 1\nparseConfigFile(path)\nMAX_RETRY_COUNT=3\n')
    for (const [query, instead] of Object.entries({
      snke_case_name: 'snake_case_name',
      snke_case: 'snake_case',
      parseConfgFile: 'parseconfigfile',
      MAX_RETYR_COUNT: 'max_retry_count',
      Confg: 'config',
    }))
      expect((await holdfast.search({ query })).suggestions, query).toEqual([{ word: query.toLowerCase(), instead }])
  })

  it('looks through a run that goes on, by its id and among others', async () => {
    const done = holdfast.exec({ script: 'echo the needle; until [ -e over ]; do sleep 0.05; done' })
    await vi.waitFor(async () => expect(textsOf(await holdfast.search({ query: 'needle' }))).toEqual(['the needle']), { timeout: 10_000 })
    const { run } = (await holdfast.search({ query: 'needle' })).hits[0] as SearchResult['hits'][number]
    expect(refsOf(await holdfast.search({ query: 'needle', run }))).toEqual([`${run}:1`])
    expect(refsOf(await holdfast.search({ query: 'needle', run: 'last' }))).toEqual([`${run}:1`])
    writeFileSync(join(world.root, 'over'), '')
    await done
  }, 30_000)

  it('passes over what is damaged or gone, and says what it has not seen', async () => {
    const ids: string[] = []
    for (const word of ['one', 'two', 'three', 'four', 'five']) ids.push(await print(`needle ${word}\n`))
    await holdfast.search({ query: 'needle' })
    const [damaged, gone, withoutLog, unreadable] = ids.map((id) => join(world.root, '.holdfast', 'runs', id)) as [string, string, string, string]
    writeFileSync(join(damaged, 'run.json'), '{')
    rmSync(gone, { recursive: true })
    rmSync(join(withoutLog, 'stdout.log'))
    rmSync(join(unreadable, 'stdout.log'))
    mkdirSync(join(unreadable, 'stdout.log'))
    const found = await holdfast.search({ query: 'needle', context: 1 })
    expect(textsOf(found)).toEqual(['needle five', 'needle one'])
    expect(found.warnings).toEqual([`not there any more, or not readable: what 2 runs printed, the newest ${ids[2]}`])
    expect((await holdfast.search({ query: 'needle', run: ids[1] as string })).warnings).toEqual([
      `not there any more, or not readable: what 1 run printed, the newest ${ids[1]}`,
    ])
  })

  it('goes on while runs are removed', async () => {
    writeFileSync(join(world.root, 'holdfast.json'), JSON.stringify({ retention: { maxRuns: 5 } }))
    const keeper = await openHoldfast({ root: world.root, env: { ...world.env, HOLDFAST_SUPERVISOR: 'never' } })
    for (let i = 0; i < 16; i += 1) await print(`needle ${i}\n${i % 4 === 0 ? 'more\n'.repeat(60_000) : ''}`)
    const searches = Array.from({ length: 3 }, () => keeper.search({ query: 'needle', context: 1, all: true, limit: 100 }))
    const [{ removed }, ...found] = await Promise.all([keeper.gc({}), ...searches])
    expect(removed).toHaveLength(11)
    // What a bound kept from being read is said.
    for (const { hits, warnings } of found) expect(hits.length >= 5 || warnings.length > 0).toBe(true)
    expect(textsOf(await keeper.search({ query: 'needle', limit: 100 }))).toHaveLength(5)
    await keeper.close()
  }, 120_000)
})
