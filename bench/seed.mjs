import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { repository } from './program.mjs'

/** Words that are looked for later, and in how many runs they are. */
export const rareWord = 'quetzalcoatlus'
export const rareRuns = 3
/** Stands in the middle of so many long logs, where the index of the output does not reach. */
export const hiddenWord = 'pterodactylusFound7'
export const hiddenRuns = 3

const cachePrefix = 'holdfast-bench-seed-'

/**
 * A home with so many runs, kept below the temporary folder of the system for the next time. Whatever changes what would be written
 * changes its name: the code that writes it, and how it is asked for. Others of this size are removed.
 */
export async function cachedHome(runs, options) {
  const program = await bundleSources()
  const facts = [readFileSync(program), readFileSync(new URL(import.meta.url)), String(runs), String(options.longBytes)]
  const prefix = `${cachePrefix}${runs}-`
  const name = `${prefix}${facts
    .reduce((hash, fact) => hash.update(fact), createHash('sha256'))
    .digest('hex')
    .slice(0, 16)}`
  const folder = join(tmpdir(), name)
  const home = join(folder, 'home')
  if (existsSync(folder)) return { home, how: `kept from an earlier call in ${folder}` }
  const making = join(tmpdir(), `${name}.${process.pid}`)
  const startedAt = performance.now()
  await (await openSeeder(join(making, 'home'), options)).growTo(runs)
  renameSync(making, folder)
  const others = readdirSync(tmpdir()).filter((other) => other.startsWith(prefix) && other !== name)
  // Nobody waits for it, and it is quicker than Node.
  if (others.length > 0) spawn('rm', ['-rf', ...others], { cwd: tmpdir(), stdio: 'ignore', detached: true }).unref()
  return { home, how: `made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${together} runs in each transaction, kept in ${basename(folder)}` }
}

/** Runs that share a transaction. */
const together = 1_000

/**
 * Fills a home with ended runs, through the same code that runs use: folders with record and logs, rows of the store, and the
 * index of their output. Only the commands are not run, and many rows share a transaction, so that it takes seconds. `longBytes` says
 * how long the log of the run with this number is besides.
 */
export async function openSeeder(home, { longBytes = () => 0 } = {}) {
  const { connect, loadDriver, openSqliteStore, sqliteStore, tokensOf, traitsOf, runFolder, newRunId, makeRunFolder, createRecord, recordText } =
    await loadSources()
  mkdirSync(join(home, 'runs'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home, '.gitignore'), '*\n')
  await (await openSqliteStore(join(home, 'index.db'))).store.close()
  let made = 0
  return {
    /** Adds runs until there are `runs` in all. */
    async growTo(runs) {
      const connection = connect(loadDriver(), join(home, 'index.db'))
      connection.exec('pragma synchronous = off; pragma journal_mode = wal')
      const inTransaction = async (body) => body(connection)
      const store = sqliteStore({ read: inTransaction, write: inTransaction, close: async () => {} })
      for (; made < runs; made += 1) {
        if (made % together === 0) connection.exec('begin immediate')
        const { record, stdout, stderr } = madeUpRun(made, newRunId(), home, longBytes(made))
        const folder = runFolder(join(home, 'runs'), record.id)
        makeRunFolder(folder)
        createRecord(folder, recordText(record))
        // A stream without a byte has no log.
        for (const [path, text] of [
          [folder.stdout, stdout],
          [folder.stderr, stderr],
        ])
          if (text !== '') writeFileSync(path, text, { mode: 0o600 })
        await store.finish(record)
        // As much of it as is indexed of a real run.
        const whole = stdout.length <= wholeChars
        const indexed = whole ? stdout : `${stdout.slice(0, partChars)}\n${stdout.slice(-partChars)}`
        await store.index(record.id, tokensOf([record.command, record.purpose ?? '', indexed, stderr].join('\n')), whole, traitsOf(stdout) | traitsOf(stderr))
        if (made % together === together - 1 || made === runs - 1) connection.exec('commit')
      }
      connection.exec('pragma wal_checkpoint(truncate)')
      connection.close()
    },
  }
}

const wholeChars = 256 * 1024
const partChars = 32 * 1024

const loadSources = async () => import(pathToFileURL(await bundleSources()).href)

