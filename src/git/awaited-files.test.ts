import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { createGit } from './git.ts'

const files = [
  'config',
  'HEAD',
  'packed-refs',
  'info/exclude',
  'info/attributes',
  'objects/info/alternates',
  'index',
  'worktrees/w/locked',
  'worktrees/w/HEAD',
  'worktrees/w/commondir',
]

it.each(files)('a pipe in the place of %s is told at once: git would wait for it', async (name) => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  world.sh(repository, 'worktree', 'add', '--quiet', '-b', 'w', world.path('w'))
  const git = createGit({ runProgram: world.runProgram, ownEnv: world.env })
  const isOfTree = name.startsWith('worktrees')
  const call = {
    args: ['status'],
    cwd: isOfTree ? world.path('w') : repository,
    gitDir: isOfTree ? join(repository, '.git/worktrees/w') : undefined,
    timeoutMs: 3_000,
  }
  const file = join(repository, '.git', name)
  mkdirSync(dirname(file), { recursive: true })
  rmSync(file, { force: true })
  execFileSync('mkfifo', [file])
  await expect(git.run(call)).rejects.toMatchObject({ details: { reason: 'file_kind', path: file } })
})
