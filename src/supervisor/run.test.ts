import { expect, it } from 'vitest'
import { turn } from '../../test/support/clock.ts'
import { type Asked, openPeer, type ScriptedPeer } from '../../test/support/scripted-peer.ts'
import { endRecord } from '../../test/support/scripted-supervisor.ts'
import { openWorld } from '../../test/support/world.ts'
import type { OutputChunk } from '../core/backend.ts'
import { toHoldfastError } from '../core/errors.ts'
import { readOk } from './answers.ts'
import { type Connection, openConnection } from './connection.ts'
import { answers, requests } from './frames.ts'
import { Run } from './run.ts'

const kib = 1024

/** A run at a peer that does what a test says. */
async function openRun(answer: (asked: Asked) => void = () => {}) {
  const world = openWorld()
  const peer = await openPeer(world.path('s'), (asked) => (asked.type === requests.ping ? asked.say(answers.ok) : answer(asked)))
  const connection = (await openConnection(peer.path, 5_000)) as Connection
  const run = new Run({ id: 'a', process: { pid: 17, startTime: 'boot:17' }, connection })
  return {
    peer,
    connection,
    run,
    /** Goes there and back, so that all that was said before has arrived; gives what the peer can say more by. */
    async line(): Promise<Asked> {
      await connection.ask({ request: 'PING', write: (writer, tag) => writer.begin(requests.ping, tag), read: readOk })
      return peer.asked.findLast(({ type }) => type === requests.ping) as Asked
    },
    async [Symbol.asyncDispose]() {
      await connection.close()
      await peer[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

function print(line: Asked, offset: number, bytes: Uint8Array | string, stream: 1 | 2 = 1): void {
  line.say(
    answers.output,
    [
      [1, 'a'],
      [2, stream],
      [3, offset],
      [4, bytes],
    ],
    0,
  )
}

const end = (line: Asked, part = {}): void =>
  line.say(
    answers.ended,
    [
      [1, 'a'],
      [2, JSON.stringify(endRecord('a', part))],
    ],
    0,
  )
const shown = ({ stream, offset, bytes }: OutputChunk): string => `${stream} ${offset} ${Buffer.from(bytes)}`
const acksOf = ({ asked }: ScriptedPeer): (number | undefined)[] => asked.filter(({ type }) => type === requests.ack).map((each) => each.number(2))

async function collect(output: AsyncIterable<OutputChunk>): Promise<string[]> {
  const got: string[] = []
  for await (const chunk of output) got.push(shown(chunk))
  return got
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => toHoldfastError(error).details.reason,
  )

it('output is handed over in order, and its iteration ends with the run', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  const got = collect(scene.run.output)
  print(line, 0, 'one ')
  print(line, 0, 'err', 2)
  print(line, 4, 'two')
  end(line, { exitCode: 3 })
  expect(await scene.run.ended).toMatchObject({ run: 'a', exitCode: 3 })
  expect(await got).toEqual(['stdout 0 one ', 'stderr 0 err', 'stdout 4 two'])
})

it('output that waits is joined where it belongs together, and a jump in the offsets stays visible', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  for (let i = 0; i < 3_000; i += 1) print(line, i, 'x')
  print(line, 5_000, 'after a gap')
  print(line, 0, 'other', 2)
  print(line, 5_011, '.')
  end(line)
  await scene.run.ended
  const chunks: OutputChunk[] = []
  for await (const chunk of scene.run.output) chunks.push(chunk)
  expect(chunks.map(({ stream, offset, bytes }) => [stream, offset, bytes.length])).toEqual([
    ['stdout', 0, 3_000],
    ['stdout', 5_000, 11],
    ['stderr', 0, 5],
    ['stdout', 5_011, 1],
  ])
  expect(new Set(chunks[0]?.bytes)).toEqual(new Set(Buffer.from('x')))
})

it('window is given back for what was taken, half of it at a time, and not for what waits', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  const piece = Buffer.alloc(64 * kib, 'x')
  for (let i = 0; i < 16; i += 1) print(line, i * piece.length, piece)
  const iterator = scene.run.output[Symbol.asyncIterator]()
  for (let i = 0; i < 7; i += 1) expect((await iterator.next()).value.offset).toBe(i * piece.length)
  await scene.line()
  expect(acksOf(scene.peer)).toEqual([])
  await iterator.next()
  await scene.line()
  expect(acksOf(scene.peer)).toEqual([512 * kib])
  for (let i = 8; i < 16; i += 1) await iterator.next()
  await scene.line()
  expect(acksOf(scene.peer)).toEqual([512 * kib, 512 * kib])
})

it('whoever stops iterating gives no window back, is sent no more than that, and still learns of the end', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  for (let i = 0; i < 16; i += 1) print(line, i * 64 * kib, Buffer.alloc(64 * kib))
  for await (const _ of scene.run.output) break
  expect(await scene.run.output[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined })
  end(line)
  expect(await scene.run.ended).toMatchObject({ exitCode: 0 })
  await scene.line()
  expect(acksOf(scene.peer)).toEqual([])
})

