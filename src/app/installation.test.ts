import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/support/world.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import type { AppContext } from './context.ts'
import { createInstallations, type InstallationUseCases } from './installation.ts'
import { holdFile, writeFiles } from './installation-files.ts'
import { createMasking } from './masking.ts'

const machine = { self: identifySelf(), isAlive }

/** Installations in a world, by a Holdfast that is at `program`. */
function installationsIn(world: World, program = world.path('opt', 'holdfast', 'dist', 'cli.js'), env: Record<string, string> = {}): InstallationUseCases {
  const state = world.path('home', '.local', 'state')
  const context: Partial<AppContext> = {
    ownEnv: { ...world.env, PATH: world.path('bin'), ...env },
    root: world.root,
    program,
    homePlace: { override: undefined, project: world.root, state, temporary: world.tmp },
    masking: createMasking({ secrets: [], patterns: [] }),
    machine: machine as AppContext['machine'],
  }
  return createInstallations(context as AppContext)
}

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** Every file, folder and link below a folder, with what is in it. */
function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    names.map((name) => {
      const stats = lstatSync(join(folder, name))
      return [
        name,
        stats.isFile() ? `${(stats.mode & 0o777).toString(8)} ${readFileSync(join(folder, name), 'latin1')}` : stats.isDirectory() ? 'folder' : 'link',
      ]
    }),
  )
}

const read = (path: string): string => readFileSync(path, 'utf8')

