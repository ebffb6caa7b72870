import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openHoldfast } from '../../src/index.ts'
import { engineKinds, startEngine, type TestEngine, whyNoEngine } from '../support/docker-engine.ts'
import { isSupervised } from '../support/modes.ts'
import { openWorld, type World } from '../support/world.ts'

/** Every surface with real containers: what a person types, in a repository and in a workspace of it. */

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const run = promisify(execFile)
const slow = 120_000

for (const kind of engineKinds) {
  describe.skipIf(whyNoEngine(kind, 'the command line with containers'))(`the command line with ${kind}`, () => {
    let engine: TestEngine
    let world: World

    beforeAll(async () => {
      engine = await startEngine(kind)
      world = openWorld()
      writeFileSync(join(world.root, 'holdfast.json'), JSON.stringify({ targets: { box: { backend: 'docker', image: engine.image } } }))
      writeFileSync(join(world.root, 'file'), 'of here\n')
      const git = (...args: string[]) => execFileSync('git', args, { cwd: world.root, env: world.env })
      git('init', '-q', '-b', 'main')
      git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'add', '.')
      git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'one')
    }, slow)

    afterAll(async () => {
      await world?.[Symbol.asyncDispose]()
      await engine?.close()
    }, slow)

    async function holdfast(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
      const env = { ...world.env, ...engine.env }
      return run(process.execPath, [cli, ...args], { cwd: world.root, env, timeout: slow }).then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        (error: { code: number; stdout: string; stderr: string }) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
      )
    }

    it('runs a command in a container that is made for it and found again by the next one', { timeout: slow }, async () => {
      const inline = await holdfast('exec', '--backend', 'docker', '--image', engine.image, '--', 'cat', 'file')
      expect(inline).toMatchObject({ code: 0 })
      expect(inline.stdout).toContain('of here')
      const named = await holdfast('exec', '--target', 'box', '--json', '--', 'sh', '-c', 'echo made > made; id -u; exit 3')
      expect(named.code).toBe(3)
      expect(JSON.parse(named.stdout)).toMatchObject({ target: { backend: 'docker', name: 'box' }, outcome: { exitCode: 3 } })
      expect(readFileSync(join(world.root, 'made'), 'utf8')).toBe('made\n')
      expect(await engine.containers()).toHaveLength(1)
    })

    it('does the same over MCP and for a program', { timeout: slow }, async () => {
      const env = { ...world.env, ...engine.env }
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli, 'mcp'], cwd: world.root, env }))
      try {
        const answer = await client.callTool({ name: 'exec', arguments: { script: 'cat file; exit 4', target: 'box' } })
        expect(answer.structuredContent).toMatchObject({ target: { backend: 'docker', name: 'box' }, outcome: { exitCode: 4 }, stdout: { lines: 1 } })
      } finally {
        await client.close()
      }
      await using library = await openHoldfast({ root: world.root, env })
      const result = await library.exec({ argv: ['cat', 'file'], target: { backend: 'docker', image: engine.image } })
      expect(result).toMatchObject({ target: { backend: 'docker', name: `image ${engine.image}` }, outcome: { exitCode: 0 } })
      expect((await library.output({ run: result.id })).text).toBe('of here\n')
    })

    // The same for every engine.
    it.skipIf(kind !== 'docker')('says in one sentence what does not go together, and what is not there', { timeout: slow }, async () => {
      for (const [args, said] of [
        [['--image', 'x'], '--backend is not there; accepted: docker, ssh, kubernetes'],
        [['--backend', 'docker'], 'target needs image'],
        [['--backend', 'docker', '--image', 'x', '--target', 'box'], '--target alone'],
        [['--target', 'bxo'], 'there is no target "bxo"; accepted: host, box'],
        [['--backend', 'docker', '--image', 'no-such-image', '--pull', 'never'], 'what to do: docker pull no-such-image, or build it'],
        [['--backend', 'docker', '--image', 'x', '--cpus', 'many'], '--cpus is "many"; accepted: a number of processors above 0'],
      ] as const) {
        const { code, stderr } = await holdfast('exec', ...args, '--', 'true')
        expect([code, stderr]).toEqual([125, expect.stringContaining(said)])
      }
    })

    it.skipIf(!isSupervised)('lets a run live on in the background, read and ended by the next command', { timeout: slow }, async () => {
      const { stdout } = await holdfast('exec', '--target', 'box', '--detach', '--', 'sh', '-c', 'echo begun; sleep 300')
      const id = stdout.trim()
      expect(await holdfast('wait', id, '--timeout', '1s')).toMatchObject({ stdout: expect.stringContaining('begun') })
      const stopped = await holdfast('stop', id, '--json')
      expect(JSON.parse(stopped.stdout)).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
    })

    it.skipIf(!isSupervised)('tells a command that lack of memory ended from one that was killed', { timeout: slow }, async () => {
      const at = ['exec', '--backend', 'docker', '--image', engine.image, '--memory', '32MiB', '--json', '--']
      const { usage, warnings, outcome } = JSON.parse((await holdfast(...at, 'tail', '/dev/zero')).stdout)
      expect([outcome.kind, usage.oomKills, warnings.join()]).toEqual(['signaled', 1, expect.stringContaining('memory ran out while it ran')])
      const killed = JSON.parse((await holdfast(...at, 'sh', '-c', 'kill -9 $$')).stdout)
      expect([killed.outcome.kind, killed.usage.oomKills, killed.warnings]).toEqual(['signaled', undefined, []])
    })

    it.skipIf(!isSupervised)('says of a run whose container was removed that it was interrupted, and why', { timeout: slow }, async () => {
      const id = (await holdfast('exec', '--target', 'box', '--detach', '--', 'sh', '-c', 'echo kept; sleep 300')).stdout.trim()
      await holdfast('wait', id, '--timeout', '500ms')
      for (const name of await engine.containers()) await engine.api('DELETE', `/containers/${name}?force=1`)
      const { stdout, stderr } = await holdfast('show', id, '--json')
      expect(JSON.parse(stdout)).toMatchObject({ state: 'interrupted', warnings: [expect.stringMatching(/is gone: /)] })
      expect([stderr, (await holdfast('output', id)).stdout]).toEqual(['', 'kept\n'])
    })

    it.skipIf(!isSupervised)('takes up a run of a workspace from the main checkout, too', { timeout: slow }, async () => {
      await holdfast('workspace', 'open', '--branch', 'elsewhere')
      const at = ['--target', 'box', '--workspace', 'elsewhere', '--detach']
      const id = (await holdfast('exec', ...at, '--', 'sh', '-c', 'until test -e go; do sleep 0.1; done; pwd; exit 6')).stdout.trim()
      expect((await holdfast('show', id, '--json')).stdout).toContain('"warnings":[]')
      await holdfast('files', 'write', 'go', '', '--workspace', 'elsewhere')
      expect(await holdfast('wait', id)).toMatchObject({ code: 6, stdout: expect.stringContaining('elsewhere') })
    })

    it('works with git in a workspace, and with files of the target', { timeout: slow }, async () => {
      await holdfast('workspace', 'open', '--branch', 'topic')
      const there = await holdfast(
        'exec',
        '--target',
        'box',
        '--workspace',
        'topic',
        '--',
        'sh',
        '-c',
        'git --version >/dev/null 2>&1 || exit 77; git status --short --branch',
      )
      if (there.code !== 77) expect([there.code, there.stdout]).toEqual([0, expect.stringContaining('## topic')])
      expect((await holdfast('files', 'read', 'file', '--target', 'box')).stdout).toBe('of here\n')
      expect((await holdfast('files', 'read', 'file', '--backend', 'docker', '--image', engine.image)).stdout).toBe('of here\n')
      expect((await holdfast('files', 'write', 'deep/er', 'x', '--target', 'box')).code).toBe(0)
      expect(existsSync(join(world.root, 'deep/er'))).toBe(true)
    })

    it.skipIf(kind !== 'docker')('lists in gc what could go, and in doctor whether the target works', { timeout: slow }, async () => {
      expect((await holdfast('gc', '--dry-run')).code).toBe(0)
      const { stdout } = await holdfast('doctor', '--targets')
      expect(stdout).toMatch(/ok +target box/)
      expect((await holdfast('backends', '--json')).stdout).toContain('an engine answers at')
    })
  })
}
