import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { buildFrame } from '../../test/support/bare-supervisor.ts'
import { bundle } from '../../test/support/bundle.ts'
import { until } from '../../test/support/clock.ts'
import { type Asked, openPeer, welcome } from '../../test/support/scripted-peer.ts'
import { openWorld } from '../../test/support/world.ts'
import { toHoldfastError } from '../core/errors.ts'
import { readDone, readOk } from './answers.ts'
import { Connection, type Exchange, openConnection, type RunListener } from './connection.ts'
import { answers, requests } from './frames.ts'

const ping: Exchange<true> = { request: 'PING', write: (writer, tag) => writer.begin(requests.ping, tag), read: readOk }
const stop: Exchange<number> = { request: 'STOP', write: (writer, tag) => writer.begin(requests.stop, tag).text(1, 'a'), read: readDone }

async function reach(path: string, timeoutMs = 5_000): Promise<Connection> {
  const reached = await openConnection(path, timeoutMs)
  if (!(reached instanceof Connection)) throw new Error(reached)
  return reached
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error('it did not reject')
    },
    (error: unknown) => toHoldfastError(error),
  )

/** A listener that writes down what it is told. */
function listenerOf(id: string): RunListener & { readonly told: string[] } {
  const told: string[] = []
  return {
    id,
    told,
    onOutput: (stream, offset, bytes) => void told.push(`${stream} ${offset} ${bytes}`),
    onEnd: (text) => void told.push(`end ${text}`),
    onLost: ({ details }) => void told.push(`lost: ${details.why ?? details.reason}`),
  }
}

it('a connection knows who is at the other end', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {})
  const connection = await reach(peer.path)
  expect([connection.supervisor, connection.build, connection.path, connection.open]).toEqual([{ pid: 4711, startTime: 'boot:1' }, '0123abcd', peer.path, true])
  await connection.close()
})

it('nobody is there without a socket, at one that was left behind, and where the other side was just ending', async () => {
  await using world = openWorld()
  expect(await openConnection(world.path('missing'), 5_000)).toBe('nobody')
  const left = createServer().listen(world.path('left'))
  await once(left, 'listening')
  await promisify(execFile)('mv', [world.path('left'), world.path('left-behind')])
  left.close()
  expect(await openConnection(world.path('left-behind'), 5_000)).toBe('nobody')
  await using ending = await openPeer(
    world.path('s'),
    () => {},
    (hello) => hello.hangUp(),
  )
  expect(await openConnection(ending.path, 5_000)).toBe('nobody')
})

it.each<[string, (hello: Asked) => void, string]>([
  ['speaks another version', (hello) => hello.say(answers.welcome, [...welcome, [1, 2]]), 'no answer of the protocol'],
  [
    'refuses in words',
    (hello) =>
      hello.say(answers.error, [
        [1, 'unauthenticated'],
        [2, 'you are somebody else'],
      ]),
    'unauthenticated (you are somebody else)',
  ],
  [
    'refuses in words and hangs up',
    (hello) => {
      hello.say(
        answers.error,
        [
          [1, 'exhausted'],
          [2, 'no room for another controller'],
        ],
        0,
      )
      hello.blurt(Buffer.alloc(0))
      setImmediate(() => hello.hangUp())
    },
    'exhausted (no room for another controller)',
  ],
  ['says something else', (hello) => hello.blurt(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')), 'no frame of the protocol'],
  ['says nothing', () => {}, 'did not answer within 60 ms'],
])('whoever %s is not the supervisor, and the error says why', async (_, greet, why) => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {}, greet)
  const error = await errorOf(openConnection(peer.path, why.includes('60 ms') ? 60 : 5_000))
  expect(error).toMatchObject({ code: 'unavailable', details: { reason: 'supervisor_unavailable' } })
  expect(error.message).toContain(why)
})

it('what is asked in one turn goes out in one piece, and answers find their requests in whatever order', async () => {
  await using world = openWorld()
  const later: Asked[] = []
  await using peer = await openPeer(world.path('s'), (asked) => {
    later.push(asked)
    if (later.length === 50) for (const [i, each] of later.reverse().entries()) each.say(answers.done, [[2, each.tag * 100 + i]])
  })
  const connection = await reach(peer.path)
  const before = peer.pieces.length
  const got = await Promise.all(Array.from({ length: 50 }, () => connection.ask(stop)))
  expect(peer.pieces.length - before).toBe(1)
  // The first one asked was answered last.
  const first = Math.floor((got[0] as number) / 100)
  expect(got).toEqual(Array.from({ length: 50 }, (_, i) => (first + i) * 100 + 49 - i))
  await connection.close()
})