describe('install', () => {
  it('shows what it would write, and writes nothing, in a dry run', async () => {
    await using world = openWorld()
    const before = treeOf(world.folder)
    const result = await installationsIn(world).install({ host: 'claude', dryRun: true })
    expect(result).toMatchObject({ host: 'claude-code', scope: 'user', dryRun: true, changed: true })
    expect(result.files.map(({ path, action }) => [relative(world.home, path), action])).toEqual([
      ['.claude.json', 'create'],
      ['.claude/settings.json', 'create'],
    ])
    expect(result.files[0]?.diff).toContain('+    "holdfast": {')
    expect(treeOf(world.folder)).toEqual(before)
  })

  it('says of a second time that nothing changes', async () => {
    await using world = openWorld()
    const installations = installationsIn(world)
    await installations.install({ host: 'codex' })
    const before = treeOf(world.folder)
    expect(await installations.install({ host: 'codex' })).toMatchObject({ changed: false, files: [{ action: 'unchanged', diff: '' }], next: [] })
    expect(treeOf(world.folder)).toEqual(before)
  })

  it('keeps a link that a person made of a file, and the mode of what it leads to', async () => {
    await using world = openWorld()
    const real = put(world.path('dotfiles', 'settings.json'), '{\n  "theme": "dark"\n}\n')
    chmodSync(real, 0o640)
    mkdirSync(world.path('home', '.gemini'))
    symlinkSync('../../dotfiles/settings.json', world.path('home', '.gemini', 'settings.json'))
    const installations = installationsIn(world)
    await installations.install({ host: 'gemini' })
    expect(lstatSync(world.path('home', '.gemini', 'settings.json')).isSymbolicLink()).toBe(true)
    expect(read(real)).toContain('"holdfast"')
    expect(statSync(real).mode & 0o777).toBe(0o640)
    await installations.uninstall({ host: 'gemini' })
    expect(read(real)).toBe('{\n  "theme": "dark"\n}\n')
  })

  it('makes new files of a person private, and those of a project as others are', async () => {
    await using world = openWorld()
    const installations = installationsIn(world)
    await installations.install({ host: 'cursor' })
    await installations.install({ host: 'cursor', project: true })
    expect(statSync(world.path('home', '.cursor', 'mcp.json')).mode & 0o777).toBe(0o600)
    expect(statSync(join(world.root, '.cursor', 'mcp.json')).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  it('follows no link of a project that leads out of it', async () => {
    await using world = openWorld()
    const outside = put(world.path('home', 'precious.json'), '{}')
    mkdirSync(join(world.root, '.cursor'))
    symlinkSync(outside, join(world.root, '.cursor', 'mcp.json'))
    const before = treeOf(world.folder)
    await expect(installationsIn(world).install({ host: 'cursor', project: true })).rejects.toThrow(/a link leads out of .*root, to .*precious\.json/)
    expect(treeOf(world.folder)).toEqual(before)
  })

  it.each([
    [
      'is broken',
      (path: string) => put(path, '{ "hooks": '),
      /settings\.json cannot be used as it is \(line 1, column 12: value expected\); nothing was changed/,
    ],
    ['is read-only', (path: string) => chmodSync(put(path, '{}'), 0o444), /settings\.json" cannot be used: it is read-only/],
    ['is a folder', (path: string) => mkdirSync(path, { recursive: true }), /settings\.json" is a directory, not a file/],
    ['is not in UTF-8', (path: string) => writeFileSync(put(path, ''), Buffer.from([0x7b, 0xff])), /it is not in UTF-8/],
  ])('changes no file where the second one %s', async (_, make, sentence) => {
    await using world = openWorld()
    make(world.path('home', '.claude', 'settings.json'))
    const before = treeOf(world.folder)
    await expect(installationsIn(world).install({ host: 'claude-code' })).rejects.toThrow(sentence)
    expect(treeOf(world.folder)).toEqual(before)
  })

  it('shows no secrets that stand beside, and writes none down', async () => {
    await using world = openWorld()
    const path = put(
      world.path('home', '.cursor', 'mcp.json'),
      '{\n  "mcpServers": {\n    "other": { "command": "x", "env": { "API_KEY": "k-123456789" } }\n  }\n}\n',
    )
    const result = await installationsIn(world).install({ host: 'cursor' })
    expect(read(path)).toContain('k-123456789')
    expect(result.files[0]?.diff).toContain('"API_KEY": "[masked]"')
    expect(JSON.stringify([result, treeOf(world.path('home', '.local', 'state'))])).not.toContain('k-123456789')
  })

  it('puts hooks of Codex where those of the person are', async () => {
    await using world = openWorld()
    const installations = installationsIn(world)
    await installations.install({ host: 'codex' })
    const hooks = put(world.path('home', '.codex', 'hooks.json'), '{"hooks":{}}')
    await installations.install({ host: 'codex' })
    expect(read(world.path('home', '.codex', 'config.toml'))).not.toContain('hooks')
    expect(read(hooks)).toContain('hook codex SessionStart')
    await installations.uninstall({ host: 'codex' })
    expect(read(hooks)).toBe('{"hooks":{}}')
    expect(existsSync(world.path('home', '.codex', 'config.toml'))).toBe(false)
  })

  it('sets that an agent is led to exec where that is asked for, until the last one goes', async () => {
    await using world = openWorld()
    const settings = world.path('home', '.config', 'holdfast', 'holdfast.json')
    const before = read(settings)
    const installations = installationsIn(world)
    await installations.install({ host: 'pi', leadToExec: true })
    await installations.install({ host: 'cursor' })
    expect(JSON.parse(read(settings))).toEqual({ ...JSON.parse(before), hooks: { leadToExec: true } })
    await installations.uninstall({ host: 'pi' })
    expect(JSON.parse(read(settings))).toMatchObject({ hooks: { leadToExec: true } })
    await installations.uninstall({ host: 'cursor' })
    expect(read(settings)).toBe(before)
  })

  it.each([
    [{ host: 'emacs' }, 'host is "emacs"; accepted: claude-code, codex, gemini-cli, opencode, cursor, vscode, pi'],
    [{ host: 'codex', project: true, user: true }, 'accepted: one of --project and --user'],
  ])('refuses %j', async (input, sentence) => {
    await using world = openWorld()
    await expect(installationsIn(world).install(input)).rejects.toThrow(sentence)
  })

  it('lists the hosts that are on this machine where none is named', async () => {
    await using world = openWorld()
    put(world.path('bin', 'codex'), '')
    chmodSync(world.path('bin', 'codex'), 0o755)
    mkdirSync(world.path('home', '.cursor'))
    const installations = installationsIn(world)
    await installations.install({ host: 'cursor', project: true })
    const { hosts, changed } = await installations.install({})
    expect(changed).toBe(false)
    expect(hosts.filter(({ found }) => found !== null)).toEqual([
      { host: 'codex', title: 'Codex CLI', found: world.path('bin', 'codex'), installed: [], command: 'holdfast install codex' },
      { host: 'cursor', title: 'Cursor', found: world.path('home', '.cursor'), installed: ['project'], command: 'holdfast install cursor' },
    ])
  })
})

describe('uninstall', () => {
  it('gives back the bytes of what was there, also after an installation over an older one', async () => {
    await using world = openWorld()
    put(world.path('home', '.claude.json'), '{ "theme":"dark","mcpServers":{ } }')
    put(world.path('home', '.claude', 'settings.json'), '{\r\n\t// mine\r\n\t"hooks": {},\r\n}')
    const before = treeOf(world.folder)
    await installationsIn(world).install({ host: 'claude-code' })
    const newer = installationsIn(world, world.path('opt', 'holdfast-2', 'dist', 'cli.js'))
    expect(await newer.install({ host: 'claude-code' })).toMatchObject({ changed: true })
    expect(read(world.path('home', '.claude.json'))).toContain('holdfast-2')
    await newer.uninstall({ host: 'claude-code' })
    expect(treeOf(world.folder)).toEqual(before)
  })

  it('takes files and folders along that were made, those of its own records last', async () => {
    await using world = openWorld()
    const before = treeOf(world.folder)
    const installations = installationsIn(world)
    for (const host of ['pi', 'vscode', 'opencode']) await installations.install({ host })
    for (const host of ['pi', 'opencode', 'vscode']) await installations.uninstall({ host })
    expect(treeOf(world.folder)).toEqual(before)
  })

  it('takes only what is ours out of a file that others changed since', async () => {
    await using world = openWorld()
    const path = world.path('home', '.gemini', 'settings.json')
    const installations = installationsIn(world)
    await installations.install({ host: 'gemini-cli' })
    writeFileSync(path, read(path).replace('{\n', '{\n  "theme": "dark", // new\n'))
    await installations.uninstall({ host: 'gemini-cli' })
    expect(read(path)).toBe('{\n  "theme": "dark" // new\n}\n')
  })

  it('says where else it is installed when there is nothing to take out', async () => {
    await using world = openWorld()
    const installations = installationsIn(world)
    await installations.install({ host: 'pi', project: true })
    expect(await installations.uninstall({ host: 'pi' })).toMatchObject({
      changed: false,
      warnings: ['it is installed for the project: holdfast uninstall pi --project'],
    })
  })

  it('leaves a plugin file of the same name that is not ours', async () => {
    await using world = openWorld()
    const path = put(world.path('home', '.pi', 'agent', 'extensions', 'holdfast.ts'), 'export default () => {}\n')
    const installations = installationsIn(world)
    expect(await installations.uninstall({ host: 'pi' })).toMatchObject({ changed: false })
    await expect(installations.install({ host: 'pi' })).rejects.toThrow('is there already')
    expect(read(path)).toBe('export default () => {}\n')
  })
})

it('files that are written together are put back when one of them was changed meanwhile', async () => {
  await using world = openWorld()
  const [one, two] = [put(world.path('home', 'one'), '1'), put(world.path('home', 'two'), '2')]
  const held = [one, two, world.path('home', 'deep', 'three')].map((path) => holdFile(path, undefined))
  writeFileSync(two, 'changed')
  const before = treeOf(world.home)
  const [first, second, third] = held as [(typeof held)[0], (typeof held)[0], (typeof held)[0]]
  const writings = [first, third, second].map((file) => ({ file, text: 'new' }))
  await expect(writeFiles(writings, machine, true)).rejects.toThrow('two was changed by another program at the same time')
  expect(treeOf(world.home)).toEqual(before)
})
