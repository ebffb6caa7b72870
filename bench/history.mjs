import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, median, ms, printTable, timed, times } from './measure.mjs'
import { openSeeder, rareRuns, rareWord } from './seed.mjs'
import { indexingCost } from './unindexed.mjs'

/** Whether a long history makes anything slow: a run, the list, a search. */
export async function history({ quick, world, goals }) {
  const sizes = quick ? [1_000, 5_000] : [10_000, 50_000]
  const seeded = await seededHome(world)
  const listed = []
  const searched = []
  const ran = []
  await indexingCost({ quick, world, goals })
  for (const runs of sizes) {
    await seeded.growTo(runs)
    const large = await openHoldfast({ root: world.folder('with-history'), env: { ...process.env, HOLDFAST_HOME: seeded.home } })
    const empty = await openHoldfast({ root: world.folder(`without-history-${runs}`) })
    const label = runs.toLocaleString('en')
    for (const [name, input] of Object.entries(lists))
      listed.push([
        `${label}: ${name}`,
        ...(await repeat(
          () => large.runs(input),
          quick ? 10 : 40,
          (result) => result.runs.length,
        )),
      ])
    for (const [name, input] of Object.entries(searches))
      searched.push([
        `${label}: ${name}`,
        ...(await repeat(
          () => large.search(input),
          quick ? 3 : 7,
          (result) => result.hits.length,
        )),
      ])
    const exec = (holdfast) => () => holdfast.exec({ argv: ['/bin/true'] })
    const [without, with_] = await interleaved(
      [
        { name: 'empty', run: exec(empty) },
        { name: 'history', run: exec(large) },
      ],
      { rounds: quick ? 30 : 150, warmup: 10 },
    )
    ran.push([label, ms(without.ms), ms(with_.ms), times(with_.ratio), ms(with_.cpuMs)])
    if (runs === sizes.at(-1)) {
      goals.most(`exec with ${label} runs, to exec with none`, 1.1, with_.ratio)
      const slowest = Math.max(...listed.filter(([name]) => name.startsWith(`${label}:`)).map(([, time]) => Number(time)))
      goals.most(`runs: slowest of the lists of ${label}, in ms`, 10, slowest, (value) => value.toFixed(1))
      const search = Object.fromEntries(
        searched.filter(([name]) => name.startsWith(`${label}:`)).map(([name, time]) => [name.slice(label.length + 2), Number(time)]),
      )
      goals.most(`search of a rare word in ${label}, in ms`, 10, search['a rare word'], (value) => value.toFixed(1))
    }
    await Promise.all([large.close(), empty.close()])
  }
  printTable('exec of /bin/true, with and without a history (interleaved)', ['runs', 'without, ms', 'with, ms', 'with / without', 'node CPU ms'], ran)
  printTable('runs, in the process', ['', 'ms (median)', 'ms (longest)', 'found'], listed)
  printTable(`search, in the process (${rareRuns} runs have the rare word)`, ['', 'ms (median)', 'ms (longest)', 'found'], searched)
}

const lists = {
  'newest 20': {},
  'newest 200': { limit: 200 },
  failing: { failing: true },
  'part of a command': { query: 'module-17' },
  'part that none has': { query: 'nowhere to be found' },
  'two letters': { query: 'zz' },
}
const searches = {
  'a rare word': { query: rareWord },
  'a common word': { query: 'failed' },
  'two words': { query: 'AssertionError module-17' },
  'a word that none has': { query: 'brontosaurus' },
  'a regular expression': { query: 'expected \\d+ to be 12', regex: true },
  'a regular expression that none matches': { query: 'brontosaurus \\d+', regex: true },
}

/** `[median, longest, count]` as shown. */
async function repeat(action, rounds, count) {
  let found = 0
  await action()
  const taken = []
  for (let i = 0; i < rounds; i += 1) {
    taken.push(
      await timed(async () => {
        found = count(await action())
      }),
    )
  }
  return [median(taken).toFixed(2), Math.max(...taken).toFixed(2), found]
}

/** A home with a history, made once and shared by the topics; it only grows. */
export async function seededHome(world) {
  if (world.seeded) return world.seeded
  const home = join(world.folder('history'), 'home')
  const seeder = await openSeeder(home)
  let size = 0
  world.seeded = {
    home,
    async growTo(runs) {
      if (runs <= size) return
      const taken = await timed(() => seeder.growTo(runs))
      process.stdout.write(`\n(made ${(runs - size).toLocaleString('en')} runs in ${(taken / 1000).toFixed(1)} s)\n`)
      size = runs
    },
  }
  return world.seeded
}
