import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { DoctorResult, InstallResult } from '../../src/app/api.ts'
import { hostNames } from '../../src/hosts/host.ts'
import { openWorld, type World } from '../support/world.ts'

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

function holdfast(world: World, ...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, [program, ...args], { cwd: world.root, env: world.env, encoding: 'utf8', timeout: 60_000 })
}

function json<T>(world: World, ...args: string[]): T {
  const { stdout, stderr } = holdfast(world, ...args, '--json')
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as T
}

/** What a person and a project have already, with comments where the host takes them. */
function settle(world: World): void {
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  put(world.path('home', '.claude.json'), '{"numStartups":3,"mcpServers":{"other":{"command":"x"}}}')
  put(world.path('home', '.codex', 'config.toml'), 'model = "m" # mine\n\n[mcp_servers.other]\ncommand = "x"\n')
  put(world.path('home', '.config', 'opencode', 'opencode.jsonc'), '{\n\t// mine\n\t"mcp": {},\n}\n')
  put(join(world.root, '.cursor', 'hooks.json'), '{ "version": 1, "hooks": { "stop": [] } }\n')
}

function treeOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(names.map((name) => [name, lstatSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'latin1') : 'folder']))
}

describe.each(hostNames)('%s', (host) => {
  it.each(['--user', '--project'])('has Holdfast after an installation (%s), once, and is as before after its removal', async (scope) => {
    await using world = openWorld()
    settle(world)
    const before = treeOf(world.folder)
    const first = json<InstallResult>(world, 'install', host, scope)
    expect(first).toMatchObject({ host, scope: scope.slice(2), changed: true })
    expect(json<InstallResult>(world, 'install', host, scope)).toMatchObject({ changed: false })
    expect(json<InstallResult>(world, 'uninstall', host, scope)).toMatchObject({ changed: true })
    expect(treeOf(world.folder)).toEqual(before)
  })
})

describe('doctor', () => {
  // One for each form: JSON, TOML, and a program.
  it.each([
    ['claude-code', '--user'],
    ['codex', '--project'],
    ['opencode', '--user'],
  ])('proves an installation in %s (%s) by what the host would start', async (host, scope) => {
    await using world = openWorld()
    settle(world)
    expect(holdfast(world, 'install', host, scope).status).toBe(0)
    const { ok, checks } = json<DoctorResult>(world, 'doctor', host)
    expect(checks.map(({ name, status }) => [name, status === 'failed' ? checks : 'works'])).toEqual(
      ['entry', 'server', 'tools', 'exec', 'hooks'].map((name) => [name, 'works']),
    )
    expect(ok).toBe(true)
    // What is run for the proof is no work of the project.
    expect(json<{ runs: readonly unknown[] }>(world, 'runs').runs).toEqual([])
    expect(holdfast(world, 'stats').stdout).not.toContain('exec')
    expect(readdirSync(world.path('tmp')).filter((name) => name.startsWith('holdfast-doctor-'))).toEqual([])
  })

  it('says in a sentence what does not work, and ends with 1', async () => {
    await using world = openWorld()
    const failing = (): string[] => {
      const { status, stdout } = holdfast(world, 'doctor', 'gemini', '--json')
      const { ok, checks } = JSON.parse(stdout) as DoctorResult
      expect([status, ok]).toEqual([1, false])
      return checks.filter((check) => check.status === 'failed').map(({ name, detail }) => `${name}: ${detail}`)
    }
    expect(failing()).toEqual(['entry: Holdfast is not installed in Gemini CLI; holdfast install gemini-cli does it'])
    holdfast(world, 'install', 'gemini')
    const path = world.path('home', '.gemini', 'settings.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(/"command": "[^"]*",\n(\s*"args")/, '"command": "/nowhere/holdfast",\n$1'))
    expect(failing()).toEqual([
      'server: /nowhere/holdfast mcp cannot be started: there is no program "/nowhere/holdfast" on the PATH of the command; nothing was started',
    ])
    writeFileSync(path, text.replace(/"command": "[^"]*",\n(\s*"args": \[\s*)/, '"command": "/bin/echo",\n$1"holdfast", '))
    expect(failing()[0]).toMatch(/^server: \/bin\/echo holdfast mcp: it ended before it (answered|was asked); run it yourself to see more$/)
    writeFileSync(path, text.replaceAll(/"command": "[^"]*hook gemini-cli SessionStart"/g, '"command": "echo no; : holdfast hook gemini-cli SessionStart"'))
    expect(failing()).toEqual(['hooks: echo no; : holdfast hook gemini-cli SessionStart answers what is no JSON: no'])
    writeFileSync(path, text.replace('{', '{ '.repeat(2)))
    expect(failing()[0]).toMatch(/^entry: .*settings\.json cannot be used as it is \(line 1, column 3: /)
  })
})

it('what is written is shown first, and said', async () => {
  await using world = openWorld()
  const { stdout, status } = holdfast(world, 'install', 'cursor')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^--- \/dev\/null\n\+\+\+ .*\/\.cursor\/mcp\.json\n@@ -0,0 \+1,11 @@\n\+\{\n/)
  expect(stdout).toMatch(/\nwritten: .*\/\.cursor\/mcp\.json\nwritten: .*\/\.cursor\/hooks\.json\nnext: Restart Cursor/)
  expect(holdfast(world, 'install', 'cursor').stdout).toBe('Holdfast is installed in cursor for the user already; nothing changes.\n')
  expect(holdfast(world, 'install').stdout).toMatch(/AGENT +INSTALLED +TO INSTALL\n(?:.*\n)*Cursor +user +holdfast install cursor\n/)
})
