import type { GetPromptResult, Prompt } from '@modelcontextprotocol/sdk/types.js'
import type { App } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { runUri, snapshotUri } from './resources.ts'

/** What a person asks for by name; hosts show these as commands. They say what is to be done, and bring what is known of it. */

const explain = 'explain-last-failure'
const goOn = 'resume-work'

export const prompts: readonly Prompt[] = [
  {
    name: explain,
    title: 'Explain the last failure',
    description: 'Why the last command failed, from what it printed, and the smallest change that mends it.',
    arguments: [{ name: 'run', description: 'Another run than the last that failed: its id.', required: false }],
  },
  { name: goOn, title: 'Resume work', description: 'Where the work stood, from the context snapshot, and what comes next.' },
]

export async function getPrompt(app: App, name: string, args: Readonly<Record<string, string>>): Promise<GetPromptResult> {
  if (name === explain) return explainFailure(app, args.run ?? '')
  if (name === goOn) return resumeWork(app)
  throw failure('invalid', { field: 'prompt', value: name, accepted: prompts.map((prompt) => prompt.name).join(', ') })
}

async function explainFailure(app: App, asked: string): Promise<GetPromptResult> {
  const run = asked.trim() === '' ? (await app.runs({ failing: true, limit: 1 })).runs[0]?.id : asked.trim()
  if (run === undefined) return said('No run has failed here.', 'No command has failed here yet. Say so, and ask what to run.')
  const { id, digest } = await app.show({ run })
  return said(
    `Why run ${id} failed`,
    `Explain why this command failed. Run ${id} has kept all of its output; the digest below shows the lines that matter as number | text. ` +
      `Where it does not say why, read on before you guess: output with run ${JSON.stringify(id)} and lines, or search. ` +
      'Then say in this order: the cause, with file and line; what shows it; the smallest change that mends it. Change nothing yet.',
    { uri: runUri(id), text: digest },
  )
}

async function resumeWork(app: App): Promise<GetPromptResult> {
  const { text } = await app.resume()
  return said(
    'Where the work stood',
    'Go on with the work that this snapshot tells of. First say in a few lines where it stands and what comes next; runs and output give the rest of any run.',
    { uri: snapshotUri, text },
  )
}

function said(description: string, text: string, resource?: { uri: string; text: string }): GetPromptResult {
  const messages: GetPromptResult['messages'] = [{ role: 'user', content: { type: 'text', text } }]
  if (resource) messages.push({ role: 'user', content: { type: 'resource', resource: { mimeType: 'text/plain', ...resource } } })
  return { description, messages }
}
