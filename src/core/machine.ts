import type { Leftover, ProcessIdentity } from './run.ts'

/** What the engine room knows of processes on this machine, for runs that another process of ours holds or held. */
export interface Machine {
  /** This process. */
  readonly self: ProcessIdentity
  isAlive(identity: ProcessIdentity): boolean
  /** The living processes of a run, found by its mark, and by the group of its first process where that is known; and those of `known`. */
  findTree(mark: string, leader: ProcessIdentity | null, known?: readonly ProcessIdentity[]): Promise<readonly Leftover[]>
  /** TERM, grace, KILL to all of them; resolves to those that are still alive after that. Never touches a reused pid. */
  endTree(
    mark: string,
    leader: ProcessIdentity | null,
    first: NodeJS.Signals,
    graceMs: number,
    known?: readonly ProcessIdentity[],
  ): Promise<readonly Leftover[]>
  /**
   * Starts a process of ours that holds a run on its own, without looking for a supervisor where it is `plain`; resolves to its first line
   * of answer. Rejects when there is none.
   */
  startHolder(request: { input: string; errors: string; cwd: string; plain: boolean }): Promise<string>
  canMakePipes(): Promise<boolean>
}
