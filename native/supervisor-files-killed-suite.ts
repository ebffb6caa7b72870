import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { HoldfastError } from '../src/core/errors.ts'
import type { Files } from '../src/core/files.ts'
import { createSupervisedFiles } from '../src/supervisor/files.ts'
import { openSupervisor, until } from '../test/support/bare-supervisor.ts'
import { connected, stagedIn } from './supervisor-files-suite.ts'

/** Kills the supervisor that was built with faults at each step of what changes a file. */
export function declareFileKillTests(path: string): void {
  const large = Buffer.alloc(900_000, 'n')
  const acts = {
    write: (files: Files) => files.write('folder/file', large),
    append: (files: Files) => files.append('folder/file', large),
    move: (files: Files) => files.move('other', 'folder/file', { replace: true }),
  }
  it.for([
    ['write', 'old'],
    ['write', undefined],
    ['append', 'old'],
    ['append', undefined],
    ['move', 'old'],
    ['move', undefined],
  ] as const)(
    'killed at each step of %s over %j, the supervisor leaves the file as it was or as it was to be, and the next write clears up',
    { timeout: 90_000 },
    async ([act, old]) => {
      const points =
        act === 'move'
          ? ['file-moving', 'file-moved']
          : ['file-staged', 'file-filled', 'file-committing', 'file-placing', 'file-placed', 'file-adding', 'file-added']
      const whole = act === 'append' ? (old ?? '') + large.toString() : large.toString()
      const ends: string[] = []
      for (const point of points) {
        await using supervisor = await openSupervisor({ path, env: { HOLDFAST_FAULT_FILE: '/dev/null' } })
        await using killed = await openSupervisor({ path, env: { HOLDFAST_FAULT_FILE: supervisor.world.path('fault') } })
        const root = supervisor.world.root
        const file = join(root, 'folder/file')
        mkdirSync(join(root, 'folder'))
        if (old !== undefined) writeFileSync(file, old)
        writeFileSync(join(root, 'other'), large)
        const connection = await connected(killed)
        writeFileSync(supervisor.world.path('fault'), `${point} 1 9\n`)
        const end = await acts[act](createSupervisedFiles(connection, root)).then(
          () => 'done',
          (error: unknown) => (error as HoldfastError).details.reason,
        )
        const isHit = existsSync(supervisor.world.path('fault.hit'))
        expect(end, point).toBe(isHit ? 'supervisor_lost' : 'done')
        if (isHit) expect(await killed.over, point).not.toBe(0)
        const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined
        ends.push(`${point} ${isHit ? '' : 'not passed: '}${text === old ? 'old' : text === whole ? 'new' : `a mix of ${text?.length} characters`}`)
        const next = await connected(supervisor)
        await createSupervisedFiles(next, root).write('folder/next', '')
        expect(stagedIn(join(root, 'folder')), point).toEqual([])
        await Promise.all([connection.close(), next.close()])
      }
      const expected: Readonly<Record<string, readonly string[]>> = {
        write: [
          'file-staged old',
          'file-filled old',
          'file-committing old',
          'file-placing old',
          'file-placed new',
          'file-adding not passed: new',
          'file-added not passed: new',
        ],
        append:
          old === undefined
            ? [
                'file-staged old',
                'file-filled old',
                'file-committing old',
                'file-placing old',
                'file-placed new',
                'file-adding not passed: new',
                'file-added not passed: new',
              ]
            : [
                'file-staged old',
                'file-filled old',
                'file-committing old',
                'file-placing not passed: new',
                'file-placed not passed: new',
                'file-adding old',
                'file-added new',
              ],
        move: ['file-moving old', 'file-moved new'],
      }
      expect(ends).toEqual(expected[act])
    },
  )
}

/** Stops the supervisor that was built with faults between a look and a use, and puts a link that leads out in between. */
export function declareFileSwapTests(path: string): void {
  it.for([
    ['a directory', 'file-entering', 'd', '../outside', (files: Files) => files.write('d/victim', 'evil')],
    ['a directory', 'file-entering', 'd', '../outside', (files: Files) => files.readText('d/victim')],
    ['a directory', 'file-entering', 'd', '../outside', (files: Files) => files.remove('d/victim')],
    ['a file', 'file-opening', 'f', '../outside/victim', (files: Files) => files.readText('f')],
    ['a file', 'file-opening', 'f', '../outside/victim', (files: Files) => files.append('f', 'evil')],
  ] as const)('%s that is swapped for a link at %s, just before it is used, leads nothing out', { timeout: 60_000 }, async ([, point, name, target, act]) => {
    const fault = (folder: string): string => join(folder, 'fault')
    await using other = await openSupervisor({ path, env: { HOLDFAST_FAULT_FILE: '/dev/null' } })
    const { world } = other
    await using supervisor = await openSupervisor({ path, env: { HOLDFAST_FAULT_FILE: fault(world.folder) } })
    for (const folder of ['root/d', 'outside']) mkdirSync(world.path(folder), { recursive: true })
    for (const file of ['root/f', 'root/d/victim']) writeFileSync(world.path(file), 'inside')
    writeFileSync(world.path('outside/victim'), 'secret')
    const pid = await supervisor.innerPid()
    const connection = await connected(supervisor)
    writeFileSync(fault(world.folder), `${point} 1 19\n`)
    const end = act(createSupervisedFiles(connection, world.root)).then(
      (value) => JSON.stringify(value),
      (error: unknown) => (error as HoldfastError).details.reason,
    )
    await until('it is stopped', () => existsSync(`${fault(world.folder)}.hit`) && /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'latin1')))
    renameSync(world.path('root', name), world.path('root', 'kept'))
    symlinkSync(target, world.path('root', name))
    process.kill(pid, 'SIGCONT')
    expect(await end).toBe('file_outside')
    expect([readdirSync(world.path('outside')), readFileSync(world.path('outside/victim'), 'utf8')]).toEqual([['victim'], 'secret'])
    await connection.close()
  })
}
