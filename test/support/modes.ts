import { findSupervisor } from '../../src/supervisor/program.ts'

const found = findSupervisor()
const isTurnedOff = process.env.HOLDFAST_SUPERVISOR === 'never'

/** Whether commands of worlds run under a supervisor, as they do where there is one and nobody turned it off. */
export const isSupervised = found.kind === 'found' && !isTurnedOff

/** Why they do not. */
export const whyPlain = isTurnedOff ? 'HOLDFAST_SUPERVISOR is "never"' : found.kind === 'missing' ? found.why : ''

/** For children that are to run commands in plain mode, whatever else there is. */
export const plainEnv: Readonly<Record<string, string>> = { HOLDFAST_SUPERVISOR: 'never' }
