import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { HoldfastError } from '../src/core/errors.ts'
import { Connection, openConnection } from '../src/supervisor/connection.ts'
import { createSupervisedFiles } from '../src/supervisor/files.ts'
import { answers, requests } from '../src/supervisor/frames.ts'
import {
  type BareController,
  type BareSupervisor,
  buildFrame,
  bytesOf,
  type Field,
  numberOf,
  type Said,
  type SupervisorProgram,
  testsWith,
  textOf,
  until,
} from '../test/support/bare-supervisor.ts'
import { random } from '../test/support/random.ts'
import { swappedCalls, swapper } from '../test/support/swapped-links.ts'

/* What the supervisor promises of files beyond what every place must do (test/conformance/files.ts): its frames, its handles, its neighbours. */

const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()
const reasonIn = (said: Said): string => (said.type === answers.fileRefused ? textOf(said, 1) : `answer ${said.type}`)
const errorIn = (said: Said): string =>
  said.type === answers.error ? `${textOf(said, 1)} ${said.fields.length > 2 ? textOf(said, 3) : ''}` : `answer ${said.type}`

export async function connected(supervisor: BareSupervisor): Promise<Connection> {
  const connection = await openConnection(supervisor.socket, 20_000)
  if (!(connection instanceof Connection)) throw new Error('there is no supervisor')
  return connection
}

/** Opens a handle to write to; what is sent to it stays until it is committed or closed. */
function stage(controller: BareController, root: string, path: string, handle: number, ...more: readonly Field[]): Promise<Said> {
  return controller.ask(requests.fileStage, [[1, root], [2, path], [6, handle], ...more])
}

export const stagedIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('.holdfast-staged-'))
const openIn = (pid: number): string[] => readdirSync(`/proc/${pid}/fd`)

