import { openHostSession } from '../../src/backends/host/session.ts'
import { createProgramRunner } from '../../src/engine/collect.ts'
import { createGit } from '../../src/git/git.ts'
import { openWorkspace } from '../../src/workspaces/open.ts'
import { releaseWorkspace } from '../../src/workspaces/release.ts'
import { plainContext } from './git-world.ts'

/** What a process of its own does with workspaces, and then prints the answer of, as JSON. */
export interface ActorRequest {
  readonly root: string
  /** Each after the one before; a list of lists: those of one list at once. */
  readonly steps: readonly (readonly ActorStep[])[]
}

export type ActorStep = { readonly open: Parameters<typeof openWorkspace>[1] } | { readonly release: Parameters<typeof releaseWorkspace>[1] }

/** Runs the request that stands in the arguments. */
export async function act(): Promise<void> {
  const { root, steps } = JSON.parse(process.argv[2] ?? '') as ActorRequest
  const ownEnv = process.env
  const session = openHostSession(root, { pipes: false })
  const newName = (): string => Math.random().toString(36).slice(2, 14).padEnd(12, '0')
  const runProgram = createProgramRunner(async () => session, newName)
  const context = plainContext({ git: createGit({ runProgram, ownEnv }), runProgram, ownEnv }, root, process.cwd())
  const answers: unknown[] = []
  for (const together of steps) {
    const done = together.map((step) => ('open' in step ? openWorkspace(context, step.open) : releaseWorkspace(context, step.release)))
    answers.push(
      ...(await Promise.all(
        done.map((promise) => promise.catch((error: unknown) => ({ error: String(error), details: (error as { details?: unknown }).details }))),
      )),
    )
  }
  process.stdout.write(JSON.stringify(answers))
}
