/** What a run printed against what was shown of it. */

export const surfaces = ['mcp', 'cli', 'library'] as const
export type SurfaceName = (typeof surfaces)[number]

/** Answers of one operation about one run on one day. */
export interface Shown {
  readonly surface: SurfaceName
  /** `exec`, `output`, ...; `tools` for the descriptions of tools that a client was given. */
  readonly operation: string
  /** null for what belongs to no run. */
  readonly run: string | null
  /** Days since the epoch, UTC. */
  readonly day: number
  readonly calls: number
  readonly bytes: number
}

/** What a stored run printed. */
export interface Printed {
  readonly id: string
  readonly commandKey: string | null
  /** Its beginning is enough. */
  readonly command: string
  readonly bytes: number
}

export interface Sum {
  readonly calls: number
  readonly bytes: number
}

/** What hosts without Holdfast would have put before a model. */
export interface Baseline {
  /** All that was printed. */
  readonly printedBytes: number
  /** What a host keeps that cuts each output to 30,000 characters, a byte taken for one. */
  readonly first30000Bytes: number
  /** What a host keeps that cuts each output to 50 KB. */
  readonly first50KBytes: number
}

/** The answers on each surface; null where none was counted. */
export type ShownOn = Readonly<Record<SurfaceName, Sum | null>>

export interface CommandStats extends Baseline {
  /** As its newest run has it. */
  readonly command: string
  readonly runs: number
  /** Of these, runs of which an answer was counted. Only they are in the other figures, since of the rest nothing is known. */
  readonly countedRuns: number
  readonly shown: ShownOn
}

export interface Stats {
  /** Those that printed most come first. */
  readonly commands: readonly CommandStats[]
  readonly all: Omit<CommandStats, 'command'>
  /** Answers that belong to no run: lists and searches. */
  readonly elsewhere: ShownOn
  /** What the descriptions of the tools cost that clients of MCP were given; null where none was counted. */
  readonly tools: Sum | null
}

export const dayOf = (ms: number): number => Math.floor(ms / 86_400_000)

const hostChars = 30_000
const hostBytes = 50 * 1024

/** Adds up what is stored. `printed`: newest first. */
export function statsOf(printed: readonly Printed[], shown: readonly Shown[]): Stats {
  const byRun = new Map<string, Shown[]>()
  for (const entry of shown) {
    if (entry.run === null) continue
    const known = byRun.get(entry.run)
    if (known) known.push(entry)
    else byRun.set(entry.run, [entry])
  }
  const groups = new Map<string, Printed[]>()
  for (const run of printed) {
    const key = run.commandKey ?? run.id
    const known = groups.get(key)
    if (known) known.push(run)
    else groups.set(key, [run])
  }
  const sumOf = (runs: readonly Printed[]): Omit<CommandStats, 'command'> => {
    const counted = runs.filter(({ id }) => byRun.has(id))
    const total = (most: number): number => counted.reduce((sum, { bytes }) => sum + Math.min(bytes, most), 0)
    return {
      runs: runs.length,
      countedRuns: counted.length,
      printedBytes: total(Number.POSITIVE_INFINITY),
      first30000Bytes: total(hostChars),
      first50KBytes: total(hostBytes),
      shown: shownOn(counted.flatMap(({ id }) => byRun.get(id) ?? [])),
    }
  }
  const loose = shown.filter(({ run }) => run === null)
  const isTools = ({ operation }: Shown): boolean => operation === 'tools'
  return {
    commands: [...groups.values()].map((runs) => ({ command: runs[0]?.command ?? '', ...sumOf(runs) })).sort((a, b) => b.printedBytes - a.printedBytes),
    all: sumOf(printed),
    elsewhere: shownOn(loose.filter((entry) => !isTools(entry))),
    tools: add(loose.filter(isTools)),
  }
}

const shownOn = (entries: readonly Shown[]): ShownOn => {
  const on = (name: SurfaceName): Sum | null => add(entries.filter(({ surface }) => surface === name))
  return { mcp: on('mcp'), cli: on('cli'), library: on('library') }
}

function add(entries: readonly Shown[]): Sum | null {
  if (entries.length === 0) return null
  return entries.reduce((sum, { calls, bytes }) => ({ calls: sum.calls + calls, bytes: sum.bytes + bytes }), { calls: 0, bytes: 0 })
}
