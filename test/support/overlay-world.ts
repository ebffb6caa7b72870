import { expect } from 'vitest'
import { listOverlayMounts } from '../../src/workspaces/mounts.ts'
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

const mountOnce = 'mkdir lower upper work path && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work probe "$PWD/path" && umount "$PWD/path"'

/** Whether this machine lets the tests mount anything; asked without what is tested. */
export async function canMountOverlays(): Promise<boolean> {
  await using world = openOverlayWorld()
  const { outcome } = await world.runProgram({ ...bounds, argv: ['sh', '-c', mountOnce], cwd: world.root, env: world.env })
  return outcome.exitCode === 0
}

/** What starting the machine anew does to a mount. */
export async function endMount(world: GitWorld, path: string): Promise<void> {
  const { outcome } = await world.runProgram({ ...bounds, argv: ['umount', path], cwd: '/', env: world.env })
  expect(outcome.exitCode).toBe(0)
}
