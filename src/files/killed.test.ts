import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { createHostFiles } from './host-files.ts'

const machine = { self: identifySelf(), isAlive }

// Kills the process that loads it before the Nth call of node:fs that follows the word that all is ready.
const killer = `
import { createRequire, syncBuiltinESMExports } from 'node:module'
const fs = createRequire(import.meta.url)('node:fs')
let left = Number(process.argv[2])
for (const [name, call] of Object.entries(fs)) {
  if (typeof call !== 'function' || !/^(f?ch(mod|own)|close|f?truncate|link|mkdir|open|rename|rmdir|unlink|write)(Sync)?$/.test(name)) continue
  const counted = (...args) => {
    if (globalThis.isReady && --left === 0) process.kill(process.pid, 'SIGKILL')
    return call(...args)
  }
  Object.defineProperties(counted, Object.getOwnPropertyDescriptors(call))
  fs[name] = counted
}
syncBuiltinESMExports()
`

const program = `
import { createHostFiles } from './src/files/host-files.ts'
import { identifySelf, isAlive } from './src/process/identity.ts'
const [, , , root, act, path, bytes] = process.argv
const files = createHostFiles({ root: root!, machine: { self: identifySelf(), isAlive } })
const content = 'n'.repeat(Number(bytes))
Object.assign(globalThis, { isReady: true })
if (act === 'write' || act === 'append') await files[act](path!, content)
else await files.remove(path!, { recursive: true })
`

async function victim(world: World): Promise<(step: number, ...args: readonly string[]) => { readonly killed: boolean }> {
  const hook = world.path('killer.mjs')
  writeFileSync(hook, killer)
  const file = await bundle(program, world.path('program.mjs'))
  return (step, ...args) => {
    const { status, signal, stderr } = spawnSync(process.execPath, ['--import', hook, file, String(step), ...args], { env: world.env, timeout: 20_000 })
    if (status !== 0 && signal !== 'SIGKILL') throw new Error(stderr.toString())
    return { killed: signal === 'SIGKILL' }
  }
}

const large = 9 * 1024 * 1024
const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

it.each([
  ['write', 'old', large],
  ['write', undefined, 5],
  ['append', 'old', 5],
  ['append', undefined, 5],
] as const)('killed at each step of %s over %j, a file is as it was or as it was to be, and the next write clears up', async (act, old, bytes) => {
  await using world = openWorld()
  const run = await victim(world)
  const root = world.path('ws')
  const file = join(root, 'folder/file')
  const whole = (act === 'append' ? (old ?? '') : '') + 'n'.repeat(bytes)
  const ends: string[] = []
  for (let step = 1; ; step += 1) {
    rmSync(root, { recursive: true, force: true })
    mkdirSync(join(root, old === undefined ? '' : 'folder'), { recursive: true })
    if (old !== undefined) writeFileSync(file, old, { mode: 0o640 })
    const { killed } = run(step, root, act, 'folder/file', String(bytes))
    const text = textOf(file)
    const end = text === old ? 'old' : text === whole ? 'new' : `a mix of ${text?.length} characters`
    ends.push(end)
    if (old !== undefined) expect(statSync(file).mode & 0o777, `step ${step}`).toBe(0o640)
    await createHostFiles({ root, machine }).write('folder/other', '')
    expect(readdirSync(join(root, 'folder')), `step ${step}`).toEqual(text === undefined ? ['other'] : ['file', 'other'])
    if (!killed) break
    expect(step).toBeLessThan(100)
  }
  expect(ends.at(-1)).toBe('new')
  // It goes over from one to the other once.
  expect(ends.join(' ')).toMatch(/^(old )+(new ?)+$/)
})

it('what other writers have staged is left alone as long as they may live, and so is what only looks like it', async () => {
  await using world = openWorld()
  const root = world.path('ws')
  mkdirSync(root)
  const start = Buffer.from(machine.self.startTime).toString('hex')
  const nonce = '0123456789abcdef'
  const foreignSpace = '0123456789ab'
  const kept = [
    // Of a process in another container: nobody knows whether it lives.
    `.holdfast-staged-1-${start}-${foreignSpace}-${nonce}`,
    '.holdfast-staged-notes.txt',
    `.holdfast-staged-${process.pid}-${start}-${foreignSpace}-${nonce}.bak`,
  ]
  for (const name of kept) writeFileSync(join(root, name), '')
  mkdirSync(join(root, `.holdfast-staged-2-${start}-${foreignSpace}-${nonce}`))
  const old = `.holdfast-staged-3-${start}-${foreignSpace}-${nonce}`
  writeFileSync(join(root, old), '')
  utimesSync(join(root, old), 1, 1)
  await createHostFiles({ root, machine }).write('file', '')
  expect(readdirSync(root).sort()).toEqual([...kept, `.holdfast-staged-2-${start}-${foreignSpace}-${nonce}`, 'file'].sort())
})
