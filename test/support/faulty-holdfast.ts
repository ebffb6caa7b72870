import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { World } from './world.ts'

/** A copy of the built program whose supervisor kills or stops itself where a test says; see native/fault.c. */
export interface FaultyHoldfast extends Disposable {
  readonly cli: string
  readonly library: string
  /** Prepares the world for its supervisor; gives the file that says which fault is due. */
  prepare(world: World): string
}

/** How the program of a world's supervisor is called. */
export const faultySupervisor = 'supervisor-with-faults'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** Undefined where there is no C compiler. */
export function buildFaultyHoldfast(): FaultyHoldfast | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-faulty-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  const dist = join(folder, 'dist')
  cpSync(join(repository, 'dist'), dist, { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  const native = join(dist, 'native')
  const name = `holdfast-supervisor-linux-${process.arch}`
  const faulty = join(native, `${name}-faults`)
  const { status, stderr } = spawnSync(join(repository, 'scripts/build-supervisor'), ['--faults', '--out', faulty], { encoding: 'utf8' })
  if (status !== 0) {
    remove()
    throw new Error(`the supervisor with faults was not built:\n${stderr}`)
  }
  if (!readdirSync(native).includes(name) || !readdirSync(native).includes(`${name}-faults`)) {
    remove()
    return undefined
  }
  // Each world has a folder of its own for sockets. Beside the socket is the file that says which fault is due, and a link to the
  // program, so that its processes can be told from those of other worlds.
  writeFileSync(join(native, 'draft'), '#!/bin/sh\nHOLDFAST_FAULT_FILE="${2%/*}/fault" exec "${2%/*}/supervisor-with-faults" "$@"\n')
  chmodSync(join(native, 'draft'), 0o755)
  renameSync(join(native, 'draft'), join(native, name))
  return {
    cli: join(dist, 'cli.js'),
    library: join(dist, 'index.mjs'),
    prepare({ tmp }) {
      const sockets = join(tmp, `holdfast-${process.getuid?.() ?? 0}`)
      mkdirSync(sockets, { mode: 0o700 })
      linkSync(faulty, join(sockets, faultySupervisor))
      return join(sockets, 'fault')
    },
    [Symbol.dispose]: remove,
  }
}
