import type { Machine } from '../core/machine.ts'
import type { ProcessIdentity } from '../core/run.ts'
import { identifySelf, isAlive } from './identity.ts'
import { launchDetached } from './launch.ts'
import { canMakePipes } from './pipes.ts'
import { findTree, signalTree, type TreeKey, toLeftovers } from './tree.ts'

const confirmMs = 2_000
const holderAnswerMs = 15_000

export interface MachineOptions {
  /** What starts a process of ours that holds one run, and its environment. */
  readonly holder: { readonly argv: readonly [string, ...string[]]; readonly env: Readonly<Record<string, string | undefined>> }
}

export function localMachine({ holder }: MachineOptions): Machine {
  return {
    get self() {
      return identifySelf()
    },
    isAlive,
    findTree: async (mark, leader, known) => toLeftovers(await findTree(keyOf(mark, leader, known))),
    endTree: async (mark, leader, first, graceMs, known) => {
      const key = keyOf(mark, leader, known)
      await signalTree(key, first, false)
      if (!(await goneWithin(key, graceMs))) {
        const deadline = performance.now() + confirmMs
        do await signalTree(key, 'SIGKILL', false)
        while (!(await goneWithin(key, 100)) && performance.now() < deadline)
      }
      return toLeftovers(await findTree(key))
    },
    startHolder({ input, errors, cwd, plain }) {
      const env = plain ? { ...holder.env, HOLDFAST_SUPERVISOR: 'never' } : holder.env
      return launchDetached({ argv: holder.argv, env, cwd, input, errors, timeoutMs: holderAnswerMs })
    },
    canMakePipes,
  }
}

// Without the first process, no group is looked for and every process may carry the mark.
function keyOf(mark: string, leader: ProcessIdentity | null, known: readonly ProcessIdentity[] = []): TreeKey {
  return { mark, leader: leader ?? { pid: -1, startTime: ':0' }, seen: new Map(known.map(({ pid, startTime }) => [pid, startTime])) }
}

async function goneWithin(key: TreeKey, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  for (;;) {
    if ((await findTree(key)).length === 0) return true
    if (performance.now() >= deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
