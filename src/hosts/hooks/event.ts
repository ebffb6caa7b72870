import type { Activity } from '../../core/activity.ts'
import { type Moment, momentOf } from '../events.ts'
import type { HostName } from '../host.ts'
import { requestActivities } from './requests.ts'
import type { Mask } from './tool-output.ts'
import { isShell, toolActivities } from './tool-use.ts'
import { sentActivities } from './transcript.ts'
import { type Fields, fieldsOf, listIn, numberIn, parsedText, textIn, textOf } from './values.ts'

/** Why a session starts, in our words. `compact`: it goes on after its context was compacted. */
export type StartSource = 'startup' | 'resume' | 'clear' | 'compact' | 'reload'

/** What a host tells at a moment. */
export interface HookEvent {
  readonly host: HostName
  readonly moment: Moment
  /** null where the host does not name the session. */
  readonly session: string | null
  /** The folder of the project; null: where the hook was started. */
  readonly cwd: string | null
  readonly transcript: string | null
  readonly source: StartSource
  /** What has just happened. `mask` takes secrets out of outputs before anything of them is told. */
  activities(mask: Mask): readonly Activity[]
  /** The whole session so far, where it came along. */
  conversation(mask: Mask): readonly Activity[]
  /** Bytes of the output of a shell; null where it was none. */
  readonly shellOutputBytes: number | null
  /** It is a subagent that this is about: the session is not its own. */
  readonly fromSubagent: boolean
}

/**
 * Reads what a host hands to a hook. `event` is its name for it, or ours, and may be absent where the input says it. Fields
 * are read under the names of all hosts, because some of them run the hooks of others. undefined where it is no moment of ours.
 */
export function readHookEvent(host: HostName, event: string | undefined, input: unknown): HookEvent | undefined {
  const fields = fieldsOf(input)
  const moment = momentOf(host, event ?? textIn(fields, 'hook_event_name', 'hookEventName') ?? '')
  if (moment === undefined) return undefined
  const tool = moment === 'after-tool' || moment === 'after-failed-tool' ? toldTool(fields, moment) : undefined
  const prompt = moment === 'prompt' ? textIn(fields, 'prompt', 'userPrompt') : null
  const activities = (mask: Mask): Activity[] => (tool ? toolActivities(tool, mask) : requestActivities(prompt ?? ''))
  return {
    host,
    moment,
    session: textIn(fields, 'conversation_id', 'session_id', 'sessionId', 'sessionID'),
    cwd: textIn(fields, 'cwd', 'workingDirectory') ?? firstText(listIn(fields, 'workspace_roots', 'workspaceRoots')),
    transcript: textIn(fields, 'transcript_path', 'transcriptPath'),
    source: sourceOf(textIn(fields, 'source', 'reason')),
    activities,
    conversation: (mask) => sentActivities(fields, mask),
    shellOutputBytes: tool && isShell(tool.name) ? (numberIn(fields, 'output_bytes') ?? Buffer.byteLength(textOf(tool.output))) : null,
    fromSubagent: textIn(fields, 'agent_id', 'agentId', 'subagent_id') !== null,
  }
}

function toldTool(fields: Fields, moment: Moment) {
  const output = parsedText(fields.tool_response ?? fields.tool_output ?? fields.toolResult ?? fields.error ?? fields.error_message)
  const exit = numberIn(fields, 'exit_code')
  return {
    name: textIn(fields, 'tool_name', 'toolName') ?? '',
    input: parsedText(fields.tool_input ?? fields.toolArgs),
    output: exit === null ? output : { exit, output: textOf(output) },
    failed: moment === 'after-failed-tool' || fields.is_error === true ? true : undefined,
  }
}

const firstText = (values: readonly unknown[]): string | null => (typeof values[0] === 'string' ? values[0] : null)

const sources: Readonly<Record<string, StartSource>> = { resume: 'resume', fork: 'resume', clear: 'clear', compact: 'compact', reload: 'reload' }

const sourceOf = (told: string | null): StartSource => (told !== null && Object.hasOwn(sources, told) ? (sources[told] as StartSource) : 'startup')
