import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { composeEnvironment } from './environment.ts'
import { findPrivateFolder, makePrivateFolders, sandboxEnvironment } from './sandbox-environment.ts'

const id = '0123456789'
const own = {
  PATH: '/usr/bin:/bin',
  HOME: '/home/person',
  GH_TOKEN: 'secret',
  SSH_AUTH_SOCK: '/run/agent',
  GIT_CONFIG_GLOBAL: '/home/person/.gitconfig',
  LC_MESSAGES: 'de_DE',
  CI: '1',
}

const reasonOf = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return (error as { details?: { reason?: string } }).details?.reason
  }
}

describe('the environment of a sandbox', () => {
  it('has the PATH, what was declared, and folders of its own; nothing else of Holdfast reaches the command', async () => {
    await using world = openWorld()
    const folders = makePrivateFolders(world.path('trees'), id, own.PATH)
    const sandbox = sandboxEnvironment({ own, declared: ['CI'], asked: [], folders })
    const env = composeEnvironment({ own, pass: ['GH_TOKEN'], set: { A: 'b' }, mark: { name: 'HOLDFAST_RUN', id: 'r1' }, sandbox })
    expect(env).toMatchObject({ CI: '1', A: 'b', HOME: folders.home, TMPDIR: folders.temporary, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' })
    expect(env.PATH).toBe(`${folders.programs}${delimiter}${own.PATH}`)
    expect(env.GIT_SSH_COMMAND).toContain('-F /dev/null')
    for (const name of ['GH_TOKEN', 'SSH_AUTH_SOCK', 'LC_MESSAGES']) expect(env).not.toHaveProperty(name)
    expect(JSON.stringify(env)).not.toContain('/home/person')
    // The helpers that the configuration of the repository names are not asked.
    const keys = Object.entries(env).filter(([name, value]) => name.startsWith('GIT_CONFIG_KEY_') && value === 'credential.helper')
    expect(keys).toHaveLength(1)
    expect(Number(env.GIT_CONFIG_COUNT)).toBe(Object.keys(env).filter((name) => name.startsWith('GIT_CONFIG_KEY_')).length)
  })

  it('lacks nothing that was declared, and gives nothing that was not', async () => {
    await using world = openWorld()
    const folders = makePrivateFolders(world.path('trees'), id, own.PATH)
    expect(reasonOf(() => sandboxEnvironment({ own, declared: ['NOT_SET'], asked: [], folders }))).toBe('environment_missing')
    expect(reasonOf(() => sandboxEnvironment({ own, declared: ['CI'], asked: ['GH_TOKEN'], folders }))).toBe('invalid')
    expect(sandboxEnvironment({ own, declared: ['CI'], asked: ['CI'], folders })).toMatchObject({ CI: '1' })
  })

  it('finds ssh with options of its own, also where Holdfast runs in a sandbox itself', async () => {
    await using world = openWorld()
    const root = world.path('trees')
    mkdirSync(world.path('bin'))
    writeFileSync(world.path('bin', 'ssh'), '#!/bin/sh\n', { mode: 0o700 })
    const path = `${world.path('bin')}${delimiter}${own.PATH}`
    const folders = makePrivateFolders(root, id, path)
    const text = readFileSync(`${folders.programs}/ssh`, 'utf8')
    expect(text).toContain(`exec '${world.path('bin', 'ssh')}' -F /dev/null`)
    const inner = { ...own, PATH: `${folders.programs}${delimiter}${path}` }
    makePrivateFolders(root, id, inner.PATH)
    expect(readFileSync(`${folders.programs}/ssh`, 'utf8')).toBe(text)
    expect(sandboxEnvironment({ own: inner, declared: [], asked: [], folders }).PATH).toBe(inner.PATH)
  })

  it('has folders of this user alone, which stay as they are when they are asked for again and are found by its id', async () => {
    await using world = openWorld()
    const root = world.path('trees')
    const folders = makePrivateFolders(root, id, own.PATH)
    writeFileSync(`${folders.home}/kept`, 'x')
    expect(makePrivateFolders(root, id, own.PATH)).toEqual(folders)
    expect(readFileSync(`${folders.home}/kept`, 'utf8')).toBe('x')
    for (const folder of Object.values(folders)) expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(findPrivateFolder(root, id)).toBe(dirname(folders.home))
    expect(findPrivateFolder(root, '../trees')).toBeUndefined()
    expect(findPrivateFolder(root, '9876543210')).toBeUndefined()
  })

  it('is not made where a command of the sandbox put links, and waits for no pipe in it', async () => {
    await using world = openWorld()
    const root = world.path('trees')
    const folders = makePrivateFolders(root, id, own.PATH)
    const elsewhere = world.path('elsewhere')
    mkdirSync(elsewhere)
    for (const folder of [folders.programs, folders.home, dirname(folders.data)]) {
      rmSync(folder, { recursive: true })
      symlinkSync(elsewhere, folder)
      expect(() => makePrivateFolders(root, id, own.PATH)).toThrow(/is a link, not a folder/)
      rmSync(folder)
      makePrivateFolders(root, id, own.PATH)
    }
    expect(readdirSync(elsewhere)).toEqual([])
    const victim = world.path('victim')
    writeFileSync(victim, 'precious')
    mkdirSync(world.path('bin'))
    writeFileSync(world.path('bin', 'ssh'), '', { mode: 0o700 })
    rmSync(`${folders.programs}/ssh`, { force: true })
    execFileSync('mkfifo', [`${folders.programs}/ssh`])
    symlinkSync(victim, `${folders.programs}/ssh.${process.pid}`)
    makePrivateFolders(root, id, world.path('bin'))
    expect(readFileSync(`${folders.programs}/ssh`, 'utf8')).toContain(world.path('bin', 'ssh'))
    expect(readFileSync(victim, 'utf8')).toBe('precious')
  })
})
