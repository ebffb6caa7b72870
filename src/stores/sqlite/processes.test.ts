import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteStore } from './open.ts'

const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)))

/** What each process runs. It is bundled, because Node runs no TypeScript. */
const program = `
import { openSqliteStore } from ${source('./open.ts')}
import { tokensOf } from ${source('../../core/query.ts')}
const [path, role, name, runs] = process.argv.slice(2)
const totals = { bytes: 10, lines: 1, droppedBytes: 0, gap: null }
const record = (id, state, outcome) => ({ id, state, command: 'command of ' + id, runtime: null, purpose: null, cwd: '/', branch: null,
  startedAt: '2026-03-14T10:00:00.000Z', endedAt: null, durationMs: null, outcome, error: null, stdout: totals, stderr: totals,
  leftovers: [], warnings: [], holder: { pid: process.pid, startTime: '1' }, process: null, pinned: false })
const { store, rebuild } = await openSqliteStore(path, { busyMs: 30_000 })
if (role === 'open') console.log(JSON.stringify({ rebuild }))
if (role === 'write') {
  for (let i = 0; i < Number(runs); i += 1) {
    const id = name + '-' + String(i).padStart(4, '0')
    await store.begin(record(id, 'running', null))
    await store.finish(record(id, 'ended', { kind: 'exited', exitCode: i % 2, signal: null, limit: null }))
    await store.index(id, tokensOf('shared words and number' + i + ' of ' + id), true)
  }
  console.log('{}')
}
if (role === 'read') {
  let rounds = 0
  let most = 0
  const torn = []
  let stopped = false
  process.stdin.on('end', () => { stopped = true }).resume()
  console.log('reading')
  while (!stopped) {
    const listed = await store.list({ limit: 5_000 })
    const { runs, failing } = await store.count()
    const found = await store.candidates(['shared', 'words'], { limit: 5_000 })
    for (const one of [...listed, ...found]) if (one.command !== 'command of ' + one.id || !one.stdout) torn.push(one.id)
    if (listed.length < most || runs < listed.length || failing > runs) torn.push('count went back')
    most = listed.length
    rounds += 1
    await new Promise((resolve) => setImmediate(resolve))
  }
  console.log(JSON.stringify({ rounds, torn }))
}
await store.close()
`

// The bundle stands where Node finds the driver by its name.
const modules = fileURLToPath(new URL('../../../node_modules/', import.meta.url))
let dir = ''
let bundleDir = ''
let bundle = ''
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-processes-'))
  bundleDir = mkdtempSync(join(modules, '.holdfast-test-'))
  bundle = join(bundleDir, 'program.mjs')
  const stdin = { contents: program, loader: 'ts', resolveDir: bundleDir } as const
  await build({ stdin, outfile: bundle, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
})
afterAll(() => {
  for (const folder of [dir, bundleDir]) rmSync(folder, { recursive: true, force: true })
})

interface Started {
  /** Resolves with what the last line of its output says; rejects where it failed. */
  readonly done: Promise<{ rebuild?: boolean; rounds?: number; torn?: string[] }>
  readonly firstWord: Promise<unknown>
  stop(): void
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [bundle, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  const firstWord = new Promise((resolve) => child.stdout.once('data', resolve))
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const done = new Promise<string>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`exit code ${code}: ${err}`))))
  })
  return { done: done.then((text) => JSON.parse(text.trim().split('\n').at(-1) ?? '')), firstWord, stop: () => child.stdin.end() }
}

describe('many processes with one store', () => {
  it('8 of them record 200 runs each while one reads all the time: nothing is lost and nothing read torn', async () => {
    const path = join(dir, 'shared.db')
    const writers = 8
    const runs = 200
    const reader = start(path, 'read')
    await Promise.race([reader.firstWord, reader.done])
    await Promise.all(Array.from({ length: writers }, (_, i) => start(path, 'write', `writer${i}`, String(runs)).done))
    reader.stop()
    const { rounds, torn } = await reader.done
    expect(torn).toEqual([])
    expect(rounds).toBeGreaterThan(1)

    const { store, warnings } = await openSqliteStore(path)
    expect(warnings).toEqual([])
    expect(await store.count()).toEqual({ runs: writers * runs, failing: (writers * runs) / 2 })
    expect(await store.listUnindexed(10)).toEqual([])
    const all = await store.list({ limit: 10_000 })
    expect(new Set(all.map(({ id }) => id)).size).toBe(writers * runs)
    expect(await store.candidates(['shared', 'number7'], { limit: 100 })).toHaveLength(writers)
    // What one process recorded is in its order.
    for (let i = 0; i < writers; i += 1) {
      const own = all.map(({ id }) => id).filter((id) => id.startsWith(`writer${i}-`))
      expect(own).toEqual([...own].sort().reverse())
    }
    await store.close()
  }, 60_000)

  it('6 of them that open it first at the same moment make it once', async () => {
    const path = join(dir, 'first.db')
    const results = await Promise.all(Array.from({ length: 6 }, () => start(path, 'open').done))
    expect(results.filter(({ rebuild }) => rebuild)).toHaveLength(1)
  }, 60_000)

  it('that find it damaged at the same moment move it aside once', async () => {
    const path = join(dir, 'broken.db')
    writeFileSync(path, 'this is no database, sorry. '.repeat(5_000))
    const results = await Promise.all(Array.from({ length: 5 }, () => start(path, 'open').done))
    expect(results.filter(({ rebuild }) => rebuild)).toHaveLength(1)
    expect(readdirSync(dir).filter((name) => /^broken\.damaged-.*\.db$/.test(name))).toHaveLength(1)
  }, 60_000)

  it('a writer that is killed leaves a store that the others go on with', async () => {
    const path = join(dir, 'killed.db')
    const child = spawn(process.execPath, [bundle, path, 'write', 'victim', '100000'], { stdio: 'ignore' })
    const { store } = await openSqliteStore(path, { busyMs: 30_000 })
    while ((await store.count()).runs < 20) await new Promise((resolve) => setImmediate(resolve))
    child.kill('SIGKILL')
    await new Promise((resolve) => child.on('close', resolve))
    const { runs } = await store.count()
    await start(path, 'write', 'heir', '5').done
    expect((await store.count()).runs).toBe(runs + 5)
    expect(await store.list({ limit: runs + 5 })).toHaveLength(runs + 5)
    await store.close()
  }, 60_000)
})
