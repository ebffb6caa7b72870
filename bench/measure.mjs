import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'

/** What every topic of the benchmark measures and prints with. Times are in milliseconds. */

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export async function timed(action) {
  const start = performance.now()
  await action()
  return performance.now() - start
}

/** Time, and what this process alone used of a core meanwhile. */
export async function costOf(action) {
  const cpu = process.cpuUsage()
  const ms = await timed(action)
  const { user, system } = process.cpuUsage(cpu)
  return { ms, cpuMs: (user + system) / 1000 }
}

/**
 * Runs every variant once per round, in an order that turns, so that whatever else the machine does meets all of them alike.
 * `ratio` is the median of the ratios to the first variant in the same round: the figure to quote on a machine that is shared.
 */
export async function interleaved(variants, { rounds, warmup = 1, measure = costOf }) {
  for (let i = 0; i < warmup; i += 1) for (const { run } of variants) await run()
  const taken = variants.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (let k = 0; k < variants.length; k += 1) {
      const at = (k + round) % variants.length
      taken[at].push(await measure(variants[at].run))
    }
  }
  const base = taken[0]
  return variants.map(({ name }, at) => ({
    name,
    ms: median(taken[at].map(({ ms }) => ms)),
    cpuMs: median(taken[at].map(({ cpuMs }) => cpuMs ?? Number.NaN)),
    ratio: median(taken[at].map(({ ms }, round) => ms / base[round].ms)),
    rounds,
    taken: taken[at],
  }))
}

export function machineFacts() {
  const model = cpus()[0]?.model ?? 'unknown processor'
  const kernel = `${process.platform} ${release()}`
  return `${availableParallelism()} cores (${model}), ${Math.round(totalmem() / 1024 ** 3)} GiB, ${kernel}, node ${process.version}, ${loadWords()}`
}

/** Load, and how much of the last ten seconds somebody waited for a processor, where the kernel tells. */
export function loadWords() {
  let pressure = ''
  try {
    pressure = `, somebody waited for a core ${/some avg10=([\d.]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1]} % of the last 10 s`
  } catch {
    // Not every kernel tells.
  }
  return `load ${loadavg()[0].toFixed(1)}${pressure}`
}

export const ms = (value) => (value < 1 ? value.toFixed(3) : value < 100 ? value.toFixed(2) : value.toFixed(0))
export const times = (value) => `${value.toFixed(2)}x`

export function printTable(title, head, rows) {
  const cells = [head, ...rows.map((row) => row.map(String))]
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length)))
  const line = (row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  ')
  process.stdout.write(`\n${title}\n${[line(cells[0]), widths.map((width) => '-'.repeat(width)).join('  '), ...cells.slice(1).map(line)].join('\n')}\n`)
}

/** Goals as they are judged: `reached` where the figure is at most, or with `least` at least, what was aimed at. */
export function goalBook() {
  const goals = []
  return {
    most: (name, goal, figure, show = times) => goals.push({ name, goal: `<= ${show(goal)}`, figure: show(figure), reached: figure <= goal }),
    least: (name, goal, figure, show = times) => goals.push({ name, goal: `>= ${show(goal)}`, figure: show(figure), reached: figure >= goal }),
    print() {
      if (goals.length === 0) return
      printTable(
        'Goals',
        ['goal', 'aim', 'here', ''],
        goals.map(({ name, goal, figure, reached }) => [name, goal, figure, reached ? 'reached' : 'MISSED']),
      )
    },
  }
}
