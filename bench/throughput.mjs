import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { interleaved, median, printTable, timed, times } from './measure.mjs'
import { openModes } from './modes.mjs'
import { rawCapture, rawDiscard, rawToFile } from './raw.mjs'

const mib = 1024 ** 2
const line = 'src/engine/settle.test.ts:118  ok  a child that keeps a pipe open never delays a result (41 ms)\n'

/** What it costs to count and keep a large output, with somebody who watches it. */
export async function throughput({ quick, world, goals }) {
  const size = (quick ? 64 : 1024) * mib
  const rounds = quick ? 2 : 3
  const text = join(world.folder('throughput'), 'text')
  // No string can be as long as half a gigabyte.
  const block = line.repeat(mib / 64)
  for (let written = 0; written < size; written += block.length) appendFileSync(text, block.slice(0, size - written))
  const sources = [
    ['zeros (dd)', ['dd', 'if=/dev/zero', 'bs=64k', `count=${size / 65_536}`, 'status=none']],
    ['lines of text (cat)', ['cat', text]],
  ]
  const rows = []
  for (const [label, argv] of sources) {
    const figures = await compare(argv, size, rounds, world)
    for (const { name, ...figure } of figures) {
      rows.push([`${label}: ${name}`, figure.rate.toFixed(0), times(figure.speed), figure.cpuPerGib.toFixed(2), figure.growth.toFixed(0)])
    }
    const ours = figures.find(({ name }) => name === 'holdfast, all kept, tail watched') ?? figures.at(-1)
    goals.least(`${label}, all of it kept and its tail watched, against a pipe that is discarded`, 4, ours.speed)
    goals.most(`${label}, Node CPU seconds per GiB`, 0.1, ours.cpuPerGib, (value) => value.toFixed(2))
    goals.most(`${label}, growth of memory in MB`, 10, ours.growth, (value) => value.toFixed(0))
  }
  rmSync(text)
  printTable(
    `Output of ${size / mib} MiB, ${rounds} interleaved rounds (speed = median of the ratios per round to the pipe that is discarded; accumulating reads ${accumulated(size) / mib} MiB)`,
    ['', 'MB/s', 'speed', 'Node CPU s/GiB', 'memory grew by MB'],
    rows,
  )
}

/** Accumulating half a gigabyte takes longer than all else together, so it gets less to do. */
const accumulated = (size) => Math.min(size, 128 * mib)

async function compare(argv, size, rounds, world) {
  const { supervised, plain, close } = await openModes(world, 'throughput')
  const [program, ...args] = argv
  const file = join(world.folder('throughput'), 'by-itself')
  const less = argv[0] === 'dd' ? args.map((arg) => (arg.startsWith('count=') ? `count=${accumulated(size) / 65_536}` : arg)) : undefined
  const whole = { argv, maxOutputBytes: 2 * size }
  const variants = [
    { name: 'raw spawn, discarded', size, run: () => rawDiscard(program, args) },
    {
      name: 'raw spawn, accumulated',
      size: accumulated(size),
      run: () => (less ? rawCapture(program, less) : rawCapture('head', ['-c', String(accumulated(size)), ...args])),
    },
    { name: 'raw spawn, into a file by itself', size, run: () => rawToFile(file, program, args) },
    ...(supervised
      ? [
          { name: 'holdfast, all kept', size, run: () => keep(supervised, whole) },
          { name: 'holdfast, all kept, tail watched', size, run: () => keep(supervised, { ...whole, onProgress: () => {} }) },
          { name: 'holdfast, all kept, all handed over', size, run: () => keep(supervised, { ...whole, onOutput: () => {} }) },
          { name: 'holdfast, default limit', size, run: () => keep(supervised, { argv }) },
        ]
      : []),
    { name: 'holdfast, all kept, plain mode', size, run: () => keep(plain, whole) },
  ]
  const growths = new Map(variants.map(({ run }) => [run, []]))
  const cpus = new Map(variants.map(({ run }) => [run, []]))
  const results = await interleaved(variants, {
    rounds,
    warmup: 0,
    measure: async (run) => {
      const { ms, cpuMs, growth } = await watched(run)
      growths.get(run).push(growth)
      cpus.get(run).push(cpuMs)
      return { ms, cpuMs }
    },
  })
  await close()
  return variants.map(({ name, size: bytes, run }, i) => ({
    name,
    rate: bytes / 1e6 / (results[i].ms / 1000),
    // The ratio counts bytes per second, since not every variant reads as much.
    speed: (1 / results[i].ratio) * (bytes / size),
    cpuPerGib: median(cpus.get(run)) / 1000 / (bytes / 1024 ** 3),
    growth: median(growths.get(run)),
  }))
}

async function keep(holdfast, input) {
  const run = await holdfast.exec(input)
  if (run.outcome?.exitCode !== 0) throw new Error(run.digest)
  return run
}

/** Time, processor time of this process, and by how many MB its memory was larger at its peak than before. */
async function watched(run) {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  const cpu = process.cpuUsage()
  let result
  const ms = await timed(async () => {
    result = await run()
  })
  const { user, system } = process.cpuUsage(cpu)
  peak = Math.max(peak, process.memoryUsage.rss())
  clearInterval(timer)
  // What was kept is measured once and then makes room.
  for (const path of [result?.stdout?.path, result?.stderr?.path]) if (typeof path === 'string') rmSync(path, { force: true })
  return { ms, cpuMs: (user + system) / 1000, growth: (peak - before) / 1e6 }
}
