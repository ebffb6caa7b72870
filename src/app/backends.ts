import { type BackendConfiguration, type BackendName, backendNames, type Capabilities, capabilitiesOf } from '../core/backend.ts'
import type { AppContext } from './context.ts'

/** What each backend can do, and what is missing for it here. */

export interface BackendFacts {
  readonly backend: BackendName
  /** Whether it can be used from here, as far as that can be told without opening a target. */
  readonly usable: boolean
  readonly detail: string
  /** Where a supervisor starts the commands. */
  readonly supervised: Capabilities
  /** Where none does. */
  readonly plain: Capabilities
}

export interface BackendsResult {
  readonly backends: readonly BackendFacts[]
}

/** The usual configuration of each. */
export function usualConfiguration(backend: BackendName, supervised: boolean, platform: NodeJS.Platform = 'linux'): BackendConfiguration {
  switch (backend) {
    case 'host':
      return { backend, platform, pipes: true, supervised }
    case 'kubernetes':
      return { backend, supervised, halfClose: true }
    default:
      return { backend, supervised }
  }
}

export async function describeBackends(context: Pick<AppContext, 'examineBackend' | 'openPlace'>): Promise<BackendsResult> {
  const backends = await Promise.all(
    backendNames.map(async (backend): Promise<BackendFacts> => {
      const here = backend === 'host' ? await examineHost(context) : await context.examineBackend(backend)
      const [supervised, plain] = [true, false].map((each) => capabilitiesOf(usualConfiguration(backend, each, process.platform))) as [
        Capabilities,
        Capabilities,
      ]
      return { backend, ...here, supervised, plain }
    }),
  )
  return { backends }
}

async function examineHost({ openPlace }: Pick<AppContext, 'openPlace'>): Promise<{ usable: boolean; detail: string }> {
  const place = await openPlace()
  await place.session.close()
  return { usable: true, detail: place.kind === 'supervised' ? 'this machine' : `this machine, in plain mode: ${place.why}` }
}
