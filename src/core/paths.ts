import { isAbsolute, relative, resolve, sep } from 'node:path'

/** Whether `path` is `root` or below it. Both absolute and resolved: links are followed by whoever asks. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** Whether `path` is below `folder`, and not the folder itself. */
export const isBelow = (folder: string, path: string): boolean => path !== folder && isInside(folder, path)

/** Joins a path of a caller to the root. A NUL cannot be in any path. */
export function fromRoot(root: string, path: string): string {
  return resolve(root, path)
}