it('when contact is lost, everything that waits is told so once, and so is what is asked later', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), (asked) => {
    if (asked.type !== requests.stop) return
    // In the middle of a frame.
    asked.blurt(
      buildFrame(answers.ended, [
        [1, 'a'],
        [2, 'never complete'],
      ]).subarray(0, 20),
    )
    setImmediate(() => asked.hangUp())
  })
  const connection = await reach(peer.path)
  const listeners = ['a', 'b'].map(listenerOf)
  for (const listener of listeners) connection.listen(listener)
  const errors = await Promise.all([errorOf(connection.ask(ping)), errorOf(connection.ask(ping)), errorOf(connection.ask(stop))])
  expect(errors.map(({ code, details }) => [code, details.reason])).toEqual(Array(3).fill(['unavailable', 'supervisor_lost']))
  expect(listeners.map(({ told }) => told)).toEqual(Array(2).fill(['lost: it closed the connection']))
  expect(connection.open).toBe(false)
  expect((await errorOf(connection.ask(ping))).details.reason).toBe('supervisor_lost')
  await connection.close()
  await connection.close()
  expect(listeners.map(({ told }) => told.length)).toEqual([1, 1])
})

it.each<[string, (asked: Asked) => void]>([
  ['an answer of another kind', (asked) => asked.say(answers.done, [[2, 1]])],
  ['a request', (asked) => asked.say(requests.ping)],
  [
    'an answer whose fields do not add up',
    (asked) => asked.blurt(Buffer.concat([Buffer.from([1, 0, 0, 0, answers.ok, 0, 0, 0]), tagBytes(asked), Buffer.from([1])])),
  ],
  [
    'output without bytes',
    (asked) =>
      asked.say(
        answers.output,
        [
          [1, 'a'],
          [2, 1],
          [3, 0],
        ],
        0,
      ),
  ],
  [
    'output of a third stream',
    (asked) =>
      asked.say(
        answers.output,
        [
          [1, 'a'],
          [2, 3],
          [3, 0],
          [4, 'x'],
        ],
        0,
      ),
  ],
  [
    'output at an offset that is no number',
    (asked) =>
      asked.say(
        answers.output,
        [
          [1, 'a'],
          [2, 1],
          [3, 'x'],
          [4, 'x'],
        ],
        0,
      ),
  ],
  ['an end without a record', (asked) => asked.say(answers.ended, [[1, 'a']], 0)],
  ['an error without a code', (asked) => asked.say(answers.error, [[2, 'why']])],
  ['a frame that is too large', (asked) => asked.blurt(Buffer.from([1, 0, 0x40, 0, answers.ok, 0, 0, 0, 0, 0, 0, 0]))],
  ['what is no header', (asked) => asked.blurt(Buffer.from([0, 0, 0, 0, answers.ok, 0, 1, 0, 0, 0, 0, 0]))],
])('%s ends contact: nothing that follows could be trusted', async (_, answer) => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), answer)
  const connection = await reach(peer.path)
  const listener = listenerOf('a')
  connection.listen(listener)
  const error = await errorOf(connection.ask(ping))
  expect(error.details.reason).toBe('supervisor_lost')
  expect(error.message).toMatch(/what it sent is no (answer|frame) of the protocol/)
  expect(listener.told).toEqual([`lost: ${error.details.why}`])
  await connection.close()
})

function tagBytes({ tag }: Asked): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(tag)
  return bytes
}

it('a request that surely never reached the other side says so, and one that may have does not', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {})
  const connection = await reach(peer.path)
  const arrived = errorOf(connection.ask(ping))
  await peer.got(1)
  peer.asked[0]?.hangUp()
  // Nothing of that was heard yet.
  expect(connection.open).toBe(true)
  const refused = errorOf(connection.ask(stop))
  expect((await refused).details).toMatchObject({ reason: 'supervisor_lost', unsent: true })
  expect((await arrived).details).toMatchObject({ reason: 'supervisor_lost' })
  expect((await arrived).details.unsent).toBeUndefined()
  const later = await errorOf(connection.ask(ping))
  expect(later.details).toMatchObject({ reason: 'supervisor_lost', unsent: true })
  expect(later.message).toContain('nothing was asked of it')
})

it('what nobody waits for, or listens to, is passed over', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), (asked) => {
    asked.say(answers.ok, [], 12_345)
    asked.say(answers.error, [[1, 'no_such_run']], 12_346)
    asked.say(
      answers.output,
      [
        [1, 'stranger'],
        [2, 1],
        [3, 0],
        [4, 'x'],
      ],
      0,
    )
    asked.say(
      answers.ended,
      [
        [1, 'stranger'],
        [2, '{}'],
      ],
      0,
    )
    asked.say(answers.ok, [[200, 'what a newer supervisor says besides']])
  })
  const connection = await reach(peer.path)
  expect(await connection.ask(ping)).toBe(true)
  await connection.close()
})

it('an error rejects its request alone, unless the request knows what it means', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), (asked) =>
    asked.say(answers.error, [
      [1, 'no_such_run'],
      [2, 'there is none'],
      [3, 'run'],
    ]),
  )
  const connection = await reach(peer.path)
  const error = await errorOf(connection.ask(stop))
  expect(error).toMatchObject({ code: 'unavailable', details: { reason: 'supervisor_refused', request: 'STOP', answer: 'no_such_run' } })
  expect(error.message).toContain('there is none, field run')
  expect(await connection.ask({ ...stop, refused: (code) => (code === 'no_such_run' ? 0 : undefined) })).toBe(0)
  expect(connection.open).toBe(true)
  await connection.close()
})

