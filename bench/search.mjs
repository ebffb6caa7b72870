import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, median, printTable, times } from './measure.mjs'
import { cachedHome, hiddenWord, rareWord } from './seed.mjs'

/** A gigabyte of logs, most of it in a fiftieth of the runs, as histories are: searched by Holdfast and by ripgrep alone. */
export async function search({ quick, world, goals }) {
  const runs = quick ? 5_000 : 50_000
  const { home, how } = await cachedHome(runs, { longBytes: (i) => (i % 50 === 0 ? [300_000, 1_000_000, 1_900_000][(i / 50) % 3] : 0) })
  process.stdout.write(`\n(${runs.toLocaleString('en')} runs, ${how})\n`)
  const logs = Number(spawnSync('sh', ['-c', 'find runs -name "std*.log" -printf "%s\\n" | awk "{ s += \\$1 } END { print s }"'], { cwd: home }).stdout)
  const index = statSync(join(home, 'index.db')).size
  const open = () => openHoldfast({ root: world.folder('searching'), env: { ...process.env, HOLDFAST_HOME: home } })
  const holdfast = await open()
  const rows = []
  // The logs come from memory then, for everybody.
  ripgrep(home, ['-F', rareWord])
  await holdfast.search({ query: rareWord })
  for (const { name, input, alone, goal } of questions) {
    let found = 0
    const ask = async (asked) => {
      const { hits, warnings } = await asked.search(input)
      found = `${hits.length}${warnings.length > 0 ? ' (not all read)' : ''}`
    }
    const [theirs, first, again] = await interleaved(
      [
        { name: 'ripgrep', run: async () => ripgrep(home, alone) },
        {
          name: 'first',
          async run() {
            const fresh = await open()
            await ask(fresh)
            await fresh.close()
          },
        },
        { name: 'again', run: () => ask(holdfast) },
      ],
      { rounds: 3, warmup: 0, measure: allCost },
    )
    const cpuRatio = (those) => median(those.taken.map(({ cpuMs }, round) => cpuMs / theirs.taken[round].cpuMs))
    const shown = (those) => [those.ms.toFixed(1), those.cpuMs.toFixed(0)]
    rows.push([name, ...shown(first), ...shown(again), ...shown(theirs), times(first.ratio), times(cpuRatio(first)), times(again.ratio), found])
    if (goal === 'ratio') goals.most(`first search of ${name}, to ripgrep alone`, 1.5, first.ratio)
    if (goal === 'ms') goals.most(`search of ${name}, in ms`, 10, again.ms, (value) => value.toFixed(1))
  }
  await holdfast.close()
  goals.most('index and records, to the bytes of the logs', 1, index / logs)
  printTable(
    `search in ${runs.toLocaleString('en')} runs with ${(logs / 1024 ** 2).toFixed(0)} MiB of logs (database ${(index / 1024 ** 2).toFixed(0)} MiB); ms of wall and of processor time, programs that were started included`,
    ['', 'first, opened for it', 'CPU', 'again', 'CPU', 'ripgrep alone', 'CPU', 'first / ripgrep', 'in CPU', 'again / ripgrep', 'hits'],
    rows,
  )
}

/** Time, and what this process and the programs that it started and waited for used of a core meanwhile. */
async function allCost(action) {
  const before = cpuMsOfAll()
  const start = performance.now()
  await action()
  return { ms: performance.now() - start, cpuMs: cpuMsOfAll() - before }
}

const tickMs = 10
function cpuMsOfAll() {
  const { user, system } = process.cpuUsage()
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [ofChildren, systemOfChildren] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number)
  return (user + system) / 1000 + (ofChildren + systemOfChildren) * tickMs
}

const questions = [
  { name: 'a word that the index knows', input: { query: rareWord }, alone: ['-F', rareWord], goal: 'ms' },
  { name: 'the same, in runs that failed', input: { query: rareWord, failing: true }, alone: ['-F', rareWord] },
  { name: 'a rare identifier in the middle of a log', input: { query: hiddenWord }, alone: ['-F', hiddenWord], goal: 'ratio' },
  { name: 'a common word', input: { query: 'refused' }, alone: ['-F', 'refused'] },
  { name: 'a phrase', input: { query: '"connection refused"' }, alone: ['-F', 'connection refused'] },
  { name: 'two words', input: { query: `${hiddenWord} worker` }, alone: ['-F', hiddenWord], goal: 'ratio' },
  { name: 'a regular expression', input: { query: 'pterodactylus\\w+\\d', regex: true }, alone: ['pterodactylus\\w+\\d'], goal: 'ratio' },
  { name: 'one without a word', input: { query: '[a-z]{8}dact[a-z]+[A-Z]\\w+\\d', regex: true }, alone: ['[a-z]{8}dact[a-z]+[A-Z]\\w+\\d'] },
  { name: 'one at a beginning', input: { query: '^note: \\w+ in', regex: true }, alone: ['^note: \\w+ in'] },
  { name: 'one that none matches', input: { query: '[A-Z]{7}-\\d{5}', regex: true }, alone: ['[A-Z]{7}-\\d{5}'] },
  { name: 'a word that no run has', input: { query: 'brontosaurusLost' }, alone: ['-F', 'brontosaurusLost'], goal: 'ratio' },
]

const { resolve } = createRequire(createRequire(import.meta.url).resolve('@vscode/ripgrep'))
const program = resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)

function ripgrep(home, args) {
  spawnSync(program, ['--no-config', '-uu', '--text', '-n', '--glob', 'std*.log', ...args, 'runs'], { cwd: home, stdio: ['ignore', 'ignore', 'ignore'] })
}
