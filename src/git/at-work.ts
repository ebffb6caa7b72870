import { isWorkingIn, listPids, readOfProcess } from './processes.ts'

/**
 * The git processes that make a tree, or change it, by their pids: they go on when whoever started them was killed. `mark` stands in the
 * command line of the one that makes it. Only those of this user can be seen; without /proc none.
 */
export function findGitAtWork({ path, mark }: { readonly path: string; readonly mark: string }): readonly number[] {
  return (listPids() ?? []).filter((pid) => {
    if (!/^git\b/.test(readOfProcess(pid, 'comm'))) return false
    const said = `${readOfProcess(pid, 'cmdline')}\0${readOfProcess(pid, 'environ')}`
    return said.includes(mark) || said.split('\0').some((text) => text === path || text.endsWith(`=${path}`)) || isWorkingIn(pid, path)
  })
}
