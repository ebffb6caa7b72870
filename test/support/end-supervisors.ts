import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Holder, ProcessIdentity } from '../../src/core/run.ts'
import { isAlive, signalProcess } from '../../src/process/identity.ts'

const politeMs = 1_000
const forcedMs = 4_000

/** Ends the supervisors that hold, or held, runs anywhere below the folder: by who they are, as the records say it. */
export async function endSupervisors(folder: string): Promise<void> {
  const holders = new Map<number, Holder>()
  for (const holder of findHolders(folder)) if (isAlive(holder)) holders.set(holder.pid, holder)
  await Promise.all([...holders.values()].map(endSupervisor))
}

export async function endSupervisor(holder: ProcessIdentity): Promise<void> {
  signalProcess(holder, 'SIGTERM')
  if (await isGoneWithin(holder, politeMs)) return
  // What its runs had started is ended by the process around it.
  signalProcess(holder, 'SIGKILL')
  await isGoneWithin(holder, forcedMs)
}

async function isGoneWithin(holder: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  while (isAlive(holder)) {
    if (performance.now() >= deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return true
}

function* findHolders(folder: string): Generator<Holder> {
  for (const name of recordsBelow(folder)) {
    try {
      const { holder } = JSON.parse(readFileSync(name, 'utf8')) as { holder?: Holder }
      if (holder?.socket !== undefined) yield holder
    } catch {
      // A record that a test damaged, or that is gone.
    }
  }
}

/** Links are not followed: a test may have made a circle of them. */
function recordsBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return recordsBelow(path)
      return /^\.?run\.json/.test(entry.name) ? [path] : []
    })
  } catch {
    // A folder that a test made unreadable.
    return []
  }
}
