import { checkTexts, commandTooLarge } from '../../core/command-texts.ts'
import { failure } from '../../core/errors.ts'
import type { SupervisedSession } from '../../core/supervised.ts'
import { ownInherited } from '../../process/inherited.ts'
import { connectSupervisor, reachSupervisor, type SupervisorPlace } from '../../supervisor/connect.ts'
import { type CommandRules, openSupervisedSession } from '../../supervisor/session.ts'
import { startFailure } from './start-failure.ts'

/** Commands on this machine, started by the supervisor of a home. Rejects with `supervisor_unavailable` where there can be none. */
export async function openSupervisedHostSession(place: SupervisorPlace): Promise<SupervisedSession> {
  return openSupervisedSession(await connectSupervisor(place), hostRules)
}

/** The session of a supervisor that was reached before, by its handle; undefined where it is gone. Starts none. */
export async function reachSupervisedHostSession(handle: string): Promise<SupervisedSession | undefined> {
  const connection = await reachSupervisor(handle)
  return connection && openSupervisedSession(connection, hostRules)
}

const hostRules: CommandRules = {
  check: (command) => checkTexts(command, process.platform),
  inherited: ownInherited,
  refusal({ stage, errno }, command, { folder }) {
    if (stage === 'folder') return failure('home_unusable', { path: folder, why: errno })
    const error = Object.assign(new Error(`${stage}: ${errno}`), { code: errno })
    if (stage === 'program' || stage === 'cwd') return startFailure(error, command, stage === 'cwd')
    return failure('start_failed', { program: command.argv[0], errno }, error)
  },
  tooLarge: commandTooLarge,
}
