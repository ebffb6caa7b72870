import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

/** The program that scans logs; undefined where its package is not installed for this platform. */
export function ripgrepProgram(): string | undefined {
  try {
    const resolved = createRequire(import.meta.url).resolve('@vscode/ripgrep')
    return createRequire(resolved).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)
  } catch {
    return undefined
  }
}

/** The numbers of the lines in which ripgrep finds the pattern, from 1. Throws where it does not understand it. */
export function ripgrepLines(program: string, source: string, text: string | Uint8Array): Set<number> {
  const args = ['--no-config', '--color=never', '--text', '--encoding=none', '--line-number', '--only-matching', '--no-filename', '-e', source, '-']
  const { stdout, stderr } = spawnSync(program, args, { input: text, maxBuffer: 2 ** 30, encoding: 'latin1' })
  if (stderr !== '') throw new Error(`${source}: ${stderr}`)
  return new Set([...stdout.matchAll(/^(\d+):/gm)].map(([, line]) => Number(line)))
}
