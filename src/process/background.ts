import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'

/**
 * Starts a program that goes on alone when this one ends: a session of its own, no shared descriptor, the lowest priority, and of the
 * environment only PATH. Nothing is known of its end; where it cannot be started, nothing happens.
 */
export function startInBackground(argv: readonly [string, ...string[]], path: string): void {
  const [program, ...args] = argv
  const child = spawn(program, args, { cwd: '/', env: { PATH: path, LC_ALL: 'C.UTF-8' }, detached: true, stdio: 'ignore' })
  child.on('error', () => {})
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It is over already.
  }
  child.unref()
}
