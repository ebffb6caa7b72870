import type { Files } from '../../src/core/files.ts'

/** A program of Node: puts links that lead out in the place of a directory and of a file, and these back, as fast as it can, until its input ends. */
export const swapper = `
import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
let isOver = false
process.stdin.on('end', () => { isOver = true }).resume()
const tries = (act) => { try { act() } catch {} }
function round() {
  for (let i = 0; i < 50; i += 1) {
    for (const [name, target] of [['d', '../outside'], ['f', '../outside/victim']]) {
      tries(() => renameSync(name, name + '.kept'))
      tries(() => symlinkSync(target, name))
      tries(() => unlinkSync(name))
      tries(() => renameSync(name + '.kept', name))
    }
  }
  if (isOver) return
  setImmediate(round)
}
process.stdout.write('swapping')
round()
`

/** What is tried meanwhile, with files whose root is the folder that it runs in. */
export const swappedCalls: readonly ((files: Files, round: number) => Promise<unknown>)[] = [
  (files, round) => files.write('d/victim', `written ${round}`),
  (files, round) => files.write(`d/new-${round % 7}`, 'new'),
  (files) => files.write('f', 'written'),
  (files) => files.append('d/victim', '+'),
  (files) => files.append('f', '+'),
  (files, round) => files.mkdir(`d/made-${round % 7}/deep`),
  (files, round) => files.remove(`d/new-${round % 7}`),
  (files, round) => files.remove(`d/made-${round % 7}`, { recursive: true }),
  (files) => files.remove('d/precious', { recursive: true }),
  (files) => files.readText('d/victim'),
  (files) => files.readText('f'),
  async (files) => {
    const bound = await files.openBound('d/victim')
    try {
      return { text: Buffer.from(await bound.read(0, 100)).toString() }
    } finally {
      bound.close()
    }
  },
  (files) => files.list('d'),
  (files) => files.stat('d/victim'),
  (files, round) => files.move(`d/new-${round % 7}`, `d/moved-${round % 5}`, { replace: true }),
  (files) => files.move('d/precious', 'taken'),
]