export function declareFileTests(program: SupervisorProgram): void {
  const test = testsWith(program)

  test('what is missing or impossible in a request about files is named, and the connection goes on', async ({ connect, world }) => {
    using controller = await connect()
    const root: Field = [1, world.root]
    const path: Field = [2, 'file']
    const wrong: readonly [string, number, readonly Field[]][] = [
      ['root', requests.fileLook, [path]],
      ['root', requests.fileLook, [[1, 'relative'], path]],
      ['root', requests.fileLook, [[1, ''], path]],
      ['root', requests.fileLook, [[1, '/a\0b'], path]],
      ['path', requests.fileLook, [root]],
      ['flags', requests.fileLook, [root, path, [3, 2]]],
      ['most', requests.fileList, [root, path, [5, 10_001]]],
      ['after', requests.fileList, [root, path, [4, 'a\0b']]],
      ['handle', requests.fileOpen, [root, path]],
      ['handle', requests.fileOpen, [root, path, [6, 0]]],
      ['path', requests.fileOpen, [root, [6, 1]]],
      ['root', requests.fileStage, [path, [6, 1]]],
      ['path', requests.fileStage, [root, [6, 1]]],
      ['purpose', requests.fileStage, [root, path, [6, 1], [10, 3]]],
      ['mode', requests.fileStage, [root, path, [6, 1], [11, 0o1000]]],
      ['handle', requests.fileRead, [[7, 0]]],
      [
        'length',
        requests.fileRead,
        [
          [6, 1],
          [8, 1024 * 1024 + 1],
        ],
      ],
      ['bytes', requests.fileFill, [[6, 1]]],
      [
        'bytes',
        requests.fileFill,
        [
          [6, 1],
          [9, Buffer.alloc(1024 * 1024 + 1)],
        ],
      ],
      ['hash', requests.fileCommit, [[6, 1]]],
      [
        'hash',
        requests.fileCommit,
        [
          [6, 1],
          [12, Buffer.alloc(31)],
        ],
      ],
      ['handle', requests.fileClose, []],
      ['handle', requests.fileHash, []],
      ['root', requests.fileMkdir, [path]],
      ['path', requests.fileMkdir, [root]],
      ['path', requests.fileRemove, [root]],
      ['flags', requests.fileRemove, [root, path, [3, 9]]],
      ['path', requests.fileMove, [root]],
      ['to', requests.fileMove, [root, path]],
    ]
    for (const [field, type, fields] of wrong)
      expect(errorIn(await controller.ask(type, fields)), `${type} ${JSON.stringify(fields.map(([key]) => key))}`).toBe(`invalid ${field}`)
    for (const type of [requests.fileRead, requests.fileHash]) expect(reasonIn(await controller.ask(type, [[6, 7]]))).toBe('no_such_handle')
    expect((await controller.ask(requests.fileClose, [[6, 7]])).type).toBe(answers.ok)
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
    expect(readdirSync(world.root)).toEqual([])
  })

  test('the rules for paths hold whatever a controller sends', async ({ connect, world }) => {
    using controller = await connect()
    mkdirSync(world.path('outside'))
    const paths: (string | Uint8Array)[] = [
      '',
      '/etc',
      '..',
      'a/../..',
      '../outside/x',
      'a\\b',
      'C:/x',
      'c:\\x',
      'a\0b',
      `${'a/'.repeat(40_000)}x`,
      '.git',
      'a/.GIT/b',
      '.g\u200cit',
    ]
    for (const path of paths)
      for (const type of [requests.fileMkdir, requests.fileRemove, requests.fileStage, requests.fileMove]) {
        const said = await controller.ask(type, [
          [1, world.root],
          [2, path],
          [6, 1],
          [19, 'to'],
        ])
        expect(reasonIn(said), `${type} ${String(path).slice(0, 20)}`).toBe(String(path).length > 1000 ? 'file_name_too_long' : 'file_outside')
      }
    expect(
      reasonIn(
        await controller.ask(requests.fileLook, [
          [1, world.path('none')],
          [2, 'x'],
        ]),
      ),
    ).toBe('root_missing')
    expect([readdirSync(world.root), readdirSync(world.path('outside'))]).toEqual([[], []])
    // A name is bytes: one that is no UTF-8 can be written, found and removed.
    const odd = Buffer.from([0x64, 0xff, 0x0a])
    expect((await stage(controller, world.root, '', 2, [2, odd])).type).toBe(answers.file)
    expect(
      (
        await controller.ask(requests.fileCommit, [
          [6, 2],
          [12, hashOf(Buffer.alloc(0))],
        ])
      ).type,
    ).toBe(answers.written)
    const listed = await controller.ask(requests.fileList, [
      [1, world.root],
      [2, '.'],
    ])
    expect(bytesOf(listed, 25).subarray(9)).toEqual(Buffer.concat([odd, Buffer.alloc(1)]))
    expect(
      (
        await controller.ask(requests.fileRemove, [
          [1, world.root],
          [2, odd],
        ])
      ).type,
    ).toBe(answers.removed)
  })

  test('a handle is what the controller calls it, until it is closed or committed; a name in use is refused, and so is the 257th', async (supervisor) => {
    const { world } = supervisor
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    writeFileSync(join(world.root, 'file'), 'content')
    const open = (handle: number) =>
      controller.ask(requests.fileOpen, [
        [1, world.root],
        [2, 'file'],
        [6, handle],
      ])
    expect(numberOf(await open(5), 6)).toBe(5)
    expect(errorIn(await open(5))).toBe('invalid handle')
    expect(
      textOf(
        await controller.ask(requests.fileRead, [
          [6, 5],
          [7, 3],
          [8, 2],
        ]),
        9,
      ),
    ).toBe('te')
    // What is open to be read takes no bytes, and the other way round.
    expect(
      reasonIn(
        await controller.ask(requests.fileFill, [
          [6, 5],
          [9, 'x'],
        ]),
      ),
    ).toBe('no_such_handle')
    await stage(controller, world.root, 'new', 6)
    expect(reasonIn(await controller.ask(requests.fileRead, [[6, 6]]))).toBe('no_such_handle')
    expect(
      (
        await controller.ask(requests.fileFill, [
          [6, 6],
          [9, 'x'],
        ])
      ).type,
    ).toBe(answers.ok)
    expect(
      reasonIn(
        await controller.ask(requests.fileCommit, [
          [6, 6],
          [12, hashOf(Buffer.from('y'))],
        ]),
      ),
    ).toBe('hash')
    expect(
      reasonIn(
        await controller.ask(requests.fileCommit, [
          [6, 6],
          [12, hashOf(Buffer.from('x'))],
        ]),
      ),
    ).toBe('no_such_handle')
    expect(readdirSync(world.root)).toEqual(['file'])
    const before = openIn(pid).length
    const handles = Array.from({ length: 260 }, (_, index) => 100 + index)
    const ends = (await Promise.all(handles.map(open))).map(reasonIn)
    expect([ends.filter((end) => end === `answer ${answers.file}`).length, ends.filter((end) => end === 'exhausted').length]).toEqual([255, 5])
    await Promise.all(handles.map((handle) => controller.ask(requests.fileClose, [[6, handle]])))
    expect(openIn(pid).length).toBeLessThanOrEqual(before)
    expect(numberOf(await open(100), 6)).toBe(100)
  })

  test('with a connection go its handles and what it has staged', async (supervisor) => {
    const { world } = supervisor
    const pid = await supervisor.innerPid()
    writeFileSync(join(world.root, 'file'), 'content')
    using other = await supervisor.connect()
    await stage(other, world.root, 'kept', 1)
    const before = openIn(pid)
    const controller = await supervisor.connect()
    await controller.ask(requests.fileOpen, [
      [1, world.root],
      [2, 'file'],
      [6, 1],
    ])
    for (const [handle, path, purpose] of [
      [2, 'file', 1],
      [3, 'file', 2],
      [4, 'new', 1],
      [5, 'deep/new', 2],
    ] as const) {
      await stage(controller, world.root, path, handle, [10, purpose])
      controller.tell(requests.fileFill, [
        [6, handle],
        [9, Buffer.alloc(100_000)],
      ])
    }
    await controller.ask(requests.ping)
    expect(stagedIn(world.root)).toHaveLength(3)
    controller.close()
    await until('it let go', () => openIn(pid).length <= before.length)
    expect([stagedIn(world.root).length, stagedIn(join(world.root, 'deep')).length]).toEqual([1, 0])
    expect(readFileSync(join(world.root, 'file'), 'utf8')).toBe('content')
    // Those of another connection with the same names are untouched.
    expect(
      (
        await other.ask(requests.fileFill, [
          [6, 1],
          [9, 'x'],
        ])
      ).type,
    ).toBe(answers.ok)
    expect(
      (
        await other.ask(requests.fileCommit, [
          [6, 1],
          [12, hashOf(Buffer.from('x'))],
        ])
      ).type,
    ).toBe(answers.written)
    expect(stagedIn(world.root)).toEqual([])
  })

  test('a hash is of what was read in order, and is refused where that is not there any more', async ({ connect, world }) => {
    using controller = await connect()
    const file = join(world.root, 'file')
    const bytes = random(3).bytes(300_000)
    const open = async (handle: number): Promise<void> => {
      writeFileSync(file, bytes)
      utimesSync(file, 1, 1)
      await controller.ask(requests.fileOpen, [
        [1, world.root],
        [2, 'file'],
        [3, 1],
        [6, handle],
      ])
    }
    const read = (handle: number, from: number, length: number) =>
      controller.ask(requests.fileRead, [
        [6, handle],
        [7, from],
        [8, length],
      ])
    const hash = (handle: number) => controller.ask(requests.fileHash, [[6, handle]])
    await open(1)
    expect(bytesOf(await hash(1), 12)).toEqual(hashOf(Buffer.alloc(0)))
    await read(1, 0, 100_000)
    const part = await hash(1)
    expect([bytesOf(part, 12), numberOf(part, 14)]).toEqual([hashOf(bytes.subarray(0, 100_000)), 100_000])
    await read(1, 100_000, 1_000_000)
    expect(bytesOf(await hash(1), 12)).toEqual(hashOf(bytes))
    appendFileSync(file, 'more')
    expect(bytesOf(await hash(1), 12)).toEqual(hashOf(bytes))
    writeFileSync(
      file,
      bytes.map((byte) => byte ^ 1),
    )
    expect(reasonIn(await hash(1))).toBe('hash')
    writeFileSync(file, 'short')
    expect(reasonIn(await hash(1))).toBe('hash')
    await open(2)
    await read(2, 5, 10)
    expect(reasonIn(await hash(2))).toBe('order')
    await controller.ask(requests.fileOpen, [
      [1, world.root],
      [2, 'file'],
      [6, 3],
    ])
    expect(reasonIn(await hash(3))).toBe('order')
  })

  test('the removal of a large tree lets others be served meanwhile; requests behind it wait for it', async ({ connect, world }) => {
    using controller = await connect()
    using other = await connect()
    mkdirSync(join(world.root, 'tree'))
    for (let folder = 0; folder < 20; folder += 1) {
      mkdirSync(join(world.root, 'tree', `d${folder}`))
      for (let file = 0; file < 200; file += 1) writeFileSync(join(world.root, 'tree', `d${folder}`, `f${file}`), '')
    }
    const order: string[] = []
    const told = async (name: string, said: Promise<Said>): Promise<Said> => {
      const answer = await said
      order.push(name)
      return answer
    }
    const removal = told(
      'removed',
      controller.ask(requests.fileRemove, [
        [1, world.root],
        [2, 'tree'],
        [3, 1],
      ]),
    )
    const look = told(
      'looked',
      controller.ask(requests.fileLook, [
        [1, world.root],
        [2, 'tree'],
      ]),
    )
    const ping = told('other', other.ask(requests.ping))
    expect(numberOf(await removal, 18)).toBe(4_021)
    expect((await look).fields.some(([key]) => key === 24)).toBe(false)
    await ping
    expect(order).toEqual(['other', 'removed', 'looked'])
  })

  test('a controller that goes while a tree is removed leaves nothing open, and the rest to the next one', async (supervisor) => {
    const { world } = supervisor
    mkdirSync(join(world.root, 'tree'))
    for (let file = 0; file < 4_000; file += 1) writeFileSync(join(world.root, 'tree', `f${file}`), '')
    const pid = await supervisor.innerPid()
    const before = openIn(pid).length
    using controller = await supervisor.connect()
    controller.tell(
      requests.fileRemove,
      [
        [1, world.root],
        [2, 'tree'],
        [3, 1],
      ],
      1,
    )
    await until('it has begun', () => !existsSync(join(world.root, 'tree', 'f17')))
    controller.close()
    await until('it let go', () => openIn(pid).length <= before)
    using other = await supervisor.connect()
    expect(
      (
        await other.ask(requests.fileRemove, [
          [1, world.root],
          [2, 'tree'],
          [3, 1],
        ])
      ).type,
    ).toSatisfy((type) => type === answers.removed || type === answers.fileRefused)
    expect(readdirSync(world.root)).toEqual([])
  })

  test('a reader that takes nothing holds up only itself', async ({ connect, world }) => {
    writeFileSync(join(world.root, 'file'), Buffer.alloc(1024 * 1024, 7))
    using controller = await connect()
    await controller.ask(requests.fileOpen, [
      [1, world.root],
      [2, 'file'],
      [6, 1],
    ])
    controller.pause()
    for (let time = 0; time < 24; time += 1)
      controller.tell(
        requests.fileRead,
        [
          [6, 1],
          [7, 0],
        ],
        1_000 + time,
      )
    using other = await connect()
    expect(
      (
        await other.ask(requests.fileLook, [
          [1, world.root],
          [2, 'file'],
        ])
      ).type,
    ).toBe(answers.file)
    controller.resume()
    for (const time of [0, 12, 23]) expect(bytesOf(await controller.hear(`piece ${time}`, ({ tag }) => tag === 1_000 + time), 9)).toHaveLength(1024 * 1024)
  })

  test('frames that somebody changed do no harm, and change nothing outside of the root', async (supervisor) => {
    const { world } = supervisor
    mkdirSync(world.path('outside'))
    writeFileSync(world.path('outside/victim'), 'secret')
    symlinkSync('../outside', join(world.root, 'out'))
    const before = lstatSync(world.path('outside')).ctimeMs
    const numbers = random(41)
    const root = world.root
    const valid = (): Buffer => {
      const handle = numbers.int(1, 4)
      const path = numbers.pick(['file', 'a/b', 'out/victim', '.', 'a/../file', 'x'.repeat(300), 'é\n'])
      const [type, fields] = numbers.pick<readonly [number, readonly Field[]]>([
        [
          requests.fileLook,
          [
            [1, root],
            [2, path],
            [3, numbers.int(0, 1)],
          ],
        ],
        [
          requests.fileList,
          [
            [1, root],
            [2, path],
            [4, 'a'],
            [5, numbers.int(0, 9)],
          ],
        ],
        [
          requests.fileOpen,
          [
            [1, root],
            [2, path],
            [3, 1],
            [6, handle],
          ],
        ],
        [
          requests.fileRead,
          [
            [6, handle],
            [7, numbers.int(0, 9)],
            [8, numbers.int(0, 99)],
          ],
        ],
        [requests.fileClose, [[6, handle]]],
        [
          requests.fileStage,
          [
            [1, root],
            [2, path],
            [6, handle],
            [10, numbers.int(1, 2)],
            [11, 0o644],
          ],
        ],
        [
          requests.fileFill,
          [
            [6, handle],
            [9, numbers.bytes(numbers.int(0, 50))],
          ],
        ],
        [
          requests.fileCommit,
          [
            [6, handle],
            [12, numbers.int(0, 1) ? hashOf(Buffer.alloc(0)) : numbers.bytes(32)],
          ],
        ],
        [
          requests.fileMkdir,
          [
            [1, root],
            [2, path],
          ],
        ],
        [
          requests.fileRemove,
          [
            [1, root],
            [2, path],
            [3, numbers.int(0, 1)],
          ],
        ],
        [
          requests.fileMove,
          [
            [1, root],
            [2, path],
            [3, numbers.int(0, 1)],
            [19, numbers.pick(['file', 'c/d', 'out/x'])],
          ],
        ],
        [requests.fileHash, [[6, handle]]],
      ])
      return buildFrame(type, fields, numbers.int(1, 1_000))
    }
    for (let round = 0; round < 25; round += 1) {
      using controller = await supervisor.connect()
      for (let frame = 0; frame < 60; frame += 1) {
        const bytes = valid()
        // The root stays what it is: it is what the controller may name as it likes.
        const from = bytes.lastIndexOf(root) + root.length
        if (numbers.int(0, 2) > 0 && from < bytes.length) bytes[numbers.int(Math.max(from, 12), bytes.length - 1)] = numbers.int(0, 255)
        controller.say(bytes)
      }
      await Promise.race([controller.ask(requests.ping).catch(() => {}), controller.closed])
    }
    using controller = await supervisor.connect()
    expect((await controller.ask(requests.ping)).type).toBe(answers.ok)
    await until('nothing is staged any more', () => stagedIn(root).length === 0)
    expect([readdirSync(world.path('outside')), lstatSync(world.path('outside')).ctimeMs, readFileSync(world.path('outside/victim'), 'utf8')]).toEqual([
      ['victim'],
      before,
      'secret',
    ])
  })

  test('links that are swapped in between look and use lead nothing out', async (supervisor) => {
    const { world } = supervisor
    const root = world.path('ws')
    for (const folder of ['ws/d', 'outside/precious']) mkdirSync(world.path(folder), { recursive: true })
    for (const [file, text] of [
      ['ws/f', 'inside'],
      ['ws/d/victim', 'inside'],
      ['outside/victim', 'secret'],
      ['outside/precious/file', 'secret'],
    ] as const)
      writeFileSync(world.path(file), text)
    const outside = (): string[] =>
      ['', 'victim', 'precious', 'precious/file'].map((name) => {
        const { mtimeMs, ctimeMs, ino } = lstatSync(join(world.path('outside'), name))
        return `${name} ${ino} ${mtimeMs} ${ctimeMs}`
      })
    const before = outside()
    const pid = await supervisor.innerPid()
    const connection = await connected(supervisor)
    const open = openIn(pid).length
    const child = spawn(process.execPath, ['--input-type=module', '-e', swapper], { cwd: root, env: world.env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    try {
      await once(child.stdout, 'data')
      const files = createSupervisedFiles(connection, root)
      const ends = new Map<unknown, number>()
      const isMetOften = (): boolean => ['done', 'file_outside'].every((each) => (ends.get(each) ?? 0) > 30)
      const deadline = performance.now() + 40_000
      // How many of the calls a swap falls into is up to the scheduler.
      for (let round = 0; (round < 900 || !isMetOften()) && performance.now() < deadline; round += 1) {
        const call = swappedCalls[round % swappedCalls.length] as (typeof swappedCalls)[number]
        const end = await call(files, round).then(
          (value) => {
            expect(JSON.stringify(value)).not.toMatch(/secret|precious/)
            return 'done'
          },
          (error: unknown) => {
            if (!(error instanceof HoldfastError) || error.code === 'internal') throw error
            return error.details.reason
          },
        )
        ends.set(end, (ends.get(end) ?? 0) + 1)
      }
      // Both sides of the swap were met, else nothing was tried.
      expect(isMetOften(), JSON.stringify([...ends])).toBe(true)
      expect(outside()).toEqual(before)
      expect([readdirSync(world.path('outside')).sort(), readFileSync(world.path('outside/victim'), 'utf8')]).toEqual([['precious', 'victim'], 'secret'])
      await until('all is closed', () => openIn(pid).length <= open)
    } finally {
      child.stdin.end()
      await ended
      await connection.close()
    }
  })

  test('a disk that is full is named, and nothing is changed; what is mounted below is not removed, and what is mounted on a file is written', async (supervisor) => {
    const { world } = supervisor
    const full = join(world.root, 'full')
    mkdirSync(full)
    const mounted: string[] = []
    const mount = (...args: readonly string[]): boolean => {
      try {
        execFileSync('mount', args, { stdio: 'ignore' })
        mounted.unshift(args.at(-1) as string)
        return true
      } catch {
        console.warn('skipped: a full disk: only root may mount a small one')
        return false
      }
    }
    const connection = await connected(supervisor)
    try {
      if (!mount('-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', full)) return
      const files = createSupervisedFiles(connection, world.root)
      await files.write('full/kept', 'original')
      const large = Buffer.alloc(1024 * 1024, 'x')
      for (const act of [() => files.write('full/kept', large), () => files.append('full/new', large), () => files.upload('full/other', single(large))])
        await expect(act()).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'file_failed', errno: expect.stringContaining('ENOSPC') } })
      await expect(files.append('full/kept', large)).rejects.toMatchObject({ details: { reason: 'file_failed' } })
      expect([readFileSync(join(full, 'kept'), 'utf8'), readdirSync(full)]).toEqual(['original', ['kept']])
      for (const act of [() => files.remove('full', { recursive: true }), () => files.move('full', 'moved')])
        await expect(act()).rejects.toMatchObject({ details: { reason: 'file_denied' } })
      expect(readdirSync(full)).toEqual(['kept'])
      for (const name of ['file', 'source']) writeFileSync(join(world.root, name), 'original')
      if (!mount('--bind', join(world.root, 'source'), join(world.root, 'file'))) return
      expect(await files.write('file', 'new')).toMatchObject({ route: 'in-place' })
      expect(await files.upload('file', single(Buffer.from('newer')))).toMatchObject({ route: 'in-place' })
      expect([readFileSync(join(world.root, 'source'), 'utf8'), stagedIn(world.root)]).toEqual(['newer', []])
    } finally {
      for (const path of mounted) execFileSync('umount', [path])
      await connection.close()
    }
  })
}

async function* single(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
