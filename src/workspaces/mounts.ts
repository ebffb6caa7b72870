import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { failure } from '../core/errors.ts'
import type { WorkspaceOverlay } from '../core/workspace.ts'
import type { WorkspaceContext } from './context.ts'
import { runTool, type ToolResult } from './run-tool.ts'

/** The overlay mounts that this process sees, and what makes and ends one. */

export interface OverlayMount {
  readonly path: string
  /** Uppermost first, as they were given to mount(8). */
  readonly lower: readonly string[]
  /** null of one that is read-only. */
  readonly upper: string | null
}

type Layers = Pick<WorkspaceOverlay, 'lower' | 'upper' | 'work'>

const mountTimeoutMs = 30_000

/** What this process sees mounted (proc_pid_mountinfo(5)); empty where the system does not tell. */
function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

/** Every place where a file system is mounted. */
export const mountPoints = (): readonly string[] =>
  readMounts()
    .split('\n')
    .flatMap((line) => unescaped(line.split(' ')[4] ?? '') || [])

/** All overlay mounts, those of others too. In the order in which they were made: of several at one path the last is seen. */
export const listOverlayMounts = (): readonly OverlayMount[] => parseMounts(readMounts())

/** proc_pid_mountinfo(5): `… <root> <mount point> <options> [<fields>] - <type> <source> <options of the file system>`. */
export function parseMounts(text: string): readonly OverlayMount[] {
  return text.split('\n').flatMap((line) => {
    const [own = '', system = ''] = line.split(' - ')
    const path = own.split(' ')[4]
    const [type, , options = ''] = system.split(' ')
    if (type !== 'overlay' || path === undefined) return []
    const named = options.split(',').map((option) => [option.slice(0, option.indexOf('=')), option.slice(option.indexOf('=') + 1)] as const)
    const upper = named.find(([name]) => name === 'upperdir')?.[1]
    // Newer kernels name the layers one by one where they were given so.
    const lower = named.filter(([name]) => name === 'lowerdir' || name === 'lowerdir+').flatMap(([, value]) => value.split(':'))
    return [{ path: unescaped(path), lower: lower.map(unescaped), upper: upper === undefined ? null : unescaped(upper) }]
  })
}

const unescaped = (text: string): string => text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/** Where what is seen at a path keeps its changes; undefined where no overlay is mounted there. */
export function upperAt(root: string, path: string): string | undefined {
  const seen = listOverlayMounts().filter((mount) => mount.path === path)
  const upper = seen.at(-1)?.upper
  return upper ? resolve(root, upper) : undefined
}

/**
 * Mounts layers at a folder. `redirect_dir` lets folders of the lower layers be renamed in one step, as in an ordinary tree; without
 * `metacopy` and `index` a lower layer is left the moment that anything of a file is changed, and nothing is shared by links.
 */
export async function mountOverlay(context: Pick<WorkspaceContext, 'runProgram' | 'ownEnv' | 'root'>, layers: Layers, path: string): Promise<ToolResult> {
  // Relative to the root, so that no character of the way there means anything to mount(8): inside of it all names are ours.
  const named = (folder: string): string => relative(context.root, folder)
  const paths = [...layers.lower, layers.upper, layers.work].map(named)
  if (paths.some((part) => !/^[A-Za-z0-9_./-]+$/.test(part) || part.split('/').includes('..')))
    throw failure('copy_on_write_unavailable', { why: `its layers are outside of ${context.root}` })
  const options = [
    `lowerdir=${layers.lower.map(named).join(':')}`,
    `upperdir=${named(layers.upper)}`,
    `workdir=${named(layers.work)}`,
    'redirect_dir=on',
    'metacopy=off',
    'index=off',
  ]
  return runTool(context, ['mount', '-n', '-t', 'overlay', '-o', options.join(','), 'holdfast', path], { cwd: context.root, timeoutMs: mountTimeoutMs })
}

/** Ends what is mounted at a path. While something in it is in use it is asked again a few times, then with `lazy` it is only taken out of sight. */
export async function unmount(
  context: Pick<WorkspaceContext, 'runProgram' | 'ownEnv' | 'root'>,
  path: string,
): Promise<{ readonly how: 'cleanly' | 'lazily' } | { readonly how: 'failed'; readonly said: string }> {
  const call = (...options: string[]) => runTool(context, ['umount', '-n', ...options, path], { cwd: '/', timeoutMs: mountTimeoutMs })
  for (let attempt = 0; attempt < busyAttempts; attempt += 1) {
    if ((await call()).ok) return { how: 'cleanly' }
    await new Promise((resolve) => setTimeout(resolve, busyPauseMs))
  }
  const { ok, said } = await call('-l')
  return ok ? { how: 'lazily' } : { how: 'failed', said }
}

/** A process that was just ended may still have the folder open. */
const busyAttempts = 5
const busyPauseMs = 100
