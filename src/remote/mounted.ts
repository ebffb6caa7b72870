import { randomBytes } from 'node:crypto'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Site } from '../core/channel.ts'
import { shellQuoted } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import type { ProbedFacts } from './facts.ts'

const lookMs = 30_000

/** Throws where the folder here is not the one that the site has at its root. */
export async function proveMount(site: Site, mounted: string, facts: ProbedFacts, signal: AbortSignal | undefined): Promise<void> {
  if (facts.root === undefined) throw mismatch(site, mounted, 'a folder that is not there')
  const here = statSync(mounted, { bigint: true, throwIfNoEntry: false })
  if (here && facts.root === `${here.dev}:${here.ino}`) return
  // File systems of virtual machines have numbers of their own: what is written here is looked for there.
  const path = join(mounted, `.holdfast-mount-${randomBytes(9).toString('hex')}`)
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw failure('file_unreadable', { path: mounted, why: `it cannot be found out whether it is mounted: ${String(error)}` }, error)
  }
  try {
    if (!(await isThere(site, `${site.root}/${basename(path)}`, signal))) throw mismatch(site, mounted, 'another folder')
  } finally {
    rmSync(path, { force: true })
  }
}

async function isThere(site: Site, path: string, signal: AbortSignal | undefined): Promise<boolean> {
  const channel = await site.open({ argv: ['sh', '-c', `[ -f ${shellQuoted(path)} ]`], signal })
  const timer = setTimeout(() => channel.close(), lookMs)
  channel.stdin.on('error', () => {})
  channel.stdout.on('error', () => {}).resume()
  channel.stderr.on('error', () => {}).resume()
  try {
    const status = await channel.ended
    return 'exitCode' in status && status.exitCode === 0
  } finally {
    clearTimeout(timer)
    channel.close()
  }
}

function mismatch(site: Site, declared: string, found: string): Error {
  return failure('target_mismatch', { target: site.title, field: 'root', declared: `${declared} of this machine, mounted at ${site.root}`, found })
}
