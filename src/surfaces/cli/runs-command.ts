import type { RunsResult } from '../../app/api.ts'
import { runs } from '../../operations/runs.ts'
import { commandFor, shown } from './command.ts'
import { presentRuns } from './present-runs.ts'

export const runsCommand = commandFor(runs, 'runs', 'Read what they printed', { present: shown<RunsResult>(presentRuns) })
