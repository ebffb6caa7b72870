import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { answers, requests } from '../src/supervisor/frames.ts'
import { type BareController, type Field, numberOf, openSupervisor, until } from '../test/support/bare-supervisor.ts'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'

const canCheckMemory = hasProgram('cc', 'the supervisor under valgrind') && hasProgram('valgrind', 'the supervisor under valgrind')
const everything: Field = [18, 1]
const open: Field = [6, 2]
const sh = (script: string): string[] => ['/bin/sh', '-c', script]

/** What valgrind says of a program, unlike what it says of itself. */
const complaint = /Invalid|uninitialised|lost in loss record|Mismatched|Syscall param|overlap|Process terminating/

describe.runIf(canCheckMemory)('the supervisor under valgrind', () => {
  it('uses no memory that is not its own and leaves none behind, whatever it does for a run', { timeout: 120_000 }, async () => {
    await using world = openWorld()
    const path = world.path('supervisor')
    mkdirSync(world.path('logs'))
    const flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-g', '-o', path]
    const native = fileURLToPath(new URL('.', import.meta.url))
    const sources = readdirSync(native).filter((name) => name.endsWith('.c'))
    expect(spawnSync('cc', [...flags, ...sources], { cwd: native, encoding: 'utf8', timeout: 60_000 })).toMatchObject({ status: 0 })
    const runner = ['valgrind', '--quiet', '--leak-check=full', '--trace-children=no', `--log-file=${world.path('logs')}/%p`]
    {
      await using supervisor = await openSupervisor({ path, runner, env: {}, endsByItself: true })
      using controller = await supervisor.connect()
      controller.giveBack()
      const end = (run: string) => controller.tell(requests.endInput, [[1, run]])

      await supervisor.start(controller, 'gap', sh('seq 1 50000; seq 1 50000 >&2'), [everything, [14, 20_000], [19, 5_000]])
      expect(await controller.ended('gap')).toMatchObject({ exitCode: 0, stdout: { lines: 50_000 } })
      await supervisor.start(controller, 'tail', sh('seq 1 50000; read x; echo end'), [[18, 2], open])
      expect(
        (
          await controller.ask(requests.input, [
            [1, 'tail'],
            [2, 'word\n'],
          ])
        ).type,
      ).toBe(answers.taken)
      await controller.ended('tail')
      await supervisor.start(controller, 'terminal', sh('stty size; cat'), [everything, open, [9, 24], [10, 80]])
      await controller.ask(requests.resize, [
        [1, 'terminal'],
        [9, 30],
        [10, 90],
      ])
      end('terminal')
      await controller.ended('terminal')

      await supervisor.start(controller, 'stubborn', sh("trap '' TERM; echo ready; while :; do sleep 0.05; done"), [everything, [13, 100]])
      await until('it is ready', () => controller.output('stubborn').length > 0)
      expect((await controller.ask(requests.tree, [[1, 'stubborn']])).fields.length).toBeGreaterThan(0)
      expect(numberOf(await controller.ask(requests.stop, [[1, 'stubborn']]), 2)).toBe(0)
      await controller.ended('stubborn')
      await supervisor.start(controller, 'wall', ['/bin/sleep', '300'], [[11, 100]])
      expect(await controller.ended('wall')).toMatchObject({ cut: { limit: 'wall' } })

      await supervisor.start(controller, 'left', sh('sleep 300 & echo now'))
      expect((await controller.ended('left')).leftovers.length).toBe(1)
      expect(numberOf(await controller.ask(requests.stop, [[1, 'left']]), 2)).toBe(0)
      await until('the record is late', () => supervisor.record('left')?.late === true)

      await useFiles(controller, supervisor.world.root)

      // It ends with a run, a listener that is behind, a leftover and input that waits.
      await supervisor.start(controller, 'last', sh("trap '' TERM; sleep 300"), [everything, open, [13, 200]])
      for (let at = 0; at < 4; at += 1)
        controller.tell(requests.input, [
          [1, 'last'],
          [2, Buffer.alloc(65_536)],
        ])
      using slow = await supervisor.connect()
      await supervisor.start(slow, 'slow', sh('seq 1 50000; sleep 300'), [everything, [19, 100]])
      slow.say(Buffer.from([1, 2, 3]))
      process.kill(supervisor.outerPid, 'SIGTERM')
      expect(await controller.ended('last')).toMatchObject({ cut: { kind: 'canceled' } })
      expect(await supervisor.over).toBe(0)
    }
    const said = readdirSync(world.path('logs')).map((name) => readFileSync(world.path('logs', name), 'utf8'))
    expect(said.length).toBeGreaterThanOrEqual(2)
    expect(said.filter((text) => complaint.test(text))).toEqual([])
  })
})

/** Every kind of request about files, with what it leaves open. */
async function useFiles(controller: BareController, root: string): Promise<void> {
  const at = (path: string, ...more: readonly Field[]): Field[] => [[1, root], [2, path], ...more]
  const ask = async (expected: number, type: number, fields: readonly Field[]): Promise<void> =>
    expect((await controller.ask(type, fields)).type, `request ${type}`).toBe(expected)
  const put = async (path: string, handle: number, ...more: readonly Field[]): Promise<void> => {
    const bytes = Buffer.alloc(100_000, 'x')
    await ask(answers.file, requests.fileStage, at(path, [6, handle], ...more))
    await ask(answers.ok, requests.fileFill, [
      [6, handle],
      [9, bytes],
    ])
    await ask(answers.written, requests.fileCommit, [
      [6, handle],
      [12, createHash('sha256').update(bytes).digest()],
    ])
  }
  await put('a/b/file', 1)
  await put('a/b/file', 1)
  await put('a/b/file', 1, [10, 2])
  await put('a/new', 1, [10, 2], [11, 0o600])
  linkSync(join(root, 'a/new'), join(root, 'a/other'))
  await put('a/new', 1, [10, 2])
  symlinkSync(join(root, 'a'), join(root, 'link'))
  writeFileSync(Buffer.concat([Buffer.from(`${root}/odd`), Buffer.from([0xff])]), '')
  await ask(answers.file, requests.fileLook, at('link/b/file'))
  await ask(answers.fileRefused, requests.fileLook, at('a/new/x'))
  await ask(answers.entries, requests.fileList, at('.', [5, 2]))
  await ask(answers.entries, requests.fileList, at('.', [4, 'a']))
  await ask(answers.file, requests.fileOpen, at('a/b/file', [6, 2], [3, 1]))
  await ask(answers.bytes, requests.fileRead, [
    [6, 2],
    [7, 0],
    [8, 500_000],
  ])
  writeFileSync(join(root, 'a/b/file'), 'short')
  await ask(answers.fileRefused, requests.fileHash, [[6, 2]])
  await ask(answers.file, requests.fileMkdir, at('deep/er'))
  await ask(answers.written, requests.fileMove, at('a', [19, 'c/d']))
  await ask(answers.fileRefused, requests.fileMove, at('c', [19, 'c/d/e']))
  await ask(answers.fileRefused, requests.fileRemove, at('.', [3, 1]))
  await ask(answers.removed, requests.fileRemove, at('c', [3, 1]))
  await ask(answers.file, requests.fileStage, at('left', [6, 3]))
  await ask(answers.ok, requests.fileFill, [
    [6, 3],
    [9, Buffer.alloc(1_000)],
  ])
}
