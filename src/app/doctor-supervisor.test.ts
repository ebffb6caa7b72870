import { expect, it, vi } from 'vitest'
import { scriptedSupervisor } from '../../test/support/scripted-supervisor.ts'
import type { Session } from '../core/backend.ts'
import { failure } from '../core/errors.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { Place } from './context.ts'
import { examinePlace } from './doctor-supervisor.ts'

const now = new Date('2026-01-01T00:00:00Z')

function context(place: Place | Error, { env = {}, use = 'auto' }: { env?: Record<string, string>; use?: string } = {}) {
  return {
    openPlace: async () => {
      if (place instanceof Error) throw place
      return place
    },
    ownEnv: env,
    explainConfig: () => ({ settings: [{ key: 'supervisor.use', value: use, source: 'default' }], files: [] }),
    now: () => now,
  }
}

function plain(why: string, warnings: readonly string[] = []): Place & { readonly close: ReturnType<typeof vi.fn> } {
  const close = vi.fn(async () => {})
  return { kind: 'plain', session: { close } as unknown as Session, why, warnings, close }
}

it('a supervisor that serves is named with its build, pid, socket and runs, and the connection is let go of', async () => {
  const session = scriptedSupervisor().connect()
  const check = await examinePlace(context({ kind: 'supervised', session }))
  expect(check).toMatchObject({ name: 'supervisor', status: 'ok', plain: false })
  expect(check.detail).toMatch(/^commands live on .*; build 0123abcd, pid 4711, since 20\S+Z \(.*\), at \/scripted\.sock, holds 0 runs$/)
  expect(session.open).toBe(false)
})

it('a supervisor whose start time tells nothing is named without it', async () => {
  const session: SupervisedSession = { ...scriptedSupervisor().connect(), supervisor: { pid: 7, startTime: 'what' } }
  expect((await examinePlace(context({ kind: 'supervised', session }))).detail).toContain('pid 7, at /scripted.sock')
})

it('a supervisor that does not answer is a failure', async () => {
  vi.useFakeTimers()
  try {
    const supervisor = scriptedSupervisor()
    supervisor.fallSilent()
    const examined = examinePlace(context({ kind: 'supervised', session: supervisor.connect() }))
    await vi.advanceTimersByTimeAsync(5_000)
    const check = await examined
    expect(check.status).toBe('failed')
    expect(check.detail).toContain('it does not answer (no answer within 5 s); build 0123abcd')
  } finally {
    vi.useRealTimers()
  }
})

it.runIf(process.platform === 'linux')('where the program is missing, it is said why that matters and what to do', async () => {
  const place = plain('there is no holdfast-supervisor-linux-x64 in /opt')
  const check = await examinePlace(context(place))
  expect(check).toMatchObject({ name: 'supervisor', status: 'warning', plain: true })
  expect(check.detail).toContain('not used: there is no holdfast-supervisor-linux-x64 in /opt; ')
  expect(check.detail).toContain('when it is killed, their later output is lost')
  expect(check.detail).toContain('scripts/build-supervisor')
  expect(place.close).toHaveBeenCalledTimes(1)
})

it('where the program is there and does not serve, nobody is sent to build it', async () => {
  const check = await examinePlace(context(plain('it did not start', ['it did not start'])))
  expect(check.status).toBe('warning')
  expect(check.detail).toContain('not used: it did not start; ')
  expect(check.detail).not.toContain('compiler')
})

it.each([{ env: { HOLDFAST_SUPERVISOR: 'never' } }, { use: 'never' }])('plain mode that somebody chose is no fault: %j', async (choice) => {
  const check = await examinePlace(context(plain('somebody says so'), choice))
  expect(check).toMatchObject({ status: 'ok', plain: true })
  expect(check.detail).toContain('not used, because somebody says so; ')
})

it('a place that cannot be opened at all is a failure', async () => {
  expect(await examinePlace(context(failure('root_missing', { root: '/gone' })))).toMatchObject({ status: 'failed' })
})