it('closing it lets go of everything, is harmless twice, and does not wait for a peer that does nothing', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {})
  const connection = await reach(peer.path)
  const listener = listenerOf('a')
  connection.listen(listener)
  const waiting = errorOf(connection.ask(ping))
  await peer.got(1)
  await Promise.all([connection.close(), connection.close()])
  expect([(await waiting).details.reason, listener.told]).toEqual(['closed', ['lost: closed']])
  expect((await errorOf(connection.ask(ping))).details.reason).toBe('closed')
  expect(connection.open).toBe(false)
})

it('what was said before closing still arrives', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {})
  const connection = await reach(peer.path)
  connection.tell((writer) => writer.begin(requests.input, 0).raw(2, Buffer.alloc(3_000_000)))
  connection.tell((writer) => writer.begin(requests.unwatch, 0).text(1, 'a'))
  const closed = connection.close()
  await peer.got(2)
  expect(peer.asked.map(({ type }) => type)).toEqual([requests.input, requests.unwatch])
  await closed
})

it('an idle connection does not keep its process alive; a request does, and so does a run that is listened to', async () => {
  await using world = openWorld()
  const held: Asked[] = []
  await using peer = await openPeer(world.path('s'), (asked) => {
    held.push(asked)
  })
  const program = await bundle(
    `import { Connection, openConnection } from './src/supervisor/connection.ts'
     import { readOk } from './src/supervisor/answers.ts'
     const connection = await openConnection(process.argv[2], 5_000) as Connection
     if (process.argv[3] === 'ask') {
       const ping = { request: 'PING', write: (writer, tag) => writer.begin(14, tag), read: readOk }
       connection.ask(ping).then(() => console.log('answered'))
     }
     if (process.argv[3] === 'listen') {
       connection.listen({ id: 'a', onOutput() {}, onEnd(text) { console.log('ended ' + text) }, onLost() {} })
       connection.tell((writer) => writer.begin(3, 0).text(1, 'a'))
     }`,
    world.path('program.mjs'),
  )
  const start = (what: string) => promisify(execFile)(process.execPath, [program, peer.path, what], { env: world.env, timeout: 20_000 })
  expect((await start('nothing')).stdout).toBe('')
  let over = 0
  const asking = start('ask').finally(() => {
    over += 1
  })
  const listening = start('listen').finally(() => {
    over += 1
  })
  await peer.got(2)
  // Whoever does not wait would be over by the time that a third one has come and gone.
  await start('nothing')
  expect(over).toBe(0)
  for (const asked of held) {
    if (asked.type === requests.ping) asked.say(answers.ok)
    else
      asked.say(
        answers.ended,
        [
          [1, 'a'],
          [2, 'well'],
        ],
        0,
      )
  }
  expect([(await asking).stdout, (await listening).stdout]).toEqual(['answered\n', 'ended well\n'])
})

it('a socket that has no room for another connection is busy, not empty', async () => {
  await using world = openWorld()
  const program = world.path('program.mjs')
  writeFileSync(
    program,
    `import { createServer } from 'node:net'
    createServer().listen({ path: process.argv[2], backlog: 1 }, () => { console.log('ready'); setImmediate(() => process.kill(process.pid, 'SIGSTOP')) })`,
  )
  const child = spawn(process.execPath, [program, world.path('s')], { env: world.env, stdio: ['ignore', 'pipe', 'inherit'] })
  const waiting: Socket[] = []
  try {
    await once(child.stdout, 'data')
    await until(() => /^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, 'latin1')))
    let reached: unknown
    while (reached !== 'busy') {
      // Each takes one place in the queue.
      waiting.push(connect(world.path('s')).on('error', () => {}))
      reached = await openConnection(world.path('s'), 50).catch(() => undefined)
      expect(waiting.length).toBeLessThan(20)
    }
  } finally {
    for (const socket of waiting) socket.destroy()
    child.kill('SIGKILL')
    await once(child, 'close')
  }
})

it('a side that takes all that is said, and says nothing itself, is lost after three times the silence', async () => {
  await using world = openWorld()
  await using peer = await openPeer(world.path('s'), () => {})
  const connection = await openConnection(peer.path, 5_000, { path: peer.path, keepAliveMs: 60 })
  if (!(connection instanceof Connection)) throw new Error(connection)
  const error = await errorOf(connection.ask(stop))
  expect(error).toMatchObject({ details: { reason: 'supervisor_lost', why: 'nothing was heard of it for 180 ms' } })
  expect(peer.asked.map(({ type }) => type)).toEqual([requests.stop, requests.ping])
  expect(connection.open).toBe(false)
})
