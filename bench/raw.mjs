import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

/** What Holdfast is compared with: the plainest use of node:child_process that does the same. */

/** Starts a program and takes in what it prints on both streams. */
export function rawCapture(program, args = [], options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = { stdout: [], stderr: [] }
    child.stdout.on('data', (chunk) => output.stdout.push(chunk))
    child.stderr.on('data', (chunk) => output.stderr.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr) }))
  })
}

/** Reads both streams and keeps nothing: nothing that reads through pipes of Node can be much faster. */
export function rawDiscard(program, args = []) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.resume()
    child.stderr.resume()
    child.once('error', reject)
    child.once('close', resolve)
  })
}

/** Has a program write to a file itself: nobody reads, counts, limits or watches it, so nothing that keeps the output can be much faster. */
export async function rawToFile(path, program, args = []) {
  const fd = openSync(path, 'w')
  try {
    await new Promise((resolve, reject) => {
      const child = spawn(program, args, { stdio: ['ignore', fd, 'inherit'] })
      child.once('error', reject)
      child.once('exit', resolve)
    })
  } finally {
    closeSync(fd)
  }
  return { stdout: { path } }
}

/** Starts a program whose output goes nowhere. */
export function rawQuiet(program, args = [], options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] })
    child.once('error', reject)
    child.once('exit', (code, signal) => (code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')}: ${signal ?? `exit ${code}`}`))))
  })
}