it('the end is told also to those who ask late, and then everything is answered without the supervisor', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  const totals = { bytes: 5, lines: 1, droppedBytes: 0, gap: null }
  end(line, { stdout: totals, leftovers: [{ pid: 18, startTime: 'boot:18', name: 'sleep', ageMs: 5 }] })
  await scene.line()
  const before = scene.peer.asked.length
  expect(await scene.run.ended).toMatchObject({ run: 'a', stdout: totals })
  expect(await scene.run.status()).toMatchObject({ state: 'ended', elapsedMs: 12, stdout: { bytes: 5, lines: 1 }, takesInput: false })
  expect(await scene.run.tree()).toEqual([{ pid: 18, name: 'sleep' }])
  expect(await scene.run.signal('SIGTERM')).toEqual({ delivered: false })
  expect(await scene.run.stop({})).toEqual({ left: 0 })
  await scene.run.write(Buffer.from('late'))
  await scene.run.endInput()
  await scene.run.resize(24, 80)
  expect(scene.peer.asked.length).toBe(before)
})

it('an end record that cannot be read is no end', async () => {
  for (const text of ['', '{', 'null', JSON.stringify(endRecord('b')), '{"version":2,"run":"a"}']) {
    await using scene = await openRun()
    const line = await scene.line()
    line.say(
      answers.ended,
      [
        [1, 'a'],
        [2, text],
      ],
      0,
    )
    expect(await reasonOf(scene.run.ended)).toBe('supervisor_lost')
    expect(scene.connection.open).toBe(true)
  }
})

it('contact that is lost ends the output, after what had come, and rejects the end', async () => {
  await using scene = await openRun()
  const line = await scene.line()
  print(line, 0, 'so far')
  setImmediate(() => line.hangUp())
  expect(await reasonOf(scene.run.ended)).toBe('supervisor_lost')
  expect(await collect(scene.run.output)).toEqual(['stdout 0 so far'])
  expect(await reasonOf(scene.run.write(Buffer.from('x')))).toBe('supervisor_lost')
})

it('a run that is released is told nothing more, and can still be asked', async () => {
  await using scene = await openRun((asked) => {
    if (asked.type === requests.signal)
      asked.say(answers.done, [
        [1, 'a'],
        [2, 2],
      ])
  })
  const line = await scene.line()
  print(line, 0, 'before')
  await scene.line()
  const got = collect(scene.run.output)
  const ended = reasonOf(scene.run.ended)
  await turn()
  scene.run.release()
  scene.run.release()
  expect([await ended, await got]).toEqual(['supervisor_lost', ['stdout 0 before']])
  print(line, 6, 'after')
  expect(await scene.run.signal('SIGUSR1')).toEqual({ delivered: true })
  expect(scene.peer.asked.map(({ type }) => type)).toEqual([requests.ping, requests.ping, requests.unwatch, requests.signal])
  expect(scene.peer.asked.at(-1)?.number(2)).toBe(10)
})

