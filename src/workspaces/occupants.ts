import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { isInside } from '../core/paths.ts'

/** A process that works in a folder. */
export interface Occupant {
  readonly pid: number
  readonly name: string
  /** Whether it is this process, or one that it was started by: it asked for what is being done. */
  readonly isOurs: boolean
}

/** The processes of this user whose working directory is in a folder. Empty where the system does not tell. */
export function listOccupants(folder: string): Occupant[] {
  const own = ancestors(process.pid)
  return processes().flatMap((pid) => {
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`)
      if (!isInside(folder, cwd)) return []
      return [{ pid, name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), isOurs: own.has(pid) }]
    } catch {
      // It is over, or somebody else's.
      return []
    }
  })
}

function processes(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function ancestors(pid: number): Set<number> {
  const found = new Set<number>()
  for (let current = pid; current > 1 && !found.has(current); ) {
    found.add(current)
    try {
      // The name of a program may hold anything, so what stands behind its last parenthesis counts (proc_pid_stat(5)).
      const stat = readFileSync(`/proc/${current}/stat`, 'utf8')
      current = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    } catch {
      break
    }
  }
  return found
}
