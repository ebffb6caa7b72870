import { closeSync, readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * Closes what this process got from the one that started it and would hand on to every command: descriptors above the
 * standard three that are not closed on exec. Node marks its own, and inherited ones only up to the first free number
 * above 15; the rest would leak (a lock, a pipe whose end somebody waits for). For the beginning of a program only:
 * later on, and in the process of somebody else, such a descriptor may be in use. Linux only; elsewhere it does nothing.
 */
export function closeInheritedDescriptors(): void {
  for (const descriptor of inheritable()) {
    try {
      closeSync(descriptor)
    } catch {
      // Gone by now.
    }
  }
}

function inheritable(): number[] {
  let names: string[]
  try {
    names = readdirSync('/proc/self/fdinfo')
  } catch {
    return []
  }
  return names.map(Number).filter((descriptor) => descriptor > 2 && !isClosedOnExec(descriptor))
}

function isClosedOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1]
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0
  } catch {
    // The descriptor that listed the folder.
    return true
  }
}
