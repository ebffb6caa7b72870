import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { driversAmong, driversIn, hasIncludes, turnedOff } from './drivers.ts'

it.each([
  ['[filter "a"]\n\tclean = x', ['a']],
  ['[Filter "A b"] clean = x', ['A b']],
  ['[filter.Old]\nclean = x', ['old']],
  ['[filter.A "b"]', ['a.b']],
  ['[core] [filter\t  "a=b"]', ['a=b']],
  ['[filter "e\\"sc\\\\ape\\d"]', ['e"sc\\aped']],
  ['# [filter "said"]\n[filter "real"]', ['said', 'real']],
  ['[core "[filter "] [filter "hidden"]', ['hidden']],
  ['[filter "x]y"]', ['x]y']],
  ['[filters "no"]\n[xfilter "no"]\n[filter]\n', []],
])('of %j the filters are %j', (config, filters) => {
  expect(driversIn(config).filters).toEqual(filters)
})

it('no heading that git reads is missed, however it is written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  const parts = [
    '[filter',
    '[Filter',
    '[merge',
    '[submodule',
    '[core',
    ' ',
    '\t',
    '"',
    '"a"',
    '"b c"',
    '"d\\"e"',
    '"f\\\\"',
    '.g',
    '.H',
    ']',
    '\n',
    '# ',
    'clean = x',
    'driver = y',
    'update = z',
    '; [filter "no"]',
    '\r\n',
    '\\',
    '=',
  ]
  let state = 4711
  const below = (limit: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * limit)
  }
  const file = join(folder, 'config')
  const sound = ['[filter "a"]', '[merge.g]', '[Filter.H "b c"]', '[submodule "d\\"e"]', '[core]']
  let read = 0
  try {
    for (let round = 0; round < 250; round++) {
      // Sound headings and settings among what chance makes, so that git takes many of them.
      const pieces = Array.from({ length: 1 + below(5) }, () =>
        below(3) === 0 ? (parts[below(parts.length)] as string) : `${sound[below(sound.length)]}${below(2) ? '\n' : ' '}clean = x\n`,
      )
      const config = pieces.join('')
      writeFileSync(file, config)
      let listed: string
      try {
        listed = execFileSync('git', ['config', '--file', file, '--list', '-z', '--name-only'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      } catch {
        continue
      }
      read++
      const [seen, known] = [driversAmong(listed.split('\0')), driversIn(config)]
      for (const kind of ['filters', 'merges', 'submodules'] as const) expect([config, ...known[kind]]).toEqual(expect.arrayContaining([...seen[kind]]))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  expect(read).toBeGreaterThan(50)
})

it('other files that belong to a configuration are noticed', () => {
  expect(['[include]\npath = x', '[IncludeIf "gitdir:/"]path=x', '[core]\ninclude = x'].map(hasIncludes)).toEqual([true, true, false])
})

it('each program of a driver is turned off under the name that it has', () => {
  expect(turnedOff({ filters: ['a=b'], merges: ['m'], submodules: ['s'] })).toEqual([
    ['filter.a=b.clean', ''],
    ['filter.a=b.smudge', ''],
    ['filter.a=b.process', ''],
    ['filter.a=b.required', 'false'],
    ['merge.m.driver', 'false'],
    ['submodule.s.update', 'checkout'],
  ])
})
