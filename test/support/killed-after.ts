import { createGit } from '../../src/git/git.ts'
import type { WorkspaceContext } from '../../src/workspaces/context.ts'
import type { GitWorld } from './git-world.ts'

/**
 * Does something in a context whose process is killed when so many of its programs have ended: nobody hears of the end of the last one,
 * nothing more is done, and the system takes back the locks. Resolves to that program; undefined where all was done before.
 */
export async function killedAfter(world: GitWorld, programs: number, action: (context: WorkspaceContext) => Promise<void>): Promise<string | undefined> {
  const held: (() => void)[] = []
  let left = programs
  let kill = (_: string): void => {}
  const killed = new Promise<string>((resolve) => {
    kill = resolve
  })
  const never = new Promise<never>(() => {})
  const runProgram: WorkspaceContext['runProgram'] = async (request) => {
    left -= 1
    if (left < 0) return never
    const result = await world.runProgram(request)
    if (left > 0) return result
    for (const unlock of held) unlock()
    const [program, ...args] = request.argv
    kill(program === 'git' ? `git ${args.find((arg) => /^[a-z]+(-[a-z]+)*$/.test(arg))}` : program)
    return never
  }
  const context = world.context({
    runProgram,
    git: createGit({ runProgram, ownEnv: world.env }),
    async lock(file, options) {
      const unlock = await world.context().lock(file, options)
      held.push(unlock)
      return unlock
    },
  })
  return Promise.race([killed, action(context).then(() => undefined)])
}
