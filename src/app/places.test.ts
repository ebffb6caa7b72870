import { describe, expect, it } from 'vitest'
import { scriptedIdentity, scriptedSupervisor } from '../../test/support/scripted-supervisor.ts'
import type { Session } from '../core/backend.ts'
import { failure } from '../core/errors.ts'
import type { Machine } from '../core/machine.ts'
import type { RunRecord } from '../core/run.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { AppContext, Place } from './context.ts'
import { createPlaces } from './places.ts'
import type { AppSettings } from './settings.ts'

function plainSession(closed: () => void = () => {}): Session {
  return { logs: 'streamed', handle: 'plain', start: () => Promise.reject(new Error('nothing starts here')), close: async () => closed() }
}

const plain = (warnings: readonly string[] = []): Place => ({ kind: 'plain', session: plainSession(), why: 'there is none', warnings })

function placesWith(open: () => Place | Promise<Place>, reach: (socket: string) => SupervisedSession | undefined = () => undefined, alive = false) {
  const asked = { open: 0, reach: [] as string[] }
  const places = createPlaces({
    openPlace: async () => {
      asked.open += 1
      return open()
    },
    openPlainSession: async () => plainSession(),
    openTarget: () => Promise.reject(new Error('nothing is opened here')),
    settings: { targets: {}, defaultTarget: null } as Partial<AppSettings> as AppSettings,
    root: '/srv/app',
    homePlace: {} as AppContext['homePlace'],
    workspaces: {} as AppContext['workspaces'],
    ownEnv: {},
    repositoryOf: () => undefined,
    reachSupervisor: async (socket) => {
      asked.reach.push(socket)
      return reach(socket)
    },
    machine: { isAlive: () => alive } as Partial<Machine> as Machine,
  })
  return { places, asked }
}

const holder = { ...scriptedIdentity, socket: '/scripted.sock' }

describe('the place of commands', () => {
  it('is opened once, also for many who come at the same time', async () => {
    const supervisor = scriptedSupervisor()
    const { places, asked } = placesWith(() => ({ kind: 'supervised', session: supervisor.connect() }))
    const found = await Promise.all([places.current(), places.current(), places.current()])
    expect(new Set(found).size).toBe(1)
    expect(await places.current()).toBe(found[0])
    expect(asked.open).toBe(1)
  })

  it('is opened anew, once, when contact with its supervisor was lost', async () => {
    const supervisor = scriptedSupervisor()
    const { places, asked } = placesWith(() => ({ kind: 'supervised', session: supervisor.connect() }))
    const first = await places.current()
    supervisor.loseContact()
    const [second, third] = await Promise.all([places.current(), places.current()])
    expect([second === first, second === third, asked.open]).toEqual([false, true, 2])
  })

  it('stays plain where there is no supervisor, and for a while where it could not be used', async () => {
    for (const warnings of [[], ['the supervisor cannot be used: it is tired']]) {
      const { places, asked } = placesWith(() => plain(warnings))
      expect((await places.current()).kind).toBe('plain')
      expect((await places.current()).kind).toBe('plain')
      expect(asked.open).toBe(1)
    }
  })

  it('is asked for again after it could not be opened', async () => {
    let broken = true
    const { places, asked } = placesWith(() => {
      if (broken) throw failure('root_missing', { root: '/gone' })
      return plain()
    })
    await expect(places.current()).rejects.toMatchObject({ details: { reason: 'root_missing' } })
    broken = false
    expect((await places.current()).kind).toBe('plain')
    expect(asked.open).toBe(2)
  })
})

describe('the supervisor of a run', () => {
  it('is the one of the place where that serves at the same socket', async () => {
    const session = scriptedSupervisor().connect()
    const { places, asked } = placesWith(() => ({ kind: 'supervised', session }))
    await places.current()
    expect(await places.supervisorOf(holder)).toBe(session)
    expect(asked.reach).toEqual([])
  })

  it('is reached by its socket, once, and again when contact was lost', async () => {
    const supervisor = scriptedSupervisor()
    const { places, asked } = placesWith(plain, () => supervisor.connect())
    const first = await places.supervisorOf(holder)
    expect(await places.supervisorOf(holder)).toBe(first)
    supervisor.loseContact()
    expect(await places.supervisorOf(holder)).not.toBe(first)
    expect(asked).toEqual({ open: 0, reach: ['/scripted.sock', '/scripted.sock'] })
  })

  it('is none where another one serves at its socket by now, where nobody does, and of plain mode', async () => {
    const { places } = placesWith(plain, (socket) => (socket === '/scripted.sock' ? scriptedSupervisor().connect() : undefined))
    expect(await places.supervisorOf({ ...holder, startTime: 'scripted:2' })).toBeUndefined()
    expect(await places.supervisorOf({ ...holder, pid: 1 })).toBeUndefined()
    expect(await places.supervisorOf({ ...holder, socket: '/nobody.sock' })).toBeUndefined()
    expect(await places.supervisorOf(scriptedIdentity)).toBeUndefined()
  })
})

describe('a run of a supervisor', () => {
  const record = { id: 'a', holder } as Partial<RunRecord> as RunRecord

  it('is out of reach where nobody answers, or another one does, while its supervisor lives', async () => {
    const earlier = { ...record, holder: { ...holder, startTime: 'scripted:0' } }
    for (const [run, reach] of [
      [record, () => undefined],
      [earlier, () => scriptedSupervisor().connect()],
    ] as const) {
      expect(await placesWith(plain, reach, true).places.attach(run, { kind: 'nothing' })).toBe('unreachable')
      expect(await placesWith(plain, reach, false).places.attach(run, { kind: 'nothing' })).toBeUndefined()
    }
  })

  it('is not held where its supervisor answers and knows nothing of it', async () => {
    const { places } = placesWith(plain, () => scriptedSupervisor().connect(), true)
    expect(await places.attach(record, { kind: 'nothing' })).toBeUndefined()
  })
})

it('closing lets go of every connection, and is harmless where one could never be opened', async () => {
  let closed = 0
  const supervisor = scriptedSupervisor()
  const sessions: SupervisedSession[] = []
  const connect = (): SupervisedSession => {
    const session = supervisor.connect()
    sessions.push(session)
    return session
  }
  const { places } = placesWith(() => ({ kind: 'plain', session: plainSession(() => (closed += 1)), why: '', warnings: [] }), connect)
  await places.current()
  await places.supervisorOf(holder)
  await places.close()
  expect([closed, sessions.map(({ open }) => open)]).toEqual([1, [false]])
  const { places: broken } = placesWith(() => Promise.reject(new Error('no')))
  await broken.current().catch(() => {})
  await broken.close()
})