it('input goes out in parts of 64 KiB, each when the one before was taken, and its end comes last', async () => {
  const waiting: Asked[] = []
  await using scene = await openRun((asked) => {
    if (asked.type === requests.input) waiting.push(asked)
    if (asked.type === requests.endInput) asked.say(answers.ok)
  })
  const bytes = Buffer.from(Array.from({ length: 150 * kib }, (_, i) => i % 251))
  let written = 0
  const first = scene.run.write(bytes).then(() => {
    written += 1
  })
  const second = scene.run.write(Buffer.from('second')).then(() => {
    written += 1
  })
  const over = scene.run.endInput()
  const sizes: number[] = []
  const got: Buffer[] = []
  for (let part = 1; part <= 4; part += 1) {
    await scene.peer.got(part)
    await turn()
    expect([waiting.length, written]).toEqual([part, part === 4 ? 1 : 0])
    const asked = waiting[part - 1] as Asked
    sizes.push(asked.bytes(2).length)
    got.push(asked.bytes(2))
    asked.say(answers.taken, [[1, 'a']])
  }
  await Promise.all([first, second, over])
  expect(sizes).toEqual([64 * kib, 64 * kib, 22 * kib, 6])
  expect(Buffer.concat(got)).toEqual(Buffer.concat([bytes, Buffer.from('second')]))
  expect(scene.peer.asked.at(-1)?.type).toBe(requests.endInput)
})

it('a write that waits is let go when the run is over, since something left behind may hold the pipe', async () => {
  await using scene = await openRun()
  const written = scene.run.write(Buffer.alloc(200 * kib))
  await scene.peer.got(1)
  end(scene.peer.asked[0] as Asked)
  await written
  expect(scene.peer.asked.length).toBe(1)
})

it.each([
  ['input_closed', 'input_closed'],
  ['input_full', 'input_full'],
  ['exhausted', 'supervisor_refused'],
  ['no_such_run', 'no error'],
])('a write that is refused with %s gives: %s', async (code, reason) => {
  await using scene = await openRun((asked) => asked.say(answers.error, [[1, code]]))
  expect(await reasonOf(scene.run.write(Buffer.from('x')))).toBe(reason)
  // The next one is tried again.
  expect(await reasonOf(scene.run.write(Buffer.from('y')))).toBe(reason)
})

it('what a supervisor no longer holds is over', async () => {
  await using scene = await openRun((asked) => asked.say(answers.error, [[1, 'no_such_run']]))
  expect(await scene.run.signal('SIGTERM')).toEqual({ delivered: false })
  expect(await scene.run.stop({})).toEqual({ left: 0 })
  expect(await scene.run.tree()).toEqual([])
  await scene.run.endInput()
  await scene.run.resize(1, 1)
  expect(await reasonOf(scene.run.status())).toBe('run_ended')
})

it('a stop says what it wants, and gives what is left', async () => {
  await using scene = await openRun((asked) =>
    asked.say(answers.done, [
      [1, 'a'],
      [2, 3],
    ]),
  )
  expect(await scene.run.stop({ signal: 'SIGINT', graceMs: 1.5 })).toEqual({ left: 3 })
  expect(await scene.run.stop({})).toEqual({ left: 3 })
  expect(scene.peer.asked.map((asked) => [asked.text(1), asked.number(2), asked.number(3), asked.number(4)])).toEqual([
    ['a', 1, 2, 2],
    ['a', 1, undefined, undefined],
  ])
  expect(await reasonOf(scene.run.signal('SIGNOTHING' as NodeJS.Signals))).toBe('invalid')
})

it('the tree is listed without the first process, whatever the names are', async () => {
  await using scene = await openRun((asked) =>
    asked.say(answers.processes, [
      [2, '17 boot:17 900 0 sh'],
      [2, '18 boot:18 5 1 a (b) c\nd'],
      [2, '17 boot:99 5 1 another'],
    ]),
  )
  expect(await scene.run.tree()).toEqual([
    { pid: 18, name: 'a (b) c\nd' },
    { pid: 17, name: 'another' },
  ])
})

it('a listener that is refused what it did not wait for is not why contact is lost later', async () => {
  await using scene = await openRun((asked) => asked.say(answers.error, [[1, 'no_such_run']]))
  const other = new Run({ id: 'b', process: { pid: 18, startTime: 'boot:18' }, connection: scene.connection })
  scene.run.release()
  const line = await scene.line()
  const ended = other.ended.catch((error: unknown) => toHoldfastError(error).details)
  line.hangUp()
  expect(await ended).toEqual({ reason: 'supervisor_lost', why: 'it closed the connection' })
})
