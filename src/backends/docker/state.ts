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
}

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
  readonly Actor?: { readonly Attributes?: Readonly<Record<string, string>> }
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
    const answer = await engine.ask({
      method: 'GET',
      path: '/events',
      // Podman would wait for further ones; `until` in the future makes Docker wait.
      query: {
        since: String(Number.isNaN(since) ? 0 : since),
        until: String(Math.floor(Date.now() / 1000)),
        stream: 'false',
        filters: JSON.stringify({ container: [id] }),
      },
      timeoutMs: 10_000,
    })
    const events = answer.text.split('\n').flatMap((line): EngineEvent[] => {
      try {
        return [JSON.parse(line) as EngineEvent]
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
