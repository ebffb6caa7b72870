import type { Launched } from '../../process/launch.ts'

/** Ends an ssh of ours with what it started on its way. As long as it was not waited for, nobody else can have its number. */
export function endGroup(launched: Launched): void {
  if (!launched.unreaped()) return
  try {
    process.kill(-launched.identity.pid, 'SIGKILL')
  } catch {
    // It is over already.
  }
}
