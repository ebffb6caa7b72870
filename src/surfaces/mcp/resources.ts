import type { Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js'
import type { App, RunSummary } from '../../app/api.ts'
import { failure } from '../../core/errors.ts'
import { formatDuration } from '../../core/limits.ts'
import { clampLine, oneLine } from '../../core/text.ts'
import { endOf, outputText } from './answer.ts'

/** What a person can attach to a conversation: the runs, what they printed, and the context snapshot. */

const mimeType = 'text/plain'
const listedRuns = 50
const longestTitle = 80

export const snapshotUri = 'holdfast://snapshot'
export const runUri = (run: string): string => `holdfast://run/${run}`

export const resourceTemplates: readonly ResourceTemplate[] = [
  {
    uriTemplate: 'holdfast://run/{run}',
    name: 'run',
    title: 'Digest of a run',
    description: 'How it ended and the lines that matter. run: an id, or last.',
    mimeType,
  },
  {
    uriTemplate: 'holdfast://run/{run}/output',
    name: 'output',
    title: 'Output of a run',
    description: 'Both streams in their order of arrival, at most 32 KiB from the beginning.',
    mimeType,
  },
  {
    uriTemplate: 'holdfast://run/{run}/output/{lines}',
    name: 'output-lines',
    title: 'Lines of the output of a run',
    description: 'lines: 120, 100-150, 100-, or -20 (the last 20).',
    mimeType,
  },
]

/** The snapshot and the newest runs. */
export async function listResources(app: App): Promise<Resource[]> {
  const { runs } = await app.runs({ limit: listedRuns })
  const snapshot = { uri: snapshotUri, name: 'snapshot', title: 'Context snapshot', description: 'Work in hand, notes, recent runs.', mimeType }
  return [snapshot, ...runs.map(resourceOf)]
}

function resourceOf(run: RunSummary): Resource {
  const took = run.durationMs === null ? '' : `, ${formatDuration(run.durationMs)}`
  const purpose = run.purpose === null ? '' : `: ${clampLine(oneLine(run.purpose), longestTitle)}`
  return {
    uri: runUri(run.id),
    name: `run ${run.id}`,
    title: clampLine(oneLine(run.command), longestTitle),
    description: `${endOf(run)}${took}, started ${run.startedAt}${purpose}`,
    mimeType,
    annotations: { lastModified: run.startedAt },
  }
}

/** Throws `not_found` for a run that there is not, and `invalid` for what is no address of ours. */
export async function readResource(app: App, uri: string): Promise<{ uri: string; mimeType: string; text: string }> {
  return { uri, mimeType, text: await textOf(app, uri) }
}

async function textOf(app: App, uri: string): Promise<string> {
  if (uri === snapshotUri) return (await app.resume()).text
  const [, run = '', part, lines] = /^holdfast:\/\/run\/([^/?#]+)(?:\/(output)(?:\/([^/?#]+))?)?$/.exec(uri) ?? []
  if (run === '')
    throw failure('invalid', { field: 'uri', value: uri, accepted: [snapshotUri, ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)].join(', ') })
  const id = decoded(run)
  if (part === undefined) return (await app.show({ run: id })).digest
  return outputText(await app.output({ run: id, ...(lines === undefined ? {} : { lines: decoded(lines) }) }))
}

/** As it is written where that is no percent-encoding. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
