import type { SiteState } from '../../core/channel.ts'
import type { Engine } from './engine.ts'

export interface ContainerState {
  readonly Status: string
  readonly Running: boolean
  readonly Paused: boolean
  readonly Restarting: boolean
  readonly OOMKilled: boolean
  readonly ExitCode: number
  readonly Error?: string
  /** Of its first process, as the machine of the engine counts; 0 where it does not run. */
  readonly Pid?: number
}

/** Whether nothing that ran in it does any more. */
export const isOver = ({ Running, Paused, Restarting }: ContainerState): boolean => !Running && !Paused && !Restarting

export function describeState({ Running, Paused, Restarting, OOMKilled, ExitCode, Status, Error: error }: ContainerState): string {
  if (Paused) return 'the container is paused'
  if (Restarting) return 'the container is restarting'
  if (Running) return 'the container is running'
  if (Status === 'created') return 'the container was never started'
  return `the container ended${error ? ` (${error})` : ''}${endWords(ExitCode, OOMKilled)}`
}

const endWords = (exitCode: number | undefined, outOfMemory: boolean): string =>
  `${exitCode === undefined ? '' : ` with status ${exitCode}`}${outOfMemory ? ' for lack of memory' : ''}`

interface EngineEvent {
  readonly Action?: string
  readonly status?: string
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> }
}

/** How a container ended that the engine has removed, as far as it remembers its last events. */
export async function describeEnd(engine: Engine, id: string, created: string): Promise<SiteState> {
  const gone = (exitCode: number | undefined, outOfMemory: boolean): SiteState => ({
    kind: 'gone',
    why: `the container ended${endWords(exitCode, outOfMemory)}, and was removed`,
    ...(outOfMemory ? { outOfMemory } : {}),
  })
  const since = Math.floor(Date.parse(created) / 1000)
  try {
    // Podman would wait for further ones, and finds none of a container that is gone where it is asked for those of one.
    const filters = engine.product === 'podman' ? { type: ['container'] } : { container: [id] }
    // Up to the end of this second: the last event may be of this very moment.
    const until = Math.floor(Date.now() / 1000) + 1
    const query = { since: String(Number.isNaN(since) ? 0 : since), until: String(until), stream: 'false', filters: JSON.stringify(filters) }
    const answer = await engine.ask({ method: 'GET', path: '/events', query, timeoutMs: 10_000 })
    const events = answer.text.split('\n').flatMap((line): EngineEvent[] => {
      try {
        const event = JSON.parse(line) as EngineEvent
        return event.Actor?.ID === id ? [event] : []
      } catch {
        return []
      }
    })
    const named = (...names: string[]) => events.find(({ Action, status }) => names.includes(Action ?? status ?? ''))
    const { exitCode, containerExitCode } = named('die', 'died')?.Actor?.Attributes ?? {}
    const code = exitCode ?? containerExitCode
    return gone(code === undefined ? undefined : Number(code), named('oom') !== undefined)
  } catch {
    return gone(undefined, false)
  }
}
