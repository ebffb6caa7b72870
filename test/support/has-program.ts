import { spawnSync } from 'node:child_process'

/** Whether a program is there; says which tests are skipped where it is not. */
export function hasProgram(name: string, tests: string): boolean {
  const found = spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
  if (!found) console.warn(`skipped: ${tests}: there is no ${name} here`)
  return found
}
