import { statSync } from 'node:fs'
import { type Backend, capabilitiesOf } from '../../core/backend.ts'
import { errnoOf, failure } from '../../core/errors.ts'
import { openHostSession } from './session.ts'

export interface HostSpec {
  /** The absolute root of the workspace. */
  readonly root: string
  /** Whether named pipes can be made here; see process/pipes. */
  readonly pipes: boolean
}

/** Plain mode: commands are children of this process. See supervised.ts for the other one. */
export const hostBackend: Backend<HostSpec> = {
  name: 'host',
  capabilities: (spec) => capabilitiesOf({ backend: 'host', platform: process.platform, pipes: spec.pipes, supervised: false }),
  async open(spec) {
    if (!statSync(spec.root, { throwIfNoEntry: false })?.isDirectory()) throw failure('root_missing', { root: spec.root })
    return openHostSession(spec.root, { pipes: spec.pipes })
  },
  classify: (error) => (errnoOf(error) === 'EAGAIN' || errnoOf(error) === 'EMFILE' ? 'resource_exhausted' : undefined),
}
