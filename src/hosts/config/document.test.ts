import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { hostPlaces } from '../../../test/support/host-places.ts'
import { type Random, random } from '../../../test/support/random.ts'
import { containersIn, type EntriesFile, foundEntries, installedText, removedText } from './config-file.ts'
import { type Format, openDocument } from './document.ts'
import { hostConfigs } from './host-config.ts'
import { applyEdits, reverseEdits } from './reverse-edits.ts'

const launcher = ['/srv/holdfast/holdfast']
// Parsing TOML takes its time.
const rounds: Readonly<Record<Format, number>> = { jsonc: 300, toml: 50 }

/** JSON with comments in a random style, in which places of ours may be taken by others. */
function randomJsonc(dice: Random): string {
  const eol = dice.pick(['\n', '\r\n'])
  const unit = dice.pick(['  ', '    ', '\t', ' '])
  const comment = (): string => dice.pick(['', '', '', ' // a, "b": {', ' /* c ] */'])
  const space = (): string => dice.pick([' ', ' ', ''])
  const scalar = (): string => dice.pick(['1', '-2.5e3', 'true', 'null', '""', '"x // y"', '"\\u00e9 \\"{"', '"holdfast mcp"'])
  function value(depth: number, name: string): string {
    if (name === 'mcpServers' || name === 'hooks') return object(depth, name === 'hooks' ? ['SessionStart', 'Stop'] : ['other', 'third'])
    if (name === 'SessionStart' || name === 'Stop') return list(depth)
    const kind = depth > 3 ? 2 : dice.int(0, 4)
    return kind === 0 ? object(depth, ['a', 'b', 'c']) : kind === 1 ? list(depth) : scalar()
  }
  function block(open: string, close: string, depth: number, parts: readonly string[]): string {
    const isLine = dice.int(0, 3) === 0
    const comma = (i: number): string => (i < parts.length - 1 ? ',' : dice.pick(['', '', ',']))
    if (parts.length === 0)
      return dice.pick([
        `${open}${close}`,
        `${open} ${close}`,
        `${open}${eol}${unit.repeat(depth)}${close}`,
        `${open} // none${eol}${unit.repeat(depth)}${close}`,
      ])
    if (isLine && parts.every((part) => !part.includes('//') && !part.includes('\n')))
      return `${open}${space()}${parts.map((part, i) => part + comma(i)).join(' ')}${space()}${close}`
    const lines = parts.map((part, i) => `${unit.repeat(depth + 1)}${part}${comma(i)}${comment()}`)
    if (dice.int(0, 3) === 0) lines.push(`${unit.repeat(depth + 1)}// the end, of: {`)
    return `${open}${comment()}${eol}${lines.join(eol)}${eol}${unit.repeat(depth)}${close}`
  }
  function object(depth: number, names: readonly string[]): string {
    const chosen = names.filter(() => dice.int(0, 2) > 0)
    return block(
      '{',
      '}',
      depth,
      chosen.map((name) => `"${name}":${space()}${value(depth + 1, name)}`),
    )
  }
  function list(depth: number): string {
    return block(
      '[',
      ']',
      depth,
      Array.from({ length: dice.int(0, 3) }, () => value(depth + 1, 'x')),
    )
  }
  const head = dice.pick(['', '', '// head', '/* head */'])
  return `${dice.pick(['', '', '\ufeff'])}${head}${head && eol}${object(0, ['z', 'mcpServers', 'y', 'hooks', 'theme'])}${dice.pick(['', eol, `${eol}// tail${eol}`])}`
}

function randomToml(dice: Random): string {
  const eol = dice.pick(['\n', '\r\n'])
  const comment = (): string => dice.pick(['', '', ' # a = [ "'])
  const scalar = (): string =>
    dice.pick([
      '1',
      'true',
      '"x # y"',
      "'[z]'",
      '[1, 2]',
      '{ a = 1, b = "]" }',
      `[${eol}  "q", # r]${eol}]`,
      `"""${eol}[mcp_servers.holdfast]${eol}"""`,
      '1979-05-27T07:32:00Z',
    ])
  const pairs = (names: readonly string[]): string[] =>
    names.filter(() => dice.int(0, 1) === 1).map((name) => `${dice.pick(['', '  '])}${name}${dice.pick([' = ', '='])}${scalar()}${comment()}`)
  const tables = [
    () => ['[mcp_servers.other]', 'command = "npx"', ...pairs(['env', 'cwd'])],
    () => ['[mcp_servers."a.b"]', ...pairs(['command'])],
    () => ['[[hooks.SessionStart]]', 'matcher = "startup"', '[[hooks.SessionStart.hooks]]', 'command = "date"'],
    () => ['[projects."/srv/app"]', ...pairs(['trust_level'])],
    () => ['[hooks.state."x:0"]', 'trusted_hash = "h"'],
    () => ['[[list]]', ...pairs(['a', 'b'])],
  ].filter(() => dice.int(0, 1) === 1)
  const lines = [
    ...pairs(['model', 'x-y', '"quoted key"']),
    ...tables.flatMap((table) => [...dice.pick([[], [''], ['', '# about [this]']]), ...table().map((line, i) => (i === 0 ? line + comment() : line))]),
  ]
  return `${dice.pick(['', '\ufeff'])}${lines.join(eol)}${dice.pick(['', eol, eol + eol])}`
}

const kinds: readonly (readonly [Format, string, (dice: Random) => string])[] = [
  ['jsonc', '/home/ann/.gemini/settings.json', randomJsonc],
  ['toml', '/home/ann/.codex/config.toml', randomToml],
]
const files = Object.values(hostConfigs).flatMap((config) => config.files(hostPlaces(), 'user'))

describe.each(kinds)('any %s', (format, path, make) => {
  const file = files.find((each) => each.path === path) as EntriesFile
  // What stands in a string is no comment; the comments here close the quotes that they open.
  const commentsOf = (text: string): string[] =>
    (format === 'toml' ? text.match(/#[^\n\r]*/g) : text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/\/\/[^\n\r]*|\/\*.*?\*\//g)) ?? []

  it('keeps its meaning and its comments, and comes back', () => {
    for (let seed = 1; seed <= rounds[format]; seed += 1) {
      const text = make(random(seed))
      const original = openDocument(path, format, text).value
      const once = installedText(file, text, launcher) as string
      const told = `seed ${seed}: ${JSON.stringify(text)}`
      expect(installedText(file, once, launcher), told).toBe(once)
      expect(foundEntries(file, once).server?.words, told).toEqual([...launcher, 'mcp'])
      expect(commentsOf(once), told).toEqual(commentsOf(text))
      expect(applyEdits(once, reverseEdits(once, text)), told).toBe(text)
      const before = containersIn(file, text)
      const made = containersIn(file, once).filter((each) => !before.some((other) => isDeepStrictEqual(other, each)))
      const left = removedText(file, once, made) as string
      expect(commentsOf(left), told).toEqual(commentsOf(text))
      expect(openDocument(path, format, left).value, told).toEqual(original)
    }
  })
})

it('a change that would alter the rest is refused', () => {
  const document = openDocument('/srv/app/x.json', 'jsonc', '{"__proto__": {"a": 1}}')
  document.set(['b'], 1)
  expect(document.text).toBe('{"__proto__": {"a": 1}, "b": 1}')
})
