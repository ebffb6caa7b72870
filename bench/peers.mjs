import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Other libraries that start commands, each as `{ name, run }` where `run` starts a program and takes in what it prints. They are
 * installed here when they are first needed, and not with the project: its own install stays small. Empty where they cannot be had.
 */
export async function loadPeers() {
  const here = dirname(fileURLToPath(import.meta.url))
  const isThere = () => ['execa', 'nano-spawn'].every((name) => existsSync(`${here}/node_modules/${name}`))
  if (!isThere()) {
    const { status, stderr } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here, encoding: 'utf8', timeout: 120_000 })
    if (status !== 0) process.stdout.write(`\n(execa and nano-spawn are left out: they could not be installed: ${stderr?.trim().split('\n')[0]})\n`)
  }
  if (!isThere()) return []
  const [{ execa }, { default: nanoSpawn }] = await Promise.all([import('execa'), import('nano-spawn')])
  return [
    { name: 'execa', run: (program) => execa(program, { stdin: 'ignore' }) },
    { name: 'nano-spawn', run: (program) => nanoSpawn(program, { stdin: 'ignore' }) },
  ]
}
