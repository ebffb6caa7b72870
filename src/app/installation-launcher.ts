import { accessSync, constants, existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path'

/** The words that start this Holdfast from anywhere, and what is to be known of them. */
export interface Launcher {
  readonly words: readonly string[]
  /** Why it may stop to work; undefined where nothing is known of that. */
  readonly warning?: string | undefined
}

/** `program` is the built program that runs now. */
export function findLauncher(program: string, path: string): Launcher {
  const place = realpathOr(program)
  const root = dirname(dirname(place))
  const checkout = join(root, 'holdfast')
  if (existsSync(join(root, 'scripts', 'prepare.sh')) && isProgram(checkout)) return { words: [checkout] }
  if (onPath(place, path)) return { words: ['holdfast'] }
  const words = [process.execPath, place]
  if (place.split(sep).includes('_npx')) return { words, warning: `${place} is in a cache that npm may empty; install the package with npm install -g` }
  return { words }
}

/** Whether a person who types `holdfast` gets this program; what a project or npx puts on the PATH is there for a moment only. */
function onPath(place: string, path: string): boolean {
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !folder.split(sep).includes('node_modules'))
    .map((folder) => join(folder, 'holdfast'))
    .filter(isProgram)
    .slice(0, 1)
    .some((file) => realpathOr(file) === place)
}

/** Where a program of one of these names is on the PATH. */
export function findOnPath(names: readonly string[], path: string): string | undefined {
  return path
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((file) => isAbsolute(file) && isProgram(file))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function realpathOr(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
