import { isWorkingIn, listPids, readOfProcess } from '../git/processes.ts'

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
  return (listPids() ?? []).filter((pid) => isWorkingIn(pid, folder)).map((pid) => ({ pid, name: readOfProcess(pid, 'comm').trim(), isOurs: own.has(pid) }))
}

function ancestors(pid: number): Set<number> {
  const found = new Set<number>()
  for (let current = pid; current > 1 && !found.has(current); ) {
    found.add(current)
    // The name of a program may hold anything, so what stands behind its last parenthesis counts (proc_pid_stat(5)).
    const stat = readOfProcess(current, 'stat')
    current = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
  }
  return found
}
