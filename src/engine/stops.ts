import { hasReason, messageOf } from '../core/errors.ts'
import type { SupervisedRun } from '../core/supervised.ts'
import { systemClock } from './clock.ts'
import type { SuperviseRequest } from './contact.ts'
import { politeSignal } from './polite-signal.ts'

/** Asks for the end, once as a request and then in a hurry; what cannot be asked is said. */
export function createStops(request: SuperviseRequest, current: () => SupervisedRun | undefined, notes: string[]) {
  const { clock = systemClock } = request
  let beganAt = Number.POSITIVE_INFINITY
  function ask(signal: NodeJS.Signals | undefined): void {
    current()
      ?.stop({ signal })
      .catch((error: unknown) => {
        // Contact that is lost is dealt with where the end is waited for.
        if (!hasReason(error, 'supervisor_lost')) notes.push(`the command could not be asked to end: ${messageOf(error)}`)
      })
  }
  const first = (): NodeJS.Signals | undefined => politeSignal(request.signal)
  return {
    since: () => beganAt,
    begin() {
      beganAt = clock.now()
      ask(first())
    },
    again: () => ask(request.hurry?.aborted ? 'SIGKILL' : first()),
    hurry() {
      if (request.signal?.aborted) ask('SIGKILL')
    },
  }
}
