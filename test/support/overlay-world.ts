import { expect } from 'vitest'
import { listOverlayMounts } from '../../src/workspaces/mounts.ts'
import { probeOverlay } from '../../src/workspaces/overlay.ts'
import { type GitWorld, openGitWorld } from './git-world.ts'

const bounds = { timeoutMs: 20_000, maxOutputBytes: 1024 }

/** A world whose mounts are ended before it is removed, so that nothing is deleted through them. */
export function openOverlayWorld(): GitWorld {
  const world = openGitWorld()
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      for (const { path } of [...listOverlayMounts()].reverse()) {
        if (path.startsWith(`${world.folder}/`)) await world.runProgram({ ...bounds, argv: ['umount', '-l', path], cwd: '/', env: world.env })
      }
      await world[Symbol.asyncDispose]()
    },
  }
}

/** Whether this machine lets the tests mount anything. */
export async function canMountOverlays(): Promise<boolean> {
  await using world = openOverlayWorld()
  return (await probeOverlay(world.context())).ok
}

/** What starting the machine anew does to a mount. */
export async function endMount(world: GitWorld, path: string): Promise<void> {
  const { outcome } = await world.runProgram({ ...bounds, argv: ['umount', path], cwd: '/', env: world.env })
  expect(outcome.exitCode).toBe(0)
}