async function bundleSources() {
  const outfile = join(repository, 'node_modules', '.cache', 'holdfast-bench', 'seed.mjs')
  const from = (path, names) => `export { ${names} } from ${JSON.stringify(join(repository, 'src', path))}`
  await build({
    stdin: {
      contents: [
        from('stores/sqlite/driver.ts', 'connect, loadDriver'),
        from('stores/sqlite/open.ts', 'openSqliteStore'),
        from('stores/sqlite/store.ts', 'sqliteStore'),
        from('core/query.ts', 'tokensOf'),
        from('core/log-traits.ts', 'traitsOf'),
        from('app/run-folder.ts', 'runFolder, makeRunFolder, createRecord, recordText'),
        from('app/run-id.ts', 'newRunId'),
      ].join('\n'),
      resolveDir: repository,
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  })
  return outfile
}

const lines = (count, line) => Array.from({ length: count }, (_, k) => `${line(k)}\n`).join('')

function testReport(i, failing) {
  const cases = lines(12, (k) => ` ${failing && k === 7 ? 'x' : 'ok'} ${k} keeps the order of part ${(i * 7 + k) % 500} (${(i + k) % 90} ms)`)
  return `${cases}${failing ? `AssertionError: expected ${i % 17} to be ${i % 13}\n    at check (src/module-${Math.floor(i / 5) % 40}/check.test.ts:${i % 200}:11)\n` : ''} 12 tests, ${failing ? 1 : 0} failed, duration ${i % 900} ms\n`
}
const typeErrors = (i, failing) =>
  failing ? lines(3, (k) => `src/part-${(i + k) % 90}/file.ts(${i % 300},${k}): error TS2345: Argument of type 'string' is not assignable`) : ''
const matches = (i) => lines(8, (k) => `src/part-${(i + k) % 90}/file-${k}.ts:${(i * 3 + k) % 400}:  const value = handle${i % 60}(request, ${k})`)
const buildOutput = (i, failing) =>
  `${lines(15, (k) => `transformed packages/p${i % 25}/src/piece-${(i + k) % 300}.ts`)}${failing ? 'error: build stopped\n' : `built in ${i % 4000} ms, hash ${(i * 2_654_435_761) >>> 0}\n`}`

const kinds = [
  { command: (i) => `npx vitest run src/module-${Math.floor(i / 5) % 40}`, output: testReport, purpose: (i) => `tests of module ${Math.floor(i / 5) % 40}` },
  { command: () => 'npx tsc -p .', output: typeErrors, purpose: () => 'types' },
  { command: () => 'git status --short', output: (i) => lines(i % 12, (k) => ` M src/part-${(i + k) % 90}/file-${k}.ts`), purpose: () => null },
  { command: (i) => `rg -n handle${i % 60} src`, output: matches, purpose: (i) => `where handle${i % 60} is used` },
  { command: (i) => `npm run build --workspace packages/p${i % 25}`, output: buildOutput, purpose: () => 'build' },
]

const longLine = (i, k) =>
  `2026-11-30T12:${String(k % 60).padStart(2, '0')}:07.${String((k * 37) % 1000).padStart(3, '0')}Z INFO worker-${(i + k) % 16} handled request ${(i * 7919 + k * 31) % 1_000_003} of client ${k % 251}: ${k % 97 === 5 ? 'connection refused, trying again' : 'status 200'} in ${(k * 13) % 997} ms\n`
const longParts = new Map()

/** The log of a service, of so many bytes. Made of a few parts: what is the same again and again is written quickly. */
function longLog(i, bytes) {
  if (bytes === 0) return ''
  const kind = i % 40
  if (!longParts.has(kind)) longParts.set(kind, Array.from({ length: 2_000 }, (_, k) => longLine(kind, k)).join(''))
  const part = longParts.get(kind)
  const log = part.repeat(Math.ceil(bytes / part.length)).slice(0, bytes)
  const middle = log.indexOf('\n', bytes / 2) + 1
  const hidden = i % 10_000 === 5_000 && i < hiddenRuns * 10_000
  return hidden ? `${log.slice(0, middle)}note: ${hiddenWord} in worker 3\n${log.slice(middle)}` : log
}

function madeUpRun(i, id, home, longBytes) {
  const kind = kinds[i % kinds.length]
  // Spread over all kinds of commands.
  const failing = (Math.imul(i, 2_654_435_761) >>> 0) % 10 === 3
  const special = i % 3000 === 1500 && i < rareRuns * 3000
  const stdout = `${longLog(i, longBytes)}${kind.output(i, failing)}${special ? `note: ${rareWord} was seen once\n` : ''}`
  const stderr = failing ? `failed with status ${1 + (i % 3)}\n` : ''
  // The newest a minute ago, so that nothing is old enough to be removed.
  const startedAt = new Date(Date.now() - 60_000 - (60_000 - (i % 60_000)) * 10).toISOString()
  const totals = (text) => ({ bytes: Buffer.byteLength(text), lines: text.split('\n').length - 1, droppedBytes: 0, gap: null })
  const record = {
    id,
    state: 'ended',
    command: kind.command(i),
    runtime: null,
    purpose: kind.purpose(i),
    cwd: home,
    branch: 'main',
    startedAt,
    endedAt: startedAt,
    durationMs: i % 5000,
    outcome: { kind: 'exited', exitCode: failing ? 1 + (i % 3) : 0, signal: null, limit: null },
    error: null,
    stdout: totals(stdout),
    stderr: totals(stderr),
    leftovers: [],
    warnings: [],
    holder: { pid: 1, startTime: '' },
    process: null,
    pinned: false,
    limits: { timeoutMs: 600_000, idleTimeoutMs: null },
  }
  return { record, stdout, stderr }
}
