import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../core/errors.ts'

/** The program of the supervisor, or why there is none that can be started. */
export type SupervisorProgram = { readonly kind: 'found'; readonly path: string; readonly build: string } | { readonly kind: 'missing'; readonly why: string }

export interface SupervisorSearch {
  /** Folders to look in, in this order. */
  readonly folders: readonly string[]
  readonly platform: string
  readonly arch: string
  /** It is for another machine: here it need not be executable. */
  readonly isForeign?: boolean | undefined
}

/** The name that Node has for a processor, by the names that `uname -m` has for it. */
const processors: Readonly<Record<string, string | undefined>> = { x86_64: 'x64', amd64: 'x64', aarch64: 'arm64', arm64: 'arm64' }
/** As `uname -m` names them on Linux. */
export const knownMachines = ['x86_64', 'aarch64'] as const

/** The program for a machine that runs Linux on this processor, as `uname -m` names it. */
export function supervisorFor(machine: string, folders: readonly string[] = ownSearch().folders): SupervisorProgram {
  const arch = Object.hasOwn(processors, machine) ? processors[machine] : undefined
  if (arch === undefined) return missing(`there is no supervisor for the processor ${machine}`)
  return findSupervisor({ folders, platform: 'linux', arch, isForeign: true })
}

/** Costs two small reads and starts nothing: whether the program really runs is found when it is started. */
export function findSupervisor({ folders, platform, arch, isForeign = false }: SupervisorSearch = ownSearch()): SupervisorProgram {
  if (platform !== 'linux') return missing(`the supervisor is for Linux, and this is ${platform}`)
  const name = `holdfast-supervisor-linux-${arch}`
  const folder = folders.find((candidate) => existsSync(join(candidate, name)))
  if (folder === undefined) {
    const place = folders.find((candidate) => existsSync(candidate))
    return missing(`there is no ${name}${place === undefined ? '' : ` in ${place}`}`)
  }
  const path = join(folder, name)
  try {
    if (!statSync(path).isFile()) return missing(`${path} is not a file`)
    // Refuses also what is on a disk that is mounted with noexec.
    accessSync(path, isForeign ? constants.R_OK : constants.X_OK)
  } catch (error) {
    return missing(`${path} cannot be executed: ${messageOf(error)}`)
  }
  const build = readBuild(join(folder, 'supervisor.json'))
  return build === undefined ? missing(`${join(folder, 'supervisor.json')} does not say which build ${name} is`) : { kind: 'found', path, build }
}

function missing(why: string): SupervisorProgram {
  return { kind: 'missing', why }
}

/** This file is part of the built program, of one of its chunks, of the library beside it, or of the sources. */
function ownSearch(): SupervisorSearch {
  const here = dirname(fileURLToPath(import.meta.url))
  const folders = [join(here, 'native'), join(here, '..', 'native'), join(here, '..', '..', 'dist', 'native')]
  return { folders, platform: process.platform, arch: process.arch }
}

function readBuild(path: string): string | undefined {
  try {
    const { build } = JSON.parse(readFileSync(path, 'utf8')) as { build?: unknown }
    return typeof build === 'string' && /^[0-9a-f]{8}$/.test(build) ? build : undefined
  } catch {
    return undefined
  }
}
