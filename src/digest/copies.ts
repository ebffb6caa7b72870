import { carriedText } from './carrier.ts'
import type { Incident } from './incidents.ts'
import { toolText } from './lines-that-matter.ts'
import type { LineRef, LogStream } from './log.ts'
import type { LineGroup } from './tail-groups.ts'
import { verdictOf } from './verdict.ts'

/** Incidents without those that tell of a failure a second time, as runners do that list all failures in the end. */
export interface Unrepeated {
  readonly incidents: readonly Incident[]
  /** True for lines that are part of what was left out, or that an incident far above them began with. */
  readonly isRepeated: (stream: LogStream, group: LineGroup) => boolean
}

/** What a tool that is known claims is the one to keep of two. */
export function unrepeated(all: readonly Incident[]): Unrepeated {
  const kept = new Map<string, Incident>()
  for (const incident of [...all.filter(isClaimed), ...all]) for (const name of namesOf(incident)) if (!kept.has(name)) kept.set(name, incident)
  const copies = all.filter((incident) => {
    const names = namesOf(incident)
    return names.length > 0 && !isClaimed(incident) && names.every((name) => kept.get(name) !== incident)
  })
  return {
    incidents: all.filter((incident) => !copies.includes(incident)),
    isRepeated: (stream, { first, last }) =>
      copies.some((copy) => holds(copy, stream, last)) || all.some((incident) => holds(incident, stream, first) && !holds(incident, stream, last)),
  }
}

const holds = ({ stream, head, end }: Incident, of: LogStream, { number }: LineRef): boolean =>
  stream === of && number >= head.line.number && number <= end.number

const isClaimed = ({ sightings }: Incident): boolean => sightings.some(({ failure }) => failure !== undefined)

const minChars = 8
const took = / \(\d[\d.]{0,12} ?m?s\)$/

/** By what the failed tests of an incident are known again, where a runner names them in the same way. */
const namesOf = ({ sightings }: Incident): string[] =>
  sightings
    .filter(({ line }) => verdictOf(carriedText(line)) === 'failed')
    .map(({ line }) => toolText(line).replace(took, '').trim())
    .filter((text) => text.length >= minChars && !text.endsWith(':'))
