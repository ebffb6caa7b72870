import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { sep } from 'node:path'

/**
 * The git processes that make a tree, or change it, by their pids: they go on when whoever started them was killed. `mark` stands in the
 * command line of the one that makes it. Only those of this user can be seen; without /proc none.
 */
export function findGitAtWork({ path, mark }: { readonly path: string; readonly mark: string }): readonly number[] {
  return pids().filter((pid) => {
    if (!/^git\b/.test(read(pid, 'comm'))) return false
    const said = `${read(pid, 'cmdline')}\0${read(pid, 'environ')}`
    return said.includes(mark) || said.split('\0').some((text) => text === path || text.endsWith(`=${path}`)) || isIn(pid, path)
  })
}

function pids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

function isIn(pid: number, folder: string): boolean {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`)
    return cwd === folder || cwd.startsWith(folder + sep)
  } catch {
    return false
  }
}
