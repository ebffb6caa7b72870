import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Folders for one benchmark, each a project of its own, all gone in the end. */
export function openWorld() {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  return {
    folder(name) {
      const path = join(base, name)
      mkdirSync(path, { recursive: true })
      return path
    },
    // Removing hundreds of thousands of files takes longer in Node than in rm.
    close: () => new Promise((resolve) => spawn('rm', ['-rf', base], { stdio: 'inherit' }).once('close', resolve)),
  }
}
