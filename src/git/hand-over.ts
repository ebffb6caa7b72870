import type { TreeGit } from './tree-place.ts'

const handOverTimeoutMs = 10 * 60_000

/** Copies a commit with all that it holds from one repository of this machine into another. No ref is left in either. */
export async function handOver(from: TreeGit, to: TreeGit, commit: string): Promise<void> {
  if (from.commonDir === to.commonDir) return
  const ref = `refs/holdfast/handover/${commit}`
  await from.require('offering a commit', ['update-ref', ref, commit])
  try {
    const options = ['--quiet', '--no-tags', '--no-write-fetch-head', '--refmap=', '--no-recurse-submodules', '--no-auto-maintenance']
    await to.git.require('copying commits between repositories', {
      args: ['fetch', ...options, '--', from.commonDir, ref],
      cwd: to.commonDir,
      gitDir: to.commonDir,
      config: ['protocol.file.allow=always', 'fetch.fsckObjects=false', 'transfer.fsckObjects=false'],
      timeoutMs: handOverTimeoutMs,
    })
  } finally {
    await from.run(['update-ref', '-d', ref])
  }
}
