import { describe, expect, it } from 'vitest'
import { play } from '../../../test/support/fake-cli.ts'
import type { App } from '../../app/api.ts'
import { loadCommands } from './commands.ts'

const written = { path: 'a', bytes: 1, created: true, route: 'staged' } as const
const app: Partial<App> = {
  readFile: async () => ({ path: 'a', size: 2, encoding: 'base64', content: 'YWI=', replaced: false, cut: false, next: null }),
  writeFile: async () => written,
  appendFile: async () => written,
  listFiles: async () => ({ path: '.', entries: [], more: false }),
  statFile: async () => ({ path: 'a', kind: 'file', bytes: 1, mode: '644', modifiedAt: '2026-01-01T00:00:00.000Z' }),
  makeDirectory: async () => ({ path: 'a', created: true }),
  removeFile: async () => ({ path: 'a', kind: 'file', entries: 1 }),
  moveFile: async () => ({ from: 'a', path: 'b', replaced: false }),
  copyFiles: async () => ({ from: 'a', path: 'b', files: 1, directories: 0, bytes: 1, sha256: null, skipped: [] }),
}

const target = { backend: 'docker', image: 'node:22', memory: '512MiB', readOnly: true }
const told = ['--backend', 'docker', '--image', 'node:22', '--memory', '512MiB', '--read-only']

describe('a target that is told on the command line', () => {
  it.each<[string, string[]]>([
    ['readFile', ['files', 'read', 'a']],
    ['writeFile', ['files', 'write', 'a', 'x']],
    ['appendFile', ['files', 'append', 'a', 'x']],
    ['listFiles', ['files', 'list']],
    ['statFile', ['files', 'stat', 'a']],
    ['makeDirectory', ['files', 'mkdir', 'a']],
    ['removeFile', ['files', 'remove', 'a']],
    ['moveFile', ['files', 'move', 'a', 'b']],
    ['copyFiles', ['copy', ':a', 'b']],
  ])('is what %s is asked for', async (method, words) => {
    const played = await play([...words, ...told], { app })
    expect(played).toMatchObject({ code: 0, stderr: '' })
    expect(played.calls[0]).toEqual([method, expect.objectContaining({ target })])
  })

  it('is told in the same words to every command that takes a target', async () => {
    const commands = (await loadCommands()).filter(({ options }) => options.some(({ flag }) => flag === '--target'))
    expect(commands.map(({ words }) => words)).toContain('exec')
    for (const { words, options } of commands)
      expect(
        options.map(({ flag }) => flag),
        words,
      ).toEqual(expect.arrayContaining(['--backend', '--image', '--host']))
  })

  it('is no name at the same time', async () => {
    for (const words of [
      ['--target', 'box', ...told],
      [...told, '--target', 'box'],
    ])
      expect(await play(['files', 'read', 'a', ...words], { app })).toMatchObject({
        code: 125,
        calls: [],
        stderr: expect.stringMatching(/--target( box)? alone/),
      })
  })
})

it('a command with files says on a terminal what is done until there are some, and leaves nothing of it behind', async () => {
  const slow: Partial<App> = {
    statFile: async (_, call) => {
      call?.onStep?.('waiting for pod box')
      await new Promise((resolve) => setTimeout(resolve, 250))
      return { path: 'a', kind: 'file', bytes: 1, mode: '644', modifiedAt: 'today' }
    },
  }
  const { stderr } = await play(['files', 'stat', 'a', '--target', 'pod'], { app: slow, terminal: { stderr: true, columns: 80 } })
  expect(stderr).toContain('0 s · waiting for pod box')
  expect(stderr.endsWith('\r\u001b[K')).toBe(true)
})
