import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, median, ms, printTable, times } from './measure.mjs'
import { cliArgv } from './program.mjs'
import { rawCapture, rawQuiet } from './raw.mjs'

const megabyte = 1_000_000

/** A large log in, a few lines out. */
export async function digest({ quick, world, goals }) {
  const root = world.folder('digest')
  const holdfast = await openHoldfast({ root })
  const toReading = await measureLog({ quick, root, holdfast, name: 'build.log', title: 'a build', line: buildLine })
  // To count lines and to read the bytes are what nobody can do without.
  goals.most('digest of a long log, to 2 wc -l and reading it', 1, toReading)
  for (const [title, line] of kinds) {
    const ratio = await measureLog({ quick, root, holdfast, name: 'kind.log', title, line, alone: true })
    process.stdout.write(`to 2 wc -l and reading it: ${times(ratio)}\n`)
  }
  await measureLog({ quick, root, holdfast, name: 'hostile.log', title: 'a flood, every tenth line like an error and unlike all others', line: floodLine })
  await holdfast.close()
}

/** `alone`: the digest beside counting lines and reading, and no more. */
async function measureLog({ quick, root, holdfast, name, title, line, alone = false }) {
  const bytes = (quick ? 10 : 100) * megabyte
  const path = join(root, name)
  writeLog(path, bytes, line)
  const results = await interleaved(
    [
      { name: 'wc -l FILE', run: () => rawQuiet('wc', ['-l', path]) },
      { name: 'read in this process', run: () => withFile(path, readAll) },
      { name: 'digest in this process', run: () => withFile(path, (log) => holdfast.digest({ text: log })) },
      { name: 'cat FILE', run: () => rawQuiet('cat', [path]) },
      { name: 'node -e 0', run: () => rawQuiet(process.execPath, ['-e', '0']) },
      { name: 'holdfast digest FILE', run: () => rawQuiet(...cliArgv(['digest', path]), { cwd: root }) },
      { name: 'exec of cat FILE, no room for its digest', run: () => holdfast.exec({ argv: ['cat', path], budget: 1 }) },
      { name: 'exec of cat FILE, digest included', run: () => holdfast.exec({ argv: ['cat', path] }) },
    ].slice(0, alone ? 3 : undefined),
    { rounds: quick ? 3 : 7, warmup: 2 },
  )
  printTable(
    `Digest of ${bytes / megabyte} MB: ${title}`,
    ['', 'ms', 'its own CPU', 'to wc -l'],
    results.map((result) => [result.name, ms(result.ms), ms(result.cpuMs), times(result.ratio)]),
  )
  if (!alone) process.stdout.write(`peak memory of a process that does nothing else: ${await peakOf(path)} MB\n`)
  const [count, read, own] = results.map(({ taken }) => taken.map((cost) => cost.ms))
  return median(own.map((taken, round) => taken / (2 * count[round] + read[round])))
}

async function withFile(path, use) {
  const descriptor = openSync(path, 'r')
  try {
    return await use({ length: statSync(path).size, read: (target, from) => readSync(descriptor, target, 0, target.length, from) })
  } finally {
    closeSync(descriptor)
  }
}

const block = Buffer.alloc(256 * 1024)

function readAll({ length, read }) {
  for (let at = 0; at < length; at += read(block, at));
}

/** A process of its own digests the log; what it held at most, the library and Node included. */
async function peakOf(path) {
  const script = `
    const { openHoldfast } = await import(${JSON.stringify(new URL('../dist/index.mjs', import.meta.url).href)})
    const { openSync, readSync, statSync } = await import('node:fs')
    const [path] = process.argv.slice(1)
    const file = openSync(path, 'r')
    const holdfast = await openHoldfast({ root: ${JSON.stringify(join(path, '..'))} })
    await holdfast.digest({ text: { length: statSync(path).size, read: (target, from) => readSync(file, target, 0, target.length, from) } })
    await holdfast.close()
    process.stdout.write(String(process.resourceUsage().maxRSS / 1000))`
  const { stdout } = await rawCapture(process.execPath, ['--input-type=module', '-e', script, path])
  return Math.round(Number(stdout))
}

/** Long enough to be cheap to write, and no line of it twice the same number. */
function writeLog(path, bytes, lineOf) {
  const descriptor = openSync(path, 'w')
  for (let i = 1, size = 0; size < bytes; ) {
    let text = ''
    for (let end = i + 5000; i < end; i += 1) text += `${size > bytes / 2 && size < bytes / 2 + 1_000_000 && i % 5000 === 0 ? theError : lineOf(i)}\n`
    size += writeSync(descriptor, text)
  }
  closeSync(descriptor)
}

const theError = 'error[E0308]: mismatched types\n  --> src/engine/settle.rs:118:21'

/** What a long build prints: much of the same, and some warnings. */
function buildLine(i) {
  if (i % 500 === 0) return `warning: unused variable: \`value_${i}\` at src/module_${i % 91}.rs:${i % 400}:9`
  return `[${i}] Compiling crate-${i % 977} v0.${i % 40}.${i % 7} (/build/workspace/crates/crate-${i % 977}) in ${i % 53}.${i % 10}s`
}

const words = 'the quick brown fox jumps over a lazy dog while servers return pages and workers collect statistics about several requests of one region'.split(
  ' ',
)
const two = (n) => String(n % 60).padStart(2, '0')

/** What other logs are like: the sieve meets other letters in each. */
const kinds = [
  ['words', (i) => Array.from({ length: 12 }, (_, k) => words[(i * 31 + k * k * 17 + ((i * k) >> 3)) % words.length]).join(' ')],
  [
    'times and levels',
    (i) =>
      `2026-01-02T03:${two(i >> 6)}:${two(i)}.123Z ${i % 97 === 0 ? 'WARN' : 'INFO'} [worker-${i % 8}] com.acme.OrderService - processed order ${i} in ${i % 300} ms`,
  ],
  [
    'JSON',
    (i) =>
      `{"level":"info","time":${1_764_500_000_000 + i * 13},"pid":4711,"msg":"request completed","url":"/api/v1/items/${i % 5000}","status":200,"durationMs":${i % 300}}`,
  ],
]

function floodLine(i) {
  return i % 10 === 0 ? `ERROR: request ${((i * 7919) >>> 0).toString(36)} could not reach ${((i * 104_729) >>> 0).toString(36)}, trying again` : buildLine(i)
}
