import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './measure.mjs'

/**
 * Folders for one benchmark, each a project of its own, all gone in the end. Runs make files, and ext4 passes over each inode near by
 * that was deleted within the last minutes, after tests for example: so they stand where that is least.
 */
export function openWorld() {
  const places = (process.env.TMPDIR ? [process.env.TMPDIR] : [tmpdir(), '/var/tmp']).flatMap(tryPlace)
  if (places.length === 0) throw new Error('there is no folder for temporary files')
  const [best, ...others] = places.sort((a, b) => a.fileUs - b.fileUs)
  for (const { base } of others) rmSync(base, { recursive: true })
  const { base, fileUs } = best
  const slow = fileUs > usualFileUs ? ', which is long: many were deleted there lately; runs take longer for it than they will in some minutes' : ''
  return {
    words: `in ${base}, where making a file takes ${fileUs.toFixed(0)} µs${slow}`,
    folder(name) {
      const path = join(base, name)
      mkdirSync(path, { recursive: true })
      return path
    },
    // Removing hundreds of thousands of files takes longer in Node than in rm.
    close: () => new Promise((resolve) => spawn('rm', ['-rf', base], { stdio: 'inherit' }).once('close', resolve)),
  }
}

const usualFileUs = 60

function tryPlace(folder) {
  let base
  try {
    base = mkdtempSync(join(folder, 'holdfast-bench-'))
  } catch {
    return []
  }
  const taken = []
  for (let i = 0; i < 40; i += 1) {
    const start = performance.now()
    closeSync(openSync(join(base, String(i)), 'wx'))
    taken.push((performance.now() - start) * 1000)
  }
  return [{ base, fileUs: median(taken) }]
}
