import { uptime } from 'node:os'
import { messageOf } from '../core/errors.ts'
import { formatDuration } from '../core/limits.ts'
import type { ProcessIdentity } from '../core/run.ts'
import type { SupervisedSession } from '../core/supervised.ts'
import type { DoctorResult } from './api.ts'
import type { AppContext, Place } from './context.ts'

type Check = DoctorResult['checks'][number]

/** Between a question to the supervisor and its answer. */
const answerMs = 5_000
/** What start times are counted in (USER_HZ, the same on every Linux). */
const ticksPerSecond = 100

const plainMode =
  'commands are started by this process itself: when it is killed, their later output is lost and they are reported as interrupted; starting one costs more, and no other process can write to one'
const remedy = 'Install a C compiler (Debian: apt install gcc libc6-dev) and run scripts/build-supervisor in the folder of Holdfast'

/**
 * Whether commands run under the supervisor of the home, and what that means. Opens the place as the next command would, so that
 * a supervisor that is there and does not start is noticed.
 */
export async function examinePlace(context: Pick<AppContext, 'openPlace' | 'ownEnv' | 'explainConfig' | 'now'>): Promise<Check & { readonly plain: boolean }> {
  let place: Place
  try {
    place = await context.openPlace()
  } catch (error) {
    return { name: 'supervisor', status: 'failed', detail: messageOf(error), plain: true }
  }
  try {
    if (place.kind === 'supervised') return { ...(await describe(place.session, context.now())), plain: false }
    if (isChosen(context)) return { name: 'supervisor', status: 'ok', detail: `not used, because ${place.why}; ${plainMode}`, plain: true }
    // It is there and does not serve, or is missing; only the latter is helped by building it.
    const advice = place.warnings.length > 0 || process.platform !== 'linux' ? '' : `. ${remedy}`
    return { name: 'supervisor', status: 'warning', detail: `not used: ${place.why}; ${plainMode}${advice}`, plain: true }
  } finally {
    await place.session.close()
  }
}

async function describe(session: SupervisedSession, now: Date): Promise<Check> {
  const { pid } = session.supervisor
  const who = `build ${session.build}, pid ${pid}${since(session.supervisor, now)}, at ${session.handle}`
  try {
    const { length } = await within(session.runs(), answerMs)
    const held = `holds ${length === 1 ? '1 run' : `${length} runs`}`
    return { name: 'supervisor', status: 'ok', detail: `commands live on when whoever started them is gone; ${who}, ${held}` }
  } catch (error) {
    return { name: 'supervisor', status: 'failed', detail: `it does not answer (${messageOf(error)}); ${who}` }
  }
}

function since({ startTime }: ProcessIdentity, now: Date): string {
  const ticks = Number(startTime.split(':')[1])
  const ageMs = (uptime() - ticks / ticksPerSecond) * 1_000
  // A container may have an uptime of its own.
  if (!Number.isFinite(ageMs) || ageMs < -1_000) return ''
  if (ageMs < 1_000) return ', started just now'
  return `, since ${new Date(now.getTime() - ageMs).toISOString().slice(0, 19)}Z (${formatDuration(ageMs)})`
}

function isChosen({ ownEnv, explainConfig }: Pick<AppContext, 'ownEnv' | 'explainConfig'>): boolean {
  return ownEnv.HOLDFAST_SUPERVISOR === 'never' || explainConfig().settings.some(({ key, value }) => key === 'supervisor.use' && value === 'never')
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${formatDuration(ms)}`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
