import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { personsText, styles, tomlStyles } from '../../../test/support/config-texts.ts'
import { hostPlaces } from '../../../test/support/host-places.ts'
import { hookMomentsOf } from '../../../test/support/installed-hooks.ts'
import { type HostName, hostNames } from '../host.ts'
import { type ConfigFile, containersIn, type EntriesFile, foundEntries, installedText, removedText } from './config-file.ts'
import { openDocument, valueAt } from './document.ts'
import { hostConfigs, type Scope, scopes } from './host-config.ts'
import { applyEdits, reverseEdits } from './reverse-edits.ts'
import { unifiedDiff } from './unified-diff.ts'

const launcher = ['holdfast']
const olderLauncher = ['/opt/older/holdfast']

interface Case {
  readonly host: HostName
  readonly scope: Scope
  readonly file: ConfigFile
}

const cases: readonly Case[] = hostNames.flatMap((host) =>
  scopes.flatMap((scope) => hostConfigs[host].files(hostPlaces(), scope).map((file) => ({ host, scope, file }))),
)
const written = cases.filter(({ file }) => installedText(file, undefined, launcher) !== undefined)
const entries = written.filter((each): each is Case & { readonly file: EntriesFile } => each.file.format !== 'source')

/** As an earlier version left it, and as the person went on from there. */
function olderText(file: ConfigFile): string {
  if (file.format === 'source') return `${file.toSource(olderLauncher)}// and a line that is no more\n`
  const document = openDocument(file.path, file.format, installedText(file, personsText(file), olderLauncher) as string)
  if (file.server) document.set([...file.server.path, 'note'], 'mine')
  if (file.hooks) {
    const handler = { command: `/opt/older/holdfast hook ${file.hooks.host} Gone` }
    document.append([...file.hooks.path, 'Gone'], file.hooks.isGrouped ? { hooks: [handler] } : handler)
  }
  return document.text
}

describe.each(hostNames)('the files of %s', (host) => {
  it('are written as its page says', async () => {
    const parts = written
      .filter((each) => each.host === host)
      .map(({ scope, file }) => {
        const fresh = file.format === 'source' ? '(its program)\n' : installedText(file, undefined, launcher)
        const existing = file.format === 'source' ? '' : personsText(file)
        const beside = existing === '' ? '' : `--- beside others\n${unifiedDiff(file.path, existing, installedText(file, existing, launcher))}`
        const older = olderText(file)
        const newer = file.format === 'source' ? '' : `--- over an older one\n${unifiedDiff(file.path, older, installedText(file, older, launcher))}`
        return `===== ${scope}: ${file.path}\n${fresh}${beside}${newer}`
      })
    await expect(parts.join('\n')).toMatchFileSnapshot(`../golden/${host}.txt`)
  })
})

describe.each(written)('$file.path', ({ file }) => {
  const starts =
    file.format === 'source'
      ? [undefined, '', olderText(file)]
      : [undefined, '', '\n', personsText(file), olderText(file), ...(file.format === 'toml' ? tomlStyles : styles)]

  it('is the same after a second installation', () => {
    for (const start of starts) {
      const once = installedText(file, start, launcher)
      expect(installedText(file, once, launcher), start).toBe(once)
    }
  })

  it('goes back to the byte by what was written down', () => {
    for (const start of starts) {
      const once = installedText(file, start, launcher) as string
      expect(applyEdits(once, reverseEdits(once, start ?? ''))).toBe(start ?? '')
    }
  })

  it('has nothing of ours after a removal, and what is not ours untouched', () => {
    if (file.format === 'source') {
      expect(removedText(file, olderText(file), undefined)).toBeUndefined()
      expect(removedText(file, 'export default 1\n', undefined)).toBe('export default 1\n')
      return
    }
    const start = personsText(file)
    expect(removedText(file, installedText(file, start, launcher) as string, undefined)).toBe(start)
    expect(foundEntries(file, removedText(file, olderText(file), undefined))).toEqual({ hooks: [] })
  })
})

describe.each(entries)('$file.path, without what was written down,', ({ file }) => {
  it('goes back to the byte, unless what was made belongs to nobody', () => {
    for (const start of file.format === 'toml' ? tomlStyles : styles) {
      const before = containersIn(file, start)
      const once = installedText(file, start, launcher) as string
      const made = containersIn(file, once).filter((path) => !before.some((other) => isDeepStrictEqual(other, path)))
      const left = removedText(file, once, made)
      // Where nothing but braces was, they may stand in another way, and what every file begins with may stay.
      if (/^\s*\{(?: \/\/ open)?\s*\}\s*$/.test(start) || start.endsWith(' }'))
        expect(left === undefined || foundEntries(file, left).hooks.length === 0).toBe(true)
      else expect(left).toBe(start)
    }
  })

  it('names the command of each event once, and the server', () => {
    const found = foundEntries(file, installedText(file, olderText(file), launcher))
    if (file.server) expect(found.server?.words).toEqual(['holdfast', 'mcp'])
    if (file.hooks) {
      const events = hookMomentsOf(file.hooks)
      expect(found.hooks.map(({ event }) => event).sort()).toEqual([...events].sort())
      expect(found.hooks.every(({ command }) => command.startsWith('holdfast hook '))).toBe(true)
    }
  })

  it('keeps what a person added to our entry', () => {
    if (!file.server) return
    const document = openDocument(file.path, file.format, installedText(file, olderText(file), launcher) as string)
    expect(valueAt(document.value, [...file.server.path, 'note'])).toBe('mine')
  })
})

describe('an entry that is none of ours', () => {
  const [{ file }] = entries.filter((each) => each.host === 'claude-code' && each.scope === 'project') as [Case & { file: EntriesFile }]

  it.each(['{"mcpServers": {"holdfast": {"command": "docker", "args": ["run", "x"]}}}', '{"mcpServers": {"holdfast": {"url": "http://127.0.0.1/mcp"}}}'])(
    'with our name stays, and is said: %s',
    (text) => {
      expect(() => installedText(file, text, launcher)).toThrow('mcpServers.holdfast in /srv/app/.mcp.json is there already')
      expect(removedText(file, text, undefined)).toBe(text)
    },
  )

  it.each([
    ['{"mcpServers": {', 'line 1, column 17'],
    ['{\n  "a": 1,\n  "b" 2\n}', 'line 3, column 7: colon expected'],
    ['[]', 'it is no object'],
    ['{"mcpServers": []}', 'line 1, column 16: mcpServers is no object'],
  ])('in a broken file is told with its place: %j', (text, place) => {
    expect(() => installedText(file, text, launcher)).toThrow(place)
  })
})
