import { spawnSync } from 'node:child_process'

/** Builds dist once before the tests, since those of the command line and of MCP run what is built. */
export function setup(): void {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: new URL('../..', import.meta.url), encoding: 'utf8' })
  if (status !== 0) throw new Error(`the build failed:\n${stderr}`)
}
